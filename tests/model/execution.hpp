// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief One execution of a small concurrent program: the real code, one coherent access at a time.
///
/// A program is a number of actors. Each is a wave, mostly of one lane, on a fibre; before every coherent access
/// (XIO_INTERLEAVE) it gives way, and any other may go on first. A step of an actor is such an access with all that it
/// does up to the next one.
///
/// Stores need not be performed at once (Program::weak): coherent ones, registers and queue entries wait, in any order
/// but for those to one address, until the actor comes to a fence or a wait for stores, accesses the same address, or
/// until they are performed on their own.
///
/// An actor waits where it pauses, and if it went on alone, would come back to this pause and leave memory as it is:
/// what it changes itself and changes back is nothing to go on for. When all wait that have not ended, the program is
/// stuck, which is a failure. But where an actor was stopped (Program::victim), time passes, and all deadlines with it:
/// the others must end then. When they have, Program::judge_stopped() looks, and the stopped one goes on.

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/snapshot.hpp"

namespace model {

class Execution {
 public:
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
  /// For actors: a pause. Nothing can be done before somebody changes memory, or a choice is made. `site` tells the
  /// places where this is called apart.
  void wait(uint64_t site) {
    Actor& actor = self();
    if (site != actor.spin_site) {
      actor.spin_site = site;
      actor.spin_digest = actor.call != 0 ? actor.call : actor.digest;
    }
    if (program_->unmarked()) {
      actor.digest = actor.loops.pause(site, mix(actor.digest, site));
    } else {
      // A loop of the library keeps nothing of its fruitless rounds but their number, which matters after the
      // deadlines.
      actor.digest = mix(phase_.late ? actor.digest : actor.spin_digest, site);
    }
    actor.pauses = true;
    actor.give_way(Request::step);
    // What it does next is a step, even if it reads nothing before.
    actor.digest = mix(actor.digest, 0);
  }
  /// For actors: a new operation begins, and all that the actor knows is `value`.
  void mark(uint64_t value) {
    self().digest = mix(1, value);
    self().spin_site = 0;
    self().call = 0;
  }
  /// For actors: mark() before a call that has kept nothing of what it has read where it pauses, but the number of
  /// rounds. Nothing checks this: a call that keeps something loses states.
  void mark_call(uint64_t value) {
    mark(value);
    self().call = self().digest;
  }

  /// For actors: ends the execution with a failure. Does not return.
  [[noreturn]] void fail(const std::string& what) {
    result_.failure = what;
    self().give_way(Request::end);
    std::abort();  // not reached: nobody lets it go on
  }
  /// For actors: what must be so, whatever it depends on.
  void require(bool condition, const char* what) {
    if (!condition) fail(what);
  }

 protected:
  friend class Actor;
  using Request = ActorState::Request;
  using Victim = Phase::Victim;

  static constexpr size_t most_steps = 100000;

  State begin(std::unique_ptr<Program> program) {
    program_ = std::move(program);
    words_ = std::make_unique<SharedWords>(*program_);
    State beginning;
    for (uint32_t i = 0; i < program_->actors(); ++i) {
      actors_.push_back(std::make_unique<Actor>(*this, main_, i, *program_));
      beginning.actors.push_back({ActorImage::shared(*actors_[i]), 0});
    }
    beginning.memory = std::make_shared<Bytes>(words_->content());
    return beginning;
  }

  bool failed() const { return !result_.failure.empty(); }
  Actor& self() { return *actors_[current_]; }
  static char name_of(uint32_t actor) { return static_cast<char>('A' + actor); }

  /// Lets an actor go on up to where it gives way.
  void resume(Actor& actor) {
    current_ = actor.number;
    actor.pauses = false;
    xio::arch::current_wave = &actor;
    actor.go_to(actor.running);
    xio::simt::detail::Strand::transfer(main_, actor.fibre());
  }

  bool is_stopped(uint32_t actor) const { return phase_.victim == Victim::is_stopped && actor == program_->victim(); }

