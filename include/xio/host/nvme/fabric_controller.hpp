// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A controller behind RDMA: connected, enabled and identified from the CPU, with I/O queues for the CPU, or for
/// queue pairs of any origin. Empty without the headers of libibverbs and librdmacm.

#include <xio/config.hpp>

#if __has_include(<infiniband/verbs.h>) && __has_include(<rdma/rdma_cma.h>)

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <xio/host/linux/fork.hpp>
#include <xio/host/linux/service_thread.hpp>
#include <xio/host/nvme/fabric_answers.hpp>
#include <xio/host/nvme/fabric_queue.hpp>
#include <xio/host/nvme/identify.hpp>
#include <xio/vendors/nvme/registers.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

namespace detail {

/// Identifiers of a connection's I/O queues, from 1.
class FabricQueueIds {
 public:
  explicit FabricQueueIds(uint32_t count) : used_(count, false) {}

  uint16_t take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (size_t i = 0; i < used_.size(); ++i) {
      if (used_[i]) continue;
      used_[i] = true;
      return static_cast<uint16_t>(i + 1);
    }
    throw Error("fabrics: all " + std::to_string(used_.size()) +
                " I/O queues that the target granted are in use; end one, or set queues to more");
  }
  void give_back(uint16_t qid) {
    const std::lock_guard<std::mutex> lock(mutex_);
    used_[qid - 1u] = false;
  }

 private:
  std::mutex mutex_;
  std::vector<bool> used_;
};

/// One of them, until it is destroyed.
class FabricQueueId {
 public:
  explicit FabricQueueId(std::shared_ptr<FabricQueueIds> from) : from_(std::move(from)), qid_(from_->take()) {}
  FabricQueueId(const FabricQueueId&) = delete;
  FabricQueueId& operator=(const FabricQueueId&) = delete;
  ~FabricQueueId() { from_->give_back(qid_); }
  uint16_t get() const { return qid_; }

 private:
  std::shared_ptr<FabricQueueIds> from_;
  uint16_t qid_;
};

}  // namespace detail

/// A queue pair of the caller's as an I/O queue. Its first command must be `connect`, with the memory of `data` as
/// data; check_connect() judges the completion. Destroy it before the queue pair. Movable.
struct FabricConnection {
  std::unique_ptr<detail::FabricQueueId> id;  ///< returned to the controller with this object
  uint32_t entries = 0;                       ///< of the queue: one fewer commands may be in flight
  uint32_t target_receives = 0;               ///< capsules that the target can receive
  FabricOptions options;                      ///< of the controller
  nvme::Command connect;                      ///< the first command
  nvme::fabrics::ConnectData data{};          ///< its data; copy it to registered memory
  /// Tells whether it was lost(); ends with this object, but not in a child of fork().
  std::unique_ptr<CmConnection, DeleteByMaker> connection;

  uint16_t qid() const { return id->get(); }
  /// Throws Error, which says what to do, unless the command `connect` succeeded.
  /// @param dw0  dword 0 of the completion
  void check_connect(Status status, uint32_t dw0) const { detail::check_connect({status, dw0, 0}, options); }
};

/// One controller of a subsystem, as an NvmeController is one on PCIe. Usable from several threads, except for the
/// constructor, reconnect() and the destructor. Not movable.
///
/// A thread keeps the controller alive. Where the connection is lost, commands throw FabricLost, and so do queues;
/// reconnect() makes a new controller, for which queues are to be made anew. Authentication (DH-HMAC-CHAP), TLS and
/// several paths (ANA) are not supported: a target that demands the first two is refused.
class FabricController {
 public:
  /// Connects to a subsystem, enables the controller, identifies it and asks for I/O queues. Throws Error with what to
  /// do if the target is not there, refuses, or demands what xio does not have.
  explicit FabricController(const FabricOptions& options) : options_(detail::complete(options)) { start(); }
  FabricController(const FabricController&) = delete;
  FabricController& operator=(const FabricController&) = delete;
  /// Shuts the controller down, which ends its queues. In a child of fork() it does nothing.
  ~FabricController() {
    if (maker_.is_here()) {
      stop();
    } else {
      keeper_.join();
      abandon(std::move(admin_));
      abandon(std::move(keeping_));  // its end would wait for the thread, which is not here
    }
  }

