// SPDX-License-Identifier: MIT

/// @file
/// @brief Many waves do random things on one queue at the same time; each lane keeps account of its own blocks.

#include <cstring>

#include "catch.hpp"
#include "emulation/protocol.hpp"

using namespace protocol_tests;

namespace {

constexpr uint32_t blocks_per_lane = 32;
constexpr uint32_t longest = 12;  // blocks of one command; more than the queue moves at once
constexpr size_t lane_bytes = size_t{4} * longest * 512;

/// Blocks that cannot be read or written, one for some of the lanes.
constexpr bool has_bad_block(uint32_t lane) { return lane % 5 == 3; }
constexpr uint32_t bad_block = 17;

struct Random {
  uint64_t state;
  uint64_t below(uint64_t n) {
    state = mix(state, 77);
    return (state >> 11) % n;
  }
};

/// One operation in flight of one lane.
struct Mine {
  Token token;
  uint32_t block = 0;
  uint32_t blocks = 0;  // 0: nothing in flight here
  bool write = false;
  uint64_t version = 0;
};

/// What each block of the lane holds; 0: zeroes.
struct Account {
  uint64_t version[blocks_per_lane] = {};
};

template <Sharing S, class Policy>
class Lane {
 public:
  Lane(const QueueHandle& handle, unsigned char* data, uint64_t bus, uint32_t lane, uint64_t seed)
      : queue_(handle),
        data_(data + lane * lane_bytes),
        bus_(bus + lane * lane_bytes),
        lane_(lane),
        random_{mix(seed, lane)} {}

  void run(uint32_t steps) {
    for (uint32_t i = 0; i < steps; ++i) {
      Mine& mine = mine_[random_.below(4)];
      if (mine.blocks == 0) {
        submit(mine);
      } else {
        finish(mine);
      }
      if (random_.below(8) == 0) queue_.drain();
    }
    if (random_.below(2) == 0) EXPECT_OK(queue_.fence(soon()));
    for (Mine& mine : mine_) finish(mine, true);
    verify();
  }

 private:
  uint64_t lba(uint32_t block) const { return uint64_t{lane_} * blocks_per_lane + block; }
  size_t offset(const Mine& mine) const { return static_cast<size_t>(&mine - mine_) * longest * 512; }

  bool overlaps(uint32_t block, uint32_t blocks) const {
    for (const Mine& other : mine_) {
      if (other.blocks != 0 && block < other.block + other.blocks && other.block < block + blocks) return true;
    }
    return false;
  }
  bool bad(uint32_t block, uint32_t blocks) const {
    return has_bad_block(lane_) && block <= bad_block && bad_block < block + blocks;
  }

  void submit(Mine& mine) {
    const auto blocks = static_cast<uint32_t>(1 + random_.below(longest));
    const auto block = static_cast<uint32_t>(random_.below(blocks_per_lane - blocks + 1));
    const bool write = random_.below(2) == 0;
    const bool patient = random_.below(3) != 0;
    if (overlaps(block, blocks)) return;
    const uint64_t version = ++versions_;
    if (write) {
      stamp(data_ + offset(mine), lba(block), blocks, version);
    } else {
      std::memset(data_ + offset(mine), 0xcc, blocks * size_t{512});
    }
    const auto command = write ? xio::nvme::write(lba(block), blocks) : xio::nvme::read(lba(block), blocks);
    const ContiguousPages pages{bus_ + offset(mine)};
    queue_.publish_payload();
    const Token token = patient ? queue_.submit(command, pages, soon()) : queue_.try_submit(command, pages);
    if (!token.submitted()) {
      EXPECT(!patient && token.status == Status::would_block);
      return;
    }
    mine = {token, block, blocks, write, version};
  }

  void finish(Mine& mine, bool at_last = false) {
    if (mine.blocks == 0) return;
    Status status;
    if (!at_last && random_.below(3) == 0) {
      status = queue_.test(mine.token);
      if (status == Status::pending) return;
    } else {
      status = queue_.wait(mine.token, soon());
    }
    const bool fails = bad(mine.block, mine.blocks);
    EXPECT(status.is_ok() == !fails);
    if (fails) EXPECT(code_of(status) == 0x281);
    // Of a command that failed some parts may have been written: they are written again before anybody looks.
    if (mine.write) {
      for (uint32_t i = 0; i < mine.blocks; ++i) account_.version[mine.block + i] = fails ? unknown : mine.version;
    } else if (!fails) {
      check(data_ + offset(mine), mine.block, mine.blocks);
    }
    mine.blocks = 0;
  }

