// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief ConnectX: an existing queue pair driven by kernels, through mlx5's direct verbs. Empty without the header of
/// libmlx5.

#include <xio/config.hpp>

#if __has_include(<infiniband/mlx5dv.h>)

#include <endian.h>
#include <infiniband/mlx5dv.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include <xio/host/error.hpp>
#include <xio/host/linux/shared_library.hpp>
#include <xio/host/power_of_two.hpp>
#include <xio/host/rdma/adoption.hpp>
#include <xio/host/rdma/direct_queue_pair.hpp>
#include <xio/vendors/mlx5/traits.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_rdma
/// @{

/// The functions of libmlx5 that set-up uses, named without `mlx5dv_`.
class Mlx5Library {
  // First: the functions are found in it.
  const SharedLibrary library_;

 public:
  /// Throws Error if the library cannot be loaded, or lacks a function.
  explicit Mlx5Library(const std::string& file = "libmlx5.so.1")
      : library_({file}, "install libmlx5 of rdma-core 32 or later (Debian: ibverbs-providers)") {}
  Mlx5Library(const Mlx5Library&) = delete;
  Mlx5Library& operator=(const Mlx5Library&) = delete;

  decltype(&::mlx5dv_init_obj) init_obj = library_.find("mlx5dv_init_obj");
  decltype(&::mlx5dv_is_supported) is_supported = library_.find("mlx5dv_is_supported");
  decltype(&::mlx5dv_create_qp) create_qp = library_.find("mlx5dv_create_qp");
};

/// Returns the library, loaded by the first call that finds it; throws Error if it cannot be loaded.
inline const Mlx5Library& mlx5_library() {
  static const Mlx5Library library;
  return library;
}

/// State of a queue pair that the direct verbs do not report. All posted operations must have completed, and their
/// completions must have been polled.
struct Mlx5AdoptOptions {
  uint64_t send_index = 0;   ///< 64-byte units posted so far; a work request has one or more
  uint64_t completions = 0;  ///< completions polled so far from its send_cq
  uint64_t receives = 0;     ///< receives posted so far, and completions polled from its recv_cq
  /// Received data always goes to the posted memory: created with MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE, or in a
  /// process with MLX5_SCATTER_TO_CQE=0 in its environment. Otherwise the device may store up to 32 bytes in the
  /// completion only, so kernels get no receive queue.
  bool receives_to_memory = false;
};

namespace detail {

inline DirectCompletionRing mlx5_completions(const std::string& name, ibv_cq* cq, uint64_t index,
                                             uint32_t entry_bytes) {
  mlx5dv_cq found{};
  mlx5dv_obj object{};
  object.cq.in = cq;
  object.cq.out = &found;
  // From here on libmlx5 leaves the consumer index to the library.
  const int error = mlx5_library().init_obj(&object, MLX5DV_OBJ_CQ);
  if (error != 0) throw_system_error(name + ": mlx5dv_init_obj failed for a completion queue", error);
  if (found.cqe_size != entry_bytes)
    throw Error(name + " cannot be adopted: its completions have " + std::to_string(found.cqe_size) +
                " bytes and not " + std::to_string(entry_bytes) + "; use mlx5::Vendor with another Options::cqe_bytes");
  if (found.dbrec == nullptr) throw Error(name + " cannot be adopted: a completion queue has no record");
  const uint32_t consumer = be32toh(__atomic_load_n(found.dbrec + mlx5::consumer_record, __ATOMIC_ACQUIRE));
  if (((consumer ^ index) & mlx5::consumer_index_mask) != 0)
    throw Error(name + " cannot be adopted: " + std::to_string(consumer) +
                " completions of a completion queue were polled, and not " + std::to_string(index) + " (modulo 2^24)");

  DirectCompletionRing ring;
  ring.entries = found.buf;
  ring.count = found.cqe_cnt;
  ring.number = found.cqn;
  ring.record = reinterpret_cast<uint32_t*>(found.dbrec) + mlx5::consumer_record;
  ring.index = index;
  return ring;
}

inline void mlx5_check_record(const std::string& name, const __be32* record, uint64_t index, const char* what) {
  const uint32_t posted = be32toh(__atomic_load_n(record, __ATOMIC_ACQUIRE));
  if (((posted ^ index) & mlx5::record_counter_mask) != 0)
    throw Error(name + " cannot be adopted: " + std::to_string(posted) + " " + what + " were posted, and not " +
                std::to_string(index) + " (modulo 2^16); is it in use?");
}

}  // namespace detail

