// SPDX-License-Identifier: MIT

/// @file
/// @brief Functions that nvcc's programs call for `kernel<<<...>>>(...)`. They are linked with the runtime as a shared
/// library (-cudart shared), and hold PTX that is not compressed (--compress-mode=none).

#include <machine/runtime/programs.hpp>

using played::Dim3;
using played::noted;

namespace {

/// Layout as the compiler emits it.
struct FatBinary {
  int magic;
  int version;
  const void* image;
  void* names;
};

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(const void* data) {
  return played::add_program(static_cast<const FatBinary*>(data)->image);
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 1; }
void __cudaRegisterFunction(void** program, const char* host, char*, const char* name, int, void*, void*, void*, void*,
                            int*) {
  played::add_kernel(program, host, name);
}
/// The kernels have their constant tables from the module; the host's copies are for copies by symbol.
void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
unsigned __cudaPushCallConfiguration(Dim3 grid, Dim3 block, size_t shared, void* stream) {
  played::push_configuration(grid, block, shared, stream);
  return played::success;
}
int __cudaPopCallConfiguration(Dim3* grid, Dim3* block, size_t* shared, void* stream) {
  return played::pop_configuration(grid, block, shared, static_cast<void**>(stream));
}

int cudaLaunchKernel(const void* host, Dim3 grid, Dim3 block, void** arguments, size_t shared, void* stream) {
  played::Kernel* kernel = nullptr;
  const int error = played::find_kernel(host, &kernel);
  return noted(error != played::success ? error : played::launch(kernel, grid, block, arguments, shared, stream));
}
/// The kernel of a host stub, for __cudaLaunchKernel().
int __cudaGetKernel(void** kernel, const void* host) {
  return noted(played::find_kernel(host, reinterpret_cast<played::Kernel**>(kernel)));
}
int __cudaLaunchKernel(void* kernel, Dim3 grid, Dim3 block, void** arguments, size_t shared, void* stream) {
  return noted(played::launch(static_cast<played::Kernel*>(kernel), grid, block, arguments, shared, stream));
}
int cudaGetLastError() { return played::take_error(); }

}  // extern "C"