  const FabricOptions& options() const { return options_; }  ///< completed: all names are set
  const nvme::Cap& capabilities() const { return cap_; }     ///< property CAP
  const nvme::Vs& version() const { return version_; }       ///< property VS
  const ControllerInfo& info() const { return info_; }       ///< what Identify told
  uint16_t cntlid() const { return cntlid_; }                ///< identifier within the subsystem
  uint32_t granted_queues() const { return granted_; }       ///< I/O queues; 0: a discovery controller
  const std::string& device() const { return device_; }      ///< RDMA device that reaches the target
  /// Entries of the largest queue: CAP.MQES + 1, and no more than the commands that the controller takes (MAXCMD).
  uint32_t max_queue_entries() const { return detail::largest_fabric_queue(cap_, info_); }

  /// Why the connection is no longer there; empty while it is.
  std::string lost() { return admin_ ? admin_->lost() : "the last reconnect() failed"; }

  /// Runs an admin command, and throws AdminError unless it succeeds.
  /// @param data  what the command writes, or is filled with what it reads; up to 64 KiB
  AdminResult execute(const nvme::Command& command, Span<unsigned char> data = {}) {
    const AdminResult result = admin().run(command, data, options_.command_limit);
    if (!result.status.is_ok()) throw AdminError(command.opcode(), result.status, options_.subsystem);
    return result;
  }

  /// Reads a property by the offset of its register (namespace nvme::reg).
  uint64_t property(uint64_t offset, bool eight_bytes) {
    const AdminResult result =
        property_command(nvme::fabrics::property_get(offset, eight_bytes), "Property Get", offset);
    return eight_bytes ? uint64_t{result.dw1} << 32 | result.dw0 : result.dw0;
  }
  /// Writes a property.
  void set_property(uint64_t offset, uint64_t value, bool eight_bytes) {
    property_command(nvme::fabrics::property_set(offset, value, eight_bytes), "Property Set", offset);
  }

  /// Capacity and block size of a namespace. Throws Error if it is not active.
  NamespaceInfo identify_namespace(uint32_t nsid) {
    NamespaceInfo info(fetch(nvme::identify_namespace(nsid)), nsid);
    if (info.blocks == 0)
      throw Error("fabrics: " + options_.subsystem + " has no namespace " + std::to_string(nsid) + " for this host");
    return info;
  }

  /// Identifiers of the first 1024 active namespaces.
  std::vector<uint32_t> active_namespaces() {
    return detail::listed_namespaces(fetch(nvme::identify_active_namespaces()));
  }

  /// An I/O queue that the CPU drives, connected and ready. Destroy it before the controller; a child of fork() keeps
  /// it.
  /// @param entries     2 to max_queue_entries()
  /// @param data_bytes  most data of one command
  std::shared_ptr<FabricQueue> create_queue(uint32_t entries = 32, uint32_t data_bytes = 128 * 1024) {
    check_entries(entries);
    struct Owned {
      Owned(std::shared_ptr<detail::FabricQueueIds> ids, const FabricOptions& options, uint32_t count, uint16_t cntlid,
            uint32_t bytes)
          : id(std::move(ids)), queue(options, id.get(), count, cntlid, bytes) {}
      detail::FabricQueueId id;  // goes back after the connection has ended
      FabricQueue queue;
    };
    const std::shared_ptr<Owned> owned(new Owned(ids_, options_, entries, cntlid_, std::max(data_bytes, 4096u)),
                                       DeleteByMaker());
    connect(owned->queue, owned->id.get(), entries, cntlid_);
    return {owned, &owned->queue};
  }

