// SPDX-License-Identifier: MIT

/// @file
/// @brief A libamdhip64, a libhsa-runtime64, a libcudart and a libcuda that do what a test says. With XIO_FAKE_OLD they
/// lack what older versions lack.
///
/// Programs that do not know the table are told by the environment: XIO_FAKE_GPU_NONE=1 (there is no GPU),
/// XIO_FAKE_GPU_HIDDEN=1 (the CPU does not reach its memory), XIO_FAKE_GPU_BAR=/sys/bus/pci/devices/BDF/resourceN (its
/// memory is that BAR, and its address BDF), XIO_FAKE_GPU_ADDRESS=BDF (its address).

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "table.hpp"

extern "C" FakeGpu xio_fake_gpu;
FakeGpu xio_fake_gpu;

namespace {

FakeGpu& fake = xio_fake_gpu;

void note(const char* name) {
  const size_t length = std::strlen(name);
  if (fake.logged + length + 2 > sizeof fake.log) return;
  std::memcpy(fake.log + fake.logged, name, length);
  fake.logged += length;
  fake.log[fake.logged++] = ' ';
}

int give(void** out, size_t bytes, int error, const char* name) {
  note(name);
  if (error != 0) return error;
  const size_t step = fake.misalignment;
  auto* const memory = static_cast<unsigned char*>(std::aligned_alloc(65536, (bytes + step + 65535) / 65536 * 65536));
  std::memset(memory, 0xa5, bytes + step);
  *out = memory + step;
  ++fake.alive;
  return 0;
}

int take(void* memory, const char* name) {
  note(name);
  // The start of what give() made.
  std::free(reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(memory) & ~uintptr_t{65535}));
  --fake.alive;
  return 0;
}

void* moved(void* address, ptrdiff_t distance) {
  return reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(address) + static_cast<uintptr_t>(distance));
}

int pointer(void** gpu, void* cpu) {
  if (fake.pointer_error != 0) return fake.pointer_error;
  *gpu = moved(cpu, fake.distance);
  return 0;
}

int enter(unsigned flags, const char* name) {
  note(name);
  const int error = (flags & 4) != 0 ? fake.register_io_error : fake.register_error;
  if (error == 0) ++fake.alive;
  fake.last_flags = flags;
  return error;
}

int leave(const char* name) {
  note(name);
  --fake.alive;
  return 0;
}

/// Host memory is where `distance` says; the GPU's own is where it is.
int clear(void* gpu, int value, size_t bytes, bool host) {
  if (fake.memset_error != 0) return fake.memset_error;
  std::memset(host ? moved(gpu, -fake.distance) : gpu, value, bytes);
  return 0;
}

int store(uintptr_t gpu, uint32_t value, const char* name) {
  note(name);
  if (fake.store_error != 0) return fake.store_error;
  if (fake.lose_stores == 0)
    __atomic_store_n(static_cast<uint32_t*>(moved(reinterpret_cast<void*>(gpu), -fake.distance)), value,
                     __ATOMIC_RELEASE);
  return 0;
}

[[maybe_unused]] int file(void* handle, const char* name) {  // old versions have no dma-bufs
  note(name);
  if (fake.export_error != 0) return fake.export_error;
  int fds[2];
  if (::pipe(fds) != 0) return 1;
  ::close(fds[1]);
  *static_cast<int*>(handle) = fds[0];
  return 0;
}

bool last_was_host = false;

bool told(const char* name) { return std::getenv(name) != nullptr; }

/// The BAR that plays the GPU's memory; handed out from its start, and never taken back.
struct Bar {
  Bar() {
    const char* const path = std::getenv("XIO_FAKE_GPU_BAR");
    if (path == nullptr) return;
    struct stat about;
    const int fd = ::open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0 || ::fstat(fd, &about) != 0) std::abort();
    bytes = static_cast<size_t>(about.st_size);
    void* const mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    if (mapped == MAP_FAILED) std::abort();
    memory = static_cast<unsigned char*>(mapped);
    const char* const address = std::strstr(path, "devices/") + 8;
    std::snprintf(bdf, sizeof bdf, "%.12s", address);
  }
  void* take(size_t wanted) {
    const size_t at = used;
    used += (wanted + 65535) / 65536 * 65536;
    return used <= bytes ? memory + at : nullptr;
  }
  unsigned char* memory = nullptr;
  size_t bytes = 0;
  size_t used = 0;
  char bdf[16] = {};
};

