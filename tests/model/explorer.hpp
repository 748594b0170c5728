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
/// Stores need not be performed at once (Program::weak): coherent ones, registers and queue entries wait, in any order
/// but for those to one address, until the actor comes to a fence or a wait for stores, accesses the same address, or
/// until they are performed on their own, which is a step like any other.
///
/// One actor may be stopped at any of its steps (Program::victim). When the others can do nothing more, time passes:
/// all deadlines with it. When they have come to their ends, Program::judge_stopped() looks; then the actor goes on.
///
/// An actor that pauses for the second time, where memory is as it was the first time and nobody else has changed it in
/// between, waits until memory is different. What it has changed itself and changed back is nothing to go on for. When
/// all wait, the program is stuck: a failure.

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <xio/device/arch/arch.hpp>
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
  /// Whether stores may be performed later.
  virtual bool weak() const { return false; }
  /// The actor that may be stopped; none if there is none.
  virtual uint32_t victim() const { return ~0u; }
  /// Looks when all others have ended, or wait for what the stopped one must do.
  virtual std::string judge_stopped() { return {}; }
};

/// For programs: a time that all deadlines but the last lie before, once it has come.
constexpr uint64_t early = 1000, late = 1000000000000;

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
    look_at_memory(actor.number);
    actor.waiting = content_ == actor.seen && actor.foreign == actor.seen_foreign;
    actor.seen = content_;
    actor.seen_foreign = actor.foreign;
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

  struct Store {
    unsigned char* to;
    uint32_t bytes;
    bool entry;
    unsigned char value[64];
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
      paused = true;
      explorer.wait(mix(reinterpret_cast<uintptr_t>(__builtin_return_address(0)), depth));
      paused = false;
    }
    uint64_t now() override {
      digest = mix(digest, explorer.late_);
      return explorer.late_ ? late : early;
    }
    void perform_stores() override {
      if (!pending.empty()) explorer.pass();
      while (!pending.empty()) explorer.perform(*this, 0);
    }
    bool store_later(void* to, const void* value, uint32_t bytes, bool entry) override {
      if (!explorer.program_->weak()) return false;
      digest = mix(digest, entry);
      auto* const address = static_cast<unsigned char*>(to);
      if (entry && !pending.empty()) {
        Store& last = pending.back();
        if (last.entry && last.to + last.bytes == address && last.bytes + bytes <= sizeof last.value) {
          std::memcpy(last.value + last.bytes, value, bytes);
          last.bytes += bytes;
          return true;
        }
      }
      Store store{address, bytes, entry, {}};
      std::memcpy(store.value, value, bytes);
      pending.push_back(store);
      return true;
    }
    void access(const void* where, uint32_t bytes) override {
      explorer.pass();
      for (size_t i = 0; i < pending.size();) {
        if (pending[i].to == where) {
          explorer.perform(*this, i);
        } else {
          ++i;
        }
      }
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
    bool stopped = false;
    bool paused = false;
    bool waiting = false;
    std::vector<Store> pending;
    uint64_t seen = 0;     ///< what memory was when it paused
    uint64_t foreign = 0;  ///< changes that others made
    uint64_t seen_foreign = ~uint64_t{0};
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
    late_ = false;
    was_stopped_ = false;
    snapshot_.assign(program_->memory_bytes(), 0);
    copy_memory();
    trace_.clear();
    xio::arch::WaveOps* const outer = xio::arch::current_wave;
    enter(pick(count));
    Strand::transfer(main_, *self().fibre);
    xio::arch::current_wave = outer;
    if (result_.failure.empty()) result_.failure = program_->judge();
    if (result_.failure.empty()) return;
    for (const uint32_t actor : trace_) result_.trace += static_cast<char>(actor == 64 ? '!' : 'A' + actor);
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

  void copy_memory() {
    std::memcpy(snapshot_.data(), program_->memory(), snapshot_.size());
    content_ = 0;
    for (size_t i = 0; i + 8 <= snapshot_.size(); i += 8) {
      uint64_t word;
      std::memcpy(&word, snapshot_.data() + i, 8);
      content_ = mix(content_, word);
    }
  }

  /// To be called when memory may have changed, by `who`.
  void look_at_memory(uint32_t who) {
    if (std::memcmp(snapshot_.data(), program_->memory(), snapshot_.size()) == 0) return;
    copy_memory();
    for (uint32_t i = 0; i < actors_.size(); ++i) actors_[i]->foreign += i != who;
  }

  bool can_run(uint32_t actor) const {
    const Actor& one = *actors_[actor];
    return !one.ended && !one.stopped && (!one.waiting || one.seen != content_ || (late_ && one.paused));
  }

  void perform(Actor& actor, size_t which) {
    const Store store = actor.pending[which];
    actor.pending.erase(actor.pending.begin() + static_cast<long>(which));
    std::memcpy(store.to, store.value, store.bytes);
  }

  /// The actor that takes the next step, or `none`.
  uint32_t pick(uint32_t last) {
    for (uint32_t changed = last;;) {
      look_at_memory(changed);
      uint32_t options[32];
      uint32_t count = 0;
      if (last < actors_.size() && can_run(last)) options[count++] = last;
      for (uint32_t i = 0; i < actors_.size(); ++i) {
        if (i != last && can_run(i)) options[count++] = i;
      }
      // After the deadlines one schedule is as good as another.
      if (late_ && count > 1) count = 1;
      // Stores that are on their way: those that are not behind another one to the same address.
      for (uint32_t i = 0; i < actors_.size(); ++i) {
        const std::vector<Store>& pending = actors_[i]->pending;
        for (uint32_t k = 0; k < pending.size() && count < 32; ++k) {
          bool behind = false;
          for (uint32_t j = 0; j < k; ++j) behind = behind || pending[j].to == pending[k].to;
          if (!behind) options[count++] = 0x10000 | i << 8 | k;
        }
      }
      if (count == 0) {
        if (!was_stopped_ && !result_.failure.empty()) return none;
        bool others = false;
        bool all = true;
        uint32_t stopped = none;
        for (uint32_t i = 0; i < actors_.size(); ++i) {
          const Actor& one = *actors_[i];
          if (one.stopped) stopped = i;
          if (!one.ended && !one.stopped && one.paused) others = true;
          if (!one.ended) all = false;
        }
        if (all) return none;
        if (stopped != none && others && !late_) {
          late_ = true;
          continue;
        }
        if (stopped != none && !others) {
          if (result_.failure.empty()) result_.failure = program_->judge_stopped();
          actors_[stopped]->stopped = false;
          late_ = false;
          last = stopped;
          continue;
        }
        for (uint32_t i = 0; i < actors_.size(); ++i) {
          if (!actors_[i]->ended && result_.failure.empty()) {
            result_.failure = "stuck: actor " + std::to_string(i) + " waits for ever";
          }
        }
        return none;
      }
      uint32_t chosen = options[0];
      if (count > 1) {
        // States on the way to where this execution differs from the last one are known.
        if (random_ == 0 && !pruned_ && depth_ == path_.size()) pruned_ = !visited_.insert(state()).second;
        chosen = options[pruned_ ? 0 : decide(count)];
      }
      if ((chosen & 0x10000) == 0) return chosen;
      changed = chosen >> 8 & 0xff;
      perform(*actors_[changed], chosen & 0xff);
      trace_.push_back(32 + (chosen >> 8 & 0xff));
    }
  }

  uint64_t state() const {
    uint64_t hash = content_;
    for (uint32_t i = 0; i < actors_.size(); ++i) {
      const Actor& actor = *actors_[i];
      hash = mix(hash, actor.ended ? 0 : actor.digest);
      hash = mix(hash, uint64_t{actor.ended} << 2 | uint64_t{actor.stopped} << 1 | can_run(i));
      for (const Store& store : actor.pending) {
        hash = mix(hash, reinterpret_cast<uintptr_t>(store.to) - reinterpret_cast<uintptr_t>(program_->memory()));
        for (uint32_t b = 0; b < store.bytes; b += 4) {
          uint32_t part;
          std::memcpy(&part, store.value + b, 4);
          hash = mix(hash, part);
        }
      }
      hash = mix(hash, actor.pending.size());
    }
    return mix(hash, uint64_t{late_} << 1 | was_stopped_);
  }

  /// Before a step of the current actor.
  void pass() {
    Actor& actor = self();
    if (trace_.size() >= 100000) fail("this execution does not end");
    trace_.push_back(actor.number);
    if (actor.number == program_->victim() && !was_stopped_ && !pruned_ && decide(2) == 1) {
      actor.stopped = was_stopped_ = true;
      trace_.push_back(64);
    }
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
  uint64_t content_ = 0;  ///< a digest of snapshot_
  uint64_t random_ = 0;
  bool pruned_ = false;
  bool late_ = false;
  bool was_stopped_ = false;
};

}  // namespace model
