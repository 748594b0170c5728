// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Runs small concurrent programs under every schedule: the real code, one coherent access at a time.
///
/// A program is a number of actors. Each runs on a fibre as a wave of one lane; before every coherent access (XIO_INTERLEAVE)
/// the explorer may let another one go on. An execution is determined by the choices made; all sequences of choices are
/// tried, depth first, up to a number of deviations: a deviation is to interrupt an actor that could have gone on, or to take
/// another than the first answer of choose(). Where an actor waits, every other one is tried, which costs nothing.
/// An actor that waits goes on when memory has changed since it last waited. When all wait, the program is stuck, and that is
/// a failure.

#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <xio/device/arch.hpp>
#include <xio/host/simt/fibre.hpp>

#if !XIO_INTERLEAVE
#error "the explorer needs XIO_INTERLEAVE=1"
#endif

namespace model {

class Explorer;

/// One small program. Made anew for each execution.
class Program {
 public:
  virtual ~Program() = default;
  virtual uint32_t actors() const = 0;
  /// The body of an actor. No memory may be allocated in it: a failure leaves it where it is.
  virtual void run(uint32_t actor) = 0;
  /// A number that changes when shared memory changes.
  virtual uint64_t fingerprint() const = 0;
  /// Looks at the end of an execution; returns what is wrong, or an empty text.
  virtual std::string judge() = 0;
};

struct Limits {
  uint32_t deviations = 2;
  uint64_t executions = ~uint64_t{0};  ///< stop after so many; the result says that it is not complete
  uint64_t random = 0;                 ///< then so many executions with random choices and any number of deviations
};

struct Result {
  std::string failure;      ///< empty: none
  std::string trace;        ///< the actors in the order in which they ran, where there was a failure
  uint64_t executions = 0;  ///< those of the depth-first search
  uint64_t steps = 0;
  bool complete = false;    ///< all schedules within the limit were tried
};

class Explorer {
 public:
  using Factory = std::function<std::unique_ptr<Program>(Explorer&)>;

  Result explore(const Factory& factory, const Limits& limits) {
    limits_ = limits;
    result_ = {};
    path_.clear();
    random_ = 0;
    for (;;) {
      execute(factory);
      ++result_.executions;
      if (!result_.failure.empty()) return result_;
      while (!path_.empty() && path_.back().taken + 1 >= path_.back().options) path_.pop_back();
      if (path_.empty()) {
        result_.complete = true;
        break;
      }
      ++path_.back().taken;
      if (result_.executions >= limits.executions) break;
    }
    for (uint64_t i = 0; i < limits.random && result_.failure.empty(); ++i) {
      random_ = (i + 1) * 0x9e3779b97f4a7c15;
      path_.clear();
      execute(factory);
    }
    return result_;
  }

  /// For actors: one of `count` answers, 0 being the usual one.
  uint32_t choose(uint32_t count) {
    const uint32_t options = random_ != 0 || deviations_ < limits_.deviations ? count : 1;
    const uint32_t answer = decide(options);
    if (answer != 0) ++deviations_;
    return answer;
  }

  /// For actors: a step that others may come before.
  void step() { pass(); }
  /// For actors: nothing can be done before somebody changes memory.
  void wait() {
    Actor& self = *actors_[current_];
    const uint64_t now = version();
    self.waiting = now == self.seen;
    self.seen = now;
    pass();
  }

  /// For actors: ends the execution with a failure. Does not return.
  [[noreturn]] void fail(const std::string& what) {
    result_.failure = what;
    xio::simt::detail::Strand::transfer(*actors_[current_]->fibre, main_);
    std::abort();  // not reached: nobody transfers back
  }
  void require(bool condition, const char* what) {
    if (!condition) fail(what);
  }

 private:
  using Fibre = xio::simt::detail::Fibre;
  using Strand = xio::simt::detail::Strand;

  struct Choice {
    uint32_t taken;
    uint32_t options;
  };

  /// A wave of one lane.
  struct Actor final : xio::arch::WaveOps {
    Actor(Explorer& owner, uint32_t index) : explorer(owner), number(index) { block_index = index; }
    uint64_t active(const xio::arch::CallSite&) override { return 1; }
    uint64_t ballot(uint64_t, bool predicate) override { return predicate; }
    uint64_t shuffle(uint64_t, uint64_t value, uint32_t) override { return value; }
    void block_barrier() override {}
    void yield() override { explorer.wait(); }
    void interleave() override { explorer.step(); }

    Explorer& explorer;
    const uint32_t number;
    Fibre* fibre = nullptr;
    bool ended = false;
    bool waiting = false;
    uint64_t seen = ~uint64_t{0};
  };

