// SPDX-License-Identifier: MIT

/// @file
/// @brief Answers of a target over RDMA that do not come, come late, or come twice.

#include <array>

#include "emulation/fabric_target.hpp"

using namespace fabric_tests;
using xio::nvme::Opcode;

namespace {

constexpr uint64_t target_blocks = 512;

/// A queue whose first command is not answered for now, and what others do meanwhile.
template <class Kit, Sharing S>
struct Withheld {
  using Fabric = FabricQueue<Kit>;
  using View = typename Fabric::template Queue<S, Notify>;

  Withheld() : fabric(target_blocks, 64 * block_bytes), view(fabric.handle) {
    for (uint64_t lba = 0; lba < target_blocks; ++lba) stamp(fabric.target.medium.block(lba), lba, 1, 3);
    fabric.target.withhold(0);
    lost = read(7, 0, soon());
  }
  template <class Until>
  Token read(uint64_t lba, uint32_t place, Until until) {
    return view.submit(xio::nvme::read(lba, 1), fabric.data.at(uint64_t{place} * block_bytes, block_bytes), until);
  }
  /// Whether the command ends with success, the answer of this block and its data.
  bool answered(const Token& token, uint64_t lba, uint32_t place) {
    uint64_t result = 0;
    return view.wait(token, soon()).is_ok() && view.result(token, result).is_ok() && result == lba + 1 &&
           stamped(fabric.at(uint64_t{place} * block_bytes), lba, 1, 3);
  }

