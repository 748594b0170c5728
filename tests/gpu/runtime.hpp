// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The few calls of a GPU runtime that the tests need, under one name for HIP and CUDA.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#if defined(__HIP__)
#include <hip/hip_runtime.h>
#define XIO_GPU(name) hip##name
#else
#include <cuda_runtime.h>
#define XIO_GPU(name) cuda##name
#endif

namespace gpu {

inline void check(XIO_GPU(Error_t) result, const char* what) {
  if (result != XIO_GPU(Success)) throw std::runtime_error(std::string(what) + ": " + XIO_GPU(GetErrorString)(result));
}

/// Number of GPUs that can be used; 0 where there is no driver either.
inline int device_count() {
  int count = 0;
  return XIO_GPU(GetDeviceCount)(&count) == XIO_GPU(Success) ? count : 0;
}

inline std::string device_name() {
#if defined(__HIP__)
  char name[256] = "";
  check(hipDeviceGetName(name, sizeof name, 0), "the device's name");
  return name;
#else
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, 0), "device properties");
  return properties.name;
#endif
}

/// Lanes of a wave of the first device.
inline uint32_t wave_size() {
  int lanes = 0;
#if defined(__HIP__)
  check(hipDeviceGetAttribute(&lanes, hipDeviceAttributeWarpSize, 0), "the size of a wave");
#else
  check(cudaDeviceGetAttribute(&lanes, cudaDevAttrWarpSize, 0), "the size of a warp");
#endif
  return static_cast<uint32_t>(lanes);
}

/// Host memory that the GPU reaches at the same address.
inline void* allocate_host(size_t bytes) {
  void* memory = nullptr;
#if defined(__HIP__)
  check(hipHostMalloc(&memory, bytes, hipHostMallocMapped | hipHostMallocCoherent), "pinned host memory");
#else
  check(cudaHostAlloc(&memory, bytes, cudaHostAllocMapped), "pinned host memory");
#endif
  return memory;
}

inline void free_host(void* memory) {
#if defined(__HIP__)
  (void)hipHostFree(memory);
#else
  (void)cudaFreeHost(memory);
#endif
}

/// Zeroed memory of the GPU.
template <class T>
T* allocate_device(size_t count) {
  void* memory = nullptr;
  check(XIO_GPU(Malloc)(&memory, count * sizeof(T)), "device memory");
  check(XIO_GPU(Memset)(memory, 0, count * sizeof(T)), "clearing device memory");
  return static_cast<T*>(memory);
}

inline void free_device(void* memory) { (void)XIO_GPU(Free)(memory); }

inline void synchronize() {
  check(XIO_GPU(GetLastError)(), "kernel launch");
  check(XIO_GPU(DeviceSynchronize)(), "kernel");
}

/// How many operations a test does of those that it does usually: one of XIO_GPU_SHARE, for GPUs that are models.
inline uint32_t share_of(uint32_t usual) {
  const char* const told = std::getenv("XIO_GPU_SHARE");
  const uint32_t share = told == nullptr ? 1 : static_cast<uint32_t>(std::strtoul(told, nullptr, 10));
  return share < 2 ? usual : std::max(1u, usual / share);
}

/// A stream of its own, so that two kernels run at the same time.
class Stream {
 public:
  Stream() { check(XIO_GPU(StreamCreateWithFlags)(&stream_, XIO_GPU(StreamNonBlocking)), "stream"); }
  ~Stream() { (void)XIO_GPU(StreamDestroy)(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  XIO_GPU(Stream_t) get() const { return stream_; }
  void synchronize() { check(XIO_GPU(StreamSynchronize)(stream_), "kernel"); }

 private:
  XIO_GPU(Stream_t) stream_;
};

/// Prints why nothing can be shown here, for exit status 77. Call it first.
inline bool unavailable() {
  // CUDA loads a kernel at its first launch, and may wait until all others have ended.
  (void)::setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  if (device_count() > 0) return false;
  std::printf("skipped: no GPU that this program can use\n");
  return true;
}

}  // namespace gpu
