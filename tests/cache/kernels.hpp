// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Kernels of the page cache's tests, for the CPU, and as GPU code for the model.

#include <xio/cache.hpp>

namespace cache_tests {

using xio::BlockArray;
using xio::CacheHandle;
using xio::Deadline;
using xio::Duration;
using xio::Status;

/// Content of element `i`, of each version another.
XIO_DEVICE constexpr uint64_t content(uint64_t i, uint64_t version) {
  const uint64_t x = (i + version * 0x1234567) * 0x9e3779b97f4a7c15;
  return x ^ x >> 29;
}

enum class Work : uint32_t {
  random,    ///< gets of elements of any page
  one_page,  ///< gets of all threads from one page, which changes with each step
  ahead,     ///< random, with a prefetch of the next one
  bracket,   ///< random, by array[i]
  put,       ///< puts, each thread elements of its own, in turn
  put_get,   ///< the same, far from each other, and gets of what was put
  pinned,    ///< reads by pin(), ordinary loads
};

/// All kinds of work; a kernel that does only some has less code.
constexpr uint32_t all_work = ~0u;
XIO_DEVICE constexpr uint32_t only(Work work) { return 1u << static_cast<uint32_t>(work); }

struct Job {
  uint64_t elements;  ///< of the array
  uint64_t version;
  uint32_t steps;  ///< of each thread
  Work work;
  Duration limit;
};

struct Result {
  uint64_t right, wrong, failed;
  uint32_t first;  ///< Status::pack() of one of the first errors
};

XIO_DEVICE_INLINE uint64_t next_random(uint64_t& state) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return state >> 20;
}

/// @tparam Kinds only() of what the kernel does
template <class Options, uint32_t Kinds = all_work>
XIO_DEVICE_INLINE void work(const CacheHandle& cache, const Job& job, Result* result) {
  namespace arch = xio::arch;
  constexpr arch::Scope system = arch::Scope::system;
  const uint32_t thread = arch::block_index() * arch::block_size() + arch::thread_index();
  const uint32_t threads = arch::grid_size() * arch::block_size();
  BlockArray<uint64_t, Options> array(cache, thread / arch::wave_size(), 0, job.limit);
  uint64_t random = content(thread, 77);
  uint64_t next = next_random(random) % job.elements;
  uint64_t right = 0;
  for (uint32_t step = 0; step < job.steps; ++step) {
    const Deadline until = xio::deadline(job.limit);
    uint64_t i = next, value = 0;
    Status status;
    next = next_random(random) % job.elements;
    const auto does = [&](Work work) { return (Kinds & only(work)) != 0 && job.work == work; };
    if (does(Work::put) || does(Work::put_get)) {
      const uint32_t mine = job.work == Work::put ? thread : static_cast<uint32_t>(uint64_t{thread} * 40503 % threads);
      i = (uint64_t{step} * threads + mine) % job.elements;
      if constexpr (Options::writes) status = array.put(i, content(i, job.version), until);
      value = content(i, job.version);
    }
    if (does(Work::one_page)) i = (uint64_t{step} * (1u << cache.page_shift) / 8 + thread) % job.elements;
    if (does(Work::ahead)) (void)array.prefetch(next, until).status;
    if (does(Work::bracket)) {
      value = array[i];
      status = array.status();
    } else if (does(Work::pinned)) {
      // One lane after the other: none holds a pin while another waits.
      const uint64_t group = arch::together(0);
      for (uint32_t lane = 0; lane < arch::wave_size(); ++lane) {
        if (lane == arch::lane()) {
          const xio::PinnedPage page = array.cache().pin(array.page_of(i), until);
          status = page.status;
          if (status.is_ok()) __builtin_memcpy(&value, page.data + array.offset_of(i), 8);
          array.cache().unpin(page);
        }
        arch::converge(group);
      }
    } else if (!does(Work::put) && status.is_ok()) {
      status = array.get(i, value, until);
    }
    if (status.is_ok() && value == content(i, job.version)) {
      ++right;
    } else if (status.is_ok()) {
      arch::fetch_add<system>(&result->wrong, uint64_t{1});
    } else {
      arch::fetch_add<system>(&result->failed, uint64_t{1});
      arch::store<system>(&result->first, status.pack());
    }
  }
  arch::fetch_add<system>(&result->right, right);
}

}  // namespace cache_tests
