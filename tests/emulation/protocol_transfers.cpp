// SPDX-License-Identifier: MIT

/// @file
/// @brief Commands that are split, batches, transfers of many pieces, notifications, and data that must be flushed in.

#include <cstring>

#include "catch.hpp"
#include "emulation/protocol.hpp"

using namespace protocol_tests;
using xio::Memory;
using xio::Placed;
using xio::nvme::Opcode;
using xio::nvme::Piece;

namespace {

/// Writes and reads back `blocks` blocks at once.
template <class Q>
void move(Rig& rig, Q& queue, uint64_t lba, uint32_t blocks, uint64_t version, uint32_t parts) {
  const size_t bytes = size_t{blocks} * 512;
  stamp(rig.bytes(), lba, blocks, version);
  Token token = queue.submit(xio::nvme::write(lba, blocks), ContiguousPages{rig.bus()}, soon());
  if (parts != 0) REQUIRE(token.count == parts);
  REQUIRE(queue.wait(token, soon()).is_ok());
  std::memset(rig.bytes(), 0, bytes);
  token = queue.submit(xio::nvme::read(lba, blocks), ContiguousPages{rig.bus()}, soon());
  REQUIRE(queue.wait(token, soon()).is_ok());
  REQUIRE(stamped(rig.bytes(), lba, blocks, version));
}

/// Without lists a command moves at most a page: a long one has many parts.
void eight_blocks(QueueOptions& options) { options.list_bytes = 0; }

}  // namespace

TEST_CASE("A long command is split, and its token stands for all parts") {
  Rig rig(stepped(), size_t{4} << 20);
  PausingWave wave([&](uint64_t) { rig.model.run(); });
  const auto run = [&](auto queue, uint32_t table) {
    REQUIRE(queue.handle().max_blocks == 8);
    move(rig, queue, 0, 8, 1, 1);
    move(rig, queue, 5, 9, 2, 2);
    move(rig, queue, 100, 8 * 16, 3, 16);
    // More parts than are in flight at once, and more than the table remembers.
    move(rig, queue, 7, 8 * (table - 3) + 1, 4, 0);
    move(rig, queue, 7, 8 * 5 * table + 3, 5, 0);
    REQUIRE(queue.quiet(soon()).is_ok());
  };
  const auto tight = [&] {
    return rig.queue(16, [](QueueOptions& options) {
      eight_blocks(options);
      options.completion_slots = 32;
    });
  };
  const NvmeQueue one = tight();
  const NvmeQueue two = tight();
  run(Queue<Sharing::thread>(one.handle()), 32);
  run(Queue<Sharing::grid, Policy<Deferred<5>>>(two.handle()), 32);
}

TEST_CASE("Without a deadline a long command is submitted whole or not at all") {
  Rig rig(stepped());
  const NvmeQueue queue = rig.queue(8, eight_blocks);
  Queue<Sharing::grid> view(queue.handle());
  const auto long_read = [&](uint32_t parts) {
    return view.try_submit(xio::nvme::read(0, 8 * parts), ContiguousPages{rig.bus()});
  };
  CHECK(long_read(9).status == Status::invalid_argument);
  const Token first = long_read(5);
  CHECK(first.count == 5);
  const xio::QueueState before = *queue.handle().state;
  CHECK(long_read(4).status == Status::would_block);
  CHECK(std::memcmp(&before, queue.handle().state, sizeof before) == 0);
  CHECK(long_read(3).count == 3);
  rig.model.run();
  CHECK(view.wait(first, soon()).is_ok());
}

namespace {

/// Long commands of many lanes that all share one queue, so that their parts mix.
template <Sharing S>
void split_together(const QueueHandle& handle, unsigned char* data, uint64_t bus) {
  constexpr uint32_t blocks = 8 * 5 + 3;
  Queue<S> queue(handle);
  const uint32_t me = xio::arch::block_index() * xio::arch::block_size() + xio::arch::thread_index();
  unsigned char* const mine = data + me * size_t{24576};
  const ContiguousPages pages{bus + me * uint64_t{24576}};
  const uint64_t lba = me * uint64_t{blocks};
  for (uint64_t version = 1; version <= 3; ++version) {
    // Every third lane has a short command, and one a bad one.
    const uint32_t count = me % 3 == 0 ? 4 : blocks;
    stamp(mine, lba, count, version);
    const uint64_t where = me % 7 == 6 ? uint64_t{1} << 60 : lba;
    const Token token = queue.submit(xio::nvme::write(where, count), pages, soon());
    const Status status = queue.wait(token, soon());
    const bool bad = me % 7 == 6;
    EXPECT(status == (bad ? Status::out_of_range : Status::ok));
    EXPECT(token.submitted() != bad);
    std::memset(mine, 0, size_t{count} * 512);
    const Token again = queue.submit(xio::nvme::read(where, count), pages, soon());
    EXPECT(queue.wait(again, soon()) == status);
    EXPECT(bad || stamped(mine, lba, count, version));
  }
}

}  // namespace

