// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Host-side setup of an NVMe controller: reset, enable, identify, create and delete queues, recover.

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/linux/fork.hpp>
#include <xio/host/nvme/admin.hpp>
#include <xio/host/nvme/controller_state.hpp>
#include <xio/host/nvme/identify.hpp>
#include <xio/host/nvme/queue.hpp>
#include <xio/host/nvme/queue_plan.hpp>
#include <xio/host/nvme/queue_setup.hpp>
#include <xio/host/nvme/transport.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

/// One controller, ready for I/O queues. Usable from several threads, except for the destructor.
///
/// Every completion status is checked: a command that the controller rejects throws AdminError. Every wait has a
/// deadline.
///
/// @snippet host.cpp NvmeController
class NvmeController {
 public:
  /// Brings the controller up, identifies it and requests I/O queues. A controller that the library owns is reset and
  /// enabled; one that another driver keeps (NvmeTransport::keeper) stays as it is.
  explicit NvmeController(std::unique_ptr<NvmeTransport> transport, const ControllerOptions& options = {})
      : state_(std::make_shared<detail::ControllerState>(std::move(transport), options)) {
    try {
      const std::lock_guard<std::mutex> lock(state_->mutex);
      state_->stop();
      state_->access().start();
      state_->info = ControllerInfo(IdentifyPage(fetch_page(nvme::identify_controller(), nvme::identify_bytes)),
                                    12 + state_->cap.mpsmin());
      ask_for_limits();
      state_->ids = state_->access().ask_for_queues(options.queue_count);
      state_->access().open();
    } catch (...) {
      state_->close();
      throw;
    }
  }
  NvmeController(NvmeController&&) noexcept = default;
  NvmeController(const NvmeController&) = delete;
  NvmeController& operator=(const NvmeController&) = delete;
  NvmeController& operator=(NvmeController&&) = delete;
  /// Shuts the controller down, or deletes the library's queues where another driver keeps it, and ends the transport.
  /// Remaining queues become invalid; their memory stays allocated until they are destroyed.
  /// In a child of fork() the destructor does nothing: only the process that made the controller ends it.
  ~NvmeController() {
    if (!state_) return;
    if (state_->is_here())
      state_->close();
    else
      abandon(std::move(state_));
  }

  NvmeTransport& transport() const { return state_->transport(); }  ///< access to its registers
  const nvme::Cap& capabilities() const { return state_->cap; }     ///< register CAP
  const nvme::Vs& version() const { return state_->version; }       ///< register VS
  const ControllerInfo& info() const { return state_->info; }       ///< what Identify told
  /// Memory page size of the controller in bytes: the alignment of everything but the start of a data buffer.
  size_t page_bytes() const { return state_->page_bytes(); }
  /// Entries of the largest queue: CAP.MQES + 1, or 64 if CAP.MQES = 0.
  uint32_t max_queue_entries() const { return state_->max_queue_entries(); }
  /// Number of I/O queue pairs that can be created.
  uint32_t granted_queues() const { return queue_ids().count(); }
  /// Queue identifiers available for these pairs.
  QueueIds queue_ids() const {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    return state_->ids;
  }

  /// Allocates data memory by NvmeTransport::allocate, aligned to the controller's memory pages.
  /// @snippet host.cpp allocate
  DmaBuffer allocate(size_t bytes) const { return transport().allocate(bytes, page_bytes()); }

