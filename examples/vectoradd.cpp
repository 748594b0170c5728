// SPDX-License-Identifier: MIT

/// @file
/// @brief Arrays on drives: c[i] = a[i] + b[i], of arrays that are larger than the page cache.
///
/// Usage: vectoradd [first page of the arrays]

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <xio/cache.hpp>
#include <xio/host/launch.hpp>
#include <xio/host/nvme/cache.hpp>
#include <xio/host/nvme/open.hpp>

using namespace xio;
using Array = BlockArray<uint64_t, WriteBack>;

XIO_BOUNDED_KERNEL(64) void add(CacheHandle cache, uint64_t first_page, uint64_t pages, uint32_t* errors) {
  const uint32_t thread = arch::block_index() * arch::block_size() + arch::thread_index();
  const uint32_t threads = arch::grid_size() * arch::block_size();
  const uint32_t wave = thread / arch::wave_size();
  Array a(cache, wave, first_page), b(cache, wave, first_page + pages), c(cache, wave, first_page + 2 * pages);
  const uint64_t elements = (pages << cache.page_shift) / sizeof(uint64_t);
  Status status;
  for (uint64_t i = thread; i < elements && status.is_ok(); i += threads) {
    const Deadline until = deadline(10_s);
    status = a.put(i, i, until);
    if (status.is_ok()) status = b.put(i, 2 * i, until);
    if (status.is_ok()) status = c.put(i, a[i] + b[i], until);
    if (status.is_ok() && (!a.status().is_ok() || c[i] != 3 * i)) status = Status::compare_failed;
  }
  const Status flushed = c.cache().flush(deadline(10_s));
  if (!status.is_ok() || !flushed.is_ok()) arch::fetch_add<arch::Scope::system>(errors, 1u);
}

int main(int argc, char** argv) try {
  const host::Executor executor = host::default_executor();
  host::OpenedNvme one = host::open_nvme("emulated"), other = host::open_nvme("emulated");
  host::CacheOptions options;
  options.bytes = size_t{256} << 10;  // 64 pages; each array has 64
  const host::NvmeCache cache = host::make_cache(executor, {one.controller.get(), other.controller.get()}, options);
  const host::DmaBuffer errors = executor.share(one.controller->allocate(4096));
  const uint64_t first = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 0;
  host::launch(executor, {4, 64}, add, cache.handle(), first, uint64_t{64}, executor.address(errors.as<uint32_t>()));
  const CacheCounts counts = cache.counts();
  std::printf("errors: %u\npages read: %s\npages written: %s\n", errors.as<uint32_t>()[0],
              counts.misses >= 192 ? "each, at least once" : "too few",
              counts.write_backs >= 192 ? "each, at least once" : "too few");
  return errors.as<uint32_t>()[0] == 0 && counts.write_backs >= 192 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
