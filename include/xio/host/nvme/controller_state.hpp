// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The part of a controller that its queues share with it: registers, reset and enable, the admin queue, the
/// list of queues.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/memory.hpp>
#include <xio/host/nvme/admin.hpp>
#include <xio/host/nvme/identify.hpp>
#include <xio/host/nvme/queue_plan.hpp>
#include <xio/host/nvme/transport.hpp>
#include <xio/host/text.hpp>
#include <xio/host/wait.hpp>
#include <xio/vendors/nvme/registers.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// How a controller is to be set up.
struct ControllerOptions {
  uint32_t admin_entries = 64;                      ///< of the admin queues, 2 to 4096
  uint32_t queue_count = 64;                        ///< I/O queue pairs to ask for, 1 to 65535; fewer may be granted
  bool all_command_sets = false;                    ///< zoned and other namespaces too (CC.CSS = 6)
  std::chrono::milliseconds admin_deadline{30000};  ///< for the answer to one admin command
  /// For becoming ready and for becoming idle; 0: what the controller says it needs (CAP.TO).
  std::chrono::milliseconds ready_deadline{0};
};

namespace detail {

/// A queue pair as the controller's state knows it.
class QueueRecord {
 public:
  virtual ~QueueRecord() = default;
  QueueRecord(const QueueRecord&) = delete;
  QueueRecord& operator=(const QueueRecord&) = delete;

  /// Creates the queues on the controller, with new memory.
  virtual void create() = 0;
  /// The controller has forgotten the queues.
  virtual void forget() = 0;

  const uint32_t qid;

 protected:
  explicit QueueRecord(uint32_t number) : qid(number) {}
};

/// Registers, admin queue and shadow doorbells of one controller. Lives as long as the controller object or one of its
/// queues; the transport lives only as long as the controller object.
class ControllerState {
 public:
  ControllerState(std::unique_ptr<NvmeTransport> transport, const ControllerOptions& wanted)
      : options(wanted), transport_(std::move(transport)) {
    if (!transport_) throw Error("NvmeController: no transport given");
    if (options.admin_entries < 2 || options.admin_entries > 4096)
      throw Error("admin_entries = " + std::to_string(options.admin_entries) + " is not accepted; 2 to 4096 is");
    if (options.queue_count < 1 || options.queue_count > 65535)
      throw Error("queue_count = " + std::to_string(options.queue_count) + " is not accepted; 1 to 65535 is");
    cap.raw = transport_->read64(nvme::reg::cap);
    if (~cap.raw == 0) throw ControllerFailure(transport_->description() + " is not there: registers read as all ones");
    if (cap.mqes() == 0) throw Error(transport_->description() + " has queues of one entry (CAP.MQES = 0); unusable");
    version.raw = transport_->read32(nvme::reg::vs);
    page_shift = choose_page_shift();
    admin_ = std::make_unique<AdminQueue>(*transport_, options.admin_entries, cap.dstrd(), page_bytes());
  }

  const ControllerOptions options;
  nvme::Cap cap;
  nvme::Vs version;
  uint32_t page_shift = 12;  ///< log2 of the memory page (CC.MPS)
  ControllerInfo info;       ///< written once, while the controller is set up
  std::atomic<uint32_t> granted_queues{0};
  std::mutex mutex;  ///< of the queues and the shadow doorbells

  size_t page_bytes() const { return size_t{1} << page_shift; }

  NvmeTransport& transport() const {
    if (!transport_) throw Error("the NvmeController of this queue is gone");
    return *transport_;
  }
  AdminQueue& admin() const { return *admin_; }
  bool open() const { return transport_ != nullptr; }

  AdminResult run(const nvme::Command& command, const nvme::DataPointer& data = {}) const {
    return admin().run(command, data, options.admin_deadline);
  }
  /// As run(); throws AdminError for every status but success.
  AdminResult execute(const nvme::Command& command, const nvme::DataPointer& data = {},
                      const std::string& context = {}) const {
    const AdminResult result = run(command, data);
    if (!result.status.is_ok()) throw AdminError(command.opcode(), result.status, context);
    return result;
  }

