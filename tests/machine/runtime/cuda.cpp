// SPDX-License-Identifier: MIT

/// @file
/// @brief libcudart and libcuda for the emulated GPU, as far as programs of this project use them.

#include <sys/mman.h>

#include <cstdio>
#include <cstring>

#include <machine/runtime/device.hpp>

using machine::MemoryKind;
using played::Device;

namespace {

constexpr unsigned io_memory = 0x4;
bool nvidia() { return Device::get().present() && Device::get().is_nvidia(); }

}  // namespace

extern "C" {

// The runtime.

int cudaGetDeviceCount(int* count) {
  *count = nvidia() ? 1 : 0;
  return nvidia() ? played::success : played::no_device;
}
int cudaSetDevice(int device) { return device == 0 ? played::success : played::invalid_device; }
int cudaDeviceGetPCIBusId(char* address, int room, int) {
  std::snprintf(address, static_cast<size_t>(room), "%s", Device::get().address().c_str());
  return played::success;
}
int cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return played::success;
}
const char* cudaGetErrorString(int error) {
  static thread_local std::string text;
  switch (error) {
    case played::out_of_memory: return "out of memory";
    case played::no_binary_for_gpu: return "no kernel image is available for execution on the device";
    case played::no_device: return "no CUDA-capable device is detected";
    case played::launch_failed: text = "the kernel failed: " + Device::get().trouble(); return text.c_str();
    default: return "the played GPU refuses this";
  }
}
int cudaDeviceGetAttribute(int* value, int attribute, int) {
  switch (attribute) {
    case 10: *value = 32; return played::success;
    case 16: *value = 2; return played::success;
    case 75: *value = 9; return played::success;
    case 76: *value = 0; return played::success;
    default: return played::invalid_value;
  }
}
int cudaHostAlloc(void** data, size_t bytes, unsigned) { return Device::get().allocate(data, bytes, MemoryKind::host); }
int cudaFreeHost(void* data) { return Device::get().release(data); }
int cudaHostGetDevicePointer(void** gpu, void* cpu, unsigned) {
  *gpu = cpu;
  return played::success;
}
int cudaHostRegister(void* data, size_t bytes, unsigned flags) {
  return Device::get().enter(data, bytes, (flags & io_memory) != 0 ? MemoryKind::registers : MemoryKind::host);
}
int cudaHostUnregister(void* data) { return Device::get().leave(data); }
int cudaMalloc(void** gpu, size_t bytes) { return Device::get().allocate(gpu, bytes, MemoryKind::local); }
int cudaFree(void* gpu) { return Device::get().release(gpu); }
int cudaMemset(void* gpu, int value, size_t bytes) {
  std::memset(gpu, value, bytes);
  return played::success;
}
int cudaMemcpy(void* to, const void* from, size_t bytes, int) {
  const int error = Device::get().synchronize();
  std::memcpy(to, from, bytes);
  return error;
}
int cudaDeviceSynchronize() { return Device::get().synchronize(); }
int cudaStreamCreateWithFlags(void** stream, unsigned) {
  played::Stream* const made = Device::get().add_stream();
  *stream = made;
  return played::success;
}
int cudaStreamDestroy(void* stream) {
  Device::get().remove(static_cast<played::Stream*>(stream));
  return played::success;
}
int cudaStreamQuery(void* stream) { return static_cast<played::Stream*>(stream)->query(); }

// The driver.

int cuGetErrorString(int error, const char** text) {
  *text = cudaGetErrorString(error);
  return played::success;
}
int cuModuleLoadDataEx(void** module, const void* image, unsigned, int*, void**) {
  return Device::get().load(reinterpret_cast<played::Module**>(module), image);
}
int cuModuleUnload(void* module) {
  Device::get().unload(static_cast<played::Module*>(module));
  return played::success;
}
int cuModuleGetFunction(void** kernel, void* module, const char* name) {
  *kernel = static_cast<played::Module*>(module)->find(name);
  return *kernel != nullptr ? played::success : played::not_found;
}
int cuLaunchKernel(void* kernel, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z, unsigned threads_x,
                   unsigned threads_y, unsigned threads_z, unsigned lds, void* stream, void** arguments, void**) {
  machine::Launch launch;
  launch.grid = {blocks_x, blocks_y, blocks_z};
  launch.block = {threads_x, threads_y, threads_z};
  launch.dynamic_shared_bytes = lds;
  return Device::get().launch(static_cast<played::Kernel*>(kernel), launch, arguments,
                              static_cast<played::Stream*>(stream));
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* kernel, int threads, size_t lds) {
  const size_t shared = static_cast<played::Kernel*>(kernel)->info.shared_bytes + lds;
  *blocks = shared > 229376 || threads > 1024 ? 0 : 2048 / (threads != 0 ? threads : 1);
  return played::success;
}
int cuStreamWriteValue32_v2(void*, unsigned long long gpu, uint32_t value, unsigned) {
  __atomic_store_n(reinterpret_cast<uint32_t*>(gpu), value, __ATOMIC_RELEASE);
  return played::success;
}
int cuMemGetHandleForAddressRange(void* handle, unsigned long long, size_t, int, unsigned long long) {
  *static_cast<int*>(handle) = ::memfd_create("dma-buf", MFD_CLOEXEC);
  return played::success;
}

}  // extern "C"
