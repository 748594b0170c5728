// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief States of an execution: copies of actors, with their stacks, names for what they know, and words of memory.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "model/actor.hpp"

namespace model {

/// The states of one actor. What it does next is determined by what it has read, and as well by its stack. Two states
/// are one if either is equal: a stack also counts the rounds of a polling loop, of which a digest of what was read
/// knows nothing, and such a digest contains values that are no longer used.
class LocalStates {
 public:
  using Name = uint32_t;

  /// @param digest  of what was read
  /// @param stack  digest of the stack
  Name name(uint64_t digest, uint64_t stack) {
    const auto next = static_cast<Name>(parents_.size());
    const auto [read, new_read] = reads_.try_emplace(digest, next);
    const auto [found, new_stack] = stacks_.try_emplace(stack, next);
    if (new_read && new_stack) {
      parents_.push_back(next);
    } else if (new_read) {
      read->second = found->second;
    } else if (new_stack) {
      found->second = read->second;
    } else {
      join(read->second, found->second);
    }
    return current(read->second);
  }

  /// A name that was given, or the one that replaces it since both turned out to be the same.
  Name current(Name name) {
    while (parents_[name] != name) name = parents_[name] = parents_[parents_[name]];
    return name;
  }

 private:
  void join(Name a, Name b) {
    a = current(a);
    b = current(b);
    if (a != b) parents_[a > b ? a : b] = a > b ? b : a;
  }

  std::unordered_map<uint64_t, Name> reads_, stacks_;
  std::vector<Name> parents_{0};  ///< 0: nothing was named yet
};

using Bytes = std::vector<unsigned char>;

/// Compares a program's memory, in words of 8 bytes, with what it was, the *base*.
class SharedWords {
 public:
  explicit SharedWords(Program& program)
      : memory_(static_cast<unsigned char*>(program.memory())), base_(memory_, memory_ + program.memory_bytes()) {
    for (size_t i = 0; i < base_.size() / 8; ++i) keys_.push_back(mix(mix(3, i), i));
  }

  /// Makes this the content of memory, and the base.
  void restore(const Bytes& content, uint64_t digest) {
    base_ = content;
    digest_ = digest;
    undo();
  }
  /// Takes back what has changed since the base.
  void undo() { std::memcpy(memory_, base_.data(), base_.size()); }
  /// Makes what memory is the base.
  void keep() {
    digest_ = digest();
    base_ = content();
  }
  Bytes content() const { return {memory_, memory_ + base_.size()}; }

  bool changed() const { return std::memcmp(base_.data(), memory_, base_.size()) != 0; }
  /// The words that differ from the base.
  std::vector<uint32_t> changes() const {
    constexpr size_t block = 64;  // compared at once
    std::vector<uint32_t> found;
    for (size_t at = 0; at < base_.size(); at += block) {
      const size_t end = std::min(at + block, base_.size());
      if (std::memcmp(memory_ + at, base_.data() + at, end - at) == 0) continue;
      for (auto i = static_cast<uint32_t>(at / 8); i < end / 8; ++i) {
        if (word(memory_, i) != word(base_.data(), i)) found.push_back(i);
      }
    }
    return found;
  }
  /// A digest of memory, which differs from the base in these words.
  uint64_t digest(const std::vector<uint32_t>& changes) const {
    uint64_t result = digest_;
    for (const uint32_t i : changes) result ^= mix(word(base_.data(), i), keys_[i]) ^ mix(word(memory_, i), keys_[i]);
    return result;
  }
  uint64_t digest() const { return digest(changes()); }

 private:
  static uint64_t word(const unsigned char* bytes, uint32_t number) {
    uint64_t value;
    std::memcpy(&value, bytes + size_t{8} * number, sizeof value);
    return value;
  }

  unsigned char* memory_;
  Bytes base_;
  uint64_t digest_ = 0;
  std::vector<uint64_t> keys_;  ///< of the digest
};

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
    const uint32_t lanes = actor.lane_count();
    size_t bytes = state.bytes();
    for (uint32_t i = 0; i < lanes; ++i) bytes += sizeof(Actor::Fibre) + actor.stack_bytes(i);
    bytes_.clear();
    bytes_.reserve(bytes);
    add(&state, state.bytes());
    for (uint32_t i = 0; i < lanes; ++i) add(&actor.fibre(i), sizeof(Actor::Fibre));
    stack_at_ = bytes_.size();
    for (uint32_t i = 0; i < lanes; ++i) add(actor.stack(i), actor.stack_bytes(i));
    lanes_ = lanes;
  }

  void restore(Actor& actor) const {
    ActorState& state = actor;
    size_t at = stack_at_ - lanes_ * sizeof(Actor::Fibre);
    std::memcpy(static_cast<void*>(&state), bytes_.data(), at);
    for (uint32_t i = 0; i < lanes_; ++i, at += sizeof(Actor::Fibre))
      std::memcpy(static_cast<void*>(&actor.fibre(i)), bytes_.data() + at, sizeof(Actor::Fibre));
    for (uint32_t i = 0; i < lanes_; at += actor.stack_bytes(i), ++i)
      std::memcpy(actor.stack(i), bytes_.data() + at, actor.stack_bytes(i));
  }

  /// The actor's state; of its stores, those that are in use.
  const ActorState& state() const { return *reinterpret_cast<const ActorState*>(bytes_.data()); }

  /// Digest of the stacks, which hold the registers, too.
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
    uint64_t sum = mix(sums[0], sums[1]);
    for (uint32_t i = 0; lanes_ > 1 && i < lanes_; ++i) sum = mix(sum, mix(state().lanes[i].digest(), state().running));
    return sum;
  }

 private:
  void add(const void* what, size_t bytes) {
    const auto* const first = static_cast<const unsigned char*>(what);
    bytes_.insert(bytes_.end(), first, first + bytes);
  }

  std::vector<unsigned char> bytes_;
  size_t stack_at_ = 0;
  uint32_t lanes_ = 1;
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
