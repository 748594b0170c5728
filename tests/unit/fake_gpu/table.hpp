// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Runtimes of GPUs in one library: HIP, HSA and CUDA with one GPU, whose memory is this process's. A test finds
/// the table as `xio_fake_gpu`, sets what shall fail, and reads what was called.

#include <cstddef>
#include <cstdint>

struct FakeGpu {
  int devices = 1;
  int version = 70253211;       ///< as hipRuntimeGetVersion tells it
  int large_bar = 1;            ///< the CPU reaches the GPU's memory
  int wall_clock = 100000;      ///< kHz; 0: no such attribute
  int knows_uncached = 1;       ///< flag of HIP's allocation
  ptrdiff_t distance = 0;       ///< from an address on the CPU to the GPU's, of host memory
  ptrdiff_t pool_distance = 0;  ///< the same by HSA
  size_t misalignment = 0;      ///< of the GPU's memory
  uint32_t bdf = 0xc100;        ///< of 0000:c1:00.0
  uint32_t domain = 0;
  int gpu_agents = 1;
  int fine_grained_pools = 1;
  int lose_stores = 0;    ///< what the GPU stores does not arrive
  uint64_t offset = 256;  ///< in a dma-buf, by HSA

  // What functions return; 0 is success in all three interfaces.
  int count_error = 0;
  int malloc_error = 0;
  int host_malloc_error = 0;
  int pointer_error = 0;
  int memset_error = 0;
  int register_error = 0;
  int register_io_error = 0;
  int store_error = 0;
  int export_error = 0;
  int init_error = 0;
  int lock_error = 0;
  int module_error = 0;
  int kernel_error = 0;  ///< of the look for a kernel by name
  int launch_error = 0;
  int query_error = 0;  ///< of a stream; 600: its work is not done

  int processors = 4;
  int blocks_of_each = 2;  ///< that a processor runs at the same time
  int warp_size = 64;
  const char* target = "gfx942";  ///< as HSA names it
  const char* jit_log = "";       ///< what CUDA's compiler says

  // What went on.
  int alive = 0;  ///< allocations, mappings and references to HSA
  unsigned last_flags = 0;
  unsigned last_blocks = 0;
  unsigned last_threads = 0;
  unsigned last_lds = 0;
  const void* last_image = nullptr;  ///< of a module
  uint64_t first_argument = 0;       ///< of a launch, as 8 bytes
  char log[8192] = {};               ///< names of calls that allocate, map, store or export, with a space behind each
  size_t logged = 0;
};
