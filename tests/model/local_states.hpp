// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Names for what an actor knows.

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

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

}  // namespace model
