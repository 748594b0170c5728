// SPDX-License-Identifier: MIT

/// @file
/// @brief Functions that clang's HIP programs call for `kernel<<<...>>>(...)`: they find the compiled-in kernels by the
/// address of the host stub.

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <machine/runtime/device.hpp>

namespace {

using played::Device;

struct Dim3 {
  unsigned x, y, z;
};

/// Layout as the compiler emits it.
struct FatBinary {
  uint32_t magic;
  uint32_t version;
  const void* image;
  void* unused;
};

/// The code of a program, loaded on the first request for one of its kernels.
struct Program {
  const void* image;
  played::Module* module = nullptr;
};

struct KernelEntry {
  Program* program;
  std::string name;
};

struct Configuration {
  Dim3 grid;
  Dim3 block;
  size_t shared;
  void* stream;
};

/// Filled before main() and never destroyed: requests may arrive as late as static destruction.
struct Kernels {
  std::mutex mutex;
  std::map<const void*, KernelEntry> entries;

  static Kernels& get() {
    static auto* const all = new Kernels;
    return *all;
  }
  int find(const void* host, played::Kernel** kernel) {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto found = entries.find(host);
    if (found == entries.end()) return played::not_found;
    Program& program = *found->second.program;
    if (program.module == nullptr) {
      const int error = Device::get().load(&program.module, program.image);
      if (error != played::success) return error;
    }
    *kernel = program.module->find(found->second.name);
    return *kernel != nullptr ? played::success : played::not_found;
  }
};

thread_local std::vector<Configuration> configurations;
thread_local int last_error = played::success;

int noted(int error) {
  if (error != played::success) last_error = error;
  return error;
}

}  // namespace

extern "C" {

int hipModuleLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                          void**);
int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int*, void*, int, size_t);
int hipStreamCreateWithFlags(void**, unsigned);

void** __hipRegisterFatBinary(const void* data) {
  return reinterpret_cast<void**>(new Program{static_cast<const FatBinary*>(data)->image});
}
void __hipUnregisterFatBinary(void**) {}
void __hipRegisterFunction(void** program, const void* host, char*, const char* name, unsigned, void*, void*, void*,
                           void*, int*) {
  const std::lock_guard<std::mutex> lock(Kernels::get().mutex);
  Kernels::get().entries[host] = {reinterpret_cast<Program*>(program), name};
}
int __hipPushCallConfiguration(Dim3 grid, Dim3 block, size_t shared, void* stream) {
  configurations.push_back({grid, block, shared, stream});
  return played::success;
}
int __hipPopCallConfiguration(Dim3* grid, Dim3* block, size_t* shared, void** stream) {
  if (configurations.empty()) return played::invalid_value;
  const Configuration& last = configurations.back();
  *grid = last.grid;
  *block = last.block;
  *shared = last.shared;
  *stream = last.stream;
  configurations.pop_back();
  return played::success;
}

int hipLaunchKernel(const void* host, Dim3 grid, Dim3 block, void** arguments, size_t shared, void* stream) {
  played::Kernel* kernel = nullptr;
  const int error = Kernels::get().find(host, &kernel);
  if (error != played::success) return noted(error);
  return noted(hipModuleLaunchKernel(kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                     static_cast<unsigned>(shared), stream, arguments, nullptr));
}
int hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* host, int threads, size_t shared) {
  played::Kernel* kernel = nullptr;
  const int error = Kernels::get().find(host, &kernel);
  if (error != played::success) return error;
  return hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, threads, shared);
}
int hipGetLastError() {
  const int error = last_error;
  last_error = played::success;
  return error;
}

int hipGetDevice(int* device) {
  *device = 0;
  return played::success;
}
int hipMalloc(void** gpu, size_t bytes) { return Device::get().allocate(gpu, bytes, machine::MemoryKind::local); }
int hipStreamCreate(void** stream) { return hipStreamCreateWithFlags(stream, 0); }

}  // extern "C"
