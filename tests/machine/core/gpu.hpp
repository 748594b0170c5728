// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Common interface of the two emulated GPUs, which execute compiled AMD code objects and PTX.

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

/// Launch requirements of a kernel.
struct KernelInfo {
  std::string name;             ///< linker symbol
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
  const void* arguments = nullptr;  ///< laid out as a C struct of the parameters, see KernelInfo
  size_t argument_bytes = 0;
  uint32_t dynamic_shared_bytes = 0;
};

/// An ordering instruction of a program, and how it is weakened.
struct Mutation {
  size_t instruction = 0;  ///< index in the program
  std::string text;        ///< the instruction
  std::string source;      ///< file and line, innermost first; empty if unknown
  std::string change;      ///< "removed", "scope device", "relaxed" …
};

/// Limits common to all kinds of GPU.
struct Limits {
  uint64_t instructions = 400'000'000;  ///< a launch that executes more raises a Fault
};

/// A GPU with a program loaded. Not thread-safe.
///
/// Usage: add ranges to `memory`; start(); run() any number of times. All behaviour that the architecture leaves open
/// is drawn from the seed: a run is reproducible with the same seed, program, addresses and devices.
class Gpu {
 public:
  virtual ~Gpu() = default;

  /// Target, such as "gfx942" or "sm_90".
  virtual const std::string& target() const = 0;
  virtual uint32_t wave_size() const = 0;
  virtual std::vector<KernelInfo> kernels() const = 0;

  /// Empties the caches, clears the counts and draws new adversarial parameters. With seed 0 the GPU is not
  /// adversarial: every access is performed immediately and in order, and waves take turns.
  virtual void start(uint64_t seed) = 0;

  /// Runs a kernel to its end, and writes back its caches.
  /// @throws Fault with seed, instruction and source line
  virtual void run(const std::string& kernel, const Launch& launch) = 0;

  /// Time that no wait of a kernel takes unless its device never answers, in the clock that the kernel reads.
  virtual uint64_t patience_ns() const { return 2'000'000'000; }

  /// The ordering instructions of a kernel, each weakened by one step.
  virtual std::vector<Mutation> mutations(const std::string& kernel) const = 0;
  /// Executions of a mutation's instruction since start(): a mutation that is never executed cannot be detected.
  virtual uint64_t executed(const Mutation& mutation) const {
    static_cast<void>(mutation);
    return 1;
  }
  /// Whether the instruction had an effect since start(): a wait with nothing in flight has none.
  virtual bool mattered(const Mutation& mutation) const { return executed(mutation) != 0; }
  virtual void apply(const Mutation& mutation) = 0;
  /// Undoes apply().
  virtual void restore() = 0;

  /// With seed 0: waves take turns in an order drawn from this number; 0: one after the other. In lockstep they meet in
  /// always the same way, by which the cost of a shared queue would be that of one meeting.
  uint64_t order = 0;

  AddressSpace memory;
  Counts counts;
  Limits limits;

  /// A store arrived at registers. Unless set, 4 and 8 bytes are stored to the word in one piece.
  std::function<void(uint64_t address, uint64_t value, uint32_t bytes)> write_register;
  /// Advances the devices. Returns true if they may have changed memory.
  std::function<bool(Random& random)> step_devices;
  /// Time in nanoseconds. Unless set, it follows from the instructions that were executed.
  std::function<uint64_t()> nanoseconds;
  /// Called before each instruction, for tracing a run.
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
