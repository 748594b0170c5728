// SPDX-License-Identifier: MIT
// Kernels over all sharing modes, policies, doorbells and calls of the facade. They must compile for every target and need
// no memory of their own: no scratch on AMD GPUs, no stack on NVIDIA's.

#include <xio/xio.hpp>

using namespace xio;

namespace {

struct Work {
  uint64_t lba;
  uint64_t bus;
  const nvme::Piece* pieces;
  uint32_t count;
  Token* tokens;
  Status* statuses;
  Notification* progress;
};

template <class Queue>
XIO_DEVICE void submit_and_wait(Queue queue, const Work& work) {
  const uint32_t thread = arch::thread_index();
  const Deadline until = queue.deadline(1_ms);
  const Token token = queue.submit(nvme::read(work.lba + thread * 8, 8),
                                   nvme::ContiguousPages{work.bus + thread * uint64_t{4096}}, until);
  work.tokens[thread] = token;
  work.statuses[thread] = queue.wait(token, until);
}

template <class Queue>
XIO_DEVICE void batch_and_wait(Queue queue, const Work& work) {
  const Deadline until = queue.deadline(1_ms);
  const Token token = queue.submit_batch(nvme::Opcode::read, work.pieces, work.count, until);
  work.statuses[arch::thread_index()] = queue.wait_batch(token, until);
}

template <class Queue>
XIO_DEVICE void other_waits(Queue queue, const Work& work) {
  const uint32_t thread = arch::thread_index();
  const Deadline until = queue.deadline(1_ms);
  (void)queue.submit(nvme::flush(), nvme::NoData{}, until);
  queue.ring();
  uint32_t which = 0;
  work.statuses[thread] = queue.wait_any(work.tokens, work.count, until, which);
  const Status all = queue.wait_all(work.tokens, work.count, until);
  if (!all.is_ok()) work.statuses[thread] = all;
  const Status rest = queue.quiet(until);
  if (!rest.is_ok()) work.statuses[thread] = rest;
}

}  // namespace

extern "C" __global__ void thread_mode(nvme::QueueHandle handle, Work work) {
  submit_and_wait(nvme::Queue<Sharing::thread, xio::Policy<>>(handle), work);
}
extern "C" __global__ void thread_mode_shadow(nvme::QueueHandle handle, Work work) {
  batch_and_wait(nvme::Queue<Sharing::thread, xio::Policy<xio::RingBy<ShadowDoorbell>>>(handle), work);
}
extern "C" __global__ void thread_mode_narrow(nvme::QueueHandle handle, Work work) {
  batch_and_wait(nvme::Queue<Sharing::thread, Policy<NarrowSlots>>(handle), work);
}
extern "C" __global__ void wave_mode(nvme::QueueHandle handle, Work work) {
  submit_and_wait(nvme::Queue<Sharing::wave, xio::Policy<>>(handle), work);
}
extern "C" __global__ void wave_mode_batch(nvme::QueueHandle handle, Work work) {
  batch_and_wait(nvme::Queue<Sharing::wave, xio::Policy<>>(handle), work);
}
extern "C" __global__ void wave_mode_through(nvme::QueueHandle handle, Work work) {
  batch_and_wait(nvme::Queue<Sharing::wave, Policy<WriteThrough>>(handle), work);
}
extern "C" __global__ void wave_mode_session(nvme::QueueHandle handle, Work work) {
  auto session = nvme::Queue<Sharing::wave, xio::Policy<>>(handle).session();
  for (uint32_t i = 0; i < work.count; ++i) submit_and_wait(session, work);
  session.end();
}
extern "C" __global__ void block_mode_deferred(nvme::QueueHandle handle, Work work) {
  batch_and_wait(nvme::Queue<Sharing::block, Policy<Deferred<8>>>(handle), work);
}
extern "C" __global__ void grid_mode(nvme::QueueHandle handle, Work work) {
  submit_and_wait(nvme::Queue<Sharing::grid, xio::Policy<>>(handle), work);
}
extern "C" __global__ void grid_mode_shadow(nvme::QueueHandle handle, Work work) {
  batch_and_wait(nvme::Queue<Sharing::grid, xio::Policy<xio::RingBy<ShadowDoorbell>>>(handle), work);
}
extern "C" __global__ void grid_mode_waits(nvme::QueueHandle handle, Work work) {
  other_waits(nvme::Queue<Sharing::grid, xio::Policy<>>(handle), work);
}
extern "C" __global__ void thread_mode_waits(nvme::QueueHandle handle, Work work) {
  other_waits(nvme::Queue<Sharing::thread, Policy<Deferred<4>>>(handle), work);
}

// A compare that the host's Placed policy makes of every wait: data in device memory, completions in the host's.
extern "C" __global__ void grid_mode_placed(nvme::QueueHandle handle, Work work) {
  batch_and_wait(nvme::Queue<Sharing::grid, Policy<Placed<Memory::host, Memory::device>>>(handle), work);
}

extern "C" __global__ void transfer(nvme::QueueHandle handle, Work work) {
  nvme::Queue<Sharing::grid, Policy<Notify>> queue(handle);
  work.statuses[arch::thread_index()] =
      queue.transfer(nvme::Opcode::write, work.pieces, work.count, queue.deadline(1_s), *work.progress);
}

// Data described by an SGL of two pieces.
extern "C" __global__ void sgl(nvme::QueueHandle handle, Work work) {
  nvme::Queue<Sharing::wave, Trusting> queue(handle);
  const nvme::ContiguousPages pages{work.bus};
  work.tokens[arch::thread_index()] = queue.submit(nvme::write(work.lba, 8), nvme::as_sgl(pages), queue.deadline(1_ms));
}

extern "C" __global__ void drives(nvme::DriveSetHandle set, Work work) {
  nvme::DriveSet<Sharing::grid> drives(set, arch::block_index());
  const nvme::DriveToken token = drives.submit(nvme::read(work.lba + arch::thread_index() * 8, 8),
                                               nvme::ContiguousPages{work.bus}, deadline(1_ms));
  work.statuses[arch::thread_index()] = drives.wait(token, deadline(1_ms));
}