  Fabric fabric;
  View view;
  Token lost;
};

template <class Kit, Sharing S>
void answer_late() {
  CAPTURE(static_cast<int>(S));
  Withheld<Kit, S> it;
  REQUIRE(it.lost.submitted());
  // As many at once as there is room for beside it, then one after the other up to its identifier.
  std::vector<Token> tokens;
  for (uint32_t i = 1; i < it.fabric.depth; ++i) tokens.push_back(it.read(i + 10, i, soon()));
  CHECK(it.read(1, 40, xio::Now{}).status == Status::would_block);
  for (uint32_t i = 1; i < it.fabric.depth; ++i) REQUIRE(it.answered(tokens[i - 1], i + 10, i));
  for (uint32_t i = it.fabric.depth; i < it.fabric.slots; ++i) REQUIRE(it.answered(it.read(i, 40, soon()), i, 40));
  CHECK(it.view.test(it.lost) == Status::pending);
  CHECK(it.view.wait(it.lost, xio::deadline(1_ms)) == Status::timed_out);
  const uint64_t capsules = it.fabric.target.capsules;
  CHECK(it.read(300, 41, xio::Now{}).status == Status::would_block);
  CHECK(it.read(300, 41, xio::deadline(1_ms)).status == Status::timed_out);
  CHECK(it.fabric.target.capsules == capsules);
  CHECK(capsules == it.fabric.slots);

  it.fabric.target.withhold(it.fabric.target.none);
  const Token next = it.read(300, 41, soon());
  REQUIRE(next.submitted());
  CHECK(it.view.slot_of(next) == it.view.slot_of(it.lost));
  CHECK(it.answered(next, 300, 41));
  CHECK(it.view.wait(it.lost, soon()).is_ok());
  CHECK(stamped(it.fabric.at(0), 7, 1, 3));
  CHECK(it.view.quiet(soon()).is_ok());
}

template <class Kit, Sharing S>
void transfer_short() {
  CAPTURE(static_cast<int>(S));
  constexpr uint32_t pieces = 24;
  Withheld<Kit, S> it;
  it.fabric.target.withhold(5);
  REQUIRE(it.answered(it.lost, 7, 0));
  Notification progress{};
  const auto made = [&](uint32_t i) { return xio::nvme::Piece{i, it.fabric.data.base + i * block_bytes, 1}; };
  CHECK(it.view.transfer(Opcode::read, made, pieces, xio::deadline(1_ms), progress) == Status::timed_out);
  for (const Deadline until = soon(); progress.done < pieces - 1 && !until.passed();) it.view.drain();
  CHECK(progress.done == pieces - 1);
  CHECK(it.view.fence(xio::deadline(1_ms)) == Status::timed_out);
  it.fabric.target.withhold(it.fabric.target.none);
  CHECK(it.view.fence(soon()).is_ok());
  CHECK(progress.done == pieces);
  for (uint32_t i = 0; i < pieces; ++i) CHECK(stamped(it.fabric.at(i * block_bytes), i, 1, 3));
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("fabric: an answer does not come -> others go on, nobody gets its identifier, nor its answer",
                        "[H2][H14]", Some) {
  answer_late<TestType, Sharing::thread>();
  answer_late<TestType, Sharing::wave>();
  answer_late<TestType, Sharing::grid>();
}

TEMPLATE_LIST_TEST_CASE("fabric: an answer to one piece of a transfer does not come -> timed out, the others counted",
                        "[H14]", Some) {
  transfer_short<TestType, Sharing::thread>();
  transfer_short<TestType, Sharing::grid>();
}

TEMPLATE_LIST_TEST_CASE("fabric: an answer does not come to a wave among others -> it alone times out", "[H14]", Some) {
  constexpr uint32_t waves = 4, lanes = 8, turns = 3;
  Withheld<TestType, Sharing::grid> it;
  const auto run = [&] {
    typename Withheld<TestType, Sharing::grid>::View queue(it.fabric.handle);
    const uint32_t me = xio::arch::block_index() * lanes + xio::arch::thread_index();
    const auto piece = it.fabric.data.at(uint64_t{1 + me} * block_bytes, block_bytes);
    for (uint32_t turn = 0; turn < turns; ++turn) {
      const uint64_t lba = uint64_t{turn} * waves * lanes + me;
      EXPECT_OK(queue.wait(queue.read(lba, piece, soon()), soon()));
      EXPECT(stamped(it.fabric.at(uint64_t{1 + me} * block_bytes), lba, 1, 3));
    }
    EXPECT(queue.wait(it.lost, xio::deadline(1_ms)) == Status::timed_out);
  };
  REQUIRE_NOTHROW(xio::simt::launch(Grid::of_waves(waves, 1, lanes), run));
  it.fabric.target.withhold(it.fabric.target.none);
  CHECK(it.answered(it.lost, 7, 0));
}

namespace {

/// The second command's answer comes twice: what a queue over PCIe does when a completion does (protocol_waits.cpp).
template <class Kit, Sharing S, class... Tags>
void answer_twice() {
  CAPTURE(static_cast<int>(S));
  using Fabric = FabricQueue<Kit>;
  Fabric fabric(target_blocks, block_bytes);
  fabric.target.answer_twice(1);
  typename Fabric::template Queue<S, Tags...> view(fabric.handle);
  const auto read = [&](auto until) {
    return view.submit(xio::nvme::read(1, 1), fabric.data.at(0, block_bytes), until);
  };
  REQUIRE(view.wait(read(soon()), soon()).is_ok());
  const Token twice = read(soon());
  REQUIRE(view.wait(twice, soon()).is_ok());
  for (const Deadline until = soon(); fabric.handle.state->broken == 0 && !until.passed();) view.drain();
  REQUIRE(fabric.handle.state->broken != 0);
  // The answer that belongs to nothing was not counted.
  CHECK(fabric.handle.state->retired == 2);
  CHECK(view.wait(twice, soon()).is_ok());
  const uint64_t capsules = fabric.target.capsules;
  const xio::nvme::Piece pieces[2] = {{1, fabric.data.base, 1}, {2, fabric.data.base, 1}};
  CHECK(read(soon()).status == Status::broken);
  CHECK(read(xio::Now{}).status == Status::broken);
  CHECK(view.submit_batch(Opcode::read, pieces, 2, soon()).status == Status::broken);
  CHECK(fabric.target.capsules == capsules);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("fabric: an answer comes twice -> the queue breaks as over PCIe, and refuses in every mode",
                        "[H14]", Some) {
  answer_twice<TestType, Sharing::thread>();
  answer_twice<TestType, Sharing::wave, Notify>();
  answer_twice<TestType, Sharing::block>();
  answer_twice<TestType, Sharing::grid>();
}

namespace {

constexpr uint32_t asking_waves = 4;
constexpr uint32_t asking_lanes = 8;
constexpr uint32_t asking = asking_waves * asking_lanes;

/// Each thread reads blocks, and each wait tells of its own command or that the queue is broken, as it is at last.
/// @param memory  of `region`, a block for each thread
template <class View>
void ask_until_broken(const QueueHandle& handle, const Region& region, const unsigned char* memory) {
  constexpr uint32_t turns = 8;
  std::array<Notification, asking> told{};
  std::array<uint32_t, asking> submitted{};
  std::array<uint32_t, asking> ended{};
  const auto run = [&] {
    View queue(handle);
    const uint32_t me = xio::arch::block_index() * asking_lanes + xio::arch::thread_index();
    const uint64_t offset = uint64_t{me} * block_bytes;
    const auto piece = region.at(offset, block_bytes);
    for (uint32_t turn = 0; turn < turns; ++turn) {
      const uint64_t lba = uint64_t{turn} * asking + me;
      const Token token = queue.read(lba, piece, soon(), xio::Options().notify(told[me]));
      submitted[me] += token.count;
      const Status status = queue.wait(token, soon());
      EXPECT((status.is_ok() || status == Status::broken));
      if (!status.is_ok()) continue;
      ++ended[me];
      EXPECT(stamped(memory + offset, lba, 1, 3));
    }
    for (const Deadline until = soon(); handle.state->broken == 0 && !until.passed();) queue.drain();
    EXPECT(queue.read(0, piece, soon()).status == Status::broken);
  };
  REQUIRE_NOTHROW(xio::simt::launch(Grid::of_waves(asking_waves, 1, asking_lanes), run));
  uint64_t more = 0;
  for (uint32_t i = 0; i < asking; ++i) {
    CHECK(told[i].done >= ended[i]);
    if (told[i].done > submitted[i]) more += told[i].done - submitted[i];
  }
  // One that lanes take together with its double counts once more, over PCIe too.
  CHECK(more <= 1);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("fabric: an answer comes twice among those of many waves -> each gets its own, or broken",
                        "[H14]", Some) {
  using Fabric = FabricQueue<TestType>;
  for (const uint64_t number : {0u, 9u, 40u}) {
    CAPTURE(number);
    Fabric fabric(target_blocks, size_t{asking} * block_bytes);
    for (uint64_t lba = 0; lba < target_blocks; ++lba) stamp(fabric.target.medium.block(lba), lba, 1, 3);
    fabric.target.answer_twice(number);
    ask_until_broken<typename Fabric::template Queue<Sharing::grid, Notify>>(
        fabric.handle, fabric.data, static_cast<const unsigned char*>(fabric.at(0)));
  }
}

TEST_CASE("drain: a completion comes twice among those of many waves -> each gets its own, or broken", "[H14]") {
  for (const uint64_t number : {0u, 9u, 40u}) {
    CAPTURE(number);
    Rig rig;
    std::vector<unsigned char> blocks(target_blocks * block_bytes);
    stamp(blocks.data(), 0, target_blocks, 3);
    rig.model.write_blocks(1, 0, target_blocks, blocks.data());
    rig.model.faults().duplicate(Match().at(number));
    const NvmeQueue queue = rig.queue(32);
    ask_until_broken<Queue<Sharing::grid, Policy<Notify>>>(queue.handle(), rig.data.region(), rig.bytes());
  }
}