  /// Makes a queue pair an I/O queue, as far as the connection: see FabricConnection for its first command.
  /// @param queue    in state RESET, on device(), with receives for `entries` completions before that command
  /// @param entries  2 to max_queue_entries()
  FabricConnection connect_queue(ibv_qp* queue, uint32_t entries) {
    check_entries(entries);
    const std::string made_on = verbs().get_device_name(queue->context->device);
    FabricConnection link;
    link.id = std::make_unique<detail::FabricQueueId>(ids_);
    link.entries = entries;
    link.options = options_;
    link.connection.reset(new CmConnection(detail::peer_of(options_), options_.connect_limit));
    if (made_on != link.connection->device())
      throw Error("fabrics: the queue pair is one of " + made_on + ", but " + options_.address + " is reached by " +
                  link.connection->device() + "; make it there");
    link.target_receives =
        detail::connect_fabric(*link.connection, queue, link.qid(), entries, cntlid_, options_.connect_limit);
    link.connect = nvme::fabrics::connect({link.qid(), entries});
    link.data = detail::connect_data(options_, cntlid_);
    return link;
  }

  /// Ends what is left of the connection, and makes a new one, with a new controller. Queues are to be made anew.
  /// Throws as the constructor; then nothing but another reconnect() works.
  void reconnect() {
    stop();
    try {
      start();
    } catch (...) {
      admin_.reset();
      throw;
    }
  }

 private:
  static constexpr uint32_t admin_data_bytes = 64 * 1024;

  void start() {
    admin_ =
        std::make_shared<FabricQueue>(options_, uint16_t{0}, options_.admin_entries, uint16_t{0}, admin_data_bytes);
    device_ = admin_->device();
    const uint32_t dw0 = connect(*admin_, 0, options_.admin_entries, nvme::fabrics::any_controller);
    cntlid_ = nvme::fabrics::ConnectResult{dw0}.cntlid();
    cap_ = nvme::Cap{property(nvme::reg::cap, true)};
    version_ = nvme::Vs{static_cast<uint32_t>(property(nvme::reg::vs, false))};
    enable();
    info_ = ControllerInfo(fetch(nvme::identify_controller()), 12 + cap_.mpsmin());
    constexpr uint8_t discovery = 2;
    granted_ = 0;
    if (options_.subsystem != nvme::fabrics::discovery_nqn && info_.view().cntrltype() != discovery) {
      const AdminResult granted = execute(nvme::set_number_of_queues(options_.queues, options_.queues));
      granted_ = detail::granted_queues(granted.dw0, options_.queues);
    }
    ids_ = std::make_shared<detail::FabricQueueIds>(granted_);
    keeping_->ending = false;
    if (options_.keep_alive.count() != 0) keeper_ = start_service_thread([this] { keep_alive(); });
  }

  /// Sends Connect by the CPU; returns dword 0 of its completion.
  uint32_t connect(FabricQueue& queue, uint16_t qid, uint32_t entries, uint16_t cntlid) {
    nvme::fabrics::ConnectData data = detail::connect_data(options_, cntlid);
    const auto patience = static_cast<uint32_t>(qid == 0 ? options_.keep_alive.count() : 0);
    const AdminResult result =
        queue.run(nvme::fabrics::connect({qid, entries, patience}),
                  {reinterpret_cast<unsigned char*>(&data), sizeof data}, options_.command_limit);
    detail::check_connect(result, options_);
    return result.dw0;
  }

  void enable() {
    constexpr uint32_t all_sets = 6;
    const bool several = (cap_.css() >> all_sets & 1) != 0;
    const nvme::Cc cc = nvme::Cc{}.css(several ? all_sets : 0).iosqes(6).iocqes(4).en(true);
    set_property(nvme::reg::cc, cc.raw, false);
    const Timeout deadline(
        std::max<std::chrono::milliseconds>(std::chrono::milliseconds(500) * cap_.to(), options_.command_limit));
    for (Backoff backoff(std::chrono::microseconds(0), std::chrono::milliseconds(10));; backoff.pause()) {
      const bool late = deadline.passed();
      const nvme::Csts status{static_cast<uint32_t>(property(nvme::reg::csts, false))};
      if (status.cfs()) throw ControllerFailure("fabrics: the controller reports a fatal status (CSTS.CFS)");
      if (status.rdy()) return;
      if (late) throw Error("fabrics: the controller was not ready within " + deadline.text());
    }
  }

