// SPDX-License-Identifier: MIT

/// @file
/// @brief Threads read and write by few frames, of any page size, on several drives: all elements are right, in time.
///
/// XIO_TESTS_WHOLE: all combinations, with 2,048 threads.

#include <cstdlib>

#include "cache/rig.hpp"
#include "catch.hpp"

using namespace cache_tests;

namespace {

const bool whole = std::getenv("XIO_TESTS_WHOLE") != nullptr;

void check(const char* what, const Result& result, uint64_t expected) {
  CAPTURE(what, result.first);
  CHECK(result.wrong == 0);
  CHECK(result.failed == 0);
  CHECK(result.right == expected);
}

void sweep(const Shape& shape, uint32_t threads, uint32_t steps) {
  CAPTURE(shape.frames, shape.page_bytes, shape.drives, shape.mdts, shape.queues_per_drive, threads);
  Rig rig(shape);
  const uint64_t gets = uint64_t{threads} * steps;
  check("random", rig.run(threads, read_only, Work::random, steps), gets);
  CHECK(rig.cache->counts().misses <= gets);  // each load serves the lane that has submitted it
  check("one page", rig.run(threads, read_only, Work::one_page, steps), gets);
  check("ahead", rig.run(threads, read_only, Work::ahead, steps), gets);
  check("bracket", rig.run(threads, read_only, Work::bracket, 1), threads);
  check("pinned", rig.run(threads, read_only, Work::pinned, 1), threads);

  const uint64_t puts = (rig.elements() + threads - 1) / threads * threads;
  check("put", rig.write_everything(threads, 1), puts);
  CHECK(rig.flush_all(128).failed == 0);
  CHECK(rig.differing(1) == 0);
  const auto rounds = static_cast<uint32_t>(puts / threads);
  check("put and get", rig.run(threads, write_back, Work::put_get, rounds, 2), puts);
  CHECK(rig.flush_all().failed == 0);
  CHECK(rig.differing(2) == 0);
  rig.cache->forget();  // only the drives know
  check("forgotten", rig.run(threads, write_back, Work::random, 1, 2), threads);
  const xio::CacheCounts counts = rig.cache->counts();
  CHECK(counts.read_errors + counts.write_errors == 0);
  if (shape.mdts == 7) CHECK(counts.write_backs == rig.commands(1));
  CHECK(counts.misses >= counts.evictions);
}

Shape shape_of(uint32_t frames, uint32_t page_bytes, uint32_t drives) {
  Shape shape;
  shape.frames = frames;
  shape.ways = frames < 64 ? 4 : 8;
  shape.page_bytes = page_bytes;
  shape.drives = drives;
  shape.pages = page_bytes > 4096 ? (whole ? 12 : 6) : frames > 256 ? 256 : 64;
  return shape;
}

}  // namespace

TEST_CASE("Many threads share few frames") {
  if (!whole) {
    const uint32_t threads = 256 / XIO_TESTS_SHARE > 64 ? 256 : 64;
    sweep(shape_of(2, 65536, 3), threads, 2);
    sweep(shape_of(16, 4096, 4), threads, 2);
    sweep(shape_of(64, 512, 1), threads, 2);
    sweep(shape_of(512, 4096, 2), threads, 2);
    return;
  }
  for (const uint32_t frames : {1u, 2u, 16u, 64u, 512u})
    for (const uint32_t page_bytes : {512u, 4096u, 65536u})
      for (const uint32_t drives : {1u, 2u, 3u, 4u}) sweep(shape_of(frames, page_bytes, drives), 2048, 4);
}

TEST_CASE("2,048 threads share one frame") {
  Rig rig(shape_of(1, 512, 2));
  const uint32_t threads = 2048 / XIO_TESTS_SHARE / 64 * 64;
  check("random", rig.run(threads, read_only, Work::random, 1), threads);
  check("put and get", rig.run(threads, write_back, Work::put_get, 1, 1), threads);
}

TEST_CASE("Pages longer than a command, waves of other sizes, several queues of a drive") {
  Shape shape = shape_of(16, 65536, 2);
  shape.mdts = 2;  // four commands of 16 KiB
  sweep(shape, 128, 1);
  shape = shape_of(16, 4096, 2);
  shape.queues_per_drive = 3;
  shape.depth = 4;  // less than a wave
  sweep(shape, 256, 2);
  for (const uint32_t lanes : {1u, 8u, 32u}) {
    Rig rig(shape_of(4, 4096, 1));
    rig.wave_size = lanes;
    CAPTURE(lanes);
    check("waves of other sizes", rig.run(64, read_only, Work::random, 4), 256);
  }
}
