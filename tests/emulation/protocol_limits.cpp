// SPDX-License-Identifier: MIT

/// @file
/// @brief Controllers and queues at their limits: small completion rings, strides and pages, garbage in memory,
/// counters at their end.

#include <cstdlib>
#include <cstring>

#include <xio/device/core/pattern.hpp>

#include "catch.hpp"
#include "emulation/protocol.hpp"

using namespace protocol_tests;

namespace {

/// Writes, forgets and reads back `blocks` blocks from each of several places, and compares.
template <class Q>
void write_and_read_back(Rig& rig, Q queue, uint32_t blocks, uint32_t block_bytes, uint32_t rounds, size_t skew = 0) {
  const size_t bytes = size_t{blocks} * block_bytes;
  for (uint32_t round = 0; round < rounds; ++round) {
    const uint64_t lba = uint64_t{round} * blocks;
    stamp(rig.bytes(skew), lba, blocks, round, block_bytes);
    REQUIRE(queue.wait(queue.submit(xio::nvme::write(lba, blocks), ContiguousPages{rig.bus(skew)}, soon()), soon())
                .is_ok());
    std::memset(rig.bytes(), 0, bytes + skew);
    REQUIRE(
        queue.wait(queue.submit(xio::nvme::read(lba, blocks), ContiguousPages{rig.bus(skew)}, soon()), soon()).is_ok());
    REQUIRE(stamped(rig.bytes(skew), lba, blocks, round, block_bytes));
  }
}

}  // namespace

TEST_CASE("submit: any depth and completion ring -> no completion finds the ring full", "[H24]") {
  NvmeConfig config = stepped();
  config.queues = 2;
  Rig rig(config);
  PausingWave wave([&](uint64_t number) {
    // Sometimes much ends at once, sometimes nothing does.
    if (number % 3 != 0) rig.model.step(static_cast<uint32_t>(mix(number, 1) % 8));
    if (number % 7 == 0) rig.model.run();
  });
  uint32_t pairs = 0;
  for (uint32_t depth = 1; depth <= 35; ++depth) {
    uint32_t least = 2;
    while (least < depth + 1) least *= 2;
    for (uint32_t cq = least; cq <= 8 * least && cq <= 128; cq *= 2) {
      CAPTURE(depth, cq);
      const NvmeQueue queue = rig.queue(depth, [&](QueueOptions& options) {
        options.cq_entries = cq;
        options.list_bytes = 0;
      });
      const QueueHandle handle = queue.handle();
      REQUIRE(handle.depth == depth);
      REQUIRE(handle.cq_mask + 1 == cq);
      const auto run = [&](auto view) {
        std::vector<Token> tokens;
        for (uint32_t i = 0; i < 6 * cq; ++i) {
          tokens.push_back(view.submit(xio::nvme::read(i % 100, 1), ContiguousPages{rig.bus()}, soon()));
          if (!tokens.back().submitted()) FAIL("not submitted");
        }
        REQUIRE(view.quiet(soon()).is_ok());
      };
      if (pairs % 2 == 0) {
        run(Queue<Sharing::thread>(handle));
      } else {
        run(Queue<Sharing::grid>(handle));
      }
      const auto seen = rig.statistics(queue);
      REQUIRE(seen.cq_full_stalls == 0);
      REQUIRE(seen.suspicious_heads + seen.suspicious_tails == 0);
      // At most two heads for each lap where there is room for that.
      if (cq >= 2 * (handle.sq_mask + 1)) REQUIRE(seen.cq_doorbells <= 2 * 7);
      ++pairs;
      rig.model.reset_statistics();
    }
  }
  CHECK(pairs > 80);
}

TEST_CASE("create_queue: memory full of garbage -> a queue that works", "[H5]") {
  for (const int garbage : {0xff, 0xa5, 0x01}) {
    CAPTURE(garbage);
    NvmeConfig config;
    config.memory.allocate = [garbage](size_t bytes, size_t alignment) -> void* {
      void* memory = nullptr;
      if (posix_memalign(&memory, alignment < sizeof(void*) ? sizeof(void*) : alignment, bytes) != 0) return nullptr;
      std::memset(memory, garbage, bytes);
      return memory;
    };
    config.memory.release = [](void* memory) { std::free(memory); };
    Rig rig(config);
    for (int again = 0; again < 3; ++again) {
      const NvmeQueue queue = rig.queue(16);
      write_and_read_back(rig, Queue<Sharing::grid, Policy<Notify>>(queue.handle()), 24, 512, 20);
    }
  }
}

