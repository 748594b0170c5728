// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Waves whose coherent accesses a test sees before they are made, to do there what others do meanwhile.

#include <array>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <xio/device/arch/arch.hpp>

#if !XIO_INTERLEAVE
#error "this test needs XIO_INTERLEAVE=1"
#endif

namespace xio_tests {

/// A wave of one lane; `before` is called before each coherent access of it, and gets the stores that it has not waited
/// for; `pause` is called where it pauses.
class WatchedWave final : public xio::arch::WaveOps {
 public:
  using Stores = std::vector<const void*>;
  explicit WatchedWave(std::function<void(const void*, const Stores&)> before,
                       std::function<void()> pause = std::this_thread::yield)
      : before_(std::move(before)), pause_(std::move(pause)), outer_(xio::arch::current_wave) {
    xio::arch::current_wave = this;
  }
  ~WatchedWave() override { xio::arch::current_wave = outer_; }
  WatchedWave(const WatchedWave&) = delete;
  WatchedWave& operator=(const WatchedWave&) = delete;
  uint64_t active(const xio::arch::CallSite&) override { return 1; }
  uint64_t ballot(uint64_t, bool predicate) override { return predicate; }
  uint64_t shuffle(uint64_t, uint64_t value, uint32_t) override { return value; }
  void block_barrier() override {}
  void yield(uint32_t) override { pause_(); }
  void access(const void* where, uint32_t) override { before_(where, stores_); }
  bool store_later(void* to, const void*, uint32_t, bool) override {
    stores_.push_back(to);
    return false;
  }
  void perform_stores() override { stores_.clear(); }

 private:
  const std::function<void(const void*, const Stores&)> before_;
  const std::function<void()> pause_;
  xio::arch::WaveOps* const outer_;
  Stores stores_;
};

/// A wave of two lanes, each a thread. Before lane 1 accesses `where` for the first time, lane 0 goes on until it waits
/// for lane 1; then `now` is called, and `later` once lane 1 comes to where they meet.
class TwoLanes {
 public:
  using Action = std::function<void()>;
  TwoLanes(const void* where, Action now, Action later)
      : where_(where), now_(std::move(now)), later_(std::move(later)) {}

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

  bool happened = false;

 private:
  class Lane final : public xio::arch::WaveOps {
   public:
    explicit Lane(TwoLanes& wave) : wave_(wave) {}
    uint64_t active(const xio::arch::CallSite&) override { return 3; }
    uint64_t ballot(uint64_t mask, bool predicate) override {
      const auto all = meet(mask, predicate);
      return (all[0] | all[1] << 1) & mask;
    }
    uint64_t shuffle(uint64_t mask, uint64_t value, uint32_t source) override { return meet(mask, value)[source]; }
    uint64_t alike(uint64_t mask, uint64_t value) override {
      const auto all = meet(mask, value);
      return all[0] == all[1] ? mask : uint64_t{1} << lane;
    }
    void block_barrier() override {}
    void yield(uint32_t) override { std::this_thread::yield(); }
    void access(const void* where, uint32_t) override {
      if (lane == 1 && where == wave_.where_ && !wave_.happened) wave_.act();
    }

   private:
    std::array<uint64_t, 2> meet(uint64_t mask, uint64_t value) {
      return mask == 3 ? wave_.meet(lane, value) : std::array<uint64_t, 2>{value, value};
    }
    TwoLanes& wave_;
  };

  /// Both lanes come with a value and get both.
  std::array<uint64_t, 2> meet(uint32_t lane, uint64_t value) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (lane == 1 && happened && later_) {
      later_();
      later_ = nullptr;
    }
    const uint64_t number = ++entered_[lane];
    values_[number % 2][lane] = value;
    changed_.notify_all();
    changed_.wait(lock, [&] { return entered_[1 - lane] >= number; });
    return values_[number % 2];
  }

  void act() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return entered_[0] > entered_[1]; });
    now_();
    happened = true;
  }

  const void* const where_;
  const Action now_;
  Action later_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::array<uint64_t, 2> entered_{};
  std::array<std::array<uint64_t, 2>, 2> values_{};
};

}  // namespace xio_tests
