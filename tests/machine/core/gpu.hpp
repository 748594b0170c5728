// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A GPU that executes what a compiler made: what its two kinds, AMD's code objects and PTX, have in common.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <machine/core/address_space.hpp>
#include <machine/core/counts.hpp>
#include <machine/core/random.hpp>

namespace machine {

struct Extent {
  uint32_t x = 1;
  uint32_t y = 1;
  uint32_t z = 1;
};

/// What a kernel asks of a launch.
struct KernelInfo {
  std::string name;             ///< as the linker has it
  uint32_t argument_bytes = 0;  ///< without hidden arguments
  std::vector<uint32_t> argument_offsets;
  std::vector<uint32_t> argument_sizes;
  uint32_t shared_bytes = 0;   ///< static LDS or shared memory of a workgroup
  uint32_t private_bytes = 0;  ///< scratch or local memory of a thread
  uint32_t registers = 0;
};

struct Launch {
  Extent grid;                      ///< in workgroups
  Extent block;                     ///< in threads
  const void* arguments = nullptr;  ///< laid out as KernelInfo says: as a C struct of the parameters
  size_t argument_bytes = 0;
  uint32_t dynamic_shared_bytes = 0;
};

/// One place of a program where an ordering is asked for, and how it is weakened.
struct Mutation {
  size_t instruction = 0;  ///< the program's own number
  std::string text;        ///< the instruction
  std::string source;      ///< file and line, the innermost first; empty where the program does not know
  std::string change;      ///< "removed", "scope device", "relaxed" …
};

/// Liberties that all kinds draw from the seed. Each kind has more of its own.
struct Limits {
  uint64_t instructions = 400'000'000;  ///< a launch that executes more does not end: a Fault
};

/// A GPU with a program loaded. Not for use by several threads at once.
///
/// The order of use: ranges into `memory`; start(); run() as often as wanted. All that the architecture leaves open is
/// drawn from the seed: a run repeats where seed, program, addresses and devices are the same.
class Gpu {
 public:
  virtual ~Gpu() = default;

  /// "gfx942", "sm_90".
  virtual const std::string& target() const = 0;
  virtual uint32_t wave_size() const = 0;
  virtual std::vector<KernelInfo> kernels() const = 0;

  /// Empties the caches, forgets the counts and draws anew how nasty the GPU is. Seed 0: not at all. Every access is
  /// performed at once and in order, waves take turns.
  virtual void start(uint64_t seed) = 0;

  /// Runs a kernel to its end, and writes back what is in its caches.
  /// @throws Fault with seed, instruction and source line
  virtual void run(const std::string& kernel, const Launch& launch) = 0;

  /// The orderings that a kernel's code asks for, each weakened by one step.
  virtual std::vector<Mutation> mutations(const std::string& kernel) const = 0;
  /// How often the instruction of a mutation was executed since start(): one that was not cannot be caught.
  virtual uint64_t executed(const Mutation& mutation) const {
    static_cast<void>(mutation);
    return 1;
  }
  /// Whether it did anything since start(): a wait with nothing to wait for did not.
  virtual bool mattered(const Mutation& mutation) const { return executed(mutation) != 0; }
  virtual void apply(const Mutation& mutation) = 0;
  /// Undoes apply().
  virtual void restore() = 0;

  AddressSpace memory;
  Counts counts;
  Limits limits;

  /// A store arrived at registers. Unless set, 4 and 8 bytes are stored to the word in one piece.
  std::function<void(uint64_t address, uint64_t value, uint32_t bytes)> write_register;
  /// Lets the devices go on for a while. True if they may have changed memory.
  std::function<bool(Random& random)> step_devices;
  /// Time in nanoseconds. Unless set, it follows from the instructions that were executed.
  std::function<uint64_t()> nanoseconds;
  /// Each instruction is handed here before it is executed: where a run is to be looked at.
  std::function<void(const std::string& line)> trace;

  uint64_t seed() const { return seed_; }

 protected:
  void store_register(uint64_t address, uint64_t value, uint32_t bytes) {
    if (write_register) return write_register(address, value, bytes);
    if (bytes == 4)
      return __atomic_store_n(reinterpret_cast<uint32_t*>(address), static_cast<uint32_t>(value), __ATOMIC_RELEASE);
    if (bytes == 8) return __atomic_store_n(reinterpret_cast<uint64_t*>(address), value, __ATOMIC_RELEASE);
    throw Fault("store of " + std::to_string(bytes) + " bytes to registers");
  }

  uint64_t seed_ = 0;
};

}  // namespace machine
