// SPDX-License-Identifier: MIT

/// @file
/// @brief Rows that the lanes of a wave take together: identifiers up to the first that is in flight, completions up to
/// the first that is missing.

#include "catch.hpp"
#include "emulation/protocol.hpp"

using namespace protocol_tests;

namespace {
/// Each lane submits one read without waiting.
template <Sharing S>
void submit_at_once(const QueueHandle& handle, uint64_t bus, Token* tokens) {
  Queue<S> queue(handle);
  tokens[xio::arch::lane()] = queue.try_submit(xio::nvme::read(1, 1), ContiguousPages{bus});
}

/// The third identifier is held; those beside it are free. A wave gets no more than the two before it.
template <Sharing S>
void submit_beside_held() {
  Rig rig(stepped());
  const NvmeQueue queue = rig.tight_queue(7, 8);
  REQUIRE(queue.handle().slot_mask == 15);
  Queue<S> view(queue.handle());
  PausingWave wave([&](uint64_t) { rig.model.run(); });
  const auto held = rig.model.faults().hold(Match().with_lba(500, 500));
  Token slow;
  for (uint32_t i = 0; i < 16; ++i) {
    const Token token = view.submit(xio::nvme::read(i == 2 ? 500 : i, 1), ContiguousPages{rig.bus()}, soon());
    if (i == 2) {
      slow = token;
    } else {
      REQUIRE(view.wait(token, soon()).is_ok());
    }
  }
  // A batch that needs more gets nothing.
  const xio::nvme::Piece pieces[3] = {{0, rig.bus(), 1}, {1, rig.bus(), 1}, {2, rig.bus(), 1}};
  CHECK(view.submit_batch(xio::nvme::Opcode::read, pieces, 3, xio::Now{}).status == Status::would_block);
  CHECK(queue.handle().state->reserved == 16);
  Token tokens[8];
  REQUIRE_NOTHROW(xio::simt::launch(Grid::of_waves(1, 1, 8), submit_at_once<S>, queue.handle(), rig.bus(), &tokens[0]));
  for (uint32_t lane = 0; lane < 8; ++lane) {
    CAPTURE(lane);
    CHECK(tokens[lane].submitted() == (lane < 2));
    CHECK(tokens[lane].status == (lane < 2 ? Status::ok : Status::would_block));
  }
  rig.model.faults().resume(held);
  CHECK(view.wait(slow, soon()).is_ok());
  CHECK(view.quiet(soon()).is_ok());
  CHECK(rig.statistics(queue).command_id_conflicts == 0);
}
}  // namespace

TEST_CASE("H36 H37 identifiers are taken up to the first that is in flight, by a batch all or none") {
  submit_beside_held<Sharing::wave>();
  submit_beside_held<Sharing::grid>();
}

namespace {
template <Sharing S>
void drain_expecting(const QueueHandle& handle, uint32_t expected) {
  Queue<S> queue(handle);
  EXPECT(queue.drain() == expected);
}

/// The test writes the completions in place of the controller, the second one last.
template <Sharing S>
void complete_with_gap() {
  Rig rig(stepped());
  const NvmeQueue queue = rig.queue(8);
  const QueueHandle handle = queue.handle();
  Queue<S> view(handle);
  PausingWave wave([](uint64_t) {});
  Token tokens[4];
  for (Token& token : tokens) token = view.submit(xio::nvme::read(1, 1), ContiguousPages{rig.bus()}, soon());
  const auto complete = [&](uint32_t i) {
    auto& entry = const_cast<xio::nvme::Cqe&>(handle.cq[i]);
    entry.cid = static_cast<uint16_t>(i);
    entry.status = 1;  // success, of the first lap
  };
  const auto drain = [&](uint32_t expected) {
    CHECK_NOTHROW(xio::simt::launch(Grid::of_waves(1, 1, 8), drain_expecting<S>, handle, expected));
  };
  for (const uint32_t i : {0u, 2u, 3u}) complete(i);
  drain(1);
  CHECK(view.test(tokens[0]).is_ok());
  CHECK(view.test(tokens[2]) == Status::pending);
  complete(1);
  drain(3);
  for (const Token& token : tokens) CHECK(view.test(token).is_ok());
  CHECK(handle.state->retired == 4);
}
}  // namespace

TEST_CASE("H26 a wave takes completions up to the first that is not there yet, and none behind it") {
  complete_with_gap<Sharing::wave>();
  complete_with_gap<Sharing::grid>();
}