  void check(const unsigned char* data, uint32_t block, uint32_t blocks) const {
    static const unsigned char zeroes[512] = {};
    for (uint32_t i = 0; i < blocks; ++i) {
      const uint64_t version = account_.version[block + i];
      if (version == unknown) continue;
      const unsigned char* const at = data + i * size_t{512};
      EXPECT(version == 0 ? std::memcmp(at, zeroes, 512) == 0 : stamped(at, lba(block + i), 1, version));
    }
  }

  void verify() {
    for (uint32_t block = 0; block < blocks_per_lane; block += 4) {
      if (bad(block, 4)) continue;
      EXPECT_OK(queue_.wait(queue_.submit(xio::nvme::read(lba(block), 4), ContiguousPages{bus_}, soon()), soon()));
      check(data_, block, 4);
    }
  }

  static constexpr uint64_t unknown = ~uint64_t{0};

  Queue<S, Policy> queue_;
  unsigned char* data_;
  uint64_t bus_;
  uint32_t lane_;
  Random random_;
  Mine mine_[4];
  Account account_;
  uint64_t versions_ = 0;
};

template <Sharing S, class Policy>
void random_lane(const QueueHandle& handle, unsigned char* data, uint64_t bus, uint64_t seed, uint32_t steps) {
  const uint32_t me = xio::arch::block_index() * xio::arch::block_size() + xio::arch::thread_index();
  Lane<S, Policy>(handle, data, bus, me, seed).run(steps);
}

struct Shape {
  uint32_t waves, wave_size, depth;
};

using Kernel = void (*)(const QueueHandle&, unsigned char*, uint64_t, uint64_t, uint32_t);

void run_waves(Kernel kernel, bool one_block) {
  uint64_t seed = 1;
  for (const Shape& shape : {Shape{8, 1, 9}, Shape{4, 8, 16}, Shape{2, 32, 40}, Shape{2, 64, 64}}) {
    ++seed;
    CAPTURE(shape.waves, shape.wave_size, shape.depth);
    const uint32_t lanes = shape.waves * shape.wave_size;
    NvmeConfig config;
    config.poison_fetched_entries = true;
    Rig rig(config, lanes * lane_bytes);
    auto& faults = rig.model.faults();
    faults.seed(seed);
    faults.reorder(7);
    faults.delay_us(Match().each(5), 0, 60);
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      const uint64_t lba = uint64_t{lane} * blocks_per_lane + bad_block;
      if (has_bad_block(lane)) faults.fail(Match().with_lba(lba, lba), 0x281);
    }
    const NvmeQueue queue = rig.queue(shape.depth, [](QueueOptions& options) {
      options.list_bytes = 0;
      options.completion_slots = 32768;
    });
    Grid grid = Grid::of_waves(one_block ? 1 : shape.waves, one_block ? shape.waves : 1, shape.wave_size);
    grid.jitter_seed = seed;
    REQUIRE_NOTHROW(xio::simt::launch(grid, kernel, queue.handle(), rig.bytes(), rig.bus(), seed, 40u));
    const auto seen = rig.statistics(queue);
    CHECK(seen.command_id_conflicts + seen.stale_fetches + seen.suspicious_tails + seen.suspicious_heads == 0);
    CHECK(seen.completions == seen.commands);
    CHECK(seen.cq_full_stalls == 0);
    CHECK(queue.handle().state->error_count == 0);
  }
}

}  // namespace

TEST_CASE("Random waves on one queue of the grid") {
  run_waves(random_lane<Sharing::grid, xio::Policy<>>, false);
  run_waves(random_lane<Sharing::grid, Policy<Deferred<6>>>, false);
}

TEST_CASE("Random waves on one queue of a block") { run_waves(random_lane<Sharing::block, xio::Policy<>>, true); }
