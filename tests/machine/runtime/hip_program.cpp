// SPDX-License-Identifier: MIT

/// @file
/// @brief Functions that clang's HIP programs call for `kernel<<<...>>>(...)`.

#include <machine/runtime/programs.hpp>

using played::Device;
using played::Dim3;
using played::noted;

namespace {

/// Layout as the compiler emits it.
struct FatBinary {
  uint32_t magic;
  uint32_t version;
  const void* image;
  void* unused;
};

}  // namespace

extern "C" {

int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int*, void*, int, size_t);
int hipStreamCreateWithFlags(void**, unsigned);

void** __hipRegisterFatBinary(const void* data) {
  return played::add_program(static_cast<const FatBinary*>(data)->image);
}
void __hipUnregisterFatBinary(void**) {}
void __hipRegisterFunction(void** program, const void* host, char*, const char* name, unsigned, void*, void*, void*,
                           void*, int*) {
  played::add_kernel(program, host, name);
}
int __hipPushCallConfiguration(Dim3 grid, Dim3 block, size_t shared, void* stream) {
  played::push_configuration(grid, block, shared, stream);
  return played::success;
}
int __hipPopCallConfiguration(Dim3* grid, Dim3* block, size_t* shared, void** stream) {
  return played::pop_configuration(grid, block, shared, stream);
}

int hipLaunchKernel(const void* host, Dim3 grid, Dim3 block, void** arguments, size_t shared, void* stream) {
  played::Kernel* kernel = nullptr;
  const int error = played::find_kernel(host, &kernel);
  return noted(error != played::success ? error : played::launch(kernel, grid, block, arguments, shared, stream));
}
int hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* host, int threads, size_t shared) {
  played::Kernel* kernel = nullptr;
  const int error = played::find_kernel(host, &kernel);
  if (error != played::success) return error;
  return hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, threads, shared);
}
int hipGetLastError() { return played::take_error(); }

int hipGetDevice(int* device) {
  *device = 0;
  return played::success;
}
int hipMalloc(void** gpu, size_t bytes) { return Device::get().allocate(gpu, bytes, machine::MemoryKind::local); }
int hipStreamCreate(void** stream) { return hipStreamCreateWithFlags(stream, 0); }

}  // extern "C"
