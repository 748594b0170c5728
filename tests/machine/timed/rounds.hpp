// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Launches whose time is predicted: waves that write or read in rounds, against devices that complete at once.

#include <cstdint>
#include <map>
#include <string>

#include <machine/ptx/timed.hpp>

namespace machine::timed {

/// One launch, as a line of budgets.txt names it.
struct Setup {
  std::string kernel;  ///< put_... or read_...
  uint32_t waves = 1;
  uint32_t rounds = 50;        ///< the first ones fill caches
  uint32_t cq_laps = 2;        ///< put: entries of the completion queue for each of the send queue
  uint32_t queue_waves = 0;    ///< waves of one queue; 0: all where the kernel's name has grid, else one
  uint32_t depth = 1023;       ///< read
  uint32_t rows = 1;           ///< read: of commands, see ReadArguments
  std::string rings = "gpu";   ///< read: gpu or host, the memory that they lie in
  std::string state = "gpu";   ///< read: the same, of the queue's state
  std::string device = "gpu";  ///< read: gpu: a wave for each queue; cpu: a program of the host
  double service = 1;          ///< read: ns for each command that a device of the CPU takes

  /// @throws Fault if there is no such key or value
  void set(const std::string& key, const std::string& value);
  /// As in budgets.txt: the kernel, its waves, and what is not usual.
  std::string text() const;
};

struct Prediction {
  double ns = 0;  ///< of a round
  uint64_t operations = 0;
  double million_per_second = 0;
  double device_busy = 0;  ///< part of the time, of a device of the CPU
};

/// @throws Fault if the kernel did something wrong
Prediction predict(ptx::TimedMachine& machine, const Setup& setup);

/// Zeroed memory of the GPU or the host.
class Arena {
 public:
  explicit Arena(MemoryKind kind);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  template <class T>
  T* make(size_t count) {
    return static_cast<T*>(take(count * sizeof(T)));
  }
  void* take(size_t bytes);
  void add_to(AddressSpace& space) const;

 private:
  MemoryKind kind_;
  char* begin_;
  size_t used_ = 0;
};

/// Queues, devices and what a launch says.
struct Grounds {
  Arena near{MemoryKind::local};
  Arena far{MemoryKind::host};
  uint32_t queues = 1;
  uint32_t devices = 0;                      ///< blocks
  std::function<void(double now)> programs;  ///< advances devices of the CPU
  uint32_t* stop = far.make<uint32_t>(1);
  unsigned long long* done = far.make<unsigned long long>(1);
};

/// Runs a kernel. Returns what took how long.
Prediction launch(ptx::TimedMachine& machine, const Setup& setup, const Grounds& grounds, const void* arguments,
                  size_t argument_bytes);

Prediction predict_puts(ptx::TimedMachine& machine, const Setup& setup);
Prediction predict_reads(ptx::TimedMachine& machine, const Setup& setup);

}  // namespace machine::timed