TEST_CASE("create_queue: doorbell stride, queue limit and page size -> honoured end to end", "[H28]") {
  NvmeConfig config;
  config.dstrd = 2;
  config.mqes = 31;
  config.mpsmin = 1;
  config.mpsmax = 2;
  config.mdts = 5;
  Rig rig(config);
  REQUIRE(rig.controller.page_bytes() == 8192);
  CHECK_THROWS_AS(rig.queue(33), xio::host::Error);
  std::vector<NvmeQueue> queues;
  for (int i = 0; i < 3; ++i) queues.push_back(rig.queue(32));
  for (const NvmeQueue& queue : queues) {
    CHECK(queue.handle().page_shift == 13);
    CHECK(queue.handle().depth == 31);
    write_and_read_back(rig, Queue<Sharing::grid>(queue.handle()), 8, 512, 50);
    // PRP lists with pages of 8 KiB, starting anywhere in a page.
    for (const size_t skew : {0u, 4u, 4096u, 8188u}) {
      write_and_read_back(rig, Queue<Sharing::thread>(queue.handle()), 256, 512, 3, skew);
    }
    CHECK(rig.statistics(queue).invalid_doorbells == 0);
  }
  CHECK(rig.model.statistics().stray_doorbells == 0);
}

TEST_CASE("create_queue: rings of several separate pages -> a queue that works", "[H25]") {
  NvmeConfig config;
  config.contiguous_queues_required = false;
  Rig rig(config);
  const NvmeQueue queue = rig.queue(500, [](QueueOptions& options) { options.non_contiguous = true; });
  const QueueHandle handle = queue.handle();
  REQUIRE((handle.sq_mask + 1) * 64 > 4096);
  REQUIRE((handle.cq_mask + 1) * 16 > 4096);
  Queue<Sharing::thread> view(handle);
  for (uint32_t i = 0; i < 3000; ++i) {
    if (!view.submit(xio::nvme::read(i % 1000, 1), ContiguousPages{rig.bus()}, soon()).submitted())
      FAIL("not submitted");
  }
  REQUIRE(view.quiet(soon()).is_ok());
  write_and_read_back(rig, view, 64, 512, 20);
  CHECK(rig.statistics(queue).command_id_conflicts == 0);
}

TEST_CASE("create_queue: shadow doorbells of a former queue -> the first kick is heard", "[H34]") {
  const auto with_shadow = [](QueueOptions& options) { options.shadow_doorbells = true; };
  Rig rig;
  for (uint32_t again = 0; again < 8; ++again) {
    CAPTURE(again);
    const NvmeQueue queue = rig.queue(7, with_shadow);
    const QueueHandle handle = queue.handle();
    REQUIRE(handle.sq_shadow != nullptr);
    Queue<Sharing::grid, xio::Policy<xio::RingBy<xio::ShadowDoorbell>>> view(handle);
    // An odd number of operations: the words hold something when the queue goes.
    for (uint32_t i = 0; i < 5 + again; ++i) {
      const Token token = view.submit(xio::nvme::read(i, 1), ContiguousPages{rig.bus()}, soon());
      REQUIRE(view.wait(token, xio::deadline(20_s)).is_ok());
    }
  }
}

TEST_CASE("pattern::verify: blocks that changed places -> found, with their addresses", "[H29]") {
  Rig rig;
  const NvmeQueue queue = rig.queue(16);
  Queue<Sharing::grid> view(queue.handle());
  constexpr uint64_t seed = 7;
  constexpr uint32_t blocks = 64;
  const auto words = [&](uint32_t i) { return reinterpret_cast<uint64_t*>(rig.bytes(i * size_t{512})); };
  for (uint32_t i = 0; i < blocks; ++i) xio::pattern::fill(words(i), 512, xio::pattern::Block(seed, i));
  REQUIRE(view.wait(view.submit(xio::nvme::write(0, blocks), ContiguousPages{rig.bus()}, soon()), soon()).is_ok());
  std::vector<unsigned char> one(512);
  std::vector<unsigned char> other(512);
  rig.model.read_blocks(1, 5, 1, one.data());
  rig.model.read_blocks(1, 40, 1, other.data());
  rig.model.write_blocks(1, 40, 1, one.data());
  rig.model.write_blocks(1, 5, 1, other.data());
  std::memset(rig.bytes(), 0, blocks * size_t{512});
  REQUIRE(view.wait(view.submit(xio::nvme::read(0, blocks), ContiguousPages{rig.bus()}, soon()), soon()).is_ok());
  std::vector<uint64_t> wrong;
  for (uint32_t i = 0; i < blocks; ++i) {
    const auto mismatch = xio::pattern::verify(words(i), 512, xio::pattern::Block(seed, i));
    if (mismatch.any()) wrong.push_back(i * 1000 + xio::pattern::address_of(seed, mismatch.found, mismatch.index));
  }
  CHECK(wrong == std::vector<uint64_t>{5040, 40005});
}

