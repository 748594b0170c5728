// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief An I/O queue over RDMA for kernels on the CPU, by soft-RoCE or another endpoint. Empty without the headers of
/// libibverbs and librdmacm.

#include <xio/config.hpp>

#if __has_include(<infiniband/verbs.h>) && __has_include(<rdma/rdma_cma.h>)

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <xio/device/fabrics/transport.hpp>
#include <xio/device/nvme/queue.hpp>
#include <xio/host/linux/fork.hpp>
#include <xio/host/nvme/fabric_controller.hpp>
#include <xio/host/nvme/queue_setup.hpp>
#include <xio/host/rdma/rxe_endpoint.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

/// Sizes of a FabricQueueOf.
struct FabricQueueOptions {
  uint32_t entries = 32;            ///< 2 to FabricController::max_queue_entries(); one fewer commands are in flight
  uint32_t nsid = 1;                ///< namespace of commands that name none
  size_t data_bytes = 1024 * 1024;  ///< memory for data, which the target may read and write; at least 1024
  /// That memory, if it is the caller's: page sources and batches may then name it in several queues. The constructor
  /// overwrites its first 1024 bytes; it outlives the queue.
  void* data = nullptr;
};

namespace detail {

/// Lets no more SENDs be in flight than there is room for capsules, of a link and a queue that are filled otherwise.
/// Throws Error if that leaves less than nvme::FabricLink demands.
/// @param units of a SEND
inline void fit_sends(nvme::FabricLink& link, const nvme::QueueHandle& queue, uint32_t units) {
  rdma::QueuePairHandle& send = link.send;
  send.depth = std::min(send.depth, (queue.sq_mask + 1) * units);
  const auto fits = [&] { return send.depth / units > queue.depth + send.signal_every; };
  while (!fits() && send.signal_every > 1) send.signal_every /= 2;
  if (!fits())
    throw Error("fabrics: " + std::to_string(queue.depth) + " commands in flight need room for " +
                std::to_string(queue.depth + 2) + " SENDs in the send ring and as many capsules; there is room for " +
                std::to_string(send.depth / units) + ". Use fewer entries (FabricQueueOptions::entries)");
}

/// What a FabricQueueOf consists of. Handles point into it.
template <class Endpoint>
class FabricQueueParts {
 public:
  using Vendor = typename Endpoint::Vendor;
  using Transport = nvme::OverRdma<Vendor>;

  FabricQueueParts(FabricController& controller, const FabricQueueOptions& options)
      : names_(checked(controller, options)),
        plan_(plan_fabric_queue(options.entries, controller.info(), names_)),
        device_({controller.device(), 1, {}}),  // devices of soft-RoCE and of ConnectX have one port
        domain_(device_),
        endpoint_(device_, domain_, sizes(plan_)),
        rings_(lines(plan_.sq_entries * sizeof(nvme::Sqe) + plan_.cq_entries * sizeof(nvme::Cqe))),
        own_data_(options.data != nullptr ? 0 : lines(options.data_bytes)),
        state_(lines(sizeof(QueueState) + link_bytes(plan_.sq_entries))),
        slots_(plan_.slots),
        failures_(lines(nvme::failure_log_bytes(plan_.failure_entries))),
        notifications_(plan_.slots),
        rings_region_(domain_, rings_.data(), rings_.size() * sizeof(Line), IBV_ACCESS_LOCAL_WRITE),
        data_region_(domain_, options.data != nullptr ? options.data : own_data_.data(), options.data_bytes,
                     detail::target_access),
        connection_(controller.connect_queue(endpoint_.verbs_queue().get(), options.entries)) {
    endpoint_.adopt();
    fill(controller, options);
    const rdma::ReceiveRow<Vendor, Sharing::thread, Policy<>, sizeof(nvme::Cqe)> receives(link_.receive);
    receives.post(Group<Sharing::thread>(1), link_.responses, 0, plan_.cq_entries - 1);
    try {
      connect(controller.options());
    } catch (...) {
      end();
      throw;
    }
  }
  FabricQueueParts(const FabricQueueParts&) = delete;
  FabricQueueParts& operator=(const FabricQueueParts&) = delete;
  ~FabricQueueParts() { end(); }