TEST_CASE("Lanes with long, short and refused commands are served in one call") {
  for (const uint64_t jitter : {0u, 21u}) {
    CAPTURE(jitter);
    Rig rig(NvmeConfig(), size_t{3} * 64 * 24576);
    rig.model.faults().reorder(6);
    const auto wide = [](QueueOptions& options) {
      options.list_bytes = 0;
      options.completion_slots = 8192;
    };
    const NvmeQueue own = rig.queue(20, wide);
    const NvmeQueue shared = rig.queue(20, wide);
    Grid grid = Grid::of_waves(1, 1, 64);
    grid.jitter_seed = jitter;
    CHECK_NOTHROW(xio::simt::launch(grid, split_together<Sharing::wave>, own.handle(), rig.bytes(), rig.bus()));
    grid = Grid::of_waves(3, 1, 32);
    grid.jitter_seed = jitter;
    CHECK_NOTHROW(xio::simt::launch(grid, split_together<Sharing::grid>, shared.handle(), rig.bytes(), rig.bus()));
    for (const NvmeQueue* queue : {&own, &shared}) {
      const auto seen = rig.statistics(*queue);
      CHECK(seen.command_id_conflicts + seen.suspicious_tails + seen.errors == 0);
      CHECK(seen.completions == seen.commands);
    }
  }
}

namespace {

/// A wave stores the pieces of a batch together, in quads and outside of them.
template <Sharing S>
void batches(const QueueHandle& handle, unsigned char* data, uint64_t bus, uint64_t lanes, const uint32_t* sizes,
             Notification* counted) {
  if (!(lanes >> xio::arch::lane() & 1)) return;
  Queue<S, Policy<Notify>> queue(handle, in_wave(lanes));
  const bool first = xio::arch::is_first(lanes);
  std::vector<Piece> pieces;
  uint64_t version = 10;
  uint64_t total = 0;
  for (const uint32_t* size = sizes; *size != 0; ++size, ++version) {
    pieces.clear();
    for (uint32_t i = 0; i < *size; ++i) pieces.push_back({i * uint64_t{2}, bus + i * uint64_t{1024}, 2});
    if (first) {
      for (uint32_t i = 0; i < *size; ++i) stamp(data + i * 1024, i * uint64_t{2}, 2, version);
    }
    xio::arch::converge(lanes);
    const Token written =
        queue.submit_batch(Opcode::write, pieces.data(), *size, soon(), xio::Options().notify(counted));
    EXPECT(written.count == *size);
    EXPECT_OK(queue.wait_batch(written, soon()));
    xio::arch::converge(lanes);
    if (first) std::memset(data, 0, *size * size_t{1024});
    xio::arch::converge(lanes);
    const Token read = queue.submit_batch(Opcode::read, pieces.data(), *size, soon());
    EXPECT_OK(queue.wait_batch(read, soon()));
    for (uint32_t i = 0; i < *size; ++i) EXPECT(stamped(data + i * 1024, i * uint64_t{2}, 2, version));
    total += *size;
    EXPECT(xio::arch::load<xio::arch::Scope::system>(&counted->done) == total);
    xio::arch::converge(lanes);
  }
  EXPECT(queue.submit_batch(Opcode::read, pieces.data(), 0, soon()).status == Status::invalid_argument);
  EXPECT(queue.submit_batch(Opcode::read, pieces.data(), handle.depth + 1, soon()).status == Status::invalid_argument);
}

}  // namespace