  void execute(const Factory& factory) {
    program_ = factory(*this);
    const uint32_t count = program_->actors();
    while (fibres_.size() < count) fibres_.push_back(std::make_unique<Fibre>(stack_bytes, fibres_.size()));
    actors_.clear();
    for (uint32_t i = 0; i < count; ++i) {
      actors_.push_back(std::make_unique<Actor>(*this, i));
      actors_[i]->fibre = fibres_[i].get();
      fibres_[i]->assign(&Explorer::run_actor, actors_[i].get());
    }
    depth_ = 0;
    deviations_ = 0;
    version_ = 0;
    fingerprint_ = program_->fingerprint();
    trace_.clear();
    current_ = pick(count);
    xio::arch::WaveOps* const outer = xio::arch::current_wave;
    resume(main_, current_);
    xio::arch::current_wave = outer;
    if (result_.failure.empty()) result_.failure = program_->judge();
    if (result_.failure.empty()) return;
    for (const uint32_t actor : trace_) result_.trace += static_cast<char>('A' + actor);
    // The other actors stay where they are, on stacks that are not used again.
    for (std::unique_ptr<Fibre>& fibre : fibres_) abandoned_.push_back(std::move(fibre));
    fibres_.clear();
  }

  static Strand& run_actor(void* argument) {
    Actor& self = *static_cast<Actor*>(argument);
    Explorer& explorer = self.explorer;
    explorer.program_->run(self.number);
    self.ended = true;
    explorer.version();
    const uint32_t next = explorer.pick(self.number);
    if (next == none) return explorer.main_;
    explorer.enter(next);
    return *explorer.actors_[next]->fibre;
  }

  /// Counts changes of memory.
  uint64_t version() {
    const uint64_t now = program_->fingerprint();
    if (now != fingerprint_) ++version_;
    fingerprint_ = now;
    return version_;
  }

  bool can_run(uint32_t actor) {
    const Actor& one = *actors_[actor];
    return !one.ended && (!one.waiting || one.seen != version_);
  }

  /// The actor that takes the next step, or `none`.
  uint32_t pick(uint32_t self) {
    version();
    uint32_t options[8];
    uint32_t count = 0;
    const bool goes_on = self < actors_.size() && can_run(self);
    if (goes_on) options[count++] = self;
    if (!goes_on || random_ != 0 || deviations_ < limits_.deviations) {
      for (uint32_t i = 0; i < actors_.size(); ++i) {
        if (i != self && can_run(i)) options[count++] = i;
      }
    }
    if (count == 0) {
      for (uint32_t i = 0; i < actors_.size(); ++i) {
        if (!actors_[i]->ended && result_.failure.empty()) {
          result_.failure = "stuck: actor " + std::to_string(i) + " waits for ever";
        }
      }
      return none;
    }
    const uint32_t chosen = decide(count);
    if (goes_on && chosen != 0) ++deviations_;
    return options[chosen];
  }

  /// Before a step of the current actor.
  void pass() {
    const uint32_t self = current_;
    ++result_.steps;
    if (trace_.size() < 100000) {
      trace_.push_back(self);
    } else {
      fail("this execution does not end");
    }
    const uint32_t next = pick(self);
    if (next == self) {
      actors_[self]->waiting = false;
      return;
    }
    if (next == none) {
      Strand::transfer(*actors_[self]->fibre, main_);
      std::abort();
    }
    enter(next);
    Strand::transfer(*actors_[self]->fibre, *actors_[next]->fibre);
  }

  void enter(uint32_t actor) {
    current_ = actor;
    actors_[actor]->waiting = false;
    xio::arch::current_wave = actors_[actor].get();
  }
  void resume(Strand& from, uint32_t actor) {
    enter(actor);
    Strand::transfer(from, *actors_[actor]->fibre);
  }

  uint32_t decide(uint32_t options) {
    if (options <= 1) return 0;
    if (random_ != 0) {
      random_ ^= random_ << 13;
      random_ ^= random_ >> 7;
      random_ ^= random_ << 17;
      // Mostly straight on: a schedule that changes at each step explores little.
      return random_ % 4 != 0 ? 0 : static_cast<uint32_t>((random_ >> 8) % options);
    }
    if (depth_ == path_.size()) path_.push_back({0, options});
    Choice& choice = path_[depth_++];
    choice.options = options;
    return choice.taken;
  }

  static constexpr uint32_t none = ~0u;
  static constexpr size_t stack_bytes = XIO_ASAN || XIO_TSAN ? 512 * 1024 : 64 * 1024;

  Limits limits_;
  Result result_;
  std::unique_ptr<Program> program_;
  std::vector<std::unique_ptr<Actor>> actors_;
  std::vector<std::unique_ptr<Fibre>> fibres_;
  std::vector<std::unique_ptr<Fibre>> abandoned_;
  Strand main_;
  std::vector<Choice> path_;
  std::vector<uint32_t> trace_;
  size_t depth_ = 0;
  uint32_t deviations_ = 0;
  uint32_t current_ = 0;
  uint64_t version_ = 0;
  uint64_t fingerprint_ = 0;
  uint64_t random_ = 0;
};

}  // namespace model
