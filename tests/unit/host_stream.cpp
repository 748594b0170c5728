// SPDX-License-Identifier: MIT

/// @file
/// @brief The CPU's stream: order, failures, budgets.

#include <atomic>
#include <string>
#include <vector>

#include <xio/host/simt/host_stream.hpp>

#include "catch.hpp"
#include "unit/host_support.hpp"

using namespace xio::host;
using host_tests::contains;
using host_tests::error_of;

namespace {

struct Seen {
  std::atomic<uint32_t> lanes{0};
  std::atomic<uint32_t> blocks{0};
  std::atomic<uint32_t> wave{0};
};

void look(Seen* seen) {
  seen->lanes.fetch_add(1);
  seen->blocks = xio::arch::grid_size();
  seen->wave = xio::arch::wave_size();
}

void append(std::vector<int>* list, int number) {
  if (xio::arch::thread_index() == 0 && xio::arch::block_index() == 0) list->push_back(number);
}

void fail(int) { throw Error("a kernel that failed"); }

}  // namespace

TEST_CASE("an I/O kernel gets the waves of its budget", "[host]") {
  HostStream stream(8);
  Seen seen;
  launch_io(stream, {6, 2, 0}, look, &seen);
  stream.synchronize();
  CHECK(seen.lanes == 48);
  CHECK(seen.blocks == 3);
  CHECK(seen.wave == 8);
  for (const WaveBudget wrong : {WaveBudget{0, 1, 0}, WaveBudget{3, 2, 0}, WaveBudget{2, 0, 0}})
    CHECK(contains(error_of([&] { launch_io(stream, wrong, look, &seen); }), "use whole blocks, at least one"));
}

TEST_CASE("work is done in order, beside the caller", "[host]") {
  std::vector<int> list;
  std::atomic<bool> go{false};
  {
    HostStream stream(1);
    stream.enqueue([&] {
      while (!go) xio::arch::give_way();
    });
    for (int i = 0; i < 20; ++i) launch_io(stream, {2, 1, 0}, append, &list, i);
    CHECK(list.empty());
    go = true;
    // The end does what is left.
  }
  REQUIRE(list.size() == 20);
  for (int i = 0; i < 20; ++i) CHECK(list[static_cast<size_t>(i)] == i);
}

TEST_CASE("after a failure the rest is left out, until somebody was told", "[host]") {
  std::vector<int> list;
  HostStream stream(1);
  launch_io(stream, {1, 1, 0}, append, &list, 1);
  launch_io(stream, {1, 1, 0}, fail, 0);
  launch_io(stream, {1, 1, 0}, append, &list, 2);
  CHECK(error_of([&] { stream.synchronize(); }) == "a kernel that failed");
  launch_io(stream, {1, 1, 0}, append, &list, 3);
  stream.synchronize();
  CHECK(list == std::vector<int>{1, 3});
}