namespace {

/// What all lanes of a wave call together happens once, in whatever parts the hardware runs them.
template <Sharing S>
void once_for_all(const QueueHandle& handle, uint64_t bus, Notification* counted) {
  Queue<S, Policy<Notify>> queue(handle);
  const Piece pieces[] = {{1, bus, 1}, {2, bus, 1}, {3, bus, 1}, {4, bus, 1}, {5, bus, 1}};
  const Token token = queue.submit_batch(Opcode::read, pieces, 5, soon());
  EXPECT(token.count == 5);
  EXPECT_OK(queue.wait_batch(token, soon()));
  EXPECT_OK(queue.transfer(Opcode::read, pieces, 5, soon(), counted[xio::arch::block_index()]));
}

template <Sharing S>
void happens_once(uint32_t blocks) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    Rig rig;
    const NvmeQueue queue = rig.queue(16);
    Notification counted[4] = {};
    Grid grid = Grid::of_waves(blocks, 1, 32);
    grid.jitter_seed = seed;
    grid.split_groups = true;
    REQUIRE_NOTHROW(xio::simt::launch(grid, once_for_all<S>, queue.handle(), rig.bus(), counted));
    REQUIRE(rig.statistics(queue).completions == 10 * blocks);
    for (uint32_t block = 0; block < blocks; ++block) REQUIRE(counted[block].done == 5);
  }
}

}  // namespace

TEST_CASE("A batch and a transfer happen once in a wave that runs in parts") {
  SECTION("wave") { happens_once<Sharing::wave>(1); }
  SECTION("block") { happens_once<Sharing::block>(1); }
  SECTION("grid") { happens_once<Sharing::grid>(4); }
}

TEST_CASE("A wave submits batches of every size, whatever lanes it has") {
  const uint32_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 31, 32, 33, 60, 63, 64, 65, 100, 0};
  for (const uint64_t lanes : {~uint64_t{0}, uint64_t{0xffffffff00000000}, uint64_t{0xf0f1}, uint64_t{1} << 40}) {
    CAPTURE(lanes);
    NvmeConfig config;
    config.poison_fetched_entries = true;
    Rig rig(config);
    const NvmeQueue own = rig.queue(100);
    const NvmeQueue shared = rig.queue(100);
    Notification counted{};
    const Grid grid = Grid::of_waves(1, 1, 64);
    CHECK_NOTHROW(
        xio::simt::launch(grid, batches<Sharing::wave>, own.handle(), rig.bytes(), rig.bus(), lanes, sizes, &counted));
    counted = {};
    CHECK_NOTHROW(xio::simt::launch(grid, batches<Sharing::grid>, shared.handle(), rig.bytes(), rig.bus(), lanes, sizes,
                                    &counted));
    CHECK(rig.statistics(own).stale_fetches + rig.statistics(shared).stale_fetches == 0);
    // One doorbell for each batch.
    CHECK(rig.statistics(own).sq_doorbells <= 15 * 2);
  }
}

TEST_CASE("A refused piece refuses the whole batch, without a trace") {
  Rig rig(stepped());
  const NvmeQueue queue = rig.queue(16);
  Queue<Sharing::grid, Policy<Notify>> view(queue.handle());
  const xio::QueueState before = *queue.handle().state;
  const Piece good{0, rig.bus(), 1};
  const Piece bad[] = {{131072, rig.bus(), 1},
                       {131071, rig.bus(), 2},
                       {~uint64_t{0}, rig.bus(), 2},
                       {0, rig.bus(), 0},
                       {0, rig.bus(), queue.handle().max_blocks + 1},
                       {0, rig.bus() + 2, 1}};
  const Status::Code reason[] = {Status::out_of_range,     Status::out_of_range,     Status::out_of_range,
                                 Status::invalid_argument, Status::invalid_argument, Status::misaligned};
  for (uint32_t i = 0; i < 6; ++i) {
    CAPTURE(i);
    const Piece pieces[] = {good, good, bad[i], good};
    CHECK(view.submit_batch(Opcode::read, pieces, 4, soon()).status == reason[i]);
    Notification progress{};
    CHECK(view.transfer(Opcode::read, pieces, 4, soon(), progress) == reason[i]);
    const Token single = view.submit(xio::nvme::read(bad[i].lba, bad[i].blocks), ContiguousPages{bad[i].bus}, soon());
    if (i != 4) CHECK(single.status == reason[i]);  // a single command that is too long is split
    if (single.submitted()) break;
  }
  const xio::QueueState after = *queue.handle().state;
  CHECK(after.reserved - before.reserved <= 2);
  // Fields that have no room for what they were given.
  CHECK(view.submit(xio::nvme::zone_append(0, 70000), ContiguousPages{rig.bus()}, soon()).status ==
        Status::invalid_argument);
}

