// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Runs small concurrent programs under every schedule: the real code, one coherent access at a time.
///
/// A program is a number of actors. Each runs on a fibre as a wave of one lane; before every coherent access
/// (XIO_INTERLEAVE) any other may go on first. Choices are tried depth first: where there is more than one, the whole
/// execution is copied, stacks included, and restored for each further choice. States that were met before are not
/// explored again: a state is the shared memory and, for each actor, what it knows. That is determined by a digest of
/// what it has read, and as well by its stack (LocalStates). In a polling loop the digest goes back to what it was when
/// the actor first paused there: a loop of the library keeps nothing of its fruitless rounds but their number.
///
/// Two kinds of schedules are left out, because others are like them. An access to a word that nobody ever changes is
/// done at once (SharedWords): when a word changes for the first time, the search begins anew. Of actors that are alike
/// (Program::like_previous()), the first one changes memory first.
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

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "model/local_states.hpp"
#include "model/shared_words.hpp"
#include "model/snapshot.hpp"
#include "model/state_set.hpp"

namespace model {

class Explorer {
 public:
  using Factory = std::function<std::unique_ptr<Program>(Explorer&)>;

  /// Explores one program.
  Result explore(const Factory& factory, const Limits& limits) {
    program_ = factory(*this);
    for (uint32_t i = 0; i < program_->actors(); ++i) actors_.push_back(std::make_unique<Actor>(*this, main_, i));
    words_ = std::make_unique<SharedWords>(*program_);
    local_.resize(actors_.size());
    Snapshot beginning;
    beginning.save(position_, *program_, actors_);
    xio::arch::WaveOps* const outer = xio::arch::current_wave;
    while (!search(limits.states)) {
      visited_ = {};
      depth_ = 0;
      result_.executions = result_.ends = 0;
      go_back_to(beginning);
    }
    for (uint64_t i = 0; i < limits.random && result_.failure.empty(); ++i) {
      go_back_to(beginning);
      random_ = (i + 1) * 0x9e3779b97f4a7c15;
      run_at_random();
    }
    xio::arch::current_wave = outer;
    result_.states = visited_.size();
    if (!result_.failure.empty()) {
      for (const uint8_t step : trace_) result_.trace += static_cast<char>(step == stop_step ? '!' : 'A' + step);
    }
    return result_;
  }

  /// For actors: one of `count` answers.
  uint32_t choose(uint32_t count) {
    Actor& actor = self();
    if (count > 1) {
      actor.give_way(Request::choice, count);
    } else {
      actor.answer = 0;
    }
    actor.digest = mix(actor.digest, actor.answer);
    return actor.answer;
  }
  /// For actors: a step that others may come before. They know nothing more after it.
  void step() { self().give_way(Request::step); }
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
    actor.waiting = position_.content == actor.seen && actor.foreign == actor.seen_foreign;
    actor.seen = position_.content;
    actor.seen_foreign = actor.foreign;
    actor.give_way(Request::step);
    // What it does next is a step, even if it reads nothing before.
    actor.digest = mix(actor.digest, 0);
  }
  /// For actors: a new operation begins, and all that the actor knows is `value`.
  void mark(uint64_t value) {
    self().digest = mix(1, value);
    self().spin_site = 0;
  }

  /// For actors: ends the execution with a failure. Does not return.
  [[noreturn]] void fail(const std::string& what) {
    result_.failure = what;
    self().give_way(Request::end);
    std::abort();  // not reached: nobody lets it go on
  }
  void require(bool condition, const char* what) {
    if (!condition) fail(what);
  }

 private:
  friend class Actor;
  using Request = ActorState::Request;
  using Stage = Position::Stage;

  struct Node {
    Snapshot snapshot;
    uint32_t taken = 0;
    uint32_t count = 0;
  };

  static constexpr uint32_t none = ~0u;
  static constexpr uint32_t a_store = 0x10000;  ///< option: perform store `option & 0xff` of actor `option >> 8 & 0xff`
  static constexpr uint8_t stop_step = 64, store_step = 32;

  Actor& self() { return *actors_[position_.current]; }

