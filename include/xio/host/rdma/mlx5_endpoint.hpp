// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A ConnectX queue pair made for kernels: handles for rdma::QueuePair and rdma::ReceiveQueue. Empty without the
/// header of libmlx5.

#include <xio/config.hpp>

#if __has_include(<infiniband/mlx5dv.h>)

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <xio/host/error.hpp>
#include <xio/host/rdma/device.hpp>
#include <xio/host/rdma/mlx5.hpp>
#include <xio/host/rdma/queue_pair.hpp>
#include <xio/host/rdma/resources.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_rdma
/// @{

/// A ConnectX queue pair with a completion queue for each direction. Not movable: handles point into it.
///
/// After a failure create a new one: the indices of the completion queues survive a reset, those of the rings do not.
template <class Variant = mlx5::Options>
class Mlx5Endpoint {
  static_assert(!Variant::collapsed,
                "libmlx5 cannot create a collapsed completion queue: describe a DEVX queue by DirectQueues");

 public:
  using Vendor = mlx5::Vendor<Variant>;  ///< for rdma::QueuePair and rdma::ReceiveQueue

  /// @param pages  needed if kernels do not run on the CPU
  Mlx5Endpoint(const RdmaDevice& device, const ProtectionDomain& domain, const QueuePairOptions& options = {},
               std::shared_ptr<ReachablePages> pages = nullptr)
      : pages_(std::move(pages)),
        // An operation can take several units of the ring, and each unit can be an operation.
        send_cq_(device, 4 * options.send_entries),
        receive_cq_(device, 2 * options.receive_entries),
        queue_(device, domain, send_cq_, receive_cq_, options, make) {}
  Mlx5Endpoint(const Mlx5Endpoint&) = delete;
  Mlx5Endpoint& operator=(const Mlx5Endpoint&) = delete;

  /// Address data that the peer needs to connect to this queue pair.
  QueuePairAddress address() const { return queue_.address(); }
  VerbsQueuePair& queue() { return queue_; }
  VerbsQueuePair& verbs_queue() { return queue_; }

  /// Connects, once, and locates the rings. The peer connects concurrently.
  void connect(const QueuePairAddress& peer) {
    if (direct_) throw Error("mlx5: queue pair " + std::to_string(queue_.qpn()) + " is connected; make a new one");
    queue_.connect(peer);
    adopt();
  }
  /// Locates the rings, once, of a queue pair that others have connected: FabricController::connect_queue().
  void adopt() {
    Mlx5AdoptOptions options;
    options.receives_to_memory = true;
    direct_.emplace(mlx5_queues(queue_.get(), options, Variant::cqe_bytes, Variant::doorbell_stride), pages_);
  }

  /// Handle from which a kernel posts operations.
  const rdma::QueuePairHandle& handle() const { return direct().handle(); }
  /// Handle from which a kernel posts receives.
  const rdma::ReceiveQueueHandle& receive_handle() const { return direct().receive_handle(); }

 private:
  const DirectQueuePair<Vendor>& direct() const {
    if (!direct_) throw Error("mlx5: queue pair " + std::to_string(queue_.qpn()) + " is not connected");
    return *direct_;
  }

  /// Replaces ibv_create_qp(); received data always goes to memory, however short.
  static ibv_qp* make(ibv_pd* pd, ibv_qp_init_attr* wanted) {
    ibv_qp_init_attr_ex extended{};
    extended.send_cq = wanted->send_cq;
    extended.recv_cq = wanted->recv_cq;
    extended.cap = wanted->cap;
    extended.qp_type = wanted->qp_type;
    extended.sq_sig_all = wanted->sq_sig_all;
    extended.comp_mask = IBV_QP_INIT_ATTR_PD;
    extended.pd = pd;
    mlx5dv_qp_init_attr direct{};
    direct.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS;
    direct.create_flags = MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE;
    return mlx5_library().create_qp(pd->context, &extended, &direct);
  }

  std::shared_ptr<ReachablePages> pages_;
  CompletionQueue send_cq_;
  CompletionQueue receive_cq_;
  VerbsQueuePair queue_;
  std::optional<DirectQueuePair<Vendor>> direct_;  // destroyed first
};

/// @}
}  // namespace host

XIO_NAMESPACE_END

#endif
