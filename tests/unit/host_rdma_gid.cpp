// SPDX-License-Identifier: MIT

/// @file
/// @brief Which address of a port is used.

#include <algorithm>
#include <vector>

#include <xio/host/rdma/gid.hpp>

#include "catch.hpp"
#include "unit/host_support.hpp"

using namespace xio::host;
using host_tests::contains;
using host_tests::error_of;

namespace {

constexpr Gid empty{};
constexpr Gid ipv4{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 9, 0, 1}};
constexpr Gid link_local{{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0xff, 0xfe, 0, 0, 1}};
constexpr Gid global{{0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};

/// From the best to the worst.
const std::vector<GidEntry> ranking = {
    {7, GidType::roce_v2, ipv4},       {6, GidType::roce_v2, global}, {5, GidType::infiniband, link_local},
    {4, GidType::roce_v2, link_local}, {3, GidType::roce_v1, ipv4},   {2, GidType::roce_v1, link_local},
};

}  // namespace

TEST_CASE("kinds and texts of addresses", "[host][rdma]") {
  CHECK(is_ipv4(ipv4));
  CHECK_FALSE(is_ipv4(link_local));
  CHECK_FALSE(is_ipv4(empty));
  Gid almost = ipv4;
  almost[0] = 1;
  CHECK_FALSE(is_ipv4(almost));
  CHECK(is_link_local(link_local));
  CHECK_FALSE(is_link_local(global));
  CHECK(to_text(ipv4) == "10.9.0.1");
  CHECK(to_text(link_local) == "fe80:0000:0000:0000:0200:00ff:fe00:0001");
}

TEST_CASE("the best address is chosen, whatever the order", "[host][rdma]") {
  for (size_t best = 0; best < ranking.size(); ++best) {
    std::vector<GidEntry> table(ranking.begin() + static_cast<std::ptrdiff_t>(best), ranking.end());
    table.insert(table.begin(), {0, GidType::roce_v2, empty});
    std::sort(table.begin(), table.end(), [](const GidEntry& a, const GidEntry& b) { return a.index < b.index; });
    do {
      REQUIRE(choose_gid(table));
      REQUIRE(choose_gid(table)->index == ranking[best].index);
    } while (std::next_permutation(table.begin(), table.end(),
                                   [](const GidEntry& a, const GidEntry& b) { return a.index < b.index; }));
  }
}

TEST_CASE("of equals the first is chosen", "[host][rdma]") {
  CHECK(choose_gid({{1, GidType::roce_v2, ipv4}, {2, GidType::roce_v2, ipv4}})->index == 1);
}

TEST_CASE("a table without an address has none to choose", "[host][rdma]") {
  CHECK_FALSE(choose_gid({}));
  CHECK_FALSE(choose_gid({{0, GidType::roce_v2, empty}, {1, GidType::roce_v1, empty}}));
}

TEST_CASE("the user names an address", "[host][rdma]") {
  CHECK(gid_at(ranking, 4).gid == link_local);
  const std::vector<GidEntry> table = {{0, GidType::roce_v2, empty}, {1, GidType::roce_v2, ipv4}};
  CHECK(contains(error_of([&] { gid_at(table, 3); }), "no GID at index 3; there are: 1 (RoCE v2 10.9.0.1)"));
  CHECK(contains(error_of([&] { gid_at(table, 0); }), "no GID at index 0"));
  CHECK(contains(error_of([] { gid_at({}, 0); }), "there are: none"));
}
