// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The GPU behind the emulated runtimes: memory of this process, programs, and streams that the machine
/// executes.

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <machine/core/gpu.hpp>

namespace played {

/// Errors of HIP and of CUDA's two interfaces, which agree on these numbers.
enum Error : int {
  success = 0,
  invalid_value = 1,
  out_of_memory = 2,
  no_device = 100,
  invalid_device = 101,
  invalid_image = 200,
  no_binary_for_gpu = 209,
  not_found = 500,
  not_ready = 600,
  launch_failed = 719
};

class Module;

/// A kernel of a loaded program.
struct Kernel {
  Module* module;
  machine::KernelInfo info;
};

/// A loaded program.
class Module {
 public:
  explicit Module(std::unique_ptr<machine::Gpu> gpu);
  /// Kernel by name; null if absent.
  Kernel* find(const std::string& name);
  machine::Gpu& gpu() { return *gpu_; }

 private:
  std::unique_ptr<machine::Gpu> gpu_;
  std::map<std::string, Kernel> kernels_;
};

/// Work executed in order, on its own thread.
class Stream {
 public:
  Stream();
  ~Stream();
  void add(std::function<Error()> work);
  /// not_ready while work is pending; then the first error, or success.
  Error query();
  Error synchronize();

 private:
  void run();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<Error()>> work_;
  Error error_ = success;
  bool busy_ = false;
  bool ending_ = false;
  std::thread thread_;
};

/// The only GPU of the process, configured by the environment:
///
/// | XIO_PLAYED_GPU       | its target: gfx90a, gfx942 (default), gfx1100, gfx1201, sm_90; or none |
/// | XIO_PLAYED_SEED      | seed of its nondeterministic choices (default 1)                       |
/// | XIO_PLAYED_MEMORY    | bytes of its memory (default 1 GiB)                                    |
/// | XIO_PLAYED_ADDRESS   | its PCI address (default 0000:c1:00.0)                                 |
/// | XIO_PLAYED_IMAGE     | file loaded instead of every program, with line numbers                |
/// | XIO_PLAYED_FAULT     | hang: no kernel ends; register: it accesses only its own memory        |
class Device {
 public:
  static Device& get();

  bool present() const { return !target_.empty(); }
  bool is_nvidia() const { return target_.compare(0, 3, "sm_") == 0; }
  const std::string& target() const { return target_; }
  const std::string& address() const { return address_; }
  uint32_t wave_size() const { return target_.compare(0, 4, "gfx9") == 0 ? 64 : 32; }

  Error allocate(void** memory, size_t bytes, machine::MemoryKind kind);
  Error release(void* memory);
  Error enter(void* memory, size_t bytes, machine::MemoryKind kind);
  Error leave(void* memory);

  Error load(Module** module, const void* image);
  void unload(Module* module);
  Error launch(Kernel* kernel, const machine::Launch& launch, void** arguments, Stream* stream);
  /// The default stream.
  Stream& usual_stream() { return *usual_; }
  /// Waits for all streams.
  Error synchronize();
  Stream* add_stream();
  /// Ends a stream when its work is done, and nobody waits for it.
  void remove(Stream* stream);
  /// Message of the last failed launch.
  std::string trouble();

 private:
  Device();
  Error run(Kernel& kernel, const machine::Launch& launch, const std::vector<unsigned char>& arguments);

  struct Piece {
    size_t bytes;
    machine::MemoryKind kind;
    bool owned;
  };
  std::string target_;
  std::string address_;
  std::string fault_;
  uint64_t seed_;
  size_t room_;
  std::mutex mutex_;      // protects the following members
  std::mutex executing_;  // one kernel at a time
  std::map<void*, Piece> pieces_;
  std::vector<std::shared_ptr<Stream>> streams_;
  std::string trouble_;
  Stream* usual_ = nullptr;
};

}  // namespace played
