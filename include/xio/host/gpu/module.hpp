// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Kernels embedded in a program, loaded and launched at run time: running needs no GPU compiler, and building
/// needs no GPU runtime.
///
/// @snippet host.cpp GpuModule

#include <chrono>
#include <memory>
#include <string>
#include <type_traits>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/gpu/device_abi.hpp>
#include <xio/host/gpu/runtime.hpp>
#include <xio/host/gpu/wave_budget.hpp>
#include <xio/host/wait.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_memory
/// @{

/// A stream of a GPU: its work is executed in order. Not thread-safe.
class GpuWork {
 public:
  explicit GpuWork(std::shared_ptr<GpuRuntime> gpu) : gpu_(std::move(gpu)), stream_(gpu_->create_stream()) {}
  GpuWork(const GpuWork&) = delete;
  GpuWork& operator=(const GpuWork&) = delete;
  /// Waits for a kernel that is still running, as the runtimes do. See abandon().
  ~GpuWork() {
    if (stream_ != nullptr) gpu_->destroy_stream(stream_);
  }

  void* stream() const { return stream_; }  ///< the stream of the launch, a hipStream_t or CUstream
  /// Whether all work is complete. Throws Error if a kernel has failed.
  /// @snippet host.cpp finished
  bool finished() { return gpu_->finished(stream_); }
  /// Waits until all work is complete. Returns false if that takes longer than `limit`: the kernel is still running,
  /// and the memory that it uses must not be freed. Throws Error if a kernel has failed.
  /// @snippet host.cpp GpuModule
  template <class Limit>
  bool wait(Limit limit) {
    const auto end = Timeout::after(Timeout::Clock::now(), limit);
    Backoff backoff;
    while (!finished()) {
      if (Timeout::Clock::now() >= end) return false;
      backoff.pause();
    }
    return true;
  }
  /// Abandons a stream whose kernel does not end: nothing waits for it any more. Its resources are leaked until the
  /// process ends.
  /// @snippet host.cpp abandon
  void abandon() { stream_ = nullptr; }

 private:
  std::shared_ptr<GpuRuntime> gpu_;
  void* stream_;
};

/// A kernel of a GpuModule, with the types of its parameters. Copies denote the same kernel; valid as long as the
/// module.
template <class... Parameters>
class GpuKernel {
  static_assert((std::is_trivially_copyable_v<Parameters> && ...), "kernels take their arguments as bytes");

 public:
  GpuKernel(std::shared_ptr<GpuRuntime> gpu, void* kernel, std::string name)
      : gpu_(std::move(gpu)), kernel_(kernel), name_(std::move(name)) {}

  /// Number of blocks that run concurrently on this GPU; 0 if not even one fits.
  /// @snippet host.cpp resident_blocks
  uint32_t resident_blocks(uint32_t threads, size_t lds = 0) const {
    return gpu_->resident_blocks(kernel_, threads, lds);
  }

  /// Launches any grid, for kernels whose waves do not wait for each other.
  /// @snippet host.cpp resident_blocks
  void launch(GpuWork& work, const GpuGrid& grid,
              const typename detail::SameType<Parameters>::type&... arguments) const {
    void* values[] = {const_cast<void*>(static_cast<const void*>(std::addressof(arguments)))..., nullptr};
    gpu_->launch(kernel_, grid, values, work.stream());
  }

  /// Launches an I/O kernel whose waves all run concurrently.
  /// @throws Error if they do not fit on the GPU together, with the number that fits
  ///
  /// @snippet host.cpp GpuModule
  void launch(GpuWork& work, const WaveBudget& budget,
              const typename detail::SameType<Parameters>::type&... arguments) const {
    const uint32_t blocks = detail::blocks_of(budget);
    const uint32_t threads = budget.waves_per_block * gpu_->wave_size();
    const uint32_t fitting = resident_blocks(threads, budget.lds);
    if (blocks > fitting)
      throw Error(name_ + ": of " + std::to_string(budget.waves) + " waves, only " +
                  std::to_string(fitting * budget.waves_per_block) +
                  " run at the same time on this GPU; lower the number of waves");
    launch(work, GpuGrid{blocks, threads, budget.lds}, arguments...);
  }

 private:
  std::shared_ptr<GpuRuntime> gpu_;
  void* kernel_;
  std::string name_;
};

/// A program loaded on a GPU. Kernels are found by their linker names: `extern "C"` makes them readable.
class GpuModule {
 public:
  /// @param image  a code object, a fat binary (of clang-offload-bundler or nvcc) that includes this GPU as a target,
  ///               or null-terminated PTX text
  /// @param bytes  of the image, a terminating null included
  /// @throws Error if it contains no code for this GPU, is cut short, or the driver is too old for it, and as
  ///         check_device_abi()
  GpuModule(std::shared_ptr<GpuRuntime> gpu, const void* image, size_t bytes) : gpu_(std::move(gpu)) {
    check_device_abi(image, bytes);
    module_ = gpu_->load_module(image, bytes);
  }
  GpuModule(const GpuModule&) = delete;
  GpuModule& operator=(const GpuModule&) = delete;
  ~GpuModule() { gpu_->unload_module(module_); }

  /// @throws Error if there is no kernel of this name
  ///
  /// @snippet host.cpp GpuModule
  template <class... Parameters>
  GpuKernel<Parameters...> kernel(const std::string& name) const {
    return {gpu_, gpu_->find_kernel(module_, name.c_str()), name};
  }
  const std::shared_ptr<GpuRuntime>& gpu() const { return gpu_; }  ///< the GPU that it is loaded on

 private:
  std::shared_ptr<GpuRuntime> gpu_;
  void* module_ = nullptr;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
