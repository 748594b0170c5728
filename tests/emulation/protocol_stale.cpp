// SPDX-License-Identifier: MIT

/// @file
/// @brief Lanes of one wave that read different values of one word, as they may where each lane has loads of its own.

#include <array>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "catch.hpp"
#include "emulation/protocol.hpp"

#if !XIO_INTERLEAVE
#error "this test needs XIO_INTERLEAVE=1"
#endif

using namespace protocol_tests;

namespace {

/// A wave of two lanes, each a thread. Lane 1 reads a former value of one word.
class TwoLanes {
 public:
  TwoLanes(uint64_t* word, uint64_t former) : word_(word), former_(former), real_(*word) {}

  template <class Kernel>
  void run(const Kernel& kernel) {
    std::array<std::thread, 2> threads;
    for (uint32_t i = 0; i < 2; ++i) {
      threads[i] = std::thread([&, i] {
        Lane lane(*this);
        lane.lane = lane.thread_index = i;
        lane.wave_size = lane.block_size = 2;
        xio::arch::current_wave = &lane;
        kernel(i);
        xio::arch::current_wave = nullptr;
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  uint32_t misled = 0;  ///< how often lane 1 got the former value

 private:
  class Lane final : public xio::arch::WaveOps {
   public:
    explicit Lane(TwoLanes& wave) : wave_(wave) {}
    uint64_t active(const xio::arch::CallSite&) override { return 3; }
    uint64_t ballot(uint64_t, bool predicate) override {
      const auto all = wave_.meet(lane, predicate);
      return all[0] | all[1] << 1;
    }
    uint64_t shuffle(uint64_t, uint64_t value, uint32_t source) override { return wave_.meet(lane, value)[source]; }
    void block_barrier() override {}
    void yield(uint32_t) override { std::this_thread::yield(); }
    void access(const void* where, uint32_t) override {
      if (lane == 1 && where == wave_.word_) wave_.mislead();
    }

   private:
    TwoLanes& wave_;
  };

  /// Both lanes come with a value and get both.
  std::array<uint64_t, 2> meet(uint32_t lane, uint64_t value) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (lane == 1) __atomic_store_n(word_, real_, __ATOMIC_RELAXED);
    const uint64_t number = ++entered_[lane];
    values_[number % 2][lane] = value;
    changed_.notify_all();
    changed_.wait(lock, [&] { return entered_[1 - lane] >= number; });
    return values_[number % 2];
  }

  /// Until lane 1 comes to the next meeting the word has its former value; lane 0 is there already.
  void mislead() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return entered_[0] > entered_[1]; });
    __atomic_store_n(word_, former_, __ATOMIC_RELAXED);
    ++misled;
  }

  uint64_t* const word_;
  const uint64_t former_;
  const uint64_t real_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<uint64_t, 2> entered_{};
  std::array<std::array<uint64_t, 2>, 2> values_{};
};

}  // namespace

TEMPLATE_TEST_CASE_SIG("drain: a lane that took nothing and reads an older counter -> not broken", "[H17]",
                       ((Sharing S), S), Sharing::block, Sharing::grid) {
  Rig rig(stepped());
  const NvmeQueue queue = rig.queue(8);
  Queue<S> view(queue.handle());
  Token token = view.submit(xio::nvme::read(1, 1), ContiguousPages{rig.bus()}, soon());
  REQUIRE(token.submitted());
  rig.model.run();
  TwoLanes wave(&queue.handle().state->reserved, 0);
  std::array<uint32_t, 2> taken{};
  wave.run([&](uint32_t lane) { taken[lane] = Queue<S>(queue.handle()).drain(); });
  CHECK(wave.misled == 1);
  CHECK(taken == std::array<uint32_t, 2>{1, 1});
  CHECK(queue.handle().state->broken == 0);
  CHECK(view.wait(token, soon()).is_ok());
}