  /// Returns false where it must begin anew: an access was not taken for a step that is one.
  bool search(uint64_t most) {
    do {
      for (;;) {
        collect();
        if (words_->found_change() && result_.failure.empty()) return false;
        if (position_.count == 0 || !result_.failure.empty()) break;
        if (position_.count > 1) {
          if (position_.stage == Stage::schedule && !visited_.insert(state())) break;
          if (visited_.size() > most) return true;
          if (depth_ == nodes_.size()) nodes_.emplace_back();
          Node& node = nodes_[depth_++];
          node.snapshot.save(position_, *program_, actors_);
          node.taken = 0;
          node.count = position_.count;
        }
        take(0);
        if (!result_.failure.empty()) break;
      }
      ++result_.executions;
      if (position_.count == 0 && !position_.renamed && result_.failure.empty()) {
        ++result_.ends;
        result_.failure = program_->judge();
      }
    } while (result_.failure.empty() && go_back());
    result_.complete = result_.failure.empty();
    return true;
  }

  /// Takes the next choice of the last place where there is one. Returns false if there is none.
  bool go_back() {
    if (depth_ == 0) return false;
    Node& node = nodes_[depth_ - 1];
    go_back_to(node.snapshot);
    const uint32_t next = ++node.taken;
    if (next + 1 == node.count) --depth_;
    take(next);
    return true;
  }

  void go_back_to(const Snapshot& snapshot) {
    snapshot.restore(position_, *program_, actors_);
    words_->remember();
    trace_.resize(position_.trace);
  }

  void run_at_random() {
    for (;;) {
      collect();
      if (!result_.failure.empty()) return;
      if (position_.renamed) return;
      if (position_.count == 0) break;
      random_ ^= random_ << 13;
      random_ ^= random_ >> 7;
      random_ ^= random_ << 17;
      // Mostly straight on: a schedule that changes at each step explores little.
      take(position_.count == 1 || random_ % 4 != 0 ? 0 : static_cast<uint32_t>((random_ >> 8) % position_.count));
      if (!result_.failure.empty()) return;
    }
    result_.failure = program_->judge();
  }

  /// To be called when memory may have changed, by `who`.
  void look_at_memory(uint32_t who) {
    if (!words_->look(position_.content)) return;
    if (who < actors_.size()) {
      actors_[who]->changed = true;
      if (random_ == 0 && who != 0 && program_->like_previous(who) && !actors_[who - 1]->changed)
        position_.renamed = true;
    }
    for (uint32_t i = 0; i < actors_.size(); ++i) actors_[i]->foreign += i != who;
  }

  bool can_run(uint32_t actor) const {
    const Actor& one = *actors_[actor];
    return !one.ended && !one.stopped &&
           (!one.waiting || one.seen != position_.content || (position_.late && one.paused));
  }

  void add_option(uint32_t option) {
    if (position_.count < Position::most_options) position_.option[position_.count++] = option;
  }

  /// Finds what can be done next; nothing when the execution is over, or has failed.
  void collect() {
    look_at_memory(position_.last);
    if (position_.renamed) {
      position_.count = 0;
      return;
    }
    if (position_.stage != Stage::schedule) return;
    do {
      position_.count = 0;
      // After the deadlines one schedule is as good as another: the one in the order of the actors.
      const uint32_t last = position_.late ? none : position_.last;
      if (last < actors_.size() && can_run(last)) add_option(last);
      for (uint32_t i = 0; i < actors_.size(); ++i) {
        if (i != last && can_run(i)) add_option(i);
      }
      if (position_.late && position_.count > 1) position_.count = 1;
      // Stores that are on their way: those that are not behind another one to the same address.
      for (uint32_t i = 0; i < actors_.size(); ++i) {
        const Actor& one = *actors_[i];
        for (uint32_t k = 0; k < one.stores; ++k) {
          bool behind = false;
          for (uint32_t j = 0; j < k; ++j) behind = behind || one.store[j].to == one.store[k].to;
          if (!behind) add_option(a_store | i << 8 | k);
        }
      }
    } while (position_.count == 0 && time_passes());
  }

