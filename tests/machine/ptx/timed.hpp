// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A GPU that executes PTX in simulated time, without liberties: what a launch takes is predicted from
/// latencies.
///
/// Each lane has a clock, and the one that is behind goes first. Memory is sequentially consistent: an access happens
/// when it is issued, and its value may be used when it would have come. Nothing is drawn at random.

#include <functional>
#include <queue>

#include <machine/ptx/machine.hpp>
#include <machine/timed/code_cache.hpp>
#include <machine/timed/profile.hpp>

namespace machine::ptx {

class TimedMachine final : public Machine {
 public:
  TimedMachine(Program program, timed::Latencies latencies);

  /// The first blocks of the grid play devices, and do not end: a launch ends with the others.
  uint32_t device_blocks = 0;
  /// Advances devices of the CPU up to a time.
  std::function<void(double now)> devices_until;

  /// Of the last launch: when its last thread ended.
  double ended_at() const { return ended_at_; }
  /// Of the first lane behind the device blocks.
  const timed::Profile& profile() const { return profile_; }
  /// Text and source of an instruction in a profile.
  std::string text_of(const void* instruction) const;

 private:
  enum class Stage : uint8_t { fresh, issued, released };
  /// A thread in time.
  struct Pace {
    double now = 0;
    Stage stage = Stage::fresh;    ///< of its present instruction
    double apart = 0;              ///< how long it has waited for lanes behind it
    uint64_t line = ~uint64_t{0};  ///< of code, fetched last
    timed::Outstanding outstanding;
    // By register: from when its value may be used, and the instruction that makes it.
    std::vector<double> ready;
    std::vector<const Instruction*> maker;
  };
  struct Next {
    double at;
    uint64_t order;  ///< of those at one time, the first one goes first
    uint32_t thread;
    bool operator<(const Next& other) const { return at != other.at ? at > other.at : order > other.order; }
  };

  void schedule() override;
  void met(const Warp& warp, uint32_t lanes) override;
  void met(const std::vector<Thread*>& threads) override;

  void begin();
  void queue(const Thread& thread) { next_.push({paces_[thread.id].now, ++order_, thread.id}); }
  void advance(Thread& thread, double horizon);
  bool issue(Thread& thread, const Instruction& instruction);
  void fetch(Thread& thread, const Instruction& instruction);
  bool control(Thread& thread, const Instruction& instruction);
  bool waits_for_lanes_behind(Thread& thread, const Instruction& instruction);
  void look_for_parked(uint32_t warp);

  // Accesses (timed_access.cpp). They return false if others can observe them.
  bool perform(Thread& thread, const Instruction& instruction, double horizon);
  bool timed_load(Thread& thread, const Instruction& instruction);
  bool timed_store(Thread& thread, const Instruction& instruction, double horizon);
  bool timed_atomic(Thread& thread, const Instruction& instruction, double horizon);
  bool release(Thread& thread, const Instruction& instruction, double horizon);
  timed::Access access_of(Thread& thread, const Instruction& instruction);

  void spend(const Thread& thread, double until, const Instruction& instruction, timed::Reason reason);
  void use(const Thread& thread, int32_t place);
  void make(const Thread& thread, const Instruction& instruction, double ready);
  bool watched(const Thread& thread) const { return thread.id == device_blocks * block_.x; }

  timed::Latencies latencies_;
  timed::Traffic traffic_;
  double lines_per_instruction_;  ///< of code
  timed::Profile profile_;
  std::vector<Pace> paces_;
  std::priority_queue<Next> next_;
  uint64_t order_ = 0;
  std::vector<timed::CodeCache> code_near_;  ///< by warp
  std::vector<timed::CodeCache> code_far_;   ///< by block
  double now_ = 0;                           ///< of the thread that executes
  double ended_at_ = 0;
};

}  // namespace machine::ptx
