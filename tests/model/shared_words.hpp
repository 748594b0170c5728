// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The memory of a program in words of 8 bytes.

#include <cstring>
#include <vector>

#include "model/actor.hpp"

namespace model {

/// Finds changes of a program's memory, and keeps a digest of it.
class SharedWords {
 public:
  explicit SharedWords(Program& program) : memory_(static_cast<const unsigned char*>(program.memory())) {
    words_.resize(program.memory_bytes() / 8);
    ever_changed_.resize(words_.size());
    for (size_t i = 0; i < words_.size(); ++i) keys_.push_back(mix(mix(3, i), i));
    remember();
  }

  /// Takes memory as it is for unchanged.
  void remember() { std::memcpy(words_.data(), memory_, 8 * words_.size()); }

  /// Returns whether memory has changed since it was last looked at, and updates `digest`.
  bool look(uint64_t& digest) {
    if (std::memcmp(words_.data(), memory_, 8 * words_.size()) == 0) return false;
    for (size_t i = 0; i < words_.size(); ++i) {
      uint64_t word;
      std::memcpy(&word, memory_ + 8 * i, 8);
      if (word == words_[i]) continue;
      digest ^= mix(words_[i], keys_[i]) ^ mix(word, keys_[i]);
      words_[i] = word;
      if (ever_changed_[i] == 0) found_ = ever_changed_[i] = 1;
    }
    return true;
  }

  /// Whether anybody has changed the word at this address in any execution. An access to one that nobody changes can
  /// come before or after any step of others.
  bool ever_changes(const void* where) const {
    const size_t word = number(where);
    return word >= words_.size() || ever_changed_[word] != 0;
  }
  /// To be called after an access for which ever_changes() was false: it may have changed the word.
  void accessed(const void* where) {
    const size_t word = number(where);
    if (std::memcmp(&words_[word], memory_ + 8 * word, 8) != 0) found_ = ever_changed_[word] = 1;
  }
  /// Whether ever_changes() has changed since this was last called.
  bool found_change() {
    const bool found = found_ != 0;
    found_ = 0;
    return found;
  }

 private:
  size_t number(const void* where) const {
    return (reinterpret_cast<uintptr_t>(where) - reinterpret_cast<uintptr_t>(memory_)) / 8;
  }

  const unsigned char* memory_;
  std::vector<uint64_t> words_;
  std::vector<uint64_t> keys_;  ///< of the digest
  std::vector<uint8_t> ever_changed_;
  uint8_t found_ = 0;
};

}  // namespace model