  /// Disables the controller: it stops all access to memory, and its queues are gone.
  void disable() {
    try {
      disable_by_register();
    } catch (const ControllerFailure&) {
      // One that does not listen any more may still listen to its bus.
      if (!reset_by_bus()) throw;
    }
    for (QueueRecord* queue : queues_) queue->forget();
    release_detained();
    shadow_active_ = false;
  }

  /// Enables a disabled controller with new admin queues.
  void enable() {
    admin().restart();
    transport().write32(nvme::reg::aqa, nvme::Aqa::of(admin().entries(), admin().entries()).raw);
    transport().write64(nvme::reg::asq, admin().sq_bus());
    transport().write64(nvme::reg::acq, admin().cq_bus());
    const nvme::Cc cc = nvme::Cc{}.css(command_sets()).mps(page_shift - 12).iosqes(6).iocqes(4);
    transport().write32(nvme::reg::cc, cc.en(true).raw);
    wait_for(
        [this](nvme::Csts status) {
          if (status.cfs())
            throw ControllerFailure(transport().description() + " failed while it was enabled (CSTS.CFS)");
          return status.rdy();
        },
        Deadline(ready_limit()), "become ready (CC.EN = 1)");
  }

  /// Tells a working controller that it will be switched off, then disables it; gives up quietly where it does not
  /// work.
  void close() noexcept {
    const std::lock_guard<std::mutex> lock(mutex);
    try {
      if (transport_->alive()) {
        const nvme::Cc cc{transport().read32(nvme::reg::cc)};
        if (cc.en()) {
          transport().write32(nvme::reg::cc, cc.shn(1).raw);
          wait_for([](nvme::Csts status) { return status.shst() == 2 || status.cfs(); }, Deadline(shutdown_limit),
                   "shut down");
        }
        disable();
      }
    } catch (const std::exception&) {
      // Nobody is left to tell; the transport's end is what makes the memory safe.
    }
    for (QueueRecord* queue : queues_) queue->forget();
    admin_.reset();
    transport_.reset();
    release_detained();
  }

  // Queues; `mutex` is held.
  void add(QueueRecord* queue) { queues_.push_back(queue); }
  void remove(QueueRecord* queue) { queues_.erase(std::remove(queues_.begin(), queues_.end(), queue), queues_.end()); }
  const std::vector<QueueRecord*>& queues() const { return queues_; }
  bool uses(uint32_t qid) const {
    return std::any_of(queues_.begin(), queues_.end(), [qid](const QueueRecord* queue) { return queue->qid == qid; });
  }
  /// Keeps memory that the controller may still write to, until it is disabled. Needs no lock.
  void detain(DmaBuffer&& memory) {
    const std::lock_guard<std::mutex> lock(detained_mutex_);
    detained_.push_back(std::move(memory));
  }

  // Shadow doorbells (Base Specification 2.0, section 5.8); `mutex` is held.
  bool shadow_wanted() const { return static_cast<bool>(shadow_); }
  /// @param allocate  memory for their pages; empty: the transport's
  void want_shadow(const QueueOptions::Allocate& allocate) {
    if (!info.shadow_doorbells)
      throw Error(transport().description() + " has no shadow doorbells (Doorbell Buffer Config); leave them out");
    const auto page = [&] {
      return allocate ? allocate(page_bytes(), page_bytes()) : transport().allocate(page_bytes(), page_bytes());
    };
    shadow_ = page();
    event_index_ = page();
  }
  /// Switches them on where they are wanted; after every enable(), before any I/O queue exists.
  void activate_shadow() {
    if (!shadow_ || shadow_active_) return;
    std::memset(shadow_.data(), 0, shadow_.size());
    std::memset(event_index_.data(), 0, event_index_.size());
    execute(nvme::doorbell_buffer_config(), {shadow_.bus(), event_index_.bus()});
    shadow_active_ = true;
    admin().use_shadow(shadow_word(0), shadow_word(doorbell_words_per_slot()));
  }
  /// Word of the shadow page, by its index in the doorbell layout.
  uint32_t* shadow_word(size_t index) const { return word_of(shadow_, index); }
  uint32_t* event_word(size_t index) const { return word_of(event_index_, index); }