  /// Creates an I/O queue pair: completion queue first, then submission queue. Throws Error if the controller does not
  /// support such a queue, and AdminError if it rejects the command.
  /// @snippet host.cpp create_queue
  NvmeQueue create_queue(const QueueOptions& wanted = {}) {
    const QueueOptions options = detail::placed(wanted, transport());
    NamespaceInfo names;
    names.block_shift = 9;
    const std::string stamp = state_->access().namespace_stamp(options.nsid);
    if (options.nsid != 0) names = namespace_for_queue(options);
    QueueLimits limits;
    limits.max_entries = max_queue_entries();
    limits.contiguous_required = state_->cap.cqr();
    limits.page_shift = state_->page_shift;
    limits.block_shift = names.block_shift;
    limits.max_transfer_bytes = info().max_transfer_bytes;
    limits.commands = info().limits;
    const QueuePlan plan = plan_queue(options, limits);

    const std::lock_guard<std::mutex> lock(state_->mutex);
    if (options.shadow_doorbells) enable_shadow_locked(options.allocate_record);
    const auto uses = [&](uint32_t qid) { return state_->uses(qid); };
    const std::vector<uint32_t> candidates = detail::free_qids(state_->ids, options.qid, uses);
    for (const uint32_t qid : candidates) {
      auto pair = std::make_unique<detail::QueuePair>(state_, qid, options, plan, names, stamp);
      try {
        pair->create();
      } catch (const AdminError& refusal) {
        // Another user of a shared controller holds this identifier.
        if (refusal.code() == nvme::sc::invalid_queue_identifier) continue;
        throw;
      }
      state_->add(pair.get());
      return NvmeQueue(std::move(pair));
    }
    if (options.qid != 0)
      throw Error("queue " + std::to_string(options.qid) +
                  " is in use by another process or driver; choose another, or set qid = 0");
    throw Error("all " + std::to_string(state_->ids.count()) + " queue pairs that the controller granted are in use");
  }

  /// Requests I/O queue pairs (feature 07h) and returns the number granted; before the first queue is created. Where
  /// another driver keeps the controller, it only determines how many that driver left.
  /// @param count  1 to 65535
  ///
  /// @snippet host.cpp set_queue_count
  uint32_t set_queue_count(uint32_t count) {
    detail::check_queue_count(count);
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->ids = state_->access().ask_for_queues(count);
    return state_->ids.count();
  }

  /// Enables shadow doorbells (Doorbell Buffer Config) for all queues created from now on; no I/O queue may exist.
  /// @snippet host.cpp enable_shadow_doorbells
  void enable_shadow_doorbells() {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    enable_shadow_locked();
  }

  /// Runs any admin command and returns its result, whatever the status. Throws Error only if no completion arrives.
  /// @snippet host.cpp admin
  AdminResult admin(const nvme::Command& command, const nvme::DataPointer& data = {}) const {
    const AdminResult result = state_->run(command, data);
    state_->follow(command.opcode());
    return result;
  }
  /// Runs an admin command; throws AdminError for every status but success.
  /// @snippet host.cpp execute
  AdminResult execute(const nvme::Command& command, const nvme::DataPointer& data = {}) const {
    const AdminResult result = state_->execute(command, data);
    state_->follow(command.opcode());
    return result;
  }
  /// Runs a command that returns data (at most one page), and copies the first `bytes` of it. If the command does not
  /// define its transfer length, `bytes` is the length.
  /// @snippet host.cpp fetch
  std::vector<uint8_t> fetch(const nvme::Command& command, size_t bytes) const {
    if (bytes == 0 || bytes > page_bytes()) throw Error("fetch: 1 to " + std::to_string(page_bytes()) + " bytes");
    if (command.data <= nvme::data_size::largest && command.data > page_bytes())
      throw Error("fetch: this " + admin_command_name(command.opcode()) + " moves more than a page of data");
    const DmaBuffer page = fetch_page(command, bytes);
    const auto* data = static_cast<const uint8_t*>(page.data());
    return std::vector<uint8_t>(data, data + bytes);
  }

  /// Capacity and format of a namespace.
  /// @snippet host.cpp active_namespaces
  NamespaceInfo identify_namespace(uint32_t nsid) const {
    return {IdentifyPage(fetch_page(nvme::identify_namespace(nsid), nvme::identify_bytes)), nsid};
  }
  /// Capacity and limits of a namespace that stores values under keys. Throws AdminError for others, and without
  /// ControllerOptions::all_command_sets.
  /// @snippet kv_queue.cpp namespace
  KeyValueInfo identify_key_values(uint32_t nsid) const {
    nvme::IdentifyRequest request;
    request.cns = nvme::Cns::namespace_of_command_set;
    request.nsid = nsid;
    request.command_set = nvme::CommandSet::key_value;
    return {IdentifyPage(fetch_page(nvme::identify(request), nvme::identify_bytes)), nsid};
  }
  /// Command set of a namespace. A zoned namespace is recognised reliably only with
  /// ControllerOptions::all_command_sets.
  /// @snippet host.cpp active_namespaces
  nvme::CommandSet command_set(uint32_t nsid) const {
    if ((state_->cap.css() >> 6 & 1) == 0) return nvme::CommandSet::nvm;
    nvme::IdentifyRequest request;
    request.cns = nvme::Cns::namespace_descriptors;
    request.nsid = nsid;
    return command_set_of(IdentifyPage(fetch_page(nvme::identify(request), nvme::identify_bytes)));
  }
  /// Identifiers of all active namespaces, in ascending order; none above the controller's highest (NN).
  /// @snippet host.cpp active_namespaces
  std::vector<uint32_t> active_namespaces() const {
    const uint32_t highest = info().view().nn();
    // Version 1.0 has no list of namespaces.
    if (state_->version.raw < 0x00010100) return try_namespaces();
    std::vector<uint32_t> found;
    for (uint32_t above = 0; above < highest;) {
      DmaBuffer page;
      try {
        page = fetch_page(nvme::identify_active_namespaces(above), nvme::identify_bytes);
      } catch (const AdminError& refusal) {
        if (above == 0 && refusal.code() == nvme::sc::invalid_field) return try_namespaces();
        throw;
      }
      for (const uint32_t nsid : page.span<uint32_t>()) {
        // The list ends, or does not ascend.
        if (nsid <= above || nsid > highest) return found;
        found.push_back(above = nsid);
      }
    }
    return found;
  }

