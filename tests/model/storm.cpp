// SPDX-License-Identifier: MIT

/// @file
/// @brief 256 waves submit at the same time, with entries that take 1 to 64 accesses to build, and doorbells that take
/// their time: how soon the first one is rung, how many are rung, and how many of them in one call. In rounds: in each,
/// every wave makes one coherent access.

#include <algorithm>
#include <memory>
#include <random>
#include <vector>

#include <xio/device/nvme/queue.hpp>
#include <xio/host/simt/fibre.hpp>

#include "catch.hpp"

#if !XIO_INTERLEAVE
#error "the storm needs XIO_INTERLEAVE=1"
#endif

namespace {

using xio::Sharing;
using xio::simt::detail::Fibre;
using xio::simt::detail::Strand;

constexpr uint32_t waves = 256;
constexpr uint32_t each = 8;
constexpr uint32_t operations = waves * each;
constexpr uint32_t entries = 2 * operations;

class Storm {
 public:
  Storm(uint32_t doorbell_rounds, uint32_t seed) : doorbell_rounds_(doorbell_rounds), random_(seed) {}

  /// One wave. Each access passes the turn to the next one.
  struct Wave final : xio::arch::WaveOps {
    Wave(Storm& owner, uint32_t index) : storm(owner), fibre(64 * 1024, index) { block_index = index; }
    uint64_t active(const xio::arch::CallSite&) override { return 1; }
    uint64_t ballot(uint64_t, bool predicate) override { return predicate; }
    uint64_t shuffle(uint64_t, uint64_t value, uint32_t) override { return value; }
    void block_barrier() override {}
    void yield(uint32_t) override { storm.pass(*this, 1); }
    void access(const void*, uint32_t) override { storm.pass(*this, 1); }
    bool store_later(void* to, const void*, uint32_t, bool entry) override {
      const auto offset = static_cast<size_t>(static_cast<char*>(to) - reinterpret_cast<char*>(storm.sq_.data()));
      if (entry && offset % sizeof(xio::nvme::Sqe) == 0) storm.pass(*this, 1 + storm.random_() % 64);
      return false;
    }
    void perform_stores() override {
      if (!rang) return;
      rang = false;
      storm.pass(*this, storm.doorbell_rounds_);
    }
    uint64_t now() override { return storm.round_; }

    Storm& storm;
    Fibre fibre;
    bool rang = false;
    bool ended = false;
    uint32_t doorbells = 0;  ///< of its current call
  };

  void run() {
    xio::arch::WaveOps* const outer = xio::arch::current_wave;
    std::vector<std::unique_ptr<Wave>> all;
    for (uint32_t i = 0; i < waves; ++i) {
      all.push_back(std::make_unique<Wave>(*this, i));
      all[i]->fibre.assign(&Storm::begin, all[i].get());
    }
    for (bool running = true; running && round_ < 100000; ++round_) {
      running = false;
      for (const std::unique_ptr<Wave>& wave : all) {
        if (wave->ended) continue;
        running = true;
        xio::arch::current_wave = current_ = wave.get();
        Strand::transfer(main_, wave->fibre);
      }
      if (first_published == 0 && xio::protocol::published(memory_[0].state.tail) != 0) first_published = round_;
    }
    xio::arch::current_wave = outer;
  }

  /// The doorbell's register takes `value`.
  void rung(uint32_t value) {
    if (doorbells == 0) first_doorbell = round_;
    ++doorbells;
    most_in_a_call = std::max(most_in_a_call, ++current_->doorbells);
    current_->rang = true;
    backwards = backwards || value <= last_value;
    last_value = value;
    last_doorbell = round_;
  }

  uint32_t refused = 0;
  uint32_t doorbells = 0;
  uint32_t most_in_a_call = 0;
  uint32_t last_value = 0;
  bool backwards = false;
  uint64_t first_published = 0, first_doorbell = 0, last_doorbell = 0;

 private:
  struct Shared {
    xio::QueueState state;
    uint64_t links[entries];
  };

