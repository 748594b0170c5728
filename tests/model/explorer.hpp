// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Runs small concurrent programs under every schedule.
///
/// A read has the same result before and after a change of another word. Of all schedules that differ in such orders
/// only, the explorer takes the one in which each read comes as late as possible. Then between two changes of memory
/// only two kinds of actors do anything: the one that makes the second change gets to it, and others may get to a place
/// behind a read of what it changes. What an actor does without a coherent access belongs to the one before it. What it
/// reads so must not decide what it does, but for require() and where it changes memory.
///
/// States are compared after each change. One that was met before is not explored again. A state is the shared memory
/// and, for each actor, what it knows (LocalStates) and its stores that wait.
///
/// Of actors that are alike (Program::like_previous()), the first one changes memory first. An actor may be stopped in
/// any state (Program::victim).

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/execution.hpp"
#include "model/runs.hpp"
#include "model/state_set.hpp"

namespace model {

/// Whether there is time for many states: XIO_MODEL_NIGHT is in the environment.
inline bool at_night() { return std::getenv("XIO_MODEL_NIGHT") != nullptr; }

class Explorer : public Execution {
 public:
  using Factory = std::function<std::unique_ptr<Program>(Explorer&)>;

  /// Explores one program.
  Result explore(const Factory& factory, const Limits& limits) {
    xio::arch::WaveOps* const outer = xio::arch::current_wave;
    const State beginning = begin(factory(*this));
    local_.resize(actors_.size());
    runs_.resize(actors_.size());
    search(beginning, limits.states);
    for (uint64_t i = 0; i < limits.random && !failed() && !result_.complete; ++i)
      run_at_random(beginning, (i + 1) * 0x9e3779b97f4a7c15);
    xio::arch::current_wave = outer;
    result_.states = visited_.size();
    return result_;
  }

 private:
  struct Node {
    std::vector<State> next;
    size_t taken = 0;
  };

  static constexpr uint32_t none = ~0u;

  void search(const State& beginning, uint64_t most) {
    std::vector<Node> nodes;
    nodes.emplace_back().next.push_back(beginning);
    while (!nodes.empty()) {
      Node& last = nodes.back();
      if (last.taken == last.next.size()) {
        nodes.pop_back();
        continue;
      }
      const State state = std::move(last.next[last.taken++]);
      Node node;
      expand(state, node.next);
      if (failed()) {
        // The first node has no step, and the actor that failed is on its way to the next one.
        for (size_t i = 1; i < nodes.size(); ++i) result_.trace += nodes[i].next[nodes[i].taken - 1].step;
        result_.trace += name_of(current_);
        return;
      }
      if (visited_.size() > most) return;
      nodes.push_back(std::move(node));
    }
    result_.complete = true;
  }

  /// Finds the states that follow.
  void expand(const State& state, std::vector<State>& next) {
    words_->restore(*state.memory, state.digest);
    phase_ = state.phase;
    changes_.clear();
    for (uint32_t i = 0; i < actors_.size(); ++i) {
      find_places(state, i);
      if (failed()) return;
    }
    for (const Change& change : changes_) follow(state, change, next);
    const uint32_t victim = program_->victim();
    if (victim < actors_.size() && phase_.victim == Victim::runs && !state.actors[victim].image->state().ended) {
      State stopped = state;
      stopped.phase.victim = Victim::is_stopped;
      stopped.step = '!';
      add(std::move(stopped), next);
    }
    come_to_rest(state, next);
  }

  void add(State&& state, std::vector<State>& next) {
    ++result_.steps;
    if (visited_.insert(digest(state))) next.push_back(std::move(state));
  }

  // Runs

  void find_places(const State& state, uint32_t number) {
    Actor& actor = *actors_[number];
    const ActorAt& at = state.actors[number];
    at.image->restore(actor);
    current_ = number;
    // Another execution is like this one, with actors that are alike renamed.
    renamed_ = number != 0 && program_->like_previous(number) && !state.actors[number - 1].image->state().changed;
    Run& run = runs_[number];
    run.clear();
    Place& here = run.add(actor);
    perform_stores(actor, here, nullptr);
    if (!actor.ended) go_on(actor, 0);
  }

