// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Kernels of kernels.hpp on the CPU, over Drives, and what a launch has found.

#include <cstdlib>

#include "cache/drives.hpp"

#include <xio/host/simt/simt.hpp>

namespace cache_tests {

using namespace xio::literals;
using xio::emulation::Match;

XIO_KERNEL void read_only(CacheHandle cache, Job job, Result* result) { work<xio::ReadOnly>(cache, job, result); }
XIO_KERNEL void write_back(CacheHandle cache, Job job, Result* result) { work<xio::WriteBack>(cache, job, result); }

/// flush() by all waves.
XIO_KERNEL void flush(CacheHandle cache, Duration limit, Result* result) {
  namespace arch = xio::arch;
  const uint32_t thread = arch::block_index() * arch::block_size() + arch::thread_index();
  xio::Cache<xio::WriteBack> all(cache, thread / arch::wave_size());
  const Status status = all.flush(xio::deadline(limit));
  if (status.is_ok()) return;
  arch::fetch_add<arch::Scope::system>(&result->failed, uint64_t{1});
  arch::store<arch::Scope::system>(&result->first, status.pack());
}

/// Longer than any wait that ends by itself on a busy machine. XIO_TESTS_PATIENCE overrides it, in seconds, for runs
/// that must fail.
inline const xio::Duration patience = [] {
  const char* const seconds = std::getenv("XIO_TESTS_PATIENCE");
  return seconds != nullptr ? xio::Duration{std::strtoull(seconds, nullptr, 10) * 1000000000} : 60_s;
}();

/// The drives complete out of order.
class Rig : public Drives {
 public:
  explicit Rig(const Shape& shape, const xio::host::Executor& executor = {},
               const xio::emulation::MemorySource& memory = {})
      : Drives(shape, memory, executor) {
    for (auto* const model : models) model->faults().reorder(4);
  }

  /// Commands of an opcode that the drives have fetched.
  uint64_t commands(uint8_t opcode) const {
    uint64_t sum = 0;
    for (const auto* model : models) {
      const auto queues = model->statistics().queues;
      for (size_t qid = 1; qid < queues.size(); ++qid) sum += queues[qid].by_opcode[opcode];
    }
    return sum;
  }

  /// As of protocol::ClaimWord::break_queue(): waits end, and claims are refused.
  void break_queue(uint32_t drive) {
    xio::QueueState* const state = cache->drives().queues()[drive].handle().state;
    __atomic_store_n(&state->broken, 1, __ATOMIC_RELEASE);
    __atomic_fetch_xor(&state->reserved, xio::protocol::broken_bit | xio::protocol::broken_bit >> 32, __ATOMIC_ACQ_REL);
  }

  template <class Kernel, class... Arguments>
  Result launch(uint32_t threads, Kernel kernel, const Arguments&... arguments) {
    Result result{};
    xio::simt::Grid grid;
    grid.threads_per_block = threads < 64 ? threads : 64;
    grid.blocks = threads / grid.threads_per_block;
    grid.wave_size = wave_size;
    xio::simt::launch(grid, kernel, cache->handle(), arguments..., &result);
    return result;
  }
  template <class Kernel>
  Result run(uint32_t threads, Kernel kernel, Work work, uint32_t steps, uint64_t version = 0,
             xio::Duration limit = patience) {
    return launch(threads, kernel, Job{elements(), version, steps, work, limit});
  }
  Result write_everything(uint32_t threads, uint64_t version, xio::Duration limit = patience) {
    return run(threads, write_back, Work::put, static_cast<uint32_t>((elements() + threads - 1) / threads), version,
               limit);
  }
  Result flush_all(uint32_t threads = 64, xio::Duration limit = patience) { return launch(threads, flush, limit); }

  uint32_t wave_size = 64;
};

}  // namespace cache_tests