  /// Shuts the controller down, if it can be spoken to, and ends the connection.
  void stop() noexcept {
    {
      const std::lock_guard<std::mutex> lock(keeping_->mutex);
      keeping_->ending = true;
    }
    keeping_->wake.notify_all();
    if (keeper_.joinable()) keeper_.join();
    try {
      if (admin_ && admin_->lost().empty()) {
        const nvme::Cc cc{static_cast<uint32_t>(property(nvme::reg::cc, false))};
        set_property(nvme::reg::cc, cc.shn(1).raw, false);
        const Timeout deadline(std::chrono::seconds(2));
        constexpr uint32_t complete = 2;
        for (Backoff backoff(std::chrono::microseconds(0), std::chrono::milliseconds(10)); !deadline.passed();
             backoff.pause())
          if (nvme::Csts{static_cast<uint32_t>(property(nvme::reg::csts, false))}.shst() == complete) break;
      }
    } catch (const std::exception&) {
      // The end of the connection ends the controller, too.
    }
    admin_.reset();
  }

  /// Body of the thread: two messages in the time that the target waits. Other commands tell of a lost connection.
  void keep_alive() {
    std::unique_lock<std::mutex> lock(keeping_->mutex);
    const auto interval = std::max<std::chrono::milliseconds>(options_.keep_alive / 2, std::chrono::milliseconds(10));
    while (!keeping_->wake.wait_for(lock, interval, [&] { return keeping_->ending; })) {
      lock.unlock();
      try {
        admin_->run(nvme::keep_alive(), {}, options_.command_limit);
      } catch (const Error&) {
        return;
      }
      lock.lock();
    }
  }

  FabricQueue& admin() const {
    if (!admin_)
      throw FabricLost("fabrics: there is no connection to " + options_.address + "; connect again: reconnect()");
    return *admin_;
  }

  AdminResult property_command(const nvme::Command& command, const char* name, uint64_t offset) {
    const AdminResult result = admin().run(command, {}, options_.command_limit);
    if (!result.status.is_ok())
      throw Error("fabrics: " + std::string(name) + " of property " + to_hex(offset, 2) +
                  " failed: " + nvme::status_name(result.status.vendor));
    return result;
  }

  IdentifyPage fetch(const nvme::Command& command) {
    std::array<unsigned char, nvme::identify_bytes> bytes{};
    execute(command, {bytes.data(), bytes.size()});
    return IdentifyPage(bytes);
  }

  void check_entries(uint32_t entries) const {
    static_cast<void>(admin());
    if (granted_ == 0)
      throw Error("fabrics: " + options_.subsystem + " is a discovery controller: it has no I/O queues");
    if (entries < 2 || entries > max_queue_entries())
      throw Error("fabrics: a queue of " + std::to_string(entries) + " entries; the target accepts 2 to " +
                  std::to_string(max_queue_entries()));
  }

  /// When the thread that keeps the controller alive ends.
  struct Keeping {
    std::mutex mutex;
    std::condition_variable wake;
    bool ending = false;
  };

  FabricOptions options_;
  Maker maker_;
  std::shared_ptr<FabricQueue> admin_;  // null after a reconnect() that failed
  std::string device_;
  nvme::Cap cap_;
  nvme::Vs version_;
  ControllerInfo info_;
  uint16_t cntlid_ = 0;
  uint32_t granted_ = 0;
  std::shared_ptr<detail::FabricQueueIds> ids_;
  std::shared_ptr<Keeping> keeping_ = std::make_shared<Keeping>();
  ServiceThread keeper_;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END

#endif
