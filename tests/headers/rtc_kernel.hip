// SPDX-License-Identifier: MIT

/// @file
/// @brief Every device and vendor header, and kernels that use queues of every kind, compiled at run time: no system
/// header is within reach.

#include <xio_device_headers.hpp>

extern "C" __global__ void first_lane_of_wave(xio::uint32_t* out) {
  if (xio::arch::is_first(xio::arch::active())) out[xio::arch::block_index()] = xio::arch::lane();
}

// Other compilers meet queues in the tests of code generation.
#if defined(__CUDACC_RTC__) || defined(__HIPCC_RTC__)
using namespace xio;

extern "C" __global__ void read_block(nvme::QueueHandle handle, Region data, Status* status) {
  nvme::Queue<Sharing::grid> queue(handle);
  const uint32_t thread = arch::block_index() * arch::block_size() + arch::thread_index();
  const uint32_t bytes = 1u << handle.block_shift;
  const Deadline until = queue.deadline(1_s);
  const Token token = queue.read(thread, data.at(uint64_t{thread} * bytes, bytes), until);
  status[thread] = queue.wait(token, until);
}

extern "C" __global__ void read_batch(nvme::QueueHandle handle, const nvme::Piece* pieces, uint32_t count,
                                      Status* status) {
  nvme::Queue<Sharing::wave> queue(handle);
  const Deadline until = queue.deadline(1_s);
  *status = queue.wait_batch(queue.submit_batch(nvme::Opcode::read, pieces, count, until), until);
}

#if defined(__CUDACC_RTC__)
template <class QueuePair, class ReceiveQueue>
__device__ void exchange(const rdma::QueuePairHandle& handle, const rdma::ReceiveQueueHandle& receives, Region local,
                         rdma::RemoteMemory remote, Status* status) {
  QueuePair qp(handle);
  ReceiveQueue rq(receives);
  const Deadline until = qp.deadline(1_s);
  const Token message = rq.post(local.at(64, 64), until);
  status[0] = qp.wait(qp.put(remote.at(0, 64), local.at(0, 64), until), until);
  status[1] = rq.wait(message, until).status;
}

extern "C" __global__ void exchange_all(rdma::QueuePairHandle handle, rdma::ReceiveQueueHandle receives, Region local,
                                        rdma::RemoteMemory remote, Status* status) {
  exchange<mlx5::QueuePair<Sharing::wave>, mlx5::ReceiveQueue<Sharing::wave>>(handle, receives, local, remote, status);
  exchange<bnxt::QueuePair<Sharing::grid>, bnxt::ReceiveQueue<Sharing::grid>>(handle, receives, local, remote, status);
  exchange<ionic::QueuePair<Sharing::wave>, ionic::ReceiveQueue<Sharing::wave>>(handle, receives, local, remote,
                                                                                status);
  exchange<ernic::QueuePair<Sharing::grid>, ernic::ReceiveQueue<Sharing::grid>>(handle, receives, local, remote,
                                                                                status);
  exchange<rxe::QueuePair<Sharing::wave>, rxe::ReceiveQueue<Sharing::wave>>(handle, receives, local, remote, status);
}
#endif
#endif