  /// Lets an actor go on until it changes memory, or gets no further.
  void go_on(Actor& actor, uint32_t place) {
    while (place != none) {
      actor.reads.clear();
      resume(actor);
      if (actor.request == Request::choice) return branch(actor, place);
      place = end_step(actor, place);
    }
  }

  /// Goes on after each of the answers that an actor may get.
  void branch(Actor& actor, uint32_t place) {
    ActorImage before;
    before.save(actor);
    const Bytes memory = words_->content();
    const std::vector<uint32_t> reads = actor.reads;
    for (uint32_t answer = 0; answer < before.state().options && !failed(); ++answer) {
      before.restore(actor);
      std::memcpy(program_->memory(), memory.data(), memory.size());
      actor.reads = reads;
      actor.answer = answer;
      resume(actor);
      if (actor.request == Request::choice) {
        branch(actor, place);
      } else {
        go_on(actor, end_step(actor, place));
      }
    }
  }

  /// Returns the place to which the step from another one has led; none if the run ends.
  uint32_t end_step(Actor& actor, uint32_t before) {
    Run& run = runs_[actor.number];
    if (run.size() > most_steps) result_.failure = "this execution does not end";
    if (failed()) return none;
    if (words_->changed()) {
      if (!is_stopped(actor.number)) add_change(actor);
      words_->undo();
      return none;
    }
    // What a stopped actor reads it has read before it was stopped. Its stores are on their way since then.
    if (is_stopped(actor.number) && actor.has_more_stores(run[0].image.state())) return none;
    const bool was_here = run.has_pause(actor);
    const uint32_t number = run.size();
    Place& place = run.add(actor);
    place.reads = actor.reads;
    perform_stores(actor, place, &run[before]);
    return was_here || actor.ended ? none : number;
  }

  /// Performs each store of an actor that may come next. Those of the place before have been performed from there.
  void perform_stores(Actor& actor, const Place& place, const Place* before) {
    for (uint32_t k = 0; k < actor.stores; ++k) {
      if (actor.is_behind(k) || (before != nullptr && before->image.state().has(actor.store[k]))) continue;
      actor.perform(k);
      add_change(actor);
      words_->undo();
      place.image.restore(actor);
    }
  }

  void add_change(Actor& actor) {
    if (renamed_) return;
    actor.changed = true;
    std::vector<uint32_t> words = words_->changes();
    const uint64_t digest = words_->digest(words);
    changes_.push_back({actor.number, standing(actor.number, ActorImage::shared(actor)), std::move(words),
                        std::make_shared<Bytes>(words_->content()), digest});
  }

  ActorAt standing(uint32_t actor, std::shared_ptr<const ActorImage> image) {
    const ActorState& state = image->state();
    // After the deadlines, what differs in the number of rounds is not the same any more.
    const LocalStates::Name name =
        local_[actor].name(mix(state.digest, phase_.late), mix(image->stack_digest(), phase_.late));
    return {std::move(image), name};
  }

  // States

  /// Calls `use(numbers)` for each way to take one place of each actor.
  template <class Use>
  void for_each_way(const std::vector<std::vector<uint32_t>>& places, const Use& use) {
    std::vector<size_t> which(places.size());
    std::vector<uint32_t> numbers(places.size());
    for (size_t i = 0; i < places.size();) {
      for (size_t k = 0; k < places.size(); ++k) numbers[k] = places[k][which[k]];
      use(numbers);
      for (i = 0; i < places.size() && ++which[i] == places[i].size(); ++i) which[i] = 0;
    }
  }

  /// Adds the states after a change.
  void follow(const State& state, const Change& change, std::vector<State>& next) {
    std::vector<std::vector<uint32_t>> places(actors_.size(), {0});
    for (uint32_t i = 0; i < actors_.size(); ++i) {
      for (uint32_t p = 1; i != change.actor && p < runs_[i].size(); ++p) {
        if (change.matters_to(runs_[i][p])) places[i].push_back(p);
      }
    }
    for_each_way(places, [&](const std::vector<uint32_t>& numbers) {
      State one;
      one.actors.reserve(actors_.size());
      for (uint32_t i = 0; i < actors_.size(); ++i) {
        one.actors.push_back(i == change.actor ? change.after : at(state, i, numbers[i]));
      }
      one.memory = change.memory;
      one.digest = change.digest;
      one.phase = state.phase;
      one.step = name_of(change.actor);
      add(std::move(one), next);
    });
  }

