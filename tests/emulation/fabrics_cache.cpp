// SPDX-License-Identifier: MIT

/// @file
/// @brief A page cache over drives that are reached over RDMA, each with a key of its own for the frames.

#include "cache/kernels.hpp"
#include "emulation/fabric_drives.hpp"

#include <xio/host/nvme/cache.hpp>

using namespace fabric_tests;

namespace {

template <class Kit>
struct BackOverRdma : xio::WriteBack {
  using QueuePolicy = Policy<Notify, xio::RingBy<xio::nvme::OverRdma<typename Kit::Vendor>>>;
};

/// A cache of one set over two drives, whose blocks hold version 0.
template <class Kit>
class FabricCache {
 public:
  using Options = BackOverRdma<Kit>;
  static constexpr uint32_t drives_count = 2, frames = 4, wave_lanes = 8;

  FabricCache(uint32_t page_bytes, uint64_t pages)
      : drives(drives_count, 0, size_t{frames + 1} * page_bytes, pages / drives_count * (page_bytes / block_bytes)),
        cache(xio::host::make_cache(drives.handles, memory(), options(page_bytes))),
        handle(cache.handle()),
        page_elements_(page_bytes / 8) {
    drives.set.stripe_shift = handle.drives.stripe_shift;
    for (uint64_t i = 0; i < elements(); ++i) *element(i) = cache_tests::content(i, 0);
  }

  uint64_t elements() const { return handle.pages * page_elements_; }
  /// Where the target holds an element.
  uint64_t* element(uint64_t i) {
    const uint64_t page = i / page_elements_;
    const uint64_t lba = page << drives.set.stripe_shift;
    return reinterpret_cast<uint64_t*>(drives.block(lba)) + i % page_elements_;
  }
  /// Elements of the targets that are not of the version.
  uint64_t differing(uint64_t version) {
    uint64_t count = 0;
    for (uint64_t i = 0; i < elements(); ++i) count += *element(i) != cache_tests::content(i, version);
    return count;
  }

  template <class Kernel>
  void launch(uint32_t waves, Kernel kernel) {
    REQUIRE_NOTHROW(xio::simt::launch(Grid::of_waves(waves, 1, wave_lanes), kernel));
  }
  cache_tests::Result run(uint32_t waves, cache_tests::Work work, uint32_t steps, uint64_t version) {
    cache_tests::Result result{};
    launch(waves, [&] {
      cache_tests::work<Options>(handle, cache_tests::Job{elements(), version, steps, work, patience()}, &result);
    });
    return result;
  }
  uint32_t failed_flushes(uint32_t waves) {
    uint32_t failed = 0;
    launch(waves, [&] {
      xio::Cache<Options> all(handle, xio::arch::block_index());
      if (!all.flush(soon()).is_ok()) xio::arch::fetch_add<xio::arch::Scope::system>(&failed, 1u);
    });
    return failed;
  }
  /// One wave, whose lane i gets the first element of page i * step: `count` lanes of it, 8 at most.
  std::vector<Status> get_each(uint64_t step, uint32_t count, xio::Duration limit) {
    std::vector<Status> status(count);
    launch(1, [&] {
      const uint32_t lane = xio::arch::thread_index();
      if (lane >= count) return;
      const uint64_t page = lane * step;
      xio::Cache<Options> pages(handle, 0);
      uint64_t value = 0;
      status[lane] = pages.get(page, 0, value, xio::deadline(limit));
      EXPECT(!status[lane].is_ok() || value == cache_tests::content(page * page_elements_, 0));
    });
    return status;
  }

  FabricDrives<Kit> drives;
  xio::host::NvmeCache cache;
  xio::CacheHandle handle;

 private:
  static xio::host::CacheOptions options(uint32_t page_bytes) {
    xio::host::CacheOptions made;
    made.page_bytes = page_bytes;
    made.bytes = size_t{frames} * page_bytes;
    made.ways = frames;
    return made;
  }
  /// The registered memory from its first line on.
  void* memory() {
    const uint64_t begin = (drives.bases[0] + 63) & ~uint64_t{63};
    return reinterpret_cast<void*>(begin);
  }

  uint64_t page_elements_;
};

using CachedOver = std::tuple<Mlx5, Rxe>;

}  // namespace