  const nvme::QueueHandle& handle() const { return handle_; }
  Region data() const {
    return {reinterpret_cast<uintptr_t>(data_region_.data()), data_region_.size(), data_region_.rkey()};
  }
  uint16_t qid() const { return connection_.qid(); }
  const QueuePlan& plan() const { return plan_; }
  const ProtectionDomain& domain() const { return domain_; }
  Status cause() const { return nvme::cause_of(link_); }

  std::string lost() {
    const std::string& why = connection_.connection->lost();
    if (!why.empty() && !failed_) fail();
    return why;
  }

 private:
  struct alignas(64) Line {
    unsigned char byte[64];
  };
  static size_t lines(size_t bytes) { return (bytes + sizeof(Line) - 1) / sizeof(Line); }

  static NamespaceInfo checked(FabricController& controller, const FabricQueueOptions& options) {
    if (options.entries < 2 || options.entries > controller.max_queue_entries())
      throw Error("fabrics: a queue of " + std::to_string(options.entries) + " entries; the target accepts 2 to " +
                  std::to_string(controller.max_queue_entries()));
    if (options.data_bytes < sizeof(nvme::fabrics::ConnectData))
      throw Error("fabrics: data_bytes is " + std::to_string(options.data_bytes) + "; use at least " +
                  std::to_string(sizeof(nvme::fabrics::ConnectData)));
    NamespaceInfo names = controller.identify_namespace(options.nsid);
    detail::check_format("namespace " + std::to_string(options.nsid) + " of " + controller.options().subsystem, names,
                         {});
    return names;
  }

  static QueuePairOptions sizes(const QueuePlan& plan) {
    QueuePairOptions options;
    options.send_entries = plan.sq_entries - 1;
    options.receive_entries = plan.cq_entries - 1;
    options.access = detail::target_access;
    return options;
  }

  void fill(const FabricController& controller, const FabricQueueOptions& options) {
    const auto base = reinterpret_cast<uintptr_t>(rings_.data());
    const uint64_t responses = base + plan_.sq_entries * sizeof(nvme::Sqe);
    link_.send = endpoint_.handle();
    link_.receive = endpoint_.receive_handle();
    link_.capsules = {base, rings_region_.lkey(), plan_.sq_entries - 1};
    link_.responses = {responses, rings_region_.lkey(), plan_.cq_entries - 1};
    link_.data_key = data_region_.rkey();
    handle_.state = reinterpret_cast<QueueState*>(state_.data());
    handle_.depth = plan_.depth;
    handle_.sq = reinterpret_cast<nvme::Sqe*>(base);
    handle_.sq_mask = plan_.sq_entries - 1;
    handle_.cq = reinterpret_cast<const nvme::Cqe*>(responses);
    handle_.cq_mask = plan_.cq_entries - 1;
    handle_.slots = slots_.data();
    handle_.slot_mask = plan_.slots - 1;
    handle_.failures = reinterpret_cast<nvme::FailureLog*>(failures_.data());
    handle_.failure_entries = plan_.failure_entries;
    handle_.notifications = notifications_.data();
    detail::set_limits(handle_, detail::QueueFormat(names_), plan_, controller.info().limits);
    handle_.nsid = options.nsid;
    handle_.page_shift = QueueLimits{}.page_shift;
    handle_.qid = connection_.qid();
    handle_.abi = XIO_ABI_NUMBER;
    handle_.handle_bytes = sizeof(nvme::QueueHandle);
    fit_sends(link_, handle_, rdma::SendRow<Vendor, Sharing::thread, Policy<>, sizeof(nvme::Sqe)>::units);
    point_to(handle_, link_);
  }

