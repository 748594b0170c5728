// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Copies of an execution, to go back to: the scheduler's position, the program's memory, and the actors with
/// their stacks.

#include <memory>
#include <vector>

#include "model/actor.hpp"

namespace model {

/// Where the scheduler is, and what it may do next. Copied byte by byte.
struct Position {
  enum class Stage : uint32_t { schedule, stop, answer };
  static constexpr uint32_t most_options = 32;

  Stage stage = Stage::schedule;
  uint32_t current = 0;  ///< the actor that runs
  uint32_t last = ~0u;   ///< the actor that ran last
  bool late = false;
  bool was_stopped = false;
  bool renamed = false;  ///< another execution is like this one, with actors that are alike renamed
  uint64_t content = 0;  ///< a digest of the program's memory
  size_t trace = 0;      ///< steps so far
  uint32_t count = 0;
  uint32_t option[most_options];
};

using Actors = std::vector<std::unique_ptr<Actor>>;

class Snapshot {
 public:
  void save(const Position& position, Program& program, const Actors& actors) {
    bytes_.clear();
    put(&position, sizeof position);
    put(program.memory(), program.memory_bytes());
    for (const std::unique_ptr<Actor>& one : actors) {
      const ActorState& state = *one;
      put(&state, state.bytes());
      put(&one->fibre, sizeof one->fibre);
      put(reinterpret_cast<const void*>(one->low), one->top() - one->low);
    }
  }

  void restore(Position& position, Program& program, const Actors& actors) const {
    const unsigned char* from = bytes_.data();
    take(from, &position, sizeof position);
    take(from, program.memory(), program.memory_bytes());
    for (const std::unique_ptr<Actor>& one : actors) {
      ActorState& state = *one;
      take(from, &state, offsetof(ActorState, store));
      take(from, state.store, state.bytes() - offsetof(ActorState, store));
      take(from, &one->fibre, sizeof one->fibre);
      take(from, reinterpret_cast<void*>(one->low), one->top() - one->low);
    }
  }

 private:
  void put(const void* from, size_t bytes) {
    const auto* const begin = static_cast<const unsigned char*>(from);
    bytes_.insert(bytes_.end(), begin, begin + bytes);
  }
  static void take(const unsigned char*& from, void* to, size_t bytes) {
    std::memcpy(to, from, bytes);
    from += bytes;
  }

  std::vector<unsigned char> bytes_;
};

}  // namespace model