/// Locates the queues of an RC queue pair. Takes over its completion queues: libmlx5 no longer polls them. Throws Error
/// if it cannot be adopted.
/// @param cqe_bytes        64 or 128, as in mlx5::Options
/// @param doorbell_stride  bytes between the two halves of the BlueFlame register, or 0, as in mlx5::Options
/// Source: rdma-core, providers/mlx5/man/mlx5dv_init_obj.3
inline DirectQueues mlx5_queues(ibv_qp* qp, const Mlx5AdoptOptions& options = {}, uint32_t cqe_bytes = 64,
                                uint32_t doorbell_stride = 0) {
  DirectQueues queues = detail::adoptable("mlx5", qp);
  const auto refuse = [&](const std::string& why) { throw Error(queues.name + " cannot be adopted: " + why); };
  if (!mlx5_library().is_supported(qp->context->device)) refuse("its device is no ConnectX");
  mlx5dv_qp found{};
  mlx5dv_obj object{};
  object.qp.in = qp;
  object.qp.out = &found;
  const int error = mlx5_library().init_obj(&object, MLX5DV_OBJ_QP);
  if (error != 0) throw_system_error(queues.name + ": mlx5dv_init_obj failed", error);

  if (found.sq.stride != mlx5::wqebb_bytes)
    refuse("its send ring has units of " + std::to_string(found.sq.stride) + " bytes and not 64");
  // One lap must not exhaust the 16-bit counters.
  if (found.sq.wqe_cnt == 0 || found.sq.wqe_cnt > 32768)
    refuse("its send ring has " + std::to_string(found.sq.wqe_cnt) + " units; 1 to 32768 are supported");
  if (found.dbrec == nullptr || found.bf.reg == nullptr) refuse("its doorbell record or register is unknown");
  detail::mlx5_check_record(queues.name, found.dbrec + mlx5::send_record, options.send_index, "units");

  queues.sq = found.sq.buf;
  queues.shape.entries = found.sq.wqe_cnt;
  queues.shape.entry_shift = mlx5::SendEncoder<>::unit_shift;
  queues.sq_record = reinterpret_cast<uint32_t*>(found.dbrec) + mlx5::send_record;
  // The two halves (bf.size != 0) alternate for copies of whole entries. 8-byte doorbells may all use the first half.
  if (doorbell_stride != 0 && found.bf.size != doorbell_stride)
    refuse("the halves of its doorbell register have " + std::to_string(found.bf.size) + " bytes and not " +
           std::to_string(doorbell_stride) + "; use mlx5::Vendor with another Options::doorbell_stride");
  queues.sq_doorbell = found.bf.reg;
  queues.send_depth = 0;  // all units: max_send_wr counts work requests
  queues.send_index = options.send_index;

  if (queues.no_receives.empty() && !options.receives_to_memory)
    queues.no_receives =
        "small messages may arrive in completions instead of in memory; see Mlx5AdoptOptions::receives_to_memory";
  if (queues.no_receives.empty()) {
    detail::mlx5_check_record(queues.name, found.dbrec + mlx5::receive_record, options.receives, "receives");
    const uint32_t stride = found.rq.stride;
    if (stride < mlx5::segment_bytes || !is_power_of_two(stride))
      refuse("its receive ring has entries of " + std::to_string(stride) + " bytes");
    queues.rq = found.rq.buf;
    queues.rq_record = reinterpret_cast<uint32_t*>(found.dbrec) + mlx5::receive_record;
    queues.receive_shape.entries = found.rq.wqe_cnt;
    queues.receive_shape.entry_shift = static_cast<uint32_t>(__builtin_ctz(stride));
  }

  queues.cq = detail::mlx5_completions(queues.name, qp->send_cq, options.completions, cqe_bytes);
  if (queues.no_receives.empty())
    queues.receive_cq = detail::mlx5_completions(queues.name, qp->recv_cq, options.receives, cqe_bytes);
  return queues;
}

/// Hands an existing RC queue pair in state RTS to kernels. The caller still owns it, must not post to it or poll its
/// completion queues meanwhile, and must reset or destroy it after the returned object.
///
/// Its completion queues must serve it alone, and must not be compressed. Throws Error if it cannot be adopted.
/// @param pages  needed if kernels do not run on the CPU
///
/// @snippet rdma_host.cpp adopt_mlx5
template <class Variant = mlx5::Options>
DirectQueuePair<mlx5::Vendor<Variant>> adopt_mlx5(ibv_qp* qp, const Mlx5AdoptOptions& options = {},
                                                  std::shared_ptr<ReachablePages> pages = nullptr) {
  static_assert(!Variant::signature, "not supported: receives would need signatures too");
  static_assert(!Variant::collapsed,
                "libmlx5 cannot create a collapsed completion queue: describe a DEVX queue by DirectQueues");
  return DirectQueuePair<mlx5::Vendor<Variant>>(mlx5_queues(qp, options, Variant::cqe_bytes, Variant::doorbell_stride),
                                                std::move(pages));
}

/// @}
}  // namespace host

XIO_NAMESPACE_END

#endif
