// SPDX-License-Identifier: MIT

/// @file
/// @brief The power of the drives is cut: what was flushed is there, and what was put later may be.

#include "cache/rig.hpp"
#include "catch.hpp"

using namespace cache_tests;

TEST_CASE("After a power cut the drives have what was flushed") {
  Shape shape;
  shape.drives = 2;
  shape.frames = 16;
  shape.pages = 64;
  Rig rig(shape);
  for (auto* const model : rig.models) model->keep_flushed();
  const auto cut = [&] {
    for (auto* const model : rig.models) model->cut_power();
    rig.cache->forget();
  };
  CHECK(rig.write_everything(64, 1).failed == 0);
  CHECK(rig.flush_all().failed == 0);
  CHECK(rig.write_everything(64, 2).failed == 0);  // three pages of four have left their frames
  CHECK(rig.commands(1) >= 2 * 48);
  CHECK(rig.differing(1) != 0);
  cut();
  CHECK(rig.differing(1) == 0);
  CHECK(rig.run(64, read_only, Work::random, 16, 1).right == 64 * 16);
  CHECK(rig.write_everything(64, 3).failed == 0);
  CHECK(rig.flush_all().failed == 0);
  cut();
  CHECK(rig.differing(3) == 0);
}
