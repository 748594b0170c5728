// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What compilers generate for `kernel<<<...>>>(...)`: programs registered before main(), kernels found by the
/// address of their host stub, and the configuration of a call.

#include <cstddef>
#include <cstdint>

#include <machine/runtime/device.hpp>

namespace played {

struct Dim3 {
  unsigned x, y, z;
};

/// Registers the code of a program, which is loaded on the first request for one of its kernels. Returns its handle.
void** add_program(const void* image);
/// Registers a kernel of a program.
void add_kernel(void** program, const void* host, const char* name);
/// The kernel with this host stub.
int find_kernel(const void* host, Kernel** kernel);

void push_configuration(Dim3 grid, Dim3 block, size_t shared, void* stream);
int pop_configuration(Dim3* grid, Dim3* block, size_t* shared, void** stream);

/// Launches a kernel with the addresses of its arguments.
int launch(Kernel* kernel, Dim3 grid, Dim3 block, void** arguments, size_t shared, void* stream);

/// Keeps an error for take_error(), and returns it.
int noted(int error);
/// The last error of the calling thread, which is forgotten.
int take_error();

}  // namespace played