TEST_CASE("A queue of one thread refuses without a trace what it must, and takes what is at the edge") {
  Rig rig(stepped());
  const NvmeQueue queue = rig.queue(16);
  const QueueHandle& handle = queue.handle();
  Queue<Sharing::thread> view(handle);
  PausingWave wave([&](uint64_t) { rig.model.run(); });
  const uint64_t end = handle.namespace_blocks;
  const auto submit = [&](uint64_t lba, uint32_t blocks, uint64_t bus) {
    return view.submit(xio::nvme::read(lba, blocks), ContiguousPages{bus}, soon());
  };
  REQUIRE(handle.max_blocks >= 64);
  CHECK(submit(end, 1, rig.bus()).status == Status::out_of_range);
  CHECK(submit(end - 1, 2, rig.bus()).status == Status::out_of_range);
  CHECK(submit(end - 63, 64, rig.bus()).status == Status::out_of_range);
  CHECK(submit(~uint64_t{0}, 2, rig.bus()).status == Status::out_of_range);
  CHECK(submit(0, 0, rig.bus()).status == Status::invalid_argument);
  CHECK(submit(0, 1, rig.bus() + 2).status == Status::misaligned);
  CHECK(submit(0, 64, rig.bus() + 2).status == Status::misaligned);
  QueueHandle short_lists = handle;
  short_lists.list_bytes = 8;
  CHECK(Queue<Sharing::thread>(short_lists).submit(xio::nvme::read(0, 64), ContiguousPages{rig.bus()}, soon()).status ==
        Status::out_of_range);
  QueueHandle small = handle;
  small.namespace_blocks = 2;
  CHECK(Queue<Sharing::thread>(small).submit(xio::nvme::read(0, 3), ContiguousPages{rig.bus()}, soon()).status ==
        Status::out_of_range);
  CHECK(handle.state->reserved == 0);

  CHECK(view.wait(submit(end - 1, 1, rig.bus()), soon()).is_ok());
  CHECK(view.wait(submit(end - 64, 64, rig.bus()), soon()).is_ok());
  // Nine pages, of which the last eight are in a list.
  stamp(rig.bytes(4), 100, 64, 1);
  CHECK(view.wait(view.submit(xio::nvme::write(100, 64), ContiguousPages{rig.bus(4)}, soon()), soon()).is_ok());
  CHECK(view.wait(submit(100, 64, rig.bus(1 << 16)), soon()).is_ok());
  CHECK(stamped(rig.bytes(1 << 16), 100, 64, 1));
  // Where the size of the namespace is not known, the controller refuses.
  QueueHandle unknown = handle;
  unknown.namespace_blocks = 0;
  Queue<Sharing::thread> trusting(unknown);
  const Token beyond = trusting.submit(xio::nvme::read(end, 1), ContiguousPages{rig.bus()}, soon());
  CHECK(beyond.submitted());
  CHECK(trusting.wait(beyond, soon()).from_device());
}

namespace {

template <Sharing S>
void transfer_all(const QueueHandle& handle, const Piece* pieces, uint32_t count, Notification* progress) {
  Queue<S, Policy<Notify>> queue(handle);
  EXPECT_OK(queue.transfer(Opcode::read, pieces, count, soon(), *progress));
}

}  // namespace

TEST_CASE("A transfer moves more pieces than the queue holds, and counts them") {
  Rig rig;
  rig.model.faults().reorder(5);
  std::vector<Piece> pieces;
  std::vector<unsigned char> content(512 * 512);
  stamp(content.data(), 0, 512, 3);
  rig.model.write_blocks(1, 0, 512, content.data());
  for (uint32_t i = 0; i < 512; ++i) pieces.push_back({i, rig.bus(i * 512), 1});
  for (const uint32_t wave_size : {1u, 64u}) {
    for (const uint32_t count : {1u, 5u, 512u}) {
      CAPTURE(wave_size, count);
      std::memset(rig.bytes(), 0, 512 * 512);
      Notification progress{};
      const Grid grid = Grid::of_waves(1, 1, wave_size);
      CHECK_NOTHROW(xio::simt::launch(grid, transfer_all<Sharing::wave>, rig.queue(31).handle(), pieces.data(), count,
                                      &progress));
      CHECK(stamped(rig.bytes(), 0, count, 3));
      CHECK(progress.done == count);
      progress = {};
      CHECK_NOTHROW(xio::simt::launch(grid, transfer_all<Sharing::grid>, rig.queue(31).handle(), pieces.data(), count,
                                      &progress));
      CHECK(progress.done == count);
      CHECK(progress.failed == 0);
    }
  }
}

