// SPDX-License-Identifier: MIT

/// @file
/// @brief Programs, kernels and streams of the fake runtimes: nothing runs, and the table says what comes of it.

#include <cstdio>
#include <cstring>

#include "table.hpp"

extern "C" FakeGpu xio_fake_gpu;

namespace {

FakeGpu& fake = xio_fake_gpu;

int make(void** out) {
  static char something;
  *out = &something;
  ++fake.alive;
  return 0;
}

int load(void** module) { return fake.module_error != 0 ? fake.module_error : make(module); }

int find(void** kernel, void* module) {
  *kernel = module;
  return fake.kernel_error;
}

int launch(unsigned blocks, unsigned threads, unsigned lds, void** arguments) {
  fake.last_blocks = blocks;
  fake.last_threads = threads;
  fake.last_lds = lds;
  if (arguments != nullptr && arguments[0] != nullptr) std::memcpy(&fake.first_argument, arguments[0], 8);
  return fake.launch_error;
}

int forget() {
  --fake.alive;
  return 0;
}

}  // namespace

extern "C" {

int hipStreamCreateWithFlags(void** stream, unsigned flags) {
  fake.last_flags = flags;
  return make(stream);
}
int hipStreamDestroy(void*) { return forget(); }
int hipStreamQuery(void*) { return fake.query_error; }
int hipModuleLoadData(void** module, const void* image) {
  fake.last_image = image;
  return load(module);
}
int hipModuleUnload(void*) { return forget(); }
int hipModuleGetFunction(void** kernel, void* module, const char*) { return find(kernel, module); }
int hipModuleLaunchKernel(void*, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned, unsigned,
                          unsigned lds, void*, void** arguments, void**) {
  return launch(blocks, threads, lds, arguments);
}
int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int, size_t) {
  *blocks = fake.blocks_of_each;
  return 0;
}

int cudaDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 10 ? 32 : attribute == 16 ? fake.processors : attribute == 75 ? 9 : 0;
  return 0;
}
int cudaStreamCreateWithFlags(void** stream, unsigned flags) {
  fake.last_flags = flags;
  return make(stream);
}
int cudaStreamDestroy(void*) { return forget(); }
int cudaStreamQuery(void*) { return fake.query_error; }
int cuModuleLoadDataEx(void** module, const void*, unsigned options, int* names, void** values) {
  for (unsigned i = 0; i < options; ++i)
    if (names[i] == 5) std::strcpy(static_cast<char*>(values[i]), fake.jit_log);
  return load(module);
}
int cuModuleUnload(void*) { return forget(); }
int cuModuleGetFunction(void** kernel, void* module, const char*) { return find(kernel, module); }
int cuLaunchKernel(void*, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned, unsigned, unsigned lds,
                   void*, void** arguments, void**) {
  return launch(blocks, threads, lds, arguments);
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void*, int, size_t) {
  *blocks = fake.blocks_of_each;
  return 0;
}
int cuGetErrorString(int, const char** text) {
  *text = "some driver error";
  return 0;
}

}  // extern "C"