  /// Where all have ended, wait or are stopped: lets the deadlines pass, or the stopped actor go on. Returns false if
  /// there is nothing to wait for: all have ended, or it is a failure.
  bool time_passes(Phase& phase) {
    bool others = false;
    bool all = true;
    for (const std::unique_ptr<Actor>& one : actors_) {
      others = others || (!one->ended && !is_stopped(one->number) && one->hurries);
      all = all && one->ended;
    }
    if (all) {
      ++result_.ends;
      result_.failure = program_->judge();
      return false;
    }
    if (phase.victim == Victim::is_stopped && others && !phase.late) return phase.late = true;
    if (phase.victim == Victim::is_stopped && !others) {
      phase = {Victim::goes_on, false};
      result_.failure = program_->judge_stopped();
      return !failed();
    }
    for (const std::unique_ptr<Actor>& one : actors_) {
      if (one->ended || is_stopped(one->number) || failed()) continue;
      result_.failure = "stuck: actor " + std::to_string(one->number) + " waits for ever" +
                        (phase.late ? ", though the deadlines have passed" : "");
    }
    return false;
  }

  /// Runs the program once from its beginning: any actor may go on at each step.
  void run_at_random(const State& beginning, uint64_t random) {
    words_->restore(*beginning.memory, beginning.digest);
    phase_ = beginning.phase;
    for (uint32_t i = 0; i < actors_.size(); ++i) beginning.actors[i].image->restore(*actors_[i]);
    std::vector<Round> rounds(actors_.size());
    // Mostly the first: a schedule that changes at each step explores little.
    const auto one_of = [&random](size_t count) {
      random ^= random << 13;
      random ^= random >> 7;
      random ^= random << 17;
      return random % 4 != 0 ? 0 : static_cast<uint32_t>((random >> 8) % count);
    };
    for (result_.trace.clear(); result_.trace.size() < most_steps && !failed();) {
      const std::vector<Option> options = find_options(rounds);
      if (options.empty()) {
        if (!time_passes(phase_)) return;
        continue;
      }
      const Option option = options[one_of(options.size())];
      current_ = option.actor;
      result_.trace += name_of(current_);
      if (option.store != go_on) {
        self().perform(option.store);
      } else {
        resume(self());
        while (!failed() && self().request == Request::choice) {
          self().answer = one_of(self().options);
          resume(self());
        }
        if (current_ == program_->victim() && phase_.victim == Victim::runs && one_of(2) == 1)
          phase_.victim = Victim::is_stopped;
      }
      if (words_->changed()) {
        words_->keep();
        for (uint32_t i = 0; i < actors_.size(); ++i) rounds[i].alone &= i == current_;
      }
      if (option.store == go_on) rounds[current_].end_step(self(), words_->digest(), program_->unmarked());
    }
    if (!failed()) result_.failure = "this execution does not end";
  }

  Result result_;
  std::unique_ptr<Program> program_;
  std::vector<std::unique_ptr<Actor>> actors_;
  std::unique_ptr<SharedWords> words_;
  Phase phase_;
  uint32_t current_ = 0;  ///< the actor that runs

 private:
  static constexpr uint32_t go_on = ~0u;
  struct Option {
    uint32_t actor;
    uint32_t store;  ///< the one that is performed, or go_on
  };

  /// What an actor of a random execution has done since its last pause.
  struct Round {
    uint64_t before = 0;                ///< digest of memory at the last pause
    bool alone = false;                 ///< nobody else has changed memory since then
    bool waits = false;                 ///< it pauses, after a round alone that has left memory as it was
    std::vector<uint64_t> pauses = {};  ///< of an actor that does not say what it knows: what it knew in such rounds

    void end_step(const Actor& actor, uint64_t memory, bool unmarked) {
      if (unmarked && actor.pauses) {
        if (!alone || before != memory) pauses.clear();
        waits = std::find(pauses.begin(), pauses.end(), actor.digest) != pauses.end();
        pauses.push_back(actor.digest);
        before = memory;
        alone = true;
        return;
      }
      waits = actor.pauses && alone && before == memory;
      if (!actor.pauses) return;
      before = memory;
      alone = true;
    }
  };

  /// What can be done next, first what the last actor does.
  std::vector<Option> find_options(const std::vector<Round>& rounds) const {
    std::vector<Option> options;
    for (uint32_t i = 0; i < actors_.size(); ++i) {
      const bool waits = rounds[i].waits && rounds[i].before == words_->digest();
      if (actors_[i]->ended || is_stopped(i) || (waits && !(phase_.late && actors_[i]->hurries))) continue;
      options.push_back({i, go_on});
      if (i == current_) std::swap(options.front(), options.back());
    }
    for (uint32_t i = 0; i < actors_.size(); ++i) {
      for (uint32_t k = 0; k < actors_[i]->stores; ++k) {
        if (!actors_[i]->is_behind(k)) options.push_back({i, k});
      }
    }
    return options;
  }

  xio::simt::detail::Strand main_;
};

}  // namespace model
