// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Runs small concurrent programs under every schedule: the real code, one coherent access at a time.
///
/// A program is a number of actors. Each runs on a fibre as a wave of one lane; before every coherent access
/// (XIO_INTERLEAVE) any other may go on first. An execution is determined by its choices; they are tried depth first.
/// States that were met before are not explored again: a state is the shared memory and, for each actor, a digest of
/// what it has read, which determines all that it knows. In a polling loop the digest goes back to what it was when the
/// actor first paused there: a loop of the library keeps nothing of its fruitless rounds but their number.
///
/// An actor that pauses goes on when memory has changed since it paused last. When all wait, the program is stuck: a
/// failure.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
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
  /// Everything that actors share, also what only checks look at; a multiple of 8 bytes.
  virtual const void* memory() const = 0;
  virtual size_t memory_bytes() const = 0;
  /// Looks at the end of an execution; returns what is wrong, or an empty text.
  virtual std::string judge() = 0;
};

struct Limits {
  uint64_t executions = ~uint64_t{0};  ///< stop after so many; the result says that it is not complete
  uint64_t random = 0;                 ///< then so many executions with random choices
};

struct Result {
  std::string failure;      ///< empty: none
  std::string trace;        ///< the actors in the order in which they ran, where there was a failure
  uint64_t executions = 0;  ///< of the search
  uint64_t states = 0;      ///< different states met
  bool complete = false;    ///< all schedules were tried
};

class Explorer {
 public:
  using Factory = std::function<std::unique_ptr<Program>(Explorer&)>;