  /// Value of a feature, from dword 0 of the completion.
  /// @snippet host.cpp get_feature
  uint32_t get_feature(nvme::FeatureId feature, nvme::FeatureSelect select = nvme::FeatureSelect::current) const {
    return execute(nvme::get_features(feature, select)).dw0;
  }
  /// Sets a feature to `value`, until the next reset.
  /// @snippet host.cpp get_feature
  void set_feature(nvme::FeatureId feature, uint32_t value) { execute(nvme::set_features(feature, value)); }
  /// The first `bytes` (a multiple of 4, at most one page) of a log page of the controller.
  /// @snippet host.cpp get_log_page
  std::vector<uint8_t> get_log_page(nvme::LogId log, uint32_t bytes) const {
    nvme::LogPageRequest request;
    request.log = log;
    request.bytes = bytes;
    return fetch(nvme::get_log_page(request), bytes);
  }
  /// Requests the abort of a command in flight. Returns true if the controller reports it as aborted; either way its
  /// completion is still to come.
  /// @snippet host.cpp abort
  bool abort(uint32_t qid, uint32_t cid) { return (execute(nvme::abort(qid, cid)).dw0 & 1) == 0; }

  /// Submits one Asynchronous Event Request; at most ControllerInfo::max_events may be outstanding. Throws Error if the
  /// admin queue has two entries: one is kept for commands.
  /// @snippet host.cpp request_event
  void request_event() { state_->access().request_event(); }
  /// Waits for the next requested event; empty if none arrives within `limit`.
  /// @snippet host.cpp request_event
  std::optional<AsyncEvent> take_event(std::chrono::milliseconds limit) {
    const std::optional<AsyncEvent> event = state_->access().take_event(limit);
    if (event) state_->follow(*event);
    return event;
  }

  /// Whether the controller can respond (NvmeTransport::alive()), and the namespaces of its queues are as they were
  /// when the queues were created. The queues of a namespace that was formatted, resized or detached are deleted on the
  /// controller, and NvmeQueue::handle() throws: kernels would move blocks of the wrong size. Operations of a kernel
  /// that still runs end at their deadlines.
  ///
  /// Poll it while kernels run. It sends Identify Namespace at most once a second; where another driver keeps the
  /// controller, it reads what that driver reports, and sends nothing.
  /// @snippet host.cpp alive
  bool alive() const {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    if (!transport().alive()) return false;
    state_->look_at_namespaces();
    return state_->failure().empty();
  }
  /// Which namespace has changed, and how, as alive() found it; empty if none has, or its queues are gone.
  std::string namespace_change() const {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    return state_->failure();
  }

  /// Current value of CSTS.
  /// @snippet host.cpp status
  nvme::Csts status() const { return {transport().read32(nvme::reg::csts)}; }

  /// Disables the controller, or deletes the library's queues where another driver keeps it. All queues become invalid.
  /// Where the library owns the controller, admin commands that wait end with ControllerFailure, and all others throw
  /// CommandNotSent until recover() has returned.
  /// @snippet host.cpp reset
  void reset() {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->stop();
  }

