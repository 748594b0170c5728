// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Kernels of the GPU tests: the same queue code that the host tests run, launched for real.

#include <xio/device/nvme/drive_set.hpp>
#include <xio/device/nvme/queue.hpp>

#include <gpu/null_device.hpp>
#include <gpu/runtime.hpp>

namespace gpu {

/// What a kernel found.
struct Outcome {
  unsigned long long passed;
  unsigned long long failed;
  unsigned int first_status;  ///< of a failed operation: code | vendor << 16
};

XIO_DEVICE uint32_t lane_number() {
  return xio::arch::block_index() * xio::arch::block_size() + xio::arch::thread_index();
}

XIO_DEVICE void count(Outcome* outcome, xio::Status status, bool right) {
  using xio::arch::Scope;
  if (status.is_ok() && right) {
    xio::arch::fetch_add<Scope::system>(&outcome->passed, 1ull);
    return;
  }
  if (xio::arch::fetch_add<Scope::system>(&outcome->failed, 1ull) == 0) {
    xio::arch::store<Scope::system>(&outcome->first_status, xio::protocol::pack(status));
  }
}

/// Lanes 0 to `lanes - 1` each write blocks of their own, read them back into other memory, and compare.
/// @param bytes  of one write; `data` holds twice as much for each lane
template <xio::Sharing S, class Policy>
__global__ void write_read_compare(xio::nvme::QueueHandle handle, uint64_t bus, uint64_t* data, uint32_t bytes,
                                   uint32_t lanes, uint32_t rounds, Outcome* outcome) {
  using namespace xio;
  const uint32_t self = lane_number();
  if (self >= lanes) return;
  const uint32_t words = bytes / 8;
  nvme::Queue<S, Policy> queue(handle);
  const uint32_t blocks = bytes >> handle.block_shift;
  uint64_t* const out = data + uint64_t{self} * 2 * words;
  uint64_t* const in = out + words;
  const uint64_t out_bus = bus + uint64_t{self} * 2 * bytes;
  for (uint32_t round = 0; round < rounds; ++round) {
    const uint64_t stamp = uint64_t{self} << 32 | round;
    for (uint32_t i = 0; i < words; ++i) {
      out[i] = stamp * 0x9e3779b97f4a7c15u + i;
      in[i] = 0;
    }
    queue.publish_payload();
    const Deadline until = queue.deadline(10_s);
    Token token = queue.submit(nvme::write(uint64_t{self} * blocks, blocks), nvme::ContiguousPages{out_bus}, until);
    Status status = queue.wait(token, until);
    if (status.is_ok()) {
      token = queue.submit(nvme::read(uint64_t{self} * blocks, blocks), nvme::ContiguousPages{out_bus + bytes}, until);
      status = queue.wait(token, until);
    }
    bool right = true;
    for (uint32_t i = 0; i < words; ++i) right = right && in[i] == stamp * 0x9e3779b97f4a7c15u + i;
    count(outcome, status, right);
  }
}

/// One wave keeps batches of `batch` pieces in flight.
template <class Policy>
__global__ void batches(xio::nvme::QueueHandle handle, const xio::nvme::Piece* pieces, uint32_t batch, uint32_t rounds,
                        Outcome* outcome) {
  using namespace xio;
  nvme::Queue<Sharing::wave, Policy> queue(handle);
  for (uint32_t round = 0; round < rounds; ++round) {
    const Deadline until = queue.deadline(10_s);
    const Token token = queue.submit_batch(nvme::Opcode::read, pieces, batch, until);
    const Status status = queue.wait_batch(token, until);
    if (arch::lane() == 0) count(outcome, status, true);
  }
}

/// Every wave of the grid moves pieces of its own through the shared queue.
static __global__ void transfers(xio::nvme::QueueHandle handle, const xio::nvme::Piece* pieces, uint32_t per_wave,
                                 xio::Notification* progress, Outcome* outcome) {
  using namespace xio;
  nvme::Queue<Sharing::grid, Policy<Notify>> queue(handle);
  const uint32_t wave = lane_number() / arch::wave_size();
  const Status status = queue.transfer(nvme::Opcode::read, pieces + uint64_t{wave} * per_wave, per_wave,
                                       queue.deadline(20_s), progress[wave]);
  if (arch::lane() == 0) count(outcome, status, true);
}

/// Every lane submits an operation that the device refuses.
template <xio::Sharing S>
__global__ void refused(xio::nvme::QueueHandle handle, uint64_t bus, uint32_t lanes, Outcome* outcome) {
  using namespace xio;
  if (lane_number() >= lanes) return;
  handle.namespace_blocks = 0;  // let the device find out
  nvme::Queue<S> queue(handle);
  const Deadline until = queue.deadline(10_s);
  const Token token = queue.submit(nvme::read(uint64_t{1} << 40, 1), nvme::ContiguousPages{bus}, until);
  const Status status = queue.wait(token, until);
  count(outcome, Status::ok, status == Status(Status::capacity, status.vendor) && (status.vendor & 0x7ff) == 0x80);
}

/// The null device, one wave for each queue.
[[maybe_unused]] static __global__ void null_device(const NullQueue* queues, const uint32_t* stop) {
  serve_null_queue(queues[xio::arch::block_index()], stop);
}

}  // namespace gpu
