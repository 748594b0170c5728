// SPDX-License-Identifier: MIT
// Which pieces of registered memory are inside, against arithmetic that cannot overflow.

#include "catch.hpp"

#include <xio/device/rdma/memory.hpp>

#include <cstdint>
#include <vector>

using xio::Region;
using xio::Status;
using xio::rdma::RemoteMemory;

namespace {
__extension__ using Wide = unsigned __int128;

constexpr uint64_t top = uint64_t{1} << 63;  // no piece reaches as far
constexpr uint64_t longest_message = 0x7fffffff;

bool is_inside(uint64_t offset, uint32_t bytes, uint64_t length) {
  const Wide end = Wide{offset} + bytes;
  return end <= length && end < top;
}

// What lies around the places where a sign, a carry or a width changes.
std::vector<uint64_t> corners() {
  std::vector<uint64_t> all;
  for (const uint64_t around : {uint64_t{0}, uint64_t{4096}, uint64_t{1} << 31, uint64_t{1} << 32, uint64_t{1} << 62,
                                top, top + (uint64_t{1} << 31), top + (uint64_t{1} << 62),
                                ~uint64_t{0} - (uint64_t{1} << 32), ~uint64_t{0} - longest_message}) {
    for (uint64_t i = 0; i < 7; ++i) all.push_back(around + i - 3);
  }
  return all;
}
}  // namespace

TEST_CASE("a piece is inside its memory, for every sign and carry", "[H37]") {
  const std::vector<uint64_t> values = corners();
  std::vector<uint32_t> lengths;
  for (const uint64_t value : values) lengths.push_back(static_cast<uint32_t>(value));
  uint64_t wrong = 0;
  uint64_t inside = 0;
  for (const uint64_t length : values) {
    for (const uint64_t offset : values) {
      for (const uint32_t bytes : lengths) {
        if (bytes > longest_message) continue;
        const bool expected = is_inside(offset, bytes, length);
        inside += expected ? 1 : 0;
        const bool signs = xio::reach_by_sign(offset, bytes, length).is_inside();
        const bool branches = xio::reach_by_branch(offset, bytes, length).is_inside();
        if (signs != expected || branches != expected) {
          ++wrong;
          CAPTURE(offset, bytes, length, expected, signs, branches);
          CHECK(wrong == 0);
        }
        if (wrong > 3) return;
      }
    }
  }
  CHECK(wrong == 0);
  CHECK(inside > values.size());
}

TEST_CASE("both pieces of a transfer in one test", "[H37]") {
  const RemoteMemory remote{0x1000, 4096, 1};
  const Region local{0x2000, 64, 2};
  CHECK((remote.at(0, 64).reach & local.at(0, 64).reach).status() == Status::ok);
  CHECK((remote.at(64, 64).reach & local.at(64, 64).reach).status() == Status::out_of_range);
  CHECK((remote.at(4096, 64).reach & local.at(0, 64).reach).status() == Status::out_of_range);
  CHECK(remote.at(64, 8).address == 0x1040);
  // Implicit on-demand paging: one key for all memory.
  const Region everything{0, ~uint64_t{0}, 3};
  CHECK(everything.at(0x7fff00000000, 4096).reach.is_inside());
}
