// SPDX-License-Identifier: MIT

/// @file
/// @brief Emulated NICs read entries of any content, and believe no length that the entry has no room for.

#include <algorithm>
#include <random>

#include <xio/host/emulation/rdma/kits.hpp>

#include "catch.hpp"
#include "emulation/rdma_wires.hpp"

using namespace wires;

namespace {

template <class Kits>
struct WiresOf;
template <class... Kit>
struct WiresOf<std::tuple<Kit...>> {
  using type = std::tuple<typename Kit::Wire..., BnxtWire<bnxt::WqeMode::variable>, IonicWire<2>>;
};
using Wires = WiresOf<xio::emulation::RdmaKits>::type;

/// A ring of 16 KiB with entries as the vendor has them.
template <class Wire>
RdmaQueueConfig config() {
  constexpr bool is_mlx5 = std::is_same<Wire, Mlx5Wire<>>::value;
  constexpr bool is_slots = std::is_same<Wire, BnxtWire<bnxt::WqeMode::variable>>::value;
  RdmaQueueConfig made;
  made.sq_unit_shift = is_mlx5 ? 6 : is_slots ? 4 : 7;
  if (std::is_same<Wire, RxeWire<>>::value) made.sq_unit_shift = 9;
  made.sq_units = (16u << 10) >> made.sq_unit_shift;
  made.rq_entries = 64;
  made.rq_entry_shift = 7;
  made.handle = 0x321;
  return made;
}

/// What an entry is said to hold must have room in the ring; what faults says so, and is not executed.
void require_bounded(const RdmaWork& work, const RdmaQueueConfig& made) {
  const size_t ring = size_t{made.sq_units} << made.sq_unit_shift;
  REQUIRE(work.bytes.size() <= std::min<size_t>(ring, 255 * 16));
  REQUIRE(work.pieces.size() <= std::min<size_t>(ring / 16, 255));
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("an entry of any content is read within its bounds", "", Wires) {
  Rig rig;
  rig.config = config<TestType>();
  std::mt19937_64 random(7);
  const auto word = [&](uint32_t kind) {
    // Of all bits, of few bits, and of small numbers: lengths, counts and opcodes that make sense come with those.
    const uint64_t any = random();
    return kind == 0 ? any : kind == 1 ? any & random() & random() & random() : any & 0x0f0000000f0f070f;
  };
  for (uint32_t round = 0; round < 3000; ++round) {
    for (uint64_t& one : rig.sq) one = word(round % 3);
    for (uint64_t& one : rig.rq) one = word(round % 3);
    for (uint64_t index : {0u, 1u, 7u, rig.config.sq_units - 1}) {
      require_bounded(TestType::read_work(rig.config, rig.memory, index), rig.config);
      REQUIRE(TestType::read_receive(rig.config, rig.memory, index).pieces.size() <= 8);
    }
  }
}

TEST_CASE("mlx5: the doorbell record is ahead of the doorbell by a full ring at most, and never behind") {
  Rig rig;
  rig.config.sq_units = 4;
  uint32_t record = byte_swap(0x10002u);
  rig.memory.sq_record = &record;
  std::string violation;
  const auto ring = [&](uint32_t entry) {
    const uint64_t bell = byte_swap(entry << 8) | uint64_t{byte_swap(rig.config.qpn << 8 | 1)} << 32;
    return rung<Mlx5Wire<>>(rig, bell, 0xfffe, violation);
  };
  for (const uint32_t entry : {0x1u, 0x0u, 0xffffu, 0xfffeu, 0xfffdu}) {
    CAPTURE(entry);
    CHECK(ring(entry) == 0x10002);
  }
  for (const uint32_t entry : {0x2u, 0x3u, 0xfffcu, 0x8000u}) {
    CAPTURE(entry);
    CHECK(ring(entry) == 0);
  }
}

TEST_CASE("mlx5: inline data has the rest of its entry, and no more") {
  Rig rig;
  rig.config = config<Mlx5Wire<>>();
  const auto write = [&](uint32_t bytes, uint32_t segments) {
    put(rig.memory.sq, mlx5::ControlSegment{Be32(8), Be32(0x11u << 8 | segments), Be32(8), Be32(0)});
    put(rig.memory.sq + 32, Be32(bytes | mlx5::inline_bit));
    return Mlx5Wire<>::read_work(rig.config, rig.memory, 0);
  };
  CHECK(write(28, 4).fault == "");
  CHECK(write(28, 4).bytes.size() == 28);
  for (const uint32_t bytes : {29u, 61u, 1u << 20, 0x7fffffffu}) {
    CAPTURE(bytes);
    const RdmaWork work = write(bytes, 4);
    CHECK(work.fault == "inline data longer than its entry");
    CHECK(work.bytes.empty());
  }
  CHECK(write(12, 4).fault == "");  // a pointer behind the data
  CHECK(write(0, 2).fault == "");
  CHECK(write(0, 1).fault == "entry shorter than its operation");
  rig.config.sq_units = 8;
  CHECK(write(28, 63).fault != "");
}