TEST_CASE("recover: commands in flight at the reset -> waits end, and nothing is written afterwards") {
  Rig rig;
  const NvmeQueue queue = rig.queue(16);
  rig.model.faults().hold(Match());
  std::memset(rig.bytes(), 0x77, 8192);
  {
    Queue<Sharing::grid> view(queue.handle());
    Token tokens[16];
    for (uint32_t i = 0; i < 16; ++i) {
      tokens[i] = view.submit(xio::nvme::read(i, 1), ContiguousPages{rig.bus(i * 512)}, soon());
    }
    rig.controller.reset();
    CHECK_FALSE(queue.valid());
    CHECK(view.wait(tokens[3], xio::deadline(5_ms)) == Status::timed_out);
  }
  rig.model.faults().clear();
  rig.controller.recover();
  for (uint32_t i = 0; i < 8192; ++i) {
    if (rig.bytes()[i] != 0x77) FAIL("a command of before the reset has written");
  }
  CHECK(queue.generation() == 2);
  Queue<Sharing::grid> view(queue.handle());
  write_and_read_back(rig, view, 24, 512, 10);
  CHECK(view.quiet(soon()).is_ok());
}

TEST_CASE("wait: data at an address without memory -> bad_address, and the queue goes on") {
  Rig rig;
  const NvmeQueue queue = rig.queue(16);
  Queue<Sharing::grid> view(queue.handle());
  for (const uint32_t blocks : {1u, 9u, 100u}) {
    const Token token = view.submit(xio::nvme::read(0, blocks), ContiguousPages{uint64_t{0x7000} << 32}, soon());
    CHECK(view.wait(token, soon()) == Status(Status::bad_address, 0x004));
    write_and_read_back(rig, view, blocks, 512, 2);
  }
  rig.strictness.provoked({Kind::memory});
}

TEMPLATE_TEST_CASE_SIG("submit: a namespace with metadata, and no buffer for it -> refused", "[H8]", ((Sharing S), S),
                       Sharing::thread, Sharing::wave, Sharing::grid) {
  Rig rig;
  const NvmeQueue made = rig.queue(8);
  // As the host sets it.
  QueueHandle handle = made.handle();
  handle.metadata_blocks = handle.max_blocks;
  handle.protection_blocks = 0;
  handle.max_blocks = 0;
  Queue<S, Policy<Notify>> view(handle);
  const xio::Region region = rig.data.region();
  const ContiguousPages pages{rig.bus()};
  const auto refused = [](const Token& token) {
    CHECK_FALSE(token.submitted());
    CHECK(token.status == Status::invalid_argument);
  };
  for (const uint32_t blocks : {1u, 4u, 300u}) {
    CAPTURE(blocks);
    refused(view.submit(xio::nvme::read(0, blocks), pages, soon()));
    refused(view.submit(xio::nvme::write(0, blocks), xio::nvme::as_sgl(pages), soon()));
    refused(view.try_submit(xio::nvme::compare(0, blocks), pages));
    refused(view.try_submit(xio::nvme::read(0, blocks).protection_action(), pages));
    refused(view.read(0, region.at(0, blocks * 512), soon()));
    refused(view.write(0, region.at(0, blocks * 512), soon()));
  }
  refused(view.submit(xio::nvme::read(0, 1).fused_first(), pages, soon()));
  refused(view.submit(xio::nvme::read(0, 1), xio::nvme::DataPointer{rig.bus()}, soon()));
  const xio::nvme::Piece pieces[2] = {{0, rig.bus(), 1}, {1, rig.bus(), 4}};
  for (const auto operation : {xio::nvme::Opcode::read, xio::nvme::Opcode::write}) {
    refused(view.submit_batch(operation, pieces, 2, soon()));
    Notification progress{};
    CHECK(view.transfer(operation, pieces, 2, soon(), progress) == Status::invalid_argument);
    CHECK(progress.done == 0);
  }
  CHECK(rig.statistics(made).commands == 0);
  // Those that have one, and those that move none.
  const Token token = view.submit(xio::nvme::read(0, 4).metadata(rig.bus(65536)), pages, soon());
  CHECK(token.submitted());
  CHECK(view.wait(token, soon()) != Status::timed_out);
  const Token zeroes = view.submit(xio::nvme::write_zeroes(0, 4), NoData{}, soon());
  CHECK(view.wait(zeroes, soon()).is_ok());
  handle.protection_blocks = handle.metadata_blocks;
  Queue<S> protecting(handle);
  refused(protecting.submit(xio::nvme::read(0, 4), pages, soon()));
  const Token action = protecting.submit(xio::nvme::read(0, 4).protection_action(), pages, soon());
  CHECK(action.submitted());
  CHECK(protecting.wait(action, soon()) != Status::timed_out);
  // The emulated namespace has none.
  rig.strictness.provoked({Kind::reserved});
}