namespace {

/// A wave of one lane; `before` is called before each coherent access of it.
class WatchedWave final : public xio::arch::WaveOps {
 public:
  explicit WatchedWave(std::function<void(const void*)> before) : before_(std::move(before)) {
    xio::arch::current_wave = this;
  }
  ~WatchedWave() override { xio::arch::current_wave = nullptr; }
  WatchedWave(const WatchedWave&) = delete;
  WatchedWave& operator=(const WatchedWave&) = delete;
  uint64_t active(const xio::arch::CallSite&) override { return 1; }
  uint64_t ballot(uint64_t, bool predicate) override { return predicate; }
  uint64_t shuffle(uint64_t, uint64_t value, uint32_t) override { return value; }
  void block_barrier() override {}
  void yield(uint32_t) override {}
  void access(const void* where, uint32_t) override { before_(where); }

 private:
  std::function<void(const void*)> before_;
};

}  // namespace

TEST_CASE("drain: a failure told while it moves to the log -> counted out once", "[H16]") {
  Rig rig(stepped());
  rig.model.faults().fail(Match().with_lba(1, 1), 0x281);
  const NvmeQueue queue = rig.tight_queue(2);
  const QueueHandle handle = queue.handle();
  Queue<Sharing::grid> view(handle);
  const auto run = [&](uint64_t lba) {
    const Token token = view.submit(xio::nvme::read(lba, 1), ContiguousPages{rig.bus()}, soon());
    REQUIRE(token.submitted());
    rig.model.run();
    return token;
  };
  const Token failed = run(1);
  view.drain();
  for (uint32_t i = 0; i < handle.slot_mask; ++i) REQUIRE(view.wait(run(0), soon()).is_ok());
  REQUIRE(handle.state->error_count == 1);
  (void)run(0);

  uint64_t* const in_table = &handle.slots[0].word;
  uint64_t* const in_log = xio::nvme::detail::entries_of(handle.failures);
  bool by_table = false;
  bool by_log = false;
  const bool both = GENERATE(false, true);
  {
    const auto tell = [&](uint64_t* where, bool& done) {
      if (done || (*where & 0x7fff) != 0x281) return;
      done = true;
      *where |= xio::nvme::detail::seen_bit;
      --handle.state->error_count;
    };
    WatchedWave wave([&](const void* where) {
      if (where == in_table && handle.failures->used == 1) tell(in_table, by_table);
      if (both && where == in_log && by_table) tell(in_log, by_log);
    });
    view.drain();
  }
  REQUIRE(by_table);
  REQUIRE(by_log == both);
  CHECK(handle.state->error_count == 0);
  CHECK((*in_log & xio::nvme::detail::seen_bit) != 0);
  CHECK(view.errors().count == 0);
  CHECK(code_of(view.wait(failed, soon())) == 0x281);
}

TEMPLATE_TEST_CASE_SIG("fence: a deadline that has passed -> no search of the whole table", "[H14]", ((Sharing S), S),
                       Sharing::block, Sharing::grid) {
  Rig rig(stepped());
  const NvmeQueue queue = rig.queue(64, [](QueueOptions& options) { options.completion_slots = 32768; });
  const QueueHandle& handle = queue.handle();
  // Long in use: all slots have been used, and one command is in flight, the last one.
  const uint64_t slots = uint64_t{handle.slot_mask} + 1;
  for (uint32_t i = 0; i < slots; ++i) handle.slots[i].word = 10 * slots << 16;
  handle.slots[slots - 1].word = 9 * slots << 16;
  xio::protocol::begin_at(*handle.state, 10 * slots);
  handle.state->retired = 10 * slots - 1;
  Queue<S> view(handle);
  uint64_t accesses = 0;
  WatchedWave wave([&](const void*) { ++accesses; });
  CHECK(view.fence(Deadline{1}) == Status::timed_out);
  CHECK(accesses < 8 * xio::arch::looks_per_clock);
}
