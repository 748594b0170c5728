// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What instructions of one GPU take, in nanoseconds, from a file: each line is "name value # source", where a
/// value that depends on how many waves do the same is "waves:value waves:value ...".

#include <string>
#include <utility>
#include <vector>

namespace machine::timed {

/// A value by the number of waves, with straight lines between the points.
struct Curve {
  std::vector<std::pair<double, double>> points;
  double at(double waves) const;
};

struct Latencies {
  // Instructions of a warp.
  double instruction = 0;  ///< of one PTX instruction, on a chain of dependent ones
  double branch = 0;       ///< more for a taken branch, a call and a return
  double vote = 0;         ///< votes, shuffles, matches, barriers of a warp
  double block_barrier = 0;
  double block_start = 0;  ///< between the first instructions of two blocks
  double invalidate = 0;   ///< of the first-level cache, by an acquire
  // Instruction caches: of a warp's part of the multiprocessor, and of the multiprocessor.
  double code_bytes = 0;      ///< of machine code, for one PTX instruction
  double code_line = 0;       ///< bytes
  double code_near = 0;       ///< bytes of the first cache
  double code_near_miss = 0;  ///< ns, of a line that the second one has; what follows it comes with it
  double code_far = 0;        ///< bytes of the second cache
  double code_far_miss = 0;   ///< ns, served by the L2
  // Loads and atomics whose result is used, from issue to use.
  double load_l1 = 0;
  double load_near = 0;  ///< of this GPU's memory, by the L2
  double load_far = 0;   ///< of host memory
  double atomic_near = 0;
  double atomic_far = 0;
  // What two accesses have between them at least.
  double word = 0;          ///< atomics on one word
  double line = 0;          ///< accesses of one line of the L2
  double load_sector = 0;   ///< 32 bytes that one multiprocessor loads
  double store_sector = 0;  ///< the same, stored
  double far_line = 0;      ///< stores to lines of host memory, by the whole GPU
  // Fences and releases: alone, and behind a store that has just been made.
  double fence_block = 0;
  Curve fence_gpu;
  Curve fence_gpu_near;  ///< behind a store to this GPU's memory
  Curve fence_gpu_far;   ///< behind a store to host memory
  Curve fence_system;
  Curve fence_system_near;
  Curve fence_system_far;

  /// @throws Fault if the file cannot be read, or a name is unknown, missing, given twice or without a source
  static Latencies read(const std::string& path);
  /// Sets one of them, "name=value". @throws Fault as read() does
  void set(const std::string& assignment);
};

}  // namespace machine::timed