namespace {

/// A queue of 128 slots that has done `start` operations before, as far as its counters tell.
NvmeQueue queue_at(Rig& rig, uint64_t start) {
  NvmeQueue queue = rig.queue(13, [](QueueOptions& options) {
    options.cq_entries = 64;
    options.completion_slots = 128;
  });
  const QueueHandle handle = queue.handle();
  REQUIRE(start % 128 == 0);  // the controller's rings start at entry 0, with phase 1
  xio::protocol::begin_at(*handle.state, start);
  handle.state->acknowledged = start;
  for (uint32_t i = 0; i <= handle.slot_mask; ++i) handle.slots[i].word = start << 16;
  return queue;
}

/// An operation of the last lap is never said to have ended before it has.
template <Sharing S>
void end_at(uint64_t start) {
  Rig rig(NvmeConfig(), 4096);
  const NvmeQueue queue = queue_at(rig, start - 128);
  Queue<S> view(queue.handle());
  const auto post = [&] { return view.submit(xio::nvme::read(1, 1), ContiguousPages{rig.bus()}, soon()); };
  for (int i = 0; i < 128; ++i) REQUIRE(view.wait(post(), soon()).is_ok());
  const auto held = rig.model.faults().hold(xio::emulation::Match());
  const Token token = post();
  REQUIRE(token.submitted());
  CHECK(view.wait(token, soon()) == Status::broken);
  rig.model.faults().resume(held);
}

}  // namespace

TEST_CASE("submit: counters at their end -> broken", "[H2]") {
  end_at<Sharing::thread>((uint64_t{1} << 48) - 128);
  end_at<Sharing::wave>((uint64_t{1} << 48) - 128);
  end_at<Sharing::grid>((uint64_t{1} << 48) - 128);
}

TEST_CASE("create_queue: every depth -> a table twice as large, for several laps", "[H2]") {
  for (uint32_t depth = 1; depth <= 40; ++depth) {
    CAPTURE(depth);
    Rig rig(NvmeConfig(), 4096);
    const NvmeQueue queue = rig.tight_queue(depth);
    const QueueHandle handle = queue.handle();
    REQUIRE(handle.depth == depth);
    REQUIRE(handle.slot_mask + 1 >= 2 * depth);
    REQUIRE(handle.sq_mask >= depth);
    Queue<Sharing::thread> view(handle);
    std::vector<Token> tokens;
    for (uint32_t i = 0; i < 5 * depth; ++i) {
      tokens.push_back(view.submit(xio::nvme::read(i, 1), ContiguousPages{rig.bus()}, soon()));
      if (i >= depth) REQUIRE(view.wait(tokens[i - depth], soon()).is_ok());
    }
    REQUIRE(view.quiet(soon()).is_ok());
    REQUIRE(rig.statistics(queue).max_in_flight <= depth);
  }
}

TEST_CASE("submit: the deepest queue -> 16384 in flight, identifiers up to 32767", "[H2]") {
  NvmeConfig config;
  config.mqes = 65535;
  config.discard_data = true;
  Rig rig(config, 4096);
  const NvmeQueue queue = rig.queue(32768, [](QueueOptions& options) { options.list_bytes = 0; });
  const QueueHandle handle = queue.handle();
  CHECK(handle.depth == 16384);
  CHECK(handle.slot_mask == 32767);
  Queue<Sharing::thread> view(handle);
  // More than there are identifiers, in either build.
  constexpr uint32_t total = XIO_TESTS_SHARE == 1 ? 100000 : 40000;
  for (uint32_t i = 0; i < total; ++i) {
    if (!view.submit(xio::nvme::read(i % 1000, 1), ContiguousPages{rig.bus()}, soon()).submitted())
      FAIL("not submitted");
  }
  CHECK(view.quiet(soon()).is_ok());
  const auto seen = rig.statistics(queue);
  CHECK(seen.completions == total);
  CHECK(seen.command_id_conflicts + seen.suspicious_tails + seen.suspicious_heads + seen.cq_full_stalls == 0);
}