  Result explore(const Factory& factory, const Limits& limits) {
    result_ = {};
    path_.clear();
    visited_.clear();
    random_ = 0;
    for (;;) {
      execute(factory);
      ++result_.executions;
      result_.states = visited_.size();
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

  /// For actors: one of `count` answers.
  uint32_t choose(uint32_t count) {
    const uint32_t answer = pruned_ ? 0 : decide(count);
    self().digest = mix(self().digest, answer);
    return answer;
  }
  /// For actors: a step that others may come before. They know nothing more after it.
  void step() { pass(); }
  /// For actors: nothing can be done before somebody changes memory. `site` tells the places where this is called
  /// apart.
  void wait(uint64_t site) {
    Actor& actor = self();
    if (site != actor.spin_site) {
      actor.spin_site = site;
      actor.spin_digest = actor.digest;
    }
    actor.digest = mix(actor.spin_digest, site);
    const uint64_t now = version();
    actor.waiting = now == actor.seen;
    actor.seen = now;
    pass();
  }
  /// For actors: a new operation begins, and all that the actor knows is `value`.
  void mark(uint64_t value) {
    self().digest = mix(1, value);
    self().spin_site = 0;
  }

  /// For actors: ends the execution with a failure. Does not return.
  [[noreturn]] void fail(const std::string& what) {
    result_.failure = what;
    Strand::transfer(*self().fibre, main_);
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
    void yield(uint32_t) override {
      const size_t depth = fibre->depth(__builtin_frame_address(0));
      explorer.wait(mix(reinterpret_cast<uintptr_t>(__builtin_return_address(0)), depth));
    }
    void access(const void* where, uint32_t bytes) override {
      explorer.pass();
      // Others ran before; nobody runs between this and the access.
      uint64_t value = 0;
      std::memcpy(&value, where, bytes < 8 ? bytes : 8);
      const auto offset = reinterpret_cast<uintptr_t>(where) - reinterpret_cast<uintptr_t>(explorer.program_->memory());
      digest = mix(mix(digest, offset), value);
    }

    Explorer& explorer;
    const uint32_t number;
    Fibre* fibre = nullptr;
    bool ended = false;
    bool waiting = false;
    uint64_t seen = ~uint64_t{0};
    uint64_t digest = 0;
    uint64_t spin_site = 0;
    uint64_t spin_digest = 0;
  };

  Actor& self() { return *actors_[current_]; }

  static uint64_t mix(uint64_t a, uint64_t b) {
    const uint64_t z = (a ^ (b + 0x9e3779b97f4a7c15 + (a << 6))) * 0xbf58476d1ce4e5b9;
    return z ^ (z >> 29);
  }

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
    pruned_ = false;
    version_ = 0;
    snapshot_.assign(program_->memory_bytes(), 0);
    std::memcpy(snapshot_.data(), program_->memory(), snapshot_.size());
    trace_.clear();
    xio::arch::WaveOps* const outer = xio::arch::current_wave;
    enter(pick(count));
    Strand::transfer(main_, *self().fibre);
    xio::arch::current_wave = outer;
    if (result_.failure.empty()) result_.failure = program_->judge();
    if (result_.failure.empty()) return;
    for (const uint32_t actor : trace_) result_.trace += static_cast<char>('A' + actor);
    // The other actors stay where they are, on stacks that are not used again.
    for (std::unique_ptr<Fibre>& fibre : fibres_) abandoned_.push_back(std::move(fibre));
    fibres_.clear();
  }

  static Strand& run_actor(void* argument) {
    Actor& actor = *static_cast<Actor*>(argument);
    Explorer& explorer = actor.explorer;
    explorer.mark(0);  // has begun
    explorer.program_->run(actor.number);
    actor.ended = true;
    const uint32_t next = explorer.pick(actor.number);
    if (next == none) return explorer.main_;
    explorer.enter(next);
    return *explorer.actors_[next]->fibre;
  }

  /// Counts changes of memory.
  uint64_t version() {
    if (std::memcmp(snapshot_.data(), program_->memory(), snapshot_.size()) != 0) {
      std::memcpy(snapshot_.data(), program_->memory(), snapshot_.size());
      ++version_;
    }
    return version_;
  }

  bool can_run(uint32_t actor) const {
    const Actor& one = *actors_[actor];
    return !one.ended && (!one.waiting || one.seen != version_);
  }

  /// The actor that takes the next step, or `none`.
  uint32_t pick(uint32_t last) {
    version();
    uint32_t options[8];
    uint32_t count = 0;
    if (last < actors_.size() && can_run(last)) options[count++] = last;
    for (uint32_t i = 0; i < actors_.size(); ++i) {
      if (i != last && can_run(i)) options[count++] = i;
    }
    if (count == 0) {
      for (uint32_t i = 0; i < actors_.size(); ++i) {
        if (!actors_[i]->ended && result_.failure.empty()) {
          result_.failure = "stuck: actor " + std::to_string(i) + " waits for ever";
        }
      }
      return none;
    }
    if (count == 1) return options[0];
    // States on the way to where this execution differs from the last one are known.
    if (random_ == 0 && !pruned_ && depth_ == path_.size()) pruned_ = !visited_.insert(state()).second;
    return options[pruned_ ? 0 : decide(count)];
  }

  uint64_t state() const {
    uint64_t hash = 0;
    for (size_t i = 0; i + 8 <= snapshot_.size(); i += 8) {
      uint64_t word;
      std::memcpy(&word, snapshot_.data() + i, 8);
      hash = mix(hash, word);
    }
    for (uint32_t i = 0; i < actors_.size(); ++i) {
      const Actor& actor = *actors_[i];
      hash = mix(hash, actor.ended ? 0 : actor.digest);
      hash = mix(hash, uint64_t{actor.ended} << 1 | can_run(i));
    }
    return hash;
  }

  /// Before a step of the current actor.
  void pass() {
    Actor& actor = self();
    if (trace_.size() >= 100000) fail("this execution does not end");
    trace_.push_back(actor.number);
    const uint32_t next = pick(actor.number);
    if (next == none) {
      Strand::transfer(*actor.fibre, main_);
      std::abort();
    }
    enter(next);
    if (next != actor.number) Strand::transfer(*actor.fibre, *actors_[next]->fibre);
  }

  void enter(uint32_t actor) {
    current_ = actor;
    actors_[actor]->waiting = false;
    xio::arch::current_wave = actors_[actor].get();
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

  Result result_;
  std::unique_ptr<Program> program_;
  std::vector<std::unique_ptr<Actor>> actors_;
  std::vector<std::unique_ptr<Fibre>> fibres_;
  std::vector<std::unique_ptr<Fibre>> abandoned_;
  Strand main_;
  std::vector<Choice> path_;
  std::vector<uint32_t> trace_;
  std::unordered_set<uint64_t> visited_;
  std::vector<unsigned char> snapshot_;
  size_t depth_ = 0;
  uint32_t current_ = 0;
  uint64_t version_ = 0;
  uint64_t random_ = 0;
  bool pruned_ = false;
};

}  // namespace model