TEMPLATE_LIST_TEST_CASE("fabric: waves put, flush and get through four frames -> each element, on its target too", "",
                        CachedOver) {
  constexpr uint32_t waves = 3;
  // A page of one command, and one of two: a command moves at most 128 blocks.
  const auto [page_bytes, pages] =
      GENERATE(std::pair<uint32_t, uint64_t>{4096, 16}, std::pair<uint32_t, uint64_t>{131072, 8});
  CAPTURE(page_bytes);
  FabricCache<TestType> cache(page_bytes, pages);
  const uint32_t threads = waves * cache.wave_lanes;
  // Each thread puts into all pages in turn.
  const auto each = static_cast<uint32_t>((cache.elements() + threads - 1) / threads);
  const cache_tests::Result put = cache.run(waves, cache_tests::Work::put, each, 1);
  CHECK(put.failed == 0);
  CHECK(cache.failed_flushes(waves) == 0);
  CHECK(cache.differing(1) == 0);
  for (const cache_tests::Work work :
       {cache_tests::Work::random, cache_tests::Work::ahead, cache_tests::Work::one_page}) {
    const cache_tests::Result got = cache.run(waves, work, 20, 1);
    CAPTURE(static_cast<uint32_t>(work));
    CHECK(got.right == uint64_t{20} * threads);
  }
  const xio::CacheCounts counts = cache.cache.counts();
  CHECK(counts.misses > cache.handle.frames());
  CHECK(counts.evictions > 0);
  CHECK(counts.write_backs >= pages);
  CHECK(counts.read_errors + counts.write_errors == 0);
  CHECK(cache.drives.are_clean());
}

TEMPLATE_LIST_TEST_CASE("fabric: a page that its target cannot read fails its readers alone, then is read", "[H14]",
                        CachedOver) {
  FabricCache<TestType> cache(4096, 16);
  auto& medium = cache.drives.drives[1]->target.medium;
  medium.mark(16, 1, true);  // page 5
  std::vector<Status> status = cache.get_each(1, 8, patience());
  for (uint32_t i = 0; i < status.size(); ++i) {
    CAPTURE(i, status[i]);
    CHECK((i == 5 ? status[i] == Status::read_error : status[i].is_ok()));
  }
  CHECK(cache.cache.counts().read_errors > 0);
  medium.mark(16, 1, false);
  for (const Status one : cache.get_each(1, 8, patience())) CHECK(one.is_ok());
  CHECK(cache.drives.are_clean());
}

TEMPLATE_LIST_TEST_CASE("fabric: the target of a cached drive goes -> its pages fail, the others are there", "[H16]",
                        CachedOver) {
  FabricCache<TestType> cache(4096, 16);
  cache.drives.drives[1]->target.die();
  const std::vector<Status> status = cache.get_each(1, 2, 20_ms);
  CHECK(status[0].is_ok());
  CHECK(status[1] == Status::timed_out);
  // The load that never ends keeps one frame; the other drive has the rest.
  for (const Status one : cache.get_each(2, 8, patience())) CHECK(one.is_ok());
  CHECK(cache.cache.counts().misses == 9);
}

TEST_CASE("fabric: a cache of queues and memory that it cannot have -> refused, with what it expects") {
  FabricDrives<Mlx5> drives(2, 0, 4096);
  const auto refused = [&](std::vector<QueueHandle> queues, uint64_t memory, uint32_t queues_per_drive,
                           const char* part) {
    xio::host::CacheOptions options;
    options.queues_per_drive = queues_per_drive;
    CAPTURE(part);
    CHECK_THROWS_WITH(xio::host::make_cache(std::move(queues), reinterpret_cast<void*>(memory), options),
                      Catch::Matchers::Contains(part));
  };
  refused({}, 64, 1, "the number of queues, 0");
  refused(drives.handles, 64, 0, "queues_per_drive = 0");
  refused(drives.handles, 64, 3, "queues_per_drive = 3");
  refused(drives.handles, 0, 1, "memory = 0");
  refused(drives.handles, 72, 1, "memory = 72");
  std::vector<QueueHandle> unlike = drives.handles;
  unlike[1].block_shift = 12;
  refused(unlike, 64, 1, "a drive's block = 4096");
}
