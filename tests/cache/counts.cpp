// SPDX-License-Identifier: MIT

/// @file
/// @brief Atomics of hits, puts and misses, counted where they are executed.

#include "cache/rig.hpp"
#include "catch.hpp"

using namespace cache_tests;

namespace {

namespace arch = xio::arch;

/// What one wave does to pages that are present: lane i uses page `i * step`.
void hits(CacheHandle cache, bool puts, uint64_t step, arch::OperationCounts* counts, Result* result) {
  BlockArray<uint64_t, xio::WriteBack> array(cache, 0);
  const uint64_t elements = (1u << cache.page_shift) / 8;
  const uint64_t i = arch::thread_index() * (step * elements + 1);
  uint64_t value = 0;
  Status status = array.get(i, value, xio::deadline(patience));
  const uint64_t group = arch::together(0);
  arch::converge(group);
  if (arch::lane() == 0) *counts = arch::operation_counts;
  arch::converge(group);
  const Deadline until = xio::deadline(patience);
  if (status.is_ok()) status = puts ? array.put(i, value, until) : array.get(i, value, until);
  arch::converge(group);
  if (arch::lane() == 0) *counts = arch::operation_counts - *counts;
  arch::converge(group);
  if (status.is_ok() && value == content(i, 0)) arch::fetch_add<arch::Scope::system>(&result->right, uint64_t{1});
}

/// Pins page 0 twice; the second time it is present.
void pin_twice(CacheHandle cache, arch::OperationCounts* counts, Result* result) {
  xio::Cache<> pages(cache, 0);
  xio::PinnedPage page = pages.pin(0, xio::deadline(patience));
  pages.unpin(page);
  *counts = arch::operation_counts;
  page = pages.pin(0, xio::deadline(patience));
  *counts = arch::operation_counts - *counts;
  result->right = page.status.is_ok() && *reinterpret_cast<const uint64_t*>(page.data) == content(0, 0);
  pages.unpin(page);
}

}  // namespace

TEST_CASE("A hit takes no atomic, a put two for each page") {
  Shape shape;
  shape.frames = 128;
  shape.ways = 8;
  shape.pages = 128;
  for (const uint64_t step : {uint64_t{0}, uint64_t{1}}) {
    CAPTURE(step);
    Rig rig(shape);
    arch::OperationCounts counts{};
    CHECK(rig.launch(64, hits, false, step, &counts).right == 64);
    CHECK(counts.atomics == 0);
    CHECK(counts.mmio_stores == 0);
    CHECK(rig.launch(64, hits, true, step, &counts).right == 64);
    CHECK(counts.atomics == (step == 0 ? 2 : 128));
  }
}

TEST_CASE("A pin acquires what the drive has written, for ordinary loads") {
  Rig rig(Shape{});
  arch::OperationCounts counts{};
  CHECK(rig.launch(1, pin_twice, &counts).right == 1);
  CHECK(counts.acquires == 1);
}
