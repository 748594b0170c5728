// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Helpers shared by the snippets of the reference: patterns, checks, and the list of sources.

#include <cstdint>
#include <cstdio>

namespace snippets {

/// Set by the argument "damage": the checks expect wrong contents, and must fail.
inline uint64_t damage = 0;
inline int wrong = 0;

/// Word `i` (8 bytes) of a drive or a buffer.
inline uint64_t word(uint64_t i) { return (i + 1) * 0x9e3779b97f4a7c15; }
/// The value that a check expects for word(i).
inline uint64_t wanted(uint64_t i) { return word(i) ^ damage; }

inline void fill(uint64_t* words, uint64_t count, uint64_t first) {
  for (uint64_t i = 0; i < count; ++i) words[i] = word(first + i);
}
/// Whether `words` holds the expected words `first` to `first + count - 1`.
inline bool holds(const uint64_t* words, uint64_t count, uint64_t first) {
  for (uint64_t i = 0; i < count; ++i)
    if (words[i] != wanted(first + i)) return false;
  return true;
}

/// Checks the result of one snippet.
inline void check(const char* snippet, bool good) {
  if (good) return;
  std::fprintf(stderr, "%s: wrong result\n", snippet);
  ++wrong;
}

/// The snippets of one source.
struct Program {
  Program(const char* of, void (*all)()) : name(of), body(all), next(first) { first = this; }

  const char* name;
  void (*body)();
  const Program* next;
  inline static const Program* first = nullptr;
};

}  // namespace snippets
