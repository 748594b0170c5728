// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Vector clocks: how much of each author's stores is known to an observer.

#include <cstddef>
#include <cstdint>
#include <vector>

#include <machine/ptx/pool.hpp>

namespace machine::ptx {

/// Keeps the later one of each two epochs. `count` is a multiple of 8.
void join_epochs(int32_t* mine, const int32_t* theirs, size_t count);

/// Per author the last known epoch. Sizes are multiples of 8.
class Clock : public Pooled<Clock> {
 public:
  /// Nothing is known.
  void reset(size_t authors) {
    known_.assign((authors + 7) / 8, {});
    author_ = 0;
  }
  /// Copies the other clock's knowledge.
  void copy(const Clock& other) {
    known_ = other.known_;
    author_ = 0;
  }
  /// Copies all that an author (not 0) knows in an epoch, which thereby ends.
  void copy(const Clock& other, uint32_t author, uint32_t epoch) {
    known_ = other.known_;
    set(author, epoch);
    author_ = author;
    epoch_ = epoch;
  }
  /// Called by the pool.
  void clear() {}

  uint32_t operator[](size_t author) const { return static_cast<uint32_t>(known_[author / 8].epochs[author % 8]); }
  void set(size_t author, uint32_t epoch) {
    known_[author / 8].epochs[author % 8] = static_cast<int32_t>(epoch);
    author_ = 0;
  }

  void join(const Clock& other) {
    if (includes(other)) return;
    author_ = 0;
    if (!other.known_.empty()) join_epochs(known_[0].epochs, other.known_[0].epochs, 8 * other.known_.size());
  }
  /// Whether joining it would change nothing.
  bool covers(const Clock& other) const {
    if (includes(other)) return true;
    for (size_t i = 0; i < other.known_.size(); ++i) {
      const int32_t* const mine = known_[i].epochs;
      const int32_t* const theirs = other.known_[i].epochs;
      uint32_t more = 0;
      for (int k = 0; k < 8; ++k) more |= static_cast<uint32_t>(theirs[k] > mine[k]);
      if (more != 0) return false;
    }
    return true;
  }

 private:
  /// Whether this is certain because of one epoch: who knows an author's epoch knows what the author knew at its end.
  bool includes(const Clock& other) const {
    return other.author_ != 0 && !known_.empty() && (*this)[other.author_] >= other.epoch_;
  }
  struct Eight {
    int32_t epochs[8] = {};  // signed: what SSE2 compares
  };
  std::vector<Eight> known_;
  uint32_t author_ = 0;  ///< whose knowledge at the end of `epoch_` this is; 0: of several
  uint32_t epoch_ = 0;
};

using ClockPointer = Owner<Clock>;

}  // namespace machine::ptx
