// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The memory of a program in words of 8 bytes, and what changes in it.

#include <algorithm>
#include <cstring>
#include <vector>

#include "model/actor.hpp"

namespace model {

using Bytes = std::vector<unsigned char>;

/// Compares a program's memory with what it was, the *base*.
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

}  // namespace model
