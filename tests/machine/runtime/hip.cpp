// SPDX-License-Identifier: MIT

/// @file
/// @brief libamdhip64 and libhsa-runtime64 for the emulated GPU, as far as programs of this project use them.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include <machine/runtime/device.hpp>

using machine::MemoryKind;
using played::Device;

namespace {

constexpr unsigned coherent = 0x40000000;
constexpr unsigned io_memory = 0x4;

/// The GPU's PCI address in its parts, as HSA reports it.
struct Address {
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
  unsigned function = 0;
  Address() { std::sscanf(Device::get().address().c_str(), "%x:%x:%x.%x", &domain, &bus, &device, &function); }
};

bool amd() { return Device::get().present() && !Device::get().is_nvidia(); }

}  // namespace

extern "C" {

int hipGetDeviceCount(int* count) {
  *count = amd() ? 1 : 0;
  return amd() ? played::success : played::no_device;
}
int hipSetDevice(int device) { return device == 0 ? played::success : played::invalid_device; }
int hipDeviceGetName(char* name, int room, int) {
  std::snprintf(name, static_cast<size_t>(room), "played %s", Device::get().target().c_str());
  return played::success;
}
int hipDeviceGetPCIBusId(char* address, int room, int) {
  std::snprintf(address, static_cast<size_t>(room), "%s", Device::get().address().c_str());
  return played::success;
}
int hipDeviceGetAttribute(int* value, int attribute, int) {
  switch (attribute) {
    case 10011: *value = 1; return played::success;       // large BAR
    case 10017: *value = 100000; return played::success;  // wall clock, kHz
    case 63: *value = 2; return played::success;          // compute units
    case 87: *value = static_cast<int>(Device::get().wave_size()); return played::success;
    default: return played::invalid_value;
  }
}
int hipRuntimeGetVersion(int* version) {
  *version = 70253211;
  return played::success;
}
const char* hipGetErrorString(int error) {
  static thread_local std::string text;
  switch (error) {
    case played::out_of_memory: return "out of memory";
    case played::no_device: return "no ROCm-capable device is detected";
    case played::no_binary_for_gpu: return "no kernel image is available for execution on the device";
    case played::launch_failed: text = "the kernel failed: " + Device::get().trouble(); return text.c_str();
    default: return "the played GPU refuses this";
  }
}
int hipHostMalloc(void** data, size_t bytes, unsigned flags) {
  return Device::get().allocate(data, bytes, (flags & coherent) != 0 ? MemoryKind::uncached : MemoryKind::host);
}
int hipHostFree(void* data) { return Device::get().release(data); }
int hipHostGetDevicePointer(void** gpu, void* cpu, unsigned) {
  *gpu = cpu;
  return played::success;
}
int hipHostRegister(void* data, size_t bytes, unsigned flags) {
  return Device::get().enter(data, bytes, (flags & io_memory) != 0 ? MemoryKind::registers : MemoryKind::uncached);
}
int hipHostUnregister(void* data) { return Device::get().leave(data); }
int hipExtMallocWithFlags(void** gpu, size_t bytes, unsigned flags) {
  // Fine-grained and uncached memory bypasses the caches.
  return Device::get().allocate(gpu, bytes, flags == 0 ? MemoryKind::local : MemoryKind::uncached);
}
int hipFree(void* gpu) { return Device::get().release(gpu); }
int hipMemset(void* gpu, int value, size_t bytes) {
  std::memset(gpu, value, bytes);
  return played::success;
}
int hipMemcpy(void* to, const void* from, size_t bytes, int) {
  const int error = Device::get().synchronize();
  std::memcpy(to, from, bytes);
  return error;
}
int hipDeviceSynchronize() { return Device::get().synchronize(); }
int hipStreamWriteValue32(void*, void* gpu, uint32_t value, unsigned) {
  __atomic_store_n(static_cast<uint32_t*>(gpu), value, __ATOMIC_RELEASE);
  return played::success;
}
int hipStreamCreateWithFlags(void** stream, unsigned) {
  played::Stream* const made = Device::get().add_stream();
  *stream = made;
  return played::success;
}
int hipStreamDestroy(void* stream) {
  Device::get().remove(static_cast<played::Stream*>(stream));
  return played::success;
}
int hipStreamQuery(void* stream) { return static_cast<played::Stream*>(stream)->query(); }
int hipStreamSynchronize(void* stream) {
  return stream == nullptr ? Device::get().usual_stream().synchronize()
                           : static_cast<played::Stream*>(stream)->synchronize();
}
int hipModuleLoadData(void** module, const void* image) {
  return Device::get().load(reinterpret_cast<played::Module**>(module), image);
}
int hipModuleUnload(void* module) {
  Device::get().unload(static_cast<played::Module*>(module));
  return played::success;
}
int hipModuleGetFunction(void** kernel, void* module, const char* name) {
  *kernel = static_cast<played::Module*>(module)->find(name);
  return *kernel != nullptr ? played::success : played::not_found;
}
int hipModuleLaunchKernel(void* kernel, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z, unsigned threads_x,
                          unsigned threads_y, unsigned threads_z, unsigned lds, void* stream, void** arguments,
                          void**) {
  machine::Launch launch;
  launch.grid = {blocks_x, blocks_y, blocks_z};
  launch.block = {threads_x, threads_y, threads_z};
  launch.dynamic_shared_bytes = lds;
  return Device::get().launch(static_cast<played::Kernel*>(kernel), launch, arguments,
                              static_cast<played::Stream*>(stream));
}
int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* kernel, int threads, size_t lds) {
  // A compute unit has 64 KiB of LDS and 32 waves.
  const auto waves = static_cast<size_t>(threads) / Device::get().wave_size();
  const size_t shared = static_cast<played::Kernel*>(kernel)->info.shared_bytes + lds;
  *blocks = shared > 65536 || threads > 1024 ? 0 : static_cast<int>(32 / (waves != 0 ? waves : 1));
  return played::success;
}
int hipMemGetHandleForAddressRange(void* handle, void*, size_t, int, unsigned long long) {
  // Any descriptor that can be closed: no caller imports it.
  *static_cast<int*>(handle) = ::memfd_create("dma-buf", MFD_CLOEXEC);
  return played::success;
}

