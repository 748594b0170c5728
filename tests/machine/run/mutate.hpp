// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Weakens the orderings of a case's kernel, one line of the library at a time.

#include <cstdint>
#include <set>
#include <string>

#include <scenarios/cases.hpp>

namespace machine {

using scenarios::Case;
using scenarios::Outcome;

/// Selection of the orderings to weaken, and parameters of the runs.
struct MutationChoice {
  uint64_t first = 1;  ///< seed
  uint64_t last = 20;
  bool list = false;  ///< only list them
  /// "opcode<TAB>change<TAB>place<TAB>origin": orderings caught in one case are skipped in the next.
  std::set<std::string> skipped;

  /// Reads `skipped` from a file. @throws Fault if it cannot be read
  void read_skipped(const std::string& path);
};

/// Prints a line for each ordering: caught, survives, skipped, idle (not executed) or empty (a wait with nothing to
/// wait for), instruction, change, source, place, origin and what noticed it, with tabs between. The place is the
/// library's: the first line of include/xio outside device/arch that requires the instruction; empty if the test's
/// kernel does. The origin is "compiler" for waits that the library does not request, else "library".
void mutate(Gpu& gpu, const Case& one, MutationChoice& choice);

}  // namespace machine
