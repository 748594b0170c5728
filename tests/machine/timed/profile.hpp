// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Where one lane spent its time, and what it executed.

#include <cstdint>
#include <map>
#include <utility>

#include <machine/timed/traffic.hpp>

namespace machine::timed {

enum class Reason : uint8_t {
  instructions,
  fetch,   ///< of instructions
  load,    ///< its value is needed, or it acquires
  atomic,  ///< the same
  fence,
  release,  ///< of a store or an atomic
  vote,     ///< votes, shuffles and barriers of a warp
  lanes,    ///< others of the warp come later
  sleep
};
inline constexpr const char* reason_names[] = {"instructions", "fetch", "loads",       "atomics", "fences",
                                               "releases",     "votes", "lanes apart", "sleep"};
inline constexpr size_t reasons = sizeof reason_names / sizeof reason_names[0];

struct Spent {
  uint64_t times = 0;
  double ns = 0;
};

/// Of the watched lane.
struct Profile {
  uint64_t instructions = 0;
  uint64_t loads = 0;      ///< that the L2 or the host serves
  uint64_t acquiring = 0;  ///< of these
  uint64_t loads_l1 = 0;
  uint64_t loads_far = 0;
  uint64_t atomics = 0;       ///< with result
  uint64_t reductions = 0;    ///< without
  uint64_t fences[3] = {};    ///< by Reach
  uint64_t releases[3] = {};  ///< stores and atomics, by Reach
  uint64_t stores = 0;
  /// By instruction and reason.
  std::map<std::pair<const void*, Reason>, Spent> spent;
};

}  // namespace machine::timed