// HSA. Agent 1 is the CPU, 2 the GPU; pool 3 is fine-grained host memory.

int hsa_init() { return 0; }
int hsa_shut_down() { return 0; }
int hsa_status_string(int, const char** text) {
  *text = "the played GPU refuses this";
  return 0;
}
int hsa_iterate_agents(int (*call)(uint64_t, void*), void* data) {
  const int status = call(1, data);
  return status == 0 && amd() ? call(2, data) : status;
}
int hsa_agent_get_info(uint64_t agent, int what, void* value) {
  const Address address;
  switch (what) {
    case 0: std::snprintf(static_cast<char*>(value), 64, "%s", Device::get().target().c_str()); return 0;
    case 17: *static_cast<uint32_t*>(value) = agent == 2 ? 1 : 0; return 0;
    case 0xa006: *static_cast<uint32_t*>(value) = address.bus << 8 | address.device << 3 | address.function; return 0;
    case 0xa00f: *static_cast<uint32_t*>(value) = address.domain; return 0;
    default: return 1;
  }
}
int hsa_amd_agent_iterate_memory_pools(uint64_t agent, int (*call)(uint64_t, void*), void* data) {
  return agent == 1 ? call(3, data) : 0;
}
int hsa_amd_memory_pool_get_info(uint64_t, int what, void* value) {
  *static_cast<uint32_t*>(value) = what == 0 ? 0 : 2;
  return 0;
}
int hsa_amd_memory_lock_to_pool(void* data, size_t bytes, uint64_t*, int, uint64_t, uint32_t, void** gpu) {
  *gpu = data;
  return Device::get().enter(data, bytes, MemoryKind::registers) == played::success ? 0 : 4096;
}
int hsa_amd_memory_unlock(void* data) { return Device::get().leave(data) == played::success ? 0 : 4096; }

}  // extern "C"
