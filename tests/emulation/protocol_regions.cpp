// SPDX-License-Identifier: MIT

/// @file
/// @brief Reads and writes of pieces of a Region: what does not fit is refused by each lane, and nothing is submitted.

#include "emulation/protocol.hpp"

#include <cstring>

#include "catch.hpp"

using namespace protocol_tests;

namespace {

constexpr uint32_t lanes_used = 32;

/// Every lane with a block of its own; odd ones ask for what is refused.
template <Sharing S>
void pieces_in_a_wave(uint32_t bytes_of_block) {
  Rig rig;
  NvmeQueue queue = rig.controller.create_queue();
  const xio::Region all = rig.data.region();
  const auto kernel = [&](const QueueHandle& handle) {
    Queue<S> view(handle);
    const uint32_t lane = xio::arch::lane();
    const uint64_t at = uint64_t{lane} * bytes_of_block;
    const bool refused = lane % 2 != 0;
    std::memset(rig.bytes(at), static_cast<int>(lane + 1), bytes_of_block);
    Token token = view.write(lane, all.at(refused ? all.length - 1 : at, bytes_of_block), soon());
    EXPECT(token.submitted() != refused);
    EXPECT(view.wait(token, soon()).code == (refused ? Status::out_of_range : Status::ok));
    std::memset(rig.bytes(at), 0, bytes_of_block);
    token = view.read(lane, all.at(at, refused ? bytes_of_block / 2 : bytes_of_block), soon());
    EXPECT(view.wait(token, soon()).code == (refused ? Status::invalid_argument : Status::ok));
    for (uint32_t i = 0; i < bytes_of_block; ++i) EXPECT(*rig.bytes(at + i) == (refused ? 0 : lane + 1));
  };
  CHECK_NOTHROW(xio::simt::launch(Grid::of_waves(1, 1, lanes_used), kernel, queue.handle()));
}

}  // namespace

TEST_CASE("H12 H37 a piece of a region is read and written whole, or refused") {
  Rig rig;
  NvmeQueue queue = rig.controller.create_queue();
  Queue<Sharing::thread> view(queue.handle());
  const xio::Region all = rig.data.region();
  REQUIRE(all.cpu == rig.data.data());
  const auto code = [&](const Token& token) { return view.wait(token, soon()).code; };

  stamp(rig.bytes(512), 40, 3, 7, 512);
  CHECK(code(view.write(40, all.at(512, 3 * 512), soon())) == Status::ok);
  std::memset(rig.bytes(), 0, 4096);
  CHECK(code(view.read(40, all.at(1024, 3 * 512), soon())) == Status::ok);
  CHECK(stamped(rig.bytes(1024), 40, 3, 7, 512));
  // As a page source of any command, whose size it then fixes.
  CHECK(code(view.submit(xio::nvme::compare(40, 3), all.at(1024, 3 * 512), soon())) == Status::ok);

  const auto refused = [&](const Token& token, Status::Code why) {
    CHECK_FALSE(token.submitted());
    CHECK(token.status == why);
  };
  const uint64_t before = queue.handle().state->reserved;
  refused(view.read(0, all.at(all.length, 512), soon()), Status::out_of_range);
  refused(view.read(0, all.at(all.length - 511, 512), soon()), Status::out_of_range);
  refused(view.write(0, all.at(~uint64_t{0} - 511, 512), soon()), Status::out_of_range);
  refused(view.write(0, all.at(0, 0), soon()), Status::invalid_argument);
  refused(view.write(0, all.at(0, 511), soon()), Status::invalid_argument);
  refused(view.read(0, all.at(0, 513), soon()), Status::invalid_argument);
  refused(view.submit(xio::nvme::read(0, 2), all.at(0, 512), soon()), Status::invalid_argument);
  refused(view.try_submit(xio::nvme::read(0, 1), all.at(0, 1024)), Status::invalid_argument);
  refused(view.read(~uint64_t{0}, all.at(0, 512), soon()), Status::out_of_range);
  CHECK(queue.handle().state->reserved == before);
  CHECK(code(view.read(0, all.at(all.length - 512, 512), soon())) == Status::ok);
}

TEST_CASE("H12 H37 lanes of which some name what is not in the region") {
  pieces_in_a_wave<Sharing::wave>(512);
  pieces_in_a_wave<Sharing::grid>(512);
}
