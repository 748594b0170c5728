// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Copies of actors, with their stacks, and states of an execution.

#include <memory>
#include <vector>

#include "model/local_states.hpp"
#include "model/shared_words.hpp"

namespace model {

/// A copy of an actor that has given way.
class ActorImage {
 public:
  static std::shared_ptr<const ActorImage> shared(const Actor& actor) {
    const auto image = std::make_shared<ActorImage>();
    image->save(actor);
    return image;
  }

  void save(const Actor& actor) {
    const ActorState& state = actor;
    bytes_.clear();
    bytes_.reserve(state.bytes() + sizeof actor.fibre + actor.stack_bytes());
    add(&state, state.bytes());
    add(&actor.fibre, sizeof actor.fibre);
    stack_at_ = bytes_.size();
    add(actor.stack(), actor.stack_bytes());
  }

  void restore(Actor& actor) const {
    ActorState& state = actor;
    const size_t state_bytes = stack_at_ - sizeof actor.fibre;
    std::memcpy(static_cast<void*>(&state), bytes_.data(), state_bytes);
    std::memcpy(static_cast<void*>(&actor.fibre), bytes_.data() + state_bytes, sizeof actor.fibre);
    std::memcpy(actor.stack(), bytes_.data() + stack_at_, bytes_.size() - stack_at_);
  }

  /// The actor's state; of its stores, those that are in use.
  const ActorState& state() const { return *reinterpret_cast<const ActorState*>(bytes_.data()); }

  /// Digest of the stack, which holds the registers, too.
  uint64_t stack_digest() const {
    // In two sums, which a processor computes at the same time.
    uint64_t sums[2] = {1, 2};
    for (size_t at = stack_at_; at < bytes_.size(); at += 16) {
      uint64_t words[2];
      std::memcpy(words, bytes_.data() + at, sizeof words);
      sums[0] = (sums[0] ^ words[0]) * 0x9e3779b97f4a7c15;
      sums[1] = (sums[1] ^ words[1]) * 0xbf58476d1ce4e5b9;
      sums[0] ^= sums[0] >> 29;
      sums[1] ^= sums[1] >> 31;
    }
    return mix(sums[0], sums[1]);
  }

 private:
  void add(const void* what, size_t bytes) {
    const auto* const first = static_cast<const unsigned char*>(what);
    bytes_.insert(bytes_.end(), first, first + bytes);
  }

  std::vector<unsigned char> bytes_;
  size_t stack_at_ = 0;
};

/// Where an actor is in a state.
struct ActorAt {
  std::shared_ptr<const ActorImage> image;
  LocalStates::Name name = 0;  ///< of what it knows
};

/// What is neither in memory nor known to an actor.
struct Phase {
  enum class Victim : uint8_t { runs, is_stopped, goes_on };
  Victim victim = Victim::runs;
  bool late = false;  ///< the deadlines have passed
};

/// A state of an execution.
struct State {
  std::vector<ActorAt> actors;
  std::shared_ptr<const Bytes> memory;
  uint64_t digest = 0;  ///< of memory
  Phase phase;
  char step = 0;  ///< the last one
};

}  // namespace model