  /// The first command, through the queue itself: message 0 is entry 0.
  void connect(const FabricOptions& options) {
    using Queue = nvme::Queue<Sharing::grid, Policy<RingBy<Transport>>>;
    std::memcpy(data_region_.data(), &connection_.data, sizeof connection_.data);
    Queue queue(handle_);
    const auto limit = std::chrono::duration_cast<std::chrono::nanoseconds>(options.command_limit);
    const Deadline until = deadline(Duration{static_cast<uint64_t>(limit.count())});
    const Token token = queue.submit(connection_.connect, data().at(0, sizeof connection_.data), until);
    const Status status = queue.wait(token, until);
    if (status == Status::timed_out || status == Status::broken)
      throw FabricLost("fabrics: " + connection_.connection->name() + " did not answer Connect of queue " +
                       std::to_string(qid()) + " (" + xio::name(status.code) + "); connect again: reconnect()");
    uint64_t result = 0;
    static_cast<void>(queue.result(token, result));
    connection_.check_connect(status, static_cast<uint32_t>(result));
    handle_.state->way_of_use = 0;  // kernels choose their own
  }

  void fail() noexcept {
    try {
      failed_ = true;
      endpoint_.verbs_queue().fail();
    } catch (const std::exception&) {
      // It cannot be more lost than it is.
    }
  }
  /// After it the target reaches no memory.
  void end() noexcept {
    connection_.connection->disconnect();
    fail();
  }

  NamespaceInfo names_;
  QueuePlan plan_;
  RdmaDevice device_;
  ProtectionDomain domain_;
  Endpoint endpoint_;
  std::vector<Line> rings_, own_data_, state_;
  std::vector<nvme::CompletionSlot> slots_;
  std::vector<Line> failures_;
  std::vector<Notification*> notifications_;
  MemoryRegion rings_region_;
  MemoryRegion data_region_;
  FabricConnection connection_;  // ends before the queue pair
  nvme::FabricLink link_{};
  nvme::QueueHandle handle_{};
  bool failed_ = false;
};

}  // namespace detail

/// An I/O queue of a FabricController for kernels that the CPU runs: connected, and ready for
/// `nvme::Queue<Sharing::grid, Policy<RingBy<FabricQueueOf<Endpoint>::Transport>>>`, from all threads.
///
/// `Endpoint` is RxeEndpoint, as of FabricDeviceQueue, or Mlx5Endpoint (xio/host/rdma/mlx5_endpoint.hpp): a queue pair
/// of the device that reaches the target, made by its constructor, whose rings are known after adopt().
///
/// Destroy it before the controller, once no kernel uses it. In a child of fork() its destructor does nothing. Movable.
template <class Endpoint>
class FabricQueueOf {
 public:
  using Vendor = typename Endpoint::Vendor;
  /// Transport of queues, for RingBy.
  using Transport = nvme::OverRdma<Vendor>;

  /// Throws Error if the device is not one of the endpoint's, the target refuses the queue or a size is not accepted,
  /// FabricLost if it does not answer.
  explicit FabricQueueOf(FabricController& controller, const FabricQueueOptions& options = {})
      : parts_(new detail::FabricQueueParts<Endpoint>(controller, options)) {}

  /// For kernels, by value.
  const nvme::QueueHandle& handle() const { return parts_->handle(); }
  /// Memory for data, for submissions.
  Region data() const { return parts_->data(); }
  uint16_t qid() const { return parts_->qid(); }
  const QueuePlan& plan() const { return parts_->plan(); }  ///< actual sizes
  /// To register more memory, with its remote key as key.
  const ProtectionDomain& domain() const { return parts_->domain(); }
  /// Why messages failed; Status::ok: none did. For the host once no kernel uses the queue.
  Status cause() const { return parts_->cause(); }

  /// Why the connection is no longer there; empty while it is. Ends the waits of kernels with Status::broken if it was
  /// lost: call it from time to time while kernels run. One thread at a time.
  std::string lost() { return parts_->lost(); }

 private:
  std::unique_ptr<detail::FabricQueueParts<Endpoint>, DeleteByMaker> parts_;
};

/// By soft-RoCE.
using FabricDeviceQueue = FabricQueueOf<RxeEndpoint>;

/// @}
}  // namespace host

XIO_NAMESPACE_END

#endif
