// SPDX-License-Identifier: MIT
// Where the segments of an entry go in a ring, by either way of storing them.

#include "catch.hpp"

#include <xio/device/rdma/sink.hpp>
#include <xio/vendors/mlx5/traits.hpp>

#include <cstring>
#include <vector>

using namespace xio;

TEST_CASE("a segment whose number is chosen at run time lies where any other does") {
  constexpr uint32_t entries = 8;
  rdma::SendShape shape;
  shape.entries = entries;
  const auto ring_after = [&](uint64_t index, uint32_t units, uint32_t segment, bool chosen) {
    std::vector<arch::Vec16> ring(entries * 4, arch::Vec16{});
    const rdma::RingSink<mlx5::Vendor<>, xio::Policy<>> sink(ring.data(), shape, index, units);
    const rdma::Segment value{{1, 2, 3, segment + 4}};
    if (chosen) {
      sink.put_chosen(segment, value);
    } else {
      sink.put(segment, value);
    }
    return ring;
  };
  for (uint64_t index = 0; index < 2 * entries; ++index) {
    for (uint32_t units = 1; units <= 2; ++units) {
      for (uint32_t segment = 0; segment < 4 * units; ++segment) {
        CAPTURE(index, units, segment);
        const auto one = ring_after(index, units, segment, false);
        const auto other = ring_after(index, units, segment, true);
        REQUIRE(std::memcmp(one.data(), other.data(), one.size() * sizeof(one[0])) == 0);
        REQUIRE(other[(index * 4 + segment) % (entries * 4)].word[3] == segment + 4);
      }
    }
  }
}
