// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Writes by NVIDIA's DOCA GPUNetIO on a queue pair that was made for this library.
///
/// GPUNetIO's device functions are in NCCL's headers (PyPI: nvidia-nccl-cu13; BSD-3-Clause); scripts/peers-env fetches
/// them.

#include <nccl_device/gin/gdaki/doca_gpunetio/doca_gpunetio_device.h>

#include <xio/device/rdma/handle.hpp>
#include <xio/device/rdma/memory.hpp>
#include <xio/vendors/endian.hpp>

namespace peers {

/// GPUNetIO's description of a queue pair, in the memory of our links, which nobody else uses then and which begins as
/// zero. Any number of threads may do this: all store the same constants, and nobody the counters.
__device__ inline doca_gpu_dev_verbs_qp* gpunetio(const xio::rdma::QueuePairHandle& handle) {
  static_assert(sizeof(doca_gpu_dev_verbs_qp) <= xio::rdma::send_link_bytes(64), "64 entries are enough");
  auto* const qp = reinterpret_cast<doca_gpu_dev_verbs_qp*>(handle.state + 1);
  const uint32_t number = handle.shape.qpn << 8;
  qp->sq_num = handle.shape.qpn;
  qp->sq_num_shift8 = number;
  qp->sq_num_shift8_be = xio::byte_swap(number);
  qp->sq_num_shift8_be_1ds = xio::byte_swap(number | 1);
  qp->sq_num_shift8_be_2ds = xio::byte_swap(number | 2);
  qp->sq_num_shift8_be_3ds = xio::byte_swap(number | 3);
  qp->sq_num_shift8_be_4ds = xio::byte_swap(number | 4);
  qp->sq_wqe_num = handle.shape.entries;
  qp->sq_wqe_mask = handle.shape.entries - 1;
  qp->sq_wqe_daddr = static_cast<uint8_t*>(handle.sq);
  qp->sq_dbrec = handle.sq_record;
  qp->sq_db = static_cast<uint64_t*>(handle.sq_doorbell);
  qp->cq_sq.cqe_daddr = static_cast<uint8_t*>(const_cast<void*>(handle.cq.entries));
  qp->cq_sq.cq_num = handle.cq.number;
  qp->cq_sq.cqe_num = handle.cq.size;
  qp->cq_sq.dbrec = handle.cq.record;
  qp->cq_sq.cqe_mask = handle.cq.size - 1;
  qp->cq_sq.cqe_size = 64;
  qp->cq_sq.cq_type = DOCA_GPUNETIO_VERBS_CQ_64B;
  qp->cq_sq.mem_type = DOCA_GPUNETIO_VERBS_MEM_TYPE_GPU;
  qp->nic_handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB;
  qp->mem_type = DOCA_GPUNETIO_VERBS_MEM_TYPE_GPU;
  return qp;
}

/// Writes `bytes` at the same places `rounds` times, on a queue pair that the whole GPU shares, and waits for each.
/// Returns how often that succeeded.
/// @tparam Scope  whether each thread posts for itself, or the 32 of a warp together
template <doca_gpu_dev_verbs_exec_scope Scope>
__device__ uint32_t gpunetio_puts(const xio::rdma::QueuePairHandle& handle, const xio::rdma::RemoteMemory& to,
                                  const xio::Region& from, uint64_t offset, uint32_t bytes, uint32_t rounds) {
  constexpr auto shared = DOCA_GPUNETIO_VERBS_RESOURCE_SHARING_MODE_GPU;
  constexpr auto handler = DOCA_GPUNETIO_VERBS_NIC_HANDLER_GPU_SM_DB;
  doca_gpu_dev_verbs_qp* const qp = gpunetio(handle);
  const doca_gpu_dev_verbs_addr remote{to.base + offset, xio::byte_swap(to.rkey)};
  const doca_gpu_dev_verbs_addr local{from.base + offset, xio::byte_swap(from.key)};
  uint32_t right = 0;
  for (uint32_t round = 0; round < rounds; ++round) {
    doca_gpu_dev_verbs_ticket_t ticket = 0;
    doca_gpu_dev_verbs_put<shared, handler, Scope, DOCA_GPUNETIO_VERBS_CQ_64B>(qp, remote, local, bytes, &ticket);
    if (doca_gpu_dev_verbs_poll_cq_at<shared, DOCA_GPUNETIO_VERBS_QP_SQ, DOCA_GPUNETIO_VERBS_CQ_64B>(qp, ticket) != 0)
      break;
    ++right;
  }
  return right;
}

}  // namespace peers