Bar& bar() {
  static Bar one;
  return one;
}

}  // namespace

extern "C" {

// HIP.

int hipGetDeviceCount(int* count) {
  *count = fake.devices;
  return told("XIO_FAKE_GPU_NONE") ? 100 : fake.count_error;
}
int hipSetDevice(int device) { return device < fake.devices ? 0 : 101; }
int hipDeviceGetName(char* name, int room, int) { return std::snprintf(name, static_cast<size_t>(room), "fake") < 0; }
int hipDeviceGetPCIBusId(char* address, int room, int) {
  const char* const said = bar().memory != nullptr ? bar().bdf : std::getenv("XIO_FAKE_GPU_ADDRESS");
  if (said != nullptr) return std::snprintf(address, static_cast<size_t>(room), "%s", said) < 0;
  return std::snprintf(address, static_cast<size_t>(room), "%04x:%02X:%02x.%x", fake.domain, fake.bdf >> 8,
                       fake.bdf >> 3 & 31, fake.bdf & 7) < 0;
}
int hipDeviceGetAttribute(int* value, int attribute, int) {
  if (attribute == 63 || attribute == 87) {
    *value = attribute == 63 ? fake.processors : fake.warp_size;
    return 0;
  }
  if (attribute != 10011 && (attribute != 10017 || fake.wall_clock == 0)) return 1;
  *value = attribute == 10017 ? fake.wall_clock : told("XIO_FAKE_GPU_HIDDEN") ? 0 : fake.large_bar;
  return 0;
}
int hipRuntimeGetVersion(int* version) {
  *version = fake.version;
  return 0;
}
const char* hipGetErrorString(int error) { return error == 2 ? "out of memory" : "some error"; }
int hipHostMalloc(void** data, size_t bytes, unsigned flags) {
  fake.last_flags = flags;
  last_was_host = true;
  return give(data, bytes, fake.host_malloc_error, "hipHostMalloc");
}
int hipHostFree(void* data) { return take(data, "hipHostFree"); }
int hipHostGetDevicePointer(void** gpu, void* cpu, unsigned) { return pointer(gpu, cpu); }
int hipHostRegister(void*, size_t, unsigned flags) { return enter(flags, "hipHostRegister"); }
int hipHostUnregister(void*) { return leave("hipHostUnregister"); }
int hipExtMallocWithFlags(void** gpu, size_t bytes, unsigned flags) {
  fake.last_flags = flags;
  last_was_host = false;
  if (bar().memory != nullptr) {
    *gpu = bar().take(bytes);
    return *gpu == nullptr ? 2 : 0;
  }
  return give(gpu, bytes, flags == 3 && fake.knows_uncached == 0 ? 1 : fake.malloc_error, "hipExtMallocWithFlags");
}
int hipFree(void* gpu) { return bar().memory != nullptr ? 0 : take(gpu, "hipFree"); }
int hipMemset(void* gpu, int value, size_t bytes) { return clear(gpu, value, bytes, last_was_host); }
int hipMemcpy(void* to, const void* from, size_t bytes, int) {
  std::memcpy(to, from, bytes);
  return 0;
}
int hipDeviceSynchronize() { return 0; }
int hipStreamWriteValue32(void*, void* gpu, uint32_t value, unsigned) {
  return store(reinterpret_cast<uintptr_t>(gpu), value, "hipStreamWriteValue32");
}
int hipStreamSynchronize(void*) { return 0; }
#if !defined(XIO_FAKE_OLD)
int hipMemGetHandleForAddressRange(void* handle, void*, size_t, int type, unsigned long long) {
  return type == 1 ? file(handle, "hipMemGetHandleForAddressRange") : 1;
}
#endif

// HSA. Agent 1 is the CPU, 2 the GPU; pool 11 is coarse-grained, 12 fine-grained.

int hsa_init() {
  if (fake.init_error == 0) ++fake.alive;
  return fake.init_error;
}
int hsa_shut_down() {
  --fake.alive;
  return 0;
}
int hsa_status_string(int, const char** text) {
  *text = "some status";
  return 0;
}
int hsa_iterate_agents(int (*call)(uint64_t, void*), void* data) {
  int status = call(1, data);
  for (int i = 0; i < fake.gpu_agents && status == 0; ++i) status = call(2, data);
  return status;
}
int hsa_agent_get_info(uint64_t agent, int what, void* value) {
  if (what != 17 && agent != 2) return 1;
  if (what == 0) {
    std::strcpy(static_cast<char*>(value), fake.target);
    return 0;
  }
  *static_cast<uint32_t*>(value) = what == 17 ? (agent == 2 ? 1 : 0) : what == 0xa006 ? fake.bdf : fake.domain;
  return what == 17 || what == 0xa006 || what == 0xa00f ? 0 : 1;
}
int hsa_amd_agent_iterate_memory_pools(uint64_t agent, int (*call)(uint64_t, void*), void* data) {
  if (agent != 1) return 1;
  int status = call(10, data);
  if (status == 0) status = call(11, data);
  return status == 0 && fake.fine_grained_pools != 0 ? call(12, data) : status;
}
int hsa_amd_memory_pool_get_info(uint64_t pool, int what, void* value) {
  // Pool 10 is fine-grained, but not of memory that all agents share.
  *static_cast<uint32_t*>(value) = what == 0 ? (pool == 10 ? 3 : 0) : pool == 11 ? 4 : 2;
  return 0;
}
int hsa_amd_memory_lock_to_pool(void* data, size_t, uint64_t* agents, int count, uint64_t pool, uint32_t, void** gpu) {
  note("hsa_amd_memory_lock_to_pool");
  if (count != 1 || agents[0] != 2 || pool != 12) return 4096;
  if (fake.lock_error != 0) return fake.lock_error;
  *gpu = moved(data, fake.pool_distance);
  ++fake.alive;
  return 0;
}
int hsa_amd_memory_unlock(void*) { return leave("hsa_amd_memory_unlock"); }
#if !defined(XIO_FAKE_OLD)
int hsa_amd_portable_export_dmabuf(const void*, size_t, int* fd, uint64_t* offset) {
  *offset = fake.offset;
  return file(fd, "hsa_amd_portable_export_dmabuf");
}
#endif

// CUDA.

int cudaGetDeviceCount(int* count) { return hipGetDeviceCount(count); }
int cudaSetDevice(int device) { return hipSetDevice(device); }
int cudaDeviceGetPCIBusId(char* address, int room, int device) { return hipDeviceGetPCIBusId(address, room, device); }
int cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return 0;
}
const char* cudaGetErrorString(int) { return "some error"; }
int cudaHostAlloc(void** data, size_t bytes, unsigned flags) {
  fake.last_flags = flags;
  last_was_host = true;
  return give(data, bytes, fake.host_malloc_error, "cudaHostAlloc");
}
int cudaFreeHost(void* data) { return take(data, "cudaFreeHost"); }
int cudaHostGetDevicePointer(void** gpu, void* cpu, unsigned) { return pointer(gpu, cpu); }
int cudaHostRegister(void*, size_t, unsigned flags) { return enter(flags, "cudaHostRegister"); }
int cudaHostUnregister(void*) { return leave("cudaHostUnregister"); }
int cudaMalloc(void** gpu, size_t bytes) {
  last_was_host = false;
  return give(gpu, bytes, fake.malloc_error, "cudaMalloc");
}
int cudaFree(void* gpu) { return gpu == nullptr ? 0 : take(gpu, "cudaFree"); }
int cudaMemset(void* gpu, int value, size_t bytes) { return clear(gpu, value, bytes, last_was_host); }
int cudaMemcpy(void* to, const void* from, size_t bytes, int) { return hipMemcpy(to, from, bytes, 4); }
int cudaDeviceSynchronize() { return 0; }
#if !defined(XIO_FAKE_OLD)
int cuStreamWriteValue32_v2(void*, unsigned long long gpu, uint32_t value, unsigned) {
  return store(gpu, value, "cuStreamWriteValue32");
}
int cuMemGetHandleForAddressRange(void* handle, unsigned long long, size_t, int type, unsigned long long) {
  return type == 1 ? file(handle, "cuMemGetHandleForAddressRange") : 1;
}
#endif

}  // extern "C"