TEST_CASE("H15 only completions in host memory with data in device memory need a flush") {
  STATIC_REQUIRE_FALSE(Policy<Placed<Memory::host, Memory::device>>::inbound_in_order);
  STATIC_REQUIRE(Policy<Placed<Memory::host, Memory::host>>::inbound_in_order);
  STATIC_REQUIRE(Policy<Placed<Memory::device, Memory::device>>::inbound_in_order);
  STATIC_REQUIRE(Policy<Placed<Memory::device, Memory::host>>::inbound_in_order);
  STATIC_REQUIRE(Policy<Notify, Placed<Memory::host, Memory::device>>::notifications);
}

TEMPLATE_TEST_CASE_SIG("H15 every wait makes the controller read from the data's memory once", "", ((Sharing S), S),
                       Sharing::thread, Sharing::wave, Sharing::grid) {
  using P = Policy<Notify, Placed<Memory::host, Memory::device>>;
  Rig rig;
  const auto flushed = [&](const NvmeQueue& queue) { return rig.statistics(queue).by_opcode[5]; };
  const auto with_buffer = [&](QueueOptions& options) { options.flush_bus = rig.bus(65536); };
  // What lies in the buffer differs from block 0 or not: either will do.
  for (const bool differs : {false, true}) {
    rig.bytes(65536)[0] = differs;
    const NvmeQueue queue = rig.queue(8, with_buffer);
    rig.model.reset_statistics();
    Queue<S, P> view(queue.handle());
    const auto read = [&] { return view.submit(xio::nvme::read(1, 1), ContiguousPages{rig.bus()}, soon()); };
    Token token = read();
    CHECK(flushed(queue) == 0);
    CHECK(view.wait(token, soon()).is_ok());
    CHECK(flushed(queue) == 1);
    token = read();
    CHECK(view.wait_all(&token, 1, soon()).is_ok());
    CHECK(flushed(queue) == 2);
    uint32_t which = 1;
    token = read();
    CHECK(view.wait_any(&token, 1, soon(), which).is_ok());
    CHECK(flushed(queue) == 3);
    (void)read();
    CHECK(view.fence(soon()).is_ok());
    CHECK(flushed(queue) == 4);
    (void)read();
    CHECK(view.quiet(soon()).is_ok());
    CHECK(flushed(queue) == 5);
    const Piece piece{0, rig.bus(), 1};
    Notification progress{};
    CHECK(view.transfer(Opcode::read, &piece, 1, soon(), progress).is_ok());
    CHECK(flushed(queue) == 6);
    // A refused operation moved nothing.
    CHECK(view.wait(Token::refused(Status::would_block), soon()) == Status::would_block);
    CHECK(flushed(queue) == 6);
    CHECK(view.errors().count == 0);
  }
  const NvmeQueue none = rig.queue(8);
  Queue<S, P> view(none.handle());
  const Token token = view.submit(xio::nvme::read(1, 1), ContiguousPages{rig.bus()}, soon());
  CHECK(view.wait(token, soon()) == Status::unsupported);
}

namespace {
void wait_and_flush(const QueueHandle& handle, uint64_t bus) {
  Queue<Sharing::wave, Policy<Placed<Memory::host, Memory::device>>> queue(handle);
  EXPECT_OK(queue.wait(queue.submit(xio::nvme::read(xio::arch::lane(), 1), ContiguousPages{bus}, soon()), soon()));
}
}  // namespace

TEST_CASE("H15 a wave flushes once for all of its lanes") {
  Rig rig;
  const NvmeQueue queue = rig.queue(64, [&](QueueOptions& options) { options.flush_bus = rig.bus(65536); });
  xio::simt::launch(Grid::of_waves(1, 1, 64), wait_and_flush, queue.handle(), rig.bus());
  CHECK(rig.statistics(queue).by_opcode[5] == 1);
}
