// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What the machine runs: kernels with the devices that they drive.

#include <cstdint>
#include <string>
#include <vector>

#include <machine/core/gpu.hpp>

namespace machine {

/// What goes wrong on the device's side. Seeds take turns.
enum class Trouble : uint8_t {
  none,
  reorder,  ///< completions in any order, and late
  errors    ///< some operations fail
};

/// How one run ended.
struct Outcome {
  std::string error;        ///< empty: everything was right
  uint64_t operations = 0;  ///< that the device saw
  Counts counts;
};

struct Case {
  std::string name;
  /// @param seed also chooses the Trouble, where the kernel bears it
  Outcome (*run)(Gpu& gpu, const Case& one, uint64_t seed);
  uint32_t blocks = 1;
  uint32_t threads = 0;  ///< of a workgroup; 0: one wave
  uint32_t lanes = 0;    ///< threads that take part; 0: all
  uint32_t depth = 64;
  uint32_t rounds = 2;
  uint32_t count = 0;         ///< as NvmeJob has it
  uint32_t features = 0;      ///< of Feature
  uint32_t troubles = 0b111;  ///< bit for each Trouble that the kernel bears
  std::string kernel = {};    ///< empty: `name`
  bool calm = false;          ///< the GPU takes no liberties: what is left is the devices' part of a seed

  std::string kernel_name() const { return kernel.empty() ? name : kernel; }
};

enum Feature : uint32_t {
  own_queues = 1,    ///< one queue for each thread
  shadow = 2,        ///< shadow doorbells
  through = 4,       ///< rings in memory that the GPU does not cache
  drives = 8,        ///< `count` controllers
  inbound = 16,      ///< data in the GPU's memory
  pairs = 32,        ///< batches: pieces to write, then as many to read
  small_pages = 64,  ///< transfers of at most two pages: longer ones are split
  costs = 128,       ///< large, to be counted: on a calm GPU alone
  answers = 256,     ///< completions bring a result of each block's own
  bad_blocks = 512,  ///< reading most blocks fails
  twice = 1024,      ///< one completion is written twice, which breaks the queue
  one_fails = 2048,  ///< one operation fails, and what follows it is flushed
  stray = 4096       ///< one completion is about another queue pair
};

std::vector<Case> nvme_cases();
std::vector<Case> rdma_cases();

/// Whether the queue ends in an error, so that any number of operations fails.
inline bool ends_badly(const Case& one) { return (one.features & (twice | one_fails | stray)) != 0; }

/// The Trouble of a seed.
inline Trouble trouble_of(const Case& one, uint64_t seed) {
  const auto wanted = static_cast<Trouble>(seed % 3);
  return (one.troubles >> static_cast<uint32_t>(wanted) & 1) != 0 ? wanted : Trouble::none;
}

/// Rings and data: in memory that the target's accesses of system scope reach coherently.
inline MemoryKind shared_kind(const Gpu& gpu, const Case& one, uint64_t seed) {
  const std::string& target = gpu.target();
  if (target == "gfx90a" || target == "gfx1100") return MemoryKind::uncached;
  if ((one.features & through) != 0) return MemoryKind::uncached;
  return seed / 3 % 4 == 3 ? MemoryKind::uncached : MemoryKind::host;
}

}  // namespace machine
