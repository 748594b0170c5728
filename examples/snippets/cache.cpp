// SPDX-License-Identifier: MIT

/// @file
/// @brief Snippets of the reference: a page cache, and arrays on drives.

#include <memory>

#include <xio/cache.hpp>
#include <xio/host/nvme/cache.hpp>

#include "drive.hpp"

using namespace xio;

namespace snippets::cache_calls {

XIO_KERNEL void read(CacheHandle handle, uint64_t* out, Status* status) {
  const uint32_t i = mine().i;
  //! [cache]
  Cache<> cache(handle, i / arch::wave_size());  // the same number in all lanes of a wave
  uint64_t value = 0;
  status[i] = cache.get(/*page*/ 0, /*offset*/ i * 8, value, deadline(5_s));
  //! [cache]
  out[i] = value;
  //! [get_present]
  if (!cache.get_present(0, i * 8, value)) value = 0;  // it was evicted meanwhile
  //! [get_present]
}

XIO_KERNEL void sum(CacheHandle handle, uint64_t* out, Status* status) {
  const uint32_t i = mine().i;
  //! [array]
  BlockArray<uint64_t> array(handle, i / arch::wave_size());
  const uint64_t both = array[i] ^ array[i + 1000];
  status[i] = array.status();  // the first error of both
  //! [array]
  out[i] = both;
}

XIO_KERNEL void write(CacheHandle handle, uint64_t* out, Status* status) {
  const uint32_t i = mine().i;
  const Deadline until = deadline(5_s);
  //! [put]
  BlockArray<uint64_t, WriteBack> array(handle, i / arch::wave_size());
  Status how = array.put(i, 7 * i, until);
  //! [put]
  //! [get]
  uint64_t value = 0;
  if (how.is_ok()) how = array.get(i, value, until);
  //! [get]
  out[i] = value;
  //! [flush]
  const Status flushed = array.cache().flush(until);  // all lanes share the work
  //! [flush]
  status[i] = how.is_ok() ? flushed : how;
}

XIO_KERNEL void whole_page(CacheHandle handle, uint64_t* out, Status* status) {
  if (mine().i != 0) return;
  const Deadline until = deadline(5_s);
  BlockArray<uint64_t, WriteBack> array(handle, 0);
  //! [prefetch]
  const PageToken token = array.prefetch(0, until);  // other work may follow
  status[0] = array.cache().wait(token, until);
  //! [prefetch]
  //! [pin]
  const PinnedPage page = array.cache().pin_to_write(array.page_of(0), until);
  if (page.status.is_ok()) reinterpret_cast<uint64_t*>(page.data)[1] = 5;
  array.cache().unpin(page);
  //! [pin]
  //! [offset_of]
  const uint32_t bytes = array.offset_of(1);  // element 1 lies at page.data + bytes
  //! [offset_of]
  if (bytes != 8) status[0] = Status::misaligned;
  out[0] = array[1];
  //! [invalidate]
  const Status forgotten = array.cache().invalidate(0, until);
  //! [invalidate]
  out[1] = array[1];
  if (status[0].is_ok()) status[0] = forgotten;
}

void all() {
  Drive drive;
  const host::Executor executor = drive.executor;
  host::NvmeController& one = drive.controller;
  //! [make_cache]
  host::CacheOptions options;
  options.page_bytes = 4096;
  options.bytes = size_t{64} << 10;
  host::NvmeCache cache = host::make_cache(executor, {&one}, options);
  // host::launch(executor, shape, kernel, cache.handle());
  //! [make_cache]
  //! [handle]
  const CacheHandle handle = cache.handle();
  const uint64_t words = handle.pages << handle.page_shift >> 3;  // cache.elements(8)
  //! [handle]
  check("handle", words == cache.elements(8));
  const host::DmaBuffer out = executor.share(one.allocate(4096));
  const host::DmaBuffer status = executor.share(one.allocate(4096));
  const auto run = [&](uint32_t threads, auto kernel) {
    for (auto& result : status.span<Status>()) result = Status::not_ready;
    host::launch(executor, {1, threads}, kernel, handle, executor.address(out.as<uint64_t>()),
                 executor.address(status.as<Status>()));
    bool good = true;
    for (uint32_t i = 0; i < threads; ++i) good = good && status.span<Status>()[i].is_ok();
    return good;
  };
  const uint64_t* const got = out.as<uint64_t>();
  check("cache", run(64, read) && holds(got, 64, 0));
  bool good = run(64, sum);
  for (uint64_t i = 0; i < 64; ++i) good = good && got[i] == (wanted(i) ^ wanted(i + 1000));
  check("array", good);
  good = run(64, write);
  for (uint64_t i = 0; i < 64; ++i) good = good && got[i] == 7 * i;
  check("put", good);
  check("pin", run(1, whole_page) && got[0] == 5 && got[1] == 7);
  //! [counts]
  const CacheCounts counts = cache.counts();
  const uint64_t read_from_drives = counts.misses * options.page_bytes;
  //! [counts]
  check("counts", read_from_drives >= 2 * options.page_bytes && counts.write_backs != 0);
  //! [forget]
  cache.forget();  // a program of another GPU has written the drives
  //! [forget]
  check("forget", run(1, whole_page));
}

const Program program("cache", all);

}  // namespace snippets::cache_calls