  /// 32-bit words from one doorbell to the next.
  uint32_t doorbell_words_per_slot() const { return 1u << cap.dstrd(); }
  uint32_t sq_word(uint32_t qid) const { return 2 * qid * doorbell_words_per_slot(); }
  uint32_t cq_word(uint32_t qid) const { return (2 * qid + 1) * doorbell_words_per_slot(); }

 private:
  static constexpr std::chrono::milliseconds shutdown_limit{2000};

  uint32_t choose_page_shift() const {
    const uint32_t smallest = 12 + cap.mpsmin();
    const auto host_page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    const auto host_shift = static_cast<uint32_t>(__builtin_ctzll(host_page));
    return host_shift >= smallest && host_shift <= 12 + cap.mpsmax() ? host_shift : smallest;
  }

  uint32_t command_sets() const {
    const bool has_all = (cap.css() >> 6 & 1) != 0;
    const bool has_nvm = (cap.css() & 1) != 0;
    if (options.all_command_sets && !has_all)
      throw Error(transport().description() + " offers no further command sets (CAP.CSS); leave all_command_sets out");
    if (!has_all && !has_nvm) throw Error(transport().description() + " offers no I/O command set (CAP.CSS)");
    return options.all_command_sets || !has_nvm ? 6 : 0;
  }

  std::chrono::milliseconds ready_limit() const {
    if (options.ready_deadline.count() != 0) return options.ready_deadline;
    uint32_t units = std::max(cap.to(), 1u);
    if (cap.crwms()) units = std::max(units, nvme::Crto{transport().read32(nvme::reg::crto)}.crwmt());
    return std::chrono::milliseconds(500) * units;
  }

  void disable_by_register() {
    const Deadline deadline(ready_limit());
    nvme::Cc cc{transport().read32(nvme::reg::cc)};
    // Between EN = 1 and RDY = 1 the controller must be left alone, unless it has failed.
    if (cc.en()) wait_for([](nvme::Csts status) { return status.rdy() || status.cfs(); }, deadline, "become ready");
    transport().write32(nvme::reg::cc, cc.en(false).shn(0).raw);
    wait_for([](nvme::Csts status) { return !status.rdy(); }, deadline, "become idle (CC.EN = 0)");
  }

  bool reset_by_bus() noexcept {
    try {
      if (!transport().reset_device()) return false;
      wait_for([](nvme::Csts status) { return !status.rdy(); }, Deadline(ready_limit()), "become idle after a reset");
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

  template <class Done>
  void wait_for(Done&& done, const Deadline& deadline, const char* what) const {
    Backoff backoff;
    for (;;) {
      const bool late = deadline.passed();
      const nvme::Csts status{transport().read32(nvme::reg::csts)};
      if (status.gone())
        throw ControllerFailure(transport().description() + " is gone: its registers read as all ones");
      if (done(status)) return;
      if (late)
        throw ControllerFailure(transport().description() + " did not " + what + " within " + deadline.text() +
                                "; CSTS = " + to_hex(status.raw, 8));
      backoff.pause();
    }
  }

  void release_detained() {
    const std::lock_guard<std::mutex> lock(detained_mutex_);
    detained_.clear();
  }

  static uint32_t* word_of(const DmaBuffer& page, size_t index) {
    if (index >= page.size() / sizeof(uint32_t))
      throw Error("the shadow doorbell page has no room for this queue; use a lower queue number");
    return page.as<uint32_t>(index * sizeof(uint32_t));
  }

  std::unique_ptr<NvmeTransport> transport_;
  std::unique_ptr<AdminQueue> admin_;
  std::vector<QueueRecord*> queues_;
  std::mutex detained_mutex_;
  std::vector<DmaBuffer> detained_;
  DmaBuffer shadow_;
  DmaBuffer event_index_;
  bool shadow_active_ = false;
};

}  // namespace detail

}  // namespace host

XIO_NAMESPACE_END