  ActorAt at(const State& state, uint32_t actor, uint32_t number) {
    if (number == 0) return state.actors[actor];
    Place& place = runs_[actor][number];
    if (place.known.image == nullptr) place.known = standing(actor, std::make_shared<ActorImage>(place.image));
    return place.known;
  }

  /// Adds what follows where all wait, have ended or are stopped.
  void come_to_rest(const State& state, std::vector<State>& next) {
    std::vector<std::vector<uint32_t>> places(actors_.size());
    for (uint32_t i = 0; i < actors_.size(); ++i) {
      places[i] = places_of_rest(i);
      if (places[i].empty()) return;
    }
    for (uint32_t i = 0; i < actors_.size(); ++i) {
      const auto ends = std::remove_if(places[i].begin(), places[i].end(), [&](uint32_t p) { return !rests(i, p); });
      places[i].erase(ends, places[i].end());
      if (places[i].empty()) return;
    }
    for_each_way(places, [&](const std::vector<uint32_t>& numbers) {
      State one = state;
      for (uint32_t i = 0; i < actors_.size(); ++i) {
        one.actors[i] = at(state, i, numbers[i]);
        one.actors[i].image->restore(*actors_[i]);
      }
      words_->undo();
      if (!failed() && time_passes(one.phase)) add(std::move(one), next);
    });
  }

  /// The places where an actor has ended, pauses or is stopped, without stores that wait.
  std::vector<uint32_t> places_of_rest(uint32_t number) {
    Run& run = runs_[number];
    std::vector<uint32_t> found;
    for (uint32_t p = 0; p < (is_stopped(number) ? 1 : run.size()); ++p) {
      const ActorState& actor = run[p].image.state();
      const bool known = std::any_of(found.begin(), found.end(),
                                     [&](uint32_t other) { return actor.pauses_like(run[other].image.state()); });
      if ((is_stopped(number) || actor.ended || actor.pauses) && actor.stores == 0 && !known) found.push_back(p);
    }
    return found;
  }

  /// Whether an actor that goes on alone from one of these comes back to it, and leaves memory as it is. An actor that
  /// has a choice does not wait.
  bool rests(uint32_t number, uint32_t place) {
    Actor& actor = *actors_[number];
    const ActorImage& image = runs_[number][place].image;
    if (is_stopped(number) || image.state().ended) return true;
    image.restore(actor);
    words_->undo();
    uint64_t steps = 0;
    // A loop may have several places to pause at.
    for (uint32_t pauses = program_->unmarked() ? 16 : 1; pauses != 0 && !failed(); --pauses) {
      do {
        resume(actor);
        while (actor.stores != 0) actor.perform(0);
        if (++steps > most_steps) result_.failure = "this execution does not end";
      } while (!failed() && !actor.ended && !actor.pauses && actor.request != Request::choice);
      if (actor.ended || !actor.pauses || image.state().pauses_like(actor)) break;
    }
    return image.state().pauses_like(actor) && !words_->changed();
  }

  uint64_t digest(const State& state) {
    uint64_t hash = state.digest;
    for (uint32_t i = 0; i < actors_.size(); ++i) {
      const ActorAt& at = state.actors[i];
      const ActorState& actor = at.image->state();
      hash = mix(hash, actor.ended ? 0 : local_[i].current(at.name) + uint64_t{1});
      hash = mix(hash, uint64_t{actor.changed} << 1 | actor.ended);
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
    return mix(hash, uint64_t{state.phase.late} << 2 | static_cast<uint64_t>(state.phase.victim));
  }

  std::vector<LocalStates> local_;  ///< of each actor
  StateSet visited_;
  // From the state that is expanded:
  std::vector<Run> runs_;  ///< of each actor
  std::vector<Change> changes_;
  bool renamed_ = false;  ///< the changes of the actor that runs need not be looked at
};

}  // namespace model
