// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Buffers that are used again: a get into memory from which the kernel has just loaded, or which it has filled
/// by plain stores.

#include <scenarios/kernels/job.hpp>

namespace scenarios {

/// Loads a block that the host has filled, and gets zeros into it while the loads may be under way: they must not see
/// what the device writes.
template <class Vendor, class Policy>
XIO_DEVICE void loaded(const RdmaJob& job) {
  using namespace xio;
  const uint32_t self = thread_number();
  if (self >= job.lanes) return;
  rdma::QueuePair<Vendor, Sharing::thread, Policy> qp(job.handle);
  auto session = qp.session();
  const uint64_t at = self * thread_bytes;
  const uint64_t* const in = job.data + at / 8 + block_words;
  const Deadline limit = session.deadline(Duration{job.patience_ns});
  const uint64_t first = in[0];
  const uint64_t last = in[block_words - 1];
  const Token token =
      session.get(job.local.at(at + block_bytes, block_bytes), job.remote.at(at + block_bytes, block_bytes), limit);
  const Status status = session.wait(token, limit);
  count(job.report, status, first == word_of(self, 0) && last == word_of(self, block_words - 1), 17);
  count(job.report, status, in[0] == 0 && in[block_words - 1] == 0, 18);
  session.end();
}

/// Puts a block, zeroes another, and gets the first into it: no older store may arrive after the device's data.
template <class Vendor, class Policy>
XIO_DEVICE void zeroed(const RdmaJob& job) {
  using namespace xio;
  const uint32_t self = thread_number();
  rdma::QueuePair<Vendor, Sharing::grid, Policy> qp(job.handle);
  const uint64_t at = self * thread_bytes;
  uint64_t* const out = job.data + at / 8;
  uint64_t* const in = out + block_words;
  const uint32_t bytes = job.words * 8;
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const uint64_t stamp = uint64_t{self} << 32 | round;
    const Deadline limit = qp.deadline(Duration{job.patience_ns});
    fill(out, stamp, job.words);
    arch::release_system();
    Status status = qp.wait(qp.put(job.remote.at(at, bytes), job.local.at(at, bytes), limit), limit);
    count(job.report, status, true, 19);
    for (uint32_t i = 0; i < job.words; ++i) in[i] = 0;
    arch::release_system();
    status = qp.wait(qp.get(job.local.at(at + block_bytes, bytes), job.remote.at(at, bytes), limit), limit);
    count(job.report, status, holds(in, stamp, job.words), 20);
  }
}

}  // namespace scenarios
