// SPDX-License-Identifier: MIT

/// @file
/// @brief Doorbells that the ringing thread serves: called behind each store, for the vendors that say so, and given
/// back.

#include <memory>
#include <vector>

#include <xio/device/rdma/bell.hpp>
#include <xio/host/memory/served_doorbell.hpp>
#include <xio/vendors/mlx5/traits.hpp>
#include <xio/vendors/rxe/traits.hpp>

#include "catch.hpp"

using xio::QueueState;
using xio::Sharing;
using xio::host::ServedDoorbell;

namespace {

/// Rings once for `end` entries, as a queue pair does.
template <class Vendor, Sharing S>
void ring(void* doorbell, uint64_t end) {
  QueueState state{};
  xio::rdma::SendState send{};
  uint32_t record = 0;
  xio::rdma::QueuePairHandle handle{};
  handle.sq_record = &record;
  handle.sq_doorbell = doorbell;
  handle.shape.entries = 16;
  xio::rdma::SendBell<Vendor, S, xio::Policy<>>(handle, &state, &send).ring(end, 0);
}

}  // namespace

TEST_CASE("a served doorbell is called behind each store, with the value in its word", "[unit]") {
  std::vector<uint32_t> seen;
  uint32_t* word = nullptr;
  ServedDoorbell doorbell([&] { seen.push_back(*word); });
  word = doorbell.word();
  ring<xio::rxe::Vendor<>, Sharing::thread>(word, 3);
  ring<xio::rxe::Vendor<>, Sharing::grid>(word, 5);
  ring<xio::rxe::Vendor<>, Sharing::grid>(word, 16);
  CHECK(seen == std::vector<uint32_t>{3, 5, 0});
}

TEST_CASE("a word of its own, and a vendor whose doorbell is a register, call nothing", "[unit]") {
  uint32_t calls = 0;
  ServedDoorbell doorbell([&] { ++calls; });
  uint32_t own = 0;
  ring<xio::rxe::Vendor<>, Sharing::thread>(&own, 3);
  CHECK(own == 3);
  ring<xio::mlx5::Vendor<>, Sharing::thread>(doorbell.word(), 3);
  CHECK(calls == 0);
}

TEST_CASE("each has a word of its own, until all are taken", "[unit]") {
  std::vector<std::unique_ptr<ServedDoorbell>> all;
  std::vector<uint32_t> calls(2000);
  const auto take = [&] {
    uint32_t& own = calls[all.size()];
    all.push_back(std::make_unique<ServedDoorbell>([&own] { ++own; }));
  };
  try {
    while (all.size() < calls.size()) take();
    FAIL("there is no end of them");
  } catch (const xio::host::Error& error) {
    CHECK(std::string(error.what()).find("let a separate thread serve more") != std::string::npos);
  }
  CHECK(all.size() == 1024);
  for (const auto& one : all) ring<xio::rxe::Vendor<>, Sharing::thread>(one->word(), 1);
  for (size_t i = 0; i < all.size(); ++i) REQUIRE(calls[i] == 1);
  uint32_t* const freed = all[7]->word();
  all[7].reset();
  ServedDoorbell again([] {});
  CHECK(again.word() == freed);
}