  static Strand& begin(void* argument) {
    Wave& wave = *static_cast<Wave*>(argument);
    wave.storm.submit(wave);
    wave.ended = true;
    return wave.storm.main_;
  }
  void submit(Wave& wave);

  /// Lets the other waves make an access each, so many times.
  void pass(Wave& wave, uint32_t rounds) {
    for (uint32_t i = 0; i < rounds; ++i) Strand::transfer(wave.fibre, main_);
  }

  const uint32_t doorbell_rounds_;
  std::mt19937 random_;
  uint64_t round_ = 0;
  Wave* current_ = nullptr;
  Strand main_;
  std::vector<Shared> memory_ = std::vector<Shared>(1);
  std::vector<xio::nvme::Sqe> sq_ = std::vector<xio::nvme::Sqe>(entries);
  std::vector<xio::nvme::Cqe> cq_ = std::vector<xio::nvme::Cqe>(2 * entries);
  std::vector<xio::nvme::CompletionSlot> slots_ = std::vector<xio::nvme::CompletionSlot>(entries);
  xio::nvme::FailureLog failures_{};
  uint32_t sq_doorbell_ = 0, cq_doorbell_ = 0;
};

struct StormDoorbell : xio::MmioDoorbell {
  static inline Storm* storm;
  static void ring(const xio::DoorbellTarget& target, uint32_t value) {
    MmioDoorbell::ring(target, value);
    storm->rung(value);
  }
};

void Storm::submit(Wave& wave) {
  xio::nvme::QueueHandle h{};
  h.state = &memory_[0].state;
  h.sq = sq_.data();
  h.cq = cq_.data();
  h.slots = slots_.data();
  h.failures = &failures_;
  h.failure_entries = 2;
  h.sq_doorbell = &sq_doorbell_;
  h.cq_doorbell = &cq_doorbell_;
  h.sq_mask = entries - 1;
  h.cq_mask = 2 * entries - 1;
  h.slot_mask = entries - 1;
  h.depth = operations;
  h.max_blocks = 8;
  h.block_shift = 9;
  h.page_shift = 12;
  h.nsid = 1;
  xio::nvme::Queue<Sharing::grid, xio::Policy<xio::RingBy<StormDoorbell>>> queue(h);
  const xio::Deadline until{~uint64_t{0}};
  for (uint32_t i = 0; i < each; ++i) {
    wave.doorbells = 0;
    const uint64_t block = wave.block_index * each + i;
    if (!queue.submit(xio::nvme::read(block, 1), xio::nvme::DataPointer{block << 12}, until).submitted()) ++refused;
  }
  queue.ring();
}

}  // namespace

TEST_CASE("doorbells of a storm combine, begin at once, and are not left to one wave", "[H17]") {
  struct Case {
    uint32_t rounds;
    double per_operation;
  };
  for (const Case& one : {Case{2, 0.6}, Case{8, 0.25}, Case{32, 0.08}}) {
    for (uint32_t seed = 1; seed <= 5; ++seed) {
      CAPTURE(one.rounds, seed);
      Storm storm(one.rounds, seed);
      StormDoorbell::storm = &storm;
      storm.run();
      std::printf(
          "doorbells of %2u rounds: published in round %llu, first in %llu, last in %llu, %.3f for each operation, at "
          "most %u in one call\n",
          one.rounds, static_cast<unsigned long long>(storm.first_published),
          static_cast<unsigned long long>(storm.first_doorbell), static_cast<unsigned long long>(storm.last_doorbell),
          double(storm.doorbells) / operations, storm.most_in_a_call);
      CHECK(storm.refused == 0);
      CHECK_FALSE(storm.backwards);
      CHECK(storm.last_value == operations);
      CHECK(storm.first_doorbell <= 2 * storm.first_published);
      CHECK(storm.doorbells < one.per_operation * operations);
      // Its own one and `most_doorbells` for others, then as many again where nobody takes over at once.
      CHECK(storm.most_in_a_call <= 1 + 3 * xio::Policy<>::most_doorbells);
      // Each attempt to claim takes two rounds: the slot, and the exchange.
      CHECK(storm.last_doorbell < 2 * operations + 300);
    }
  }
}
