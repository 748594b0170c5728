// SPDX-License-Identifier: MIT

/// @file
/// @brief The kernels of the page cache's tests as GPU code, and those whose instructions are counted.

#include "cache/kernels.hpp"

using namespace cache_tests;

extern "C" XIO_BOUNDED_KERNEL(256) void cache_read_only(CacheHandle cache, Job job, Result* result) {
  work<xio::ReadOnly, only(Work::random)>(cache, job, result);
}
extern "C" XIO_BOUNDED_KERNEL(256) void cache_write_back(CacheHandle cache, Job job, Result* result) {
  work<xio::WriteBack, only(Work::put_get)>(cache, job, result);
}
extern "C" XIO_BOUNDED_KERNEL(256) void cache_flush(CacheHandle cache, Job job, Result* result) {
  xio::Cache<xio::WriteBack> all(cache, 0);
  const Status status = all.flush(xio::deadline(job.limit));
  if (!status.is_ok()) xio::arch::fetch_add<xio::arch::Scope::system>(&result->failed, uint64_t{1});
}

namespace {

/// What a step costs: `job.steps` times by one wave, of lanes in one page (version 0), or in a page each (version 1).
template <class Step>
XIO_DEVICE_INLINE void repeat(const CacheHandle& cache, const Job& job, Result* result, Step step) {
  const uint32_t lane = xio::arch::thread_index();
  const uint32_t page_elements = (1u << cache.page_shift) / 8;
  uint64_t sum = 0;
  for (uint32_t n = 0; n < job.steps; ++n)
    sum += step(job.version == 0 ? (lane + n) % page_elements : uint64_t{lane} * page_elements + n % page_elements, n);
  xio::arch::fetch_add<xio::arch::Scope::system>(&result->right, sum);
}

}  // namespace

/// The loop, and a load of each lane.
extern "C" XIO_BOUNDED_KERNEL(64) void cost_load(CacheHandle cache, Job job, Result* result) {
  repeat(cache, job, result, [&](uint64_t i, uint32_t) {
    return xio::arch::load<xio::arch::Scope::system>(reinterpret_cast<const uint64_t*>(cache.data) + i);
  });
}
/// With version 2, of pages that are absent: each step another one for each lane.
extern "C" XIO_BOUNDED_KERNEL(64) void cost_get(CacheHandle cache, Job job, Result* result) {
  BlockArray<uint64_t> array(cache, 0);
  const Deadline until = xio::deadline(job.limit);
  const uint64_t stride = job.version == 2 ? uint64_t{xio::arch::wave_size()} << cache.page_shift >> 3 : 0;
  uint64_t first = 0;
  repeat(cache, job, result, [&](uint64_t i, uint32_t) {
    uint64_t value = 0;
    const bool good = array.get(first + i, value, until).is_ok();
    first += stride;
    return good ? 1 : 0;
  });
}
extern "C" XIO_BOUNDED_KERNEL(64) void cost_put(CacheHandle cache, Job job, Result* result) {
  BlockArray<uint64_t, xio::WriteBack> array(cache, 0);
  const Deadline until = xio::deadline(job.limit);
  repeat(cache, job, result, [&](uint64_t i, uint32_t n) { return array.put(i, n, until).is_ok() ? 1 : 0; });
}
/// The reads of the absent pages by the queue itself.
extern "C" XIO_BOUNDED_KERNEL(64) void cost_read(CacheHandle cache, Job job, Result* result) {
  xio::nvme::Queue<xio::Sharing::grid, xio::ReadOnly::QueuePolicy> queue(*cache.drives.queues);
  const Deadline until = xio::deadline(job.limit);
  const uint32_t page = 1u << cache.page_shift;
  repeat(cache, job, result, [&](uint64_t i, uint32_t n) {
    const auto span = cache.memory.at(uint64_t{xio::arch::lane()} * page, page).on(0);
    const uint64_t number = i / (page / 8) + uint64_t{n} * xio::arch::wave_size();
    return queue.wait(queue.read(number * (page / 512), span, until), until).is_ok() ? 1 : 0;
  });
}