  /// Where nobody can do anything: lets the deadlines pass, or the stopped actor go on. Returns false if there is
  /// nothing to wait for.
  bool time_passes() {
    bool others = false;
    bool all = true;
    uint32_t stopped = none;
    for (uint32_t i = 0; i < actors_.size(); ++i) {
      const Actor& one = *actors_[i];
      if (one.stopped) stopped = i;
      if (!one.ended && !one.stopped && one.paused) others = true;
      if (!one.ended) all = false;
    }
    if (all) return false;
    if (stopped != none && others && !position_.late) {
      position_.late = true;
      return true;
    }
    if (stopped != none && !others) {
      result_.failure = program_->judge_stopped();
      actors_[stopped]->stopped = false;
      position_.late = false;
      position_.last = stopped;
      return result_.failure.empty();
    }
    for (uint32_t i = 0; i < actors_.size(); ++i) {
      if (actors_[i]->ended || !result_.failure.empty()) continue;
      result_.failure = "stuck: actor " + std::to_string(i) + " waits for ever";
    }
    return false;
  }

  void take(uint32_t which) {
    const uint32_t option = position_.option[which];
    switch (position_.stage) {
      case Stage::answer: self().answer = which; return resume(position_.current);
      case Stage::stop:
        position_.stage = Stage::schedule;
        if (which == 0) return;
        self().stopped = position_.was_stopped = true;
        return add_step(stop_step);
      case Stage::schedule: break;
    }
    if ((option & a_store) == 0) return resume(option);
    position_.last = option >> 8 & 0xff;
    actors_[position_.last]->perform(option & 0xff);
    add_step(static_cast<uint8_t>(store_step + position_.last));
  }

  /// Lets an actor run to its next step.
  void resume(uint32_t actor) {
    position_.current = position_.last = actor;
    position_.stage = Stage::schedule;
    Actor& one = *actors_[actor];
    one.waiting = false;
    xio::arch::current_wave = &one;
    xio::simt::detail::Strand::transfer(main_, one.fibre);
    if (one.request == Request::end) return;
    one.local = local_[actor].name(one.digest, one.stack_digest());
    if (one.request == Request::choice) {
      position_.stage = Stage::answer;
      position_.count = one.options;
      return;
    }
    add_step(static_cast<uint8_t>(actor));
    if (actor == program_->victim() && !position_.was_stopped) {
      position_.stage = Stage::stop;
      position_.count = 2;
    }
  }

  void add_step(uint8_t step) {
    trace_.push_back(step);
    position_.trace = trace_.size();
    if (trace_.size() >= 100000) result_.failure = "this execution does not end";
  }

  uint64_t state() {
    uint64_t hash = position_.content;
    for (uint32_t i = 0; i < actors_.size(); ++i) {
      const Actor& actor = *actors_[i];
      hash = mix(hash, actor.ended ? 0 : local_[i].current(actor.local) + uint64_t{1});
      hash = mix(hash,
                 uint64_t{actor.changed} << 3 | uint64_t{actor.ended} << 2 | uint64_t{actor.stopped} << 1 | can_run(i));
      for (uint32_t s = 0; s < actor.stores; ++s) {
        const Store& store = actor.store[s];
        hash = mix(hash, reinterpret_cast<uintptr_t>(store.to) - reinterpret_cast<uintptr_t>(program_->memory()));
        for (uint32_t b = 0; b < store.bytes; b += 4) {
          uint32_t part;
          std::memcpy(&part, store.value + b, 4);
          hash = mix(hash, part);
        }
      }
      hash = mix(hash, actor.stores);
    }
    return mix(hash, uint64_t{position_.late} << 1 | position_.was_stopped);
  }

  Result result_;
  std::unique_ptr<Program> program_;
  Actors actors_;
  Position position_;
  std::vector<Node> nodes_;  ///< the first depth_ of them are in use
  size_t depth_ = 0;
  StateSet visited_;
  std::unique_ptr<SharedWords> words_;
  std::vector<LocalStates> local_;  ///< of each actor
  std::vector<uint8_t> trace_;
  xio::simt::detail::Strand main_;
  uint64_t random_ = 0;
};

}  // namespace model
