// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Rows of the table of scenarios: a kernel, its shape, and the devices that it drives.

#include <cstdint>
#include <string>
#include <vector>

#include <xio/device/core/policy.hpp>

#include <machine/core/gpu.hpp>
#include <machine/core/host_memory.hpp>

namespace scenarios {

using machine::Counts;
using machine::Fault;
using machine::Gpu;
using machine::Launch;
using machine::MemoryKind;
using machine::Random;

/// Disturbances by the device; they alternate with the seed.
enum class Trouble : uint8_t {
  none,
  reorder,  ///< completions in any order, and late
  errors    ///< some operations fail
};

/// Result of one run.
struct Outcome {
  std::string error;        ///< empty: no error
  uint64_t operations = 0;  ///< operations that the device executed
  Counts counts;
};

struct Case {
  std::string name;
  /// @param seed also selects the Trouble, if the kernel supports it
  Outcome (*run)(Gpu& gpu, const Case& one, uint64_t seed);
  uint32_t blocks = 1;
  uint32_t threads = 0;  ///< threads of a workgroup; 0: one wave
  uint32_t lanes = 0;    ///< threads that take part; 0: all
  uint32_t depth = 64;
  uint32_t rounds = 2;
  uint32_t count = 0;         ///< as NvmeJob::count
  uint32_t features = 0;      ///< bits of Feature
  uint32_t troubles = 0b111;  ///< one bit per Trouble that the kernel supports
  std::string kernel = {};    ///< empty: `name`
  uint32_t least_wave = 8;    ///< lanes of a wave for which the shape is made
  bool calm = false;          ///< the GPU is not adversarial: the seed affects only the devices

  std::string kernel_name() const { return kernel.empty() ? name : kernel; }
};

enum Feature : uint32_t {
  own_queues = 1,         ///< one queue per thread
  shadow = 2,             ///< shadow doorbells
  through = 4,            ///< rings in memory that the GPU does not cache; data elsewhere as in other cases
  drives = 8,             ///< `count` controllers
  inbound = 16,           ///< data in the GPU's memory
  pairs = 32,             ///< batches: pieces to write, then as many to read
  small_pages = 64,       ///< transfers of at most two pages: longer ones are split
  costs = 128,            ///< large, for counting: only on a calm GPU
  answers = 256,          ///< completions carry a block-specific result
  bad_blocks = 512,       ///< reading most blocks fails
  twice = 1024,           ///< one completion is written twice, which breaks the queue
  one_fails = 2048,       ///< one operation fails, and later ones are flushed
  stray = 4096,           ///< one completion is about another queue pair
  watched = 8192,         ///< the host sees notifications and kept results in its memory, and answers
  small_rings = 16384,    ///< rings that wrap several times; NVMe: completion rings of `depth` + 1 entries
  small_log = 32768,      ///< a log of one failure, fewer than the host's set-up gives: soon searched, soon full
  small_table = 65536,    ///< a table of twice the depth, which failures soon leave
  filled = 131072,        ///< each block that is read into holds words of its thread's number
  requested = 262144,     ///< a wave that stopped has left the bit of a reservation request, or a request that is over
  page_lists = 524288,    ///< transfers of any length, with a list of their pages
  long_used = 1048576,    ///< counters that soon exceed 16, 24, 32, 33 or 47 bits, by the seed
  rings_early = 2097152,  ///< MLX5: doorbells before the record, that name other entries: devices go by the record
  short_entries = 4194304,  ///< the shortest send entries that the vendor has
  on_gpu = 8388608,         ///< handles and regions say that all lies in the GPU's memory
  misplaced = 16777216,     ///< what they say is wrong
  keyed = 33554432          ///< the namespace stores values under keys
};

std::vector<Case> nvme_cases();
std::vector<Case> rdma_cases();
/// NVMe namespaces that store values under keys.
std::vector<Case> key_value_cases();
/// NVMe over RDMA.
std::vector<Case> fabric_cases();
/// Other libraries' code, in kernel files of its own (tests/peers), and ours beside it: only costs are compared.
std::vector<Case> peer_cases();

/// Numbers of operations that a row's kernel reports.
/// @param atomics  the kernel counts in the peer's memory
uint64_t nvme_operations(const Case& one, uint32_t lanes, uint32_t waves);
uint64_t rdma_operations(const Case& one, uint32_t lanes, uint32_t waves, bool atomics);

/// A row whose shape needs waves of so many lanes or more.
inline Case wide(Case one, uint32_t lanes = 32) {
  one.least_wave = lanes;
  return one;
}

/// Why a row cannot be run with waves of so many lanes; null if it can.
inline const char* misfit(const Case& one, uint32_t wave_size) {
  return one.least_wave > wave_size ? "its shape needs waves of more lanes" : nullptr;
}

/// Whether the queue enters the error state, so that any number of operations may fail.
inline bool ends_badly(const Case& one) { return (one.features & (twice | one_fails | stray)) != 0; }

/// The Trouble of a seed.
inline Trouble trouble_of(const Case& one, uint64_t seed) {
  const auto wanted = static_cast<Trouble>(seed % 3);
  return (one.troubles >> static_cast<uint32_t>(wanted) & 1) != 0 ? wanted : Trouble::none;
}

/// Memory kind of data, and of what the device writes: coherent for the target's accesses of system scope.
inline MemoryKind shared_kind(const Gpu& gpu, uint64_t seed) {
  return seed / 3 % 4 == 3 ? MemoryKind::uncached : machine::host_memory(gpu.target());
}

/// Memory kind of data and of what the device writes in this case. The GPU's own, where that makes a difference to
/// releases: on NVIDIA.
inline MemoryKind data_kind(const Gpu& gpu, const Case& one, uint64_t seed) {
  const bool own = (one.features & on_gpu) != 0 && gpu.target().compare(0, 3, "sm_") == 0;
  return own && (one.features & misplaced) == 0 ? MemoryKind::local : shared_kind(gpu, seed);
}
/// The same as handles and regions have it.
inline xio::Memory told_memory(const Case& one) {
  return (one.features & on_gpu) != 0 ? xio::Memory::device : xio::Memory::host;
}

/// Memory kind of rings and lists.
inline MemoryKind ring_kind(const Gpu& gpu, const Case& one, uint64_t seed) {
  if ((one.features & on_gpu) != 0) return data_kind(gpu, one, seed);
  return (one.features & through) != 0 ? MemoryKind::uncached : shared_kind(gpu, seed);
}

}  // namespace scenarios