  /// Resets and enables the controller, or waits for the driver that keeps it, and recreates all queues with new
  /// memory: fetch their handles again. Commands in flight are lost, as are requests for events. No kernel may use the
  /// queues meanwhile; admin commands of other threads are refused, as after reset(). Throws if a queue cannot be
  /// created, or its namespace has changed; that queue and those after it stay invalid.
  /// @snippet host.cpp recover
  void recover() {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->recover();
  }

 private:
  /// Active namespaces of a controller that does not list them.
  std::vector<uint32_t> try_namespaces() const {
    constexpr uint32_t most = 4096;
    const uint32_t highest = info().view().nn();
    if (highest > most)
      throw Error(transport().description() + " does not list its namespaces, of up to " + std::to_string(highest) +
                  "; only namespaces that are named can be used");
    std::vector<uint32_t> found;
    for (uint32_t nsid = 1; nsid <= highest; ++nsid) {
      try {
        if (identify_namespace(nsid).blocks != 0) found.push_back(nsid);
      } catch (const AdminError& refusal) {
        if (refusal.code() != nvme::sc::invalid_namespace_or_format && refusal.code() != nvme::sc::invalid_field) throw;
      }
    }
    return found;
  }

  /// Reads the limits of single commands; a controller without this Identify page reports none.
  void ask_for_limits() {
    // Before version 1.2 the upper bits of CNS are reserved: the controller would return another page.
    if (state_->version.raw < 0x00010200) return;
    const uint32_t smallest_page_shift = 12 + state_->cap.mpsmin();
    nvme::IdentifyRequest request;
    request.cns = nvme::Cns::controller_of_command_set;
    try {
      const IdentifyPage page(fetch_page(nvme::identify(request), nvme::identify_bytes));
      state_->info.limits.take(nvme::IdentifyControllerNvm{page.data()}, smallest_page_shift);
      if (!state_->options.all_command_sets) return;
      request.command_set = nvme::CommandSet::zoned;
      const IdentifyPage zoned(fetch_page(nvme::identify(request), nvme::identify_bytes));
      state_->info.limits.take(nvme::IdentifyControllerZoned{zoned.data()}, smallest_page_shift);
    } catch (const AdminError&) {
    }
  }

  DmaBuffer fetch_page(const nvme::Command& command, size_t bytes) const {
    // A command may write more than the caller requested: the buffer covers all of it.
    DmaBuffer page = allocate(std::max<size_t>(bytes, command.data <= page_bytes() ? command.data : 0));
    try {
      execute(command, {page.bus(), 0});
    } catch (const AdminError&) {
      throw;
    } catch (const CommandNotSent&) {
      throw;
    } catch (...) {
      // Without a completion the controller may still write to the page.
      state_->detain(std::move(page));
      throw;
    }
    return page;
  }

  NamespaceInfo with_blocks(const std::string& name, uint32_t nsid) const {
    try {
      return identify_namespace(nsid);
    } catch (const AdminError& refusal) {
      if (refusal.code() != nvme::sc::invalid_command_set) throw;
      throw Error(name + " has no blocks; set ControllerOptions::all_command_sets to use values under keys");
    }
  }

  bool has_key_values(uint32_t nsid) const try {
    return command_set(nsid) == nvme::CommandSet::key_value;
  } catch (const AdminError&) {
    return false;  // an inactive namespace has no descriptors: Identify tells its caller so
  }

  NamespaceInfo namespace_for_queue(const QueueOptions& wanted) const {
    const uint32_t nsid = wanted.nsid;
    const std::string name = "namespace " + std::to_string(nsid);
    if (nsid > info().view().nn())
      throw Error(name + " does not exist; the highest is " + std::to_string(info().view().nn()));
    if (state_->options.all_command_sets && has_key_values(nsid)) return detail::without_blocks();
    const NamespaceInfo names = with_blocks(name, nsid);
    if (names.blocks == 0) throw Error(name + " is not active; active_namespaces() lists the active ones");
    detail::check_format(name, names, wanted);
    return names;
  }

  void enable_shadow_locked(const QueueOptions::Allocate& allocate = {}) {
    if (state_->shadow_wanted()) return;
    if (!state_->queues().empty())
      throw Error("shadow doorbells apply to all queues: enable them before the first queue is created");
    state_->want_shadow(allocate);
    state_->activate_shadow();
  }

  std::shared_ptr<detail::ControllerState> state_;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
