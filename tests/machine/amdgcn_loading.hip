// SPDX-License-Identifier: MIT
// Kernels that depend on the loader: arguments, indices in three dimensions, tables, variables, calls, private memory,
// LDS.

#include <hip/hip_runtime.h>
#include <stdint.h>

__constant__ uint32_t table[4] = {11, 22, 33, 44};
__device__ uint32_t counter = 5;
__device__ const uint32_t* const pointer = table;

__attribute__((noinline)) __device__ uint32_t twice(uint32_t value) { return value * 2 + table[value & 3]; }

__attribute__((noinline)) __device__ void fill(volatile uint32_t* values, uint32_t from) {
  for (uint32_t i = 0; i < 8; ++i) values[i] = from + i;
}

struct Mixed {
  uint8_t byte;
  uint64_t wide;
  uint16_t half;
};

extern "C" __global__ void arguments(uint32_t* out, Mixed mixed, uint8_t last) {
  out[0] = mixed.byte;
  out[1] = static_cast<uint32_t>(mixed.wide >> 32);
  out[2] = mixed.half;
  out[3] = last;
}
extern "C" __global__ void indices(uint32_t* out) {
  const uint32_t block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const uint32_t thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] = block << 16 | thread;
}
extern "C" __global__ void variables(uint32_t* out) {
  if (threadIdx.x == 0) out[0] = pointer[2] + counter;
  out[1 + threadIdx.x] = twice(threadIdx.x);
}
extern "C" __global__ void private_memory(uint32_t* out) {
  volatile uint32_t values[8];
  fill(values, threadIdx.x);
  uint32_t sum = 0;
  for (uint32_t i = 0; i < 8; ++i) sum += values[(i + threadIdx.x) & 7] * (i + 1);
  out[threadIdx.x] = sum;
}
extern "C" __global__ void private_table(uint32_t* out) {
  // Too large for registers.
  uint32_t values[256];
  for (uint32_t i = 0; i < 256; ++i) values[i] = i;
  for (uint32_t i = 0; i < 8; ++i) values[(i + threadIdx.x) & 7] = threadIdx.x + ((i + threadIdx.x) & 7);
  uint32_t sum = 0;
  for (uint32_t i = 0; i < 8; ++i) sum += values[(i + threadIdx.x) & 7] * (i + 1);
  out[threadIdx.x] = sum;
}
extern "C" __global__ void shared_memory(uint32_t* out) {
  __shared__ uint32_t fixed[256];
  extern __shared__ uint32_t more[];
  fixed[threadIdx.x] = threadIdx.x * 3;
  more[threadIdx.x] = threadIdx.x + 1000;
  __syncthreads();
  const uint32_t other = blockDim.x - 1 - threadIdx.x;
  atomicAdd(&fixed[0], 1u);
  __syncthreads();
  out[threadIdx.x] = (other == 0 ? fixed[0] - blockDim.x : fixed[other]) + more[other] + __shfl_xor(threadIdx.x, 5);
}
// Odd lanes save a value, all load it: what the others get is nobody's.
__device__ uint32_t saved_by_odd_lanes() {
  volatile uint32_t values[4];
  if (threadIdx.x & 1) values[1] = threadIdx.x;
  const uint32_t loaded = values[1];
  values[2] = loaded;
  return values[2] + 1;
}
extern "C" __global__ void saved_and_not_used(uint32_t* out) {
  const uint32_t value = saved_by_odd_lanes();
  if (threadIdx.x & 1) out[threadIdx.x] = value;
}
extern "C" __global__ void stored_without_saving(uint32_t* out) { out[threadIdx.x] = saved_by_odd_lanes(); }
extern "C" __global__ void decided_without_saving(uint32_t* out) {
  if (saved_by_odd_lanes() == 0) out[0] = 1;
}
extern "C" __global__ void addressed_without_saving(uint32_t* out) { out[saved_by_odd_lanes() & 15] = 1; }
extern "C" __global__ void given_without_saving(uint32_t* out) {
  const uint32_t value = __builtin_amdgcn_ds_bpermute(4 * (threadIdx.x - 1), saved_by_odd_lanes());
  if (threadIdx.x & 1) out[threadIdx.x] = value;
}
extern "C" __global__ void two_lanes_ring(uint32_t* bell) {
  if (threadIdx.x < 2)
    __hip_atomic_store(bell + threadIdx.x, threadIdx.x + 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
extern "C" __global__ void never_ends(uint32_t* out) {
  while (__hip_atomic_load(out, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM) == 0) __builtin_amdgcn_s_sleep(1);
}
extern "C" __global__ void no_wait(uint32_t* out) {
  uint32_t value;
#if defined(__GFX12__) || defined(__GFX11__)
  asm volatile("global_load_b32 %0, %1, off\n v_add_nc_u32 %0, 1, %0\n" : "=&v"(value) : "v"(out));
#else
  asm volatile("global_load_dword %0, %1, off\n v_add_u32 %0, 1, %0\n" : "=&v"(value) : "v"(out));
#endif
  out[0] = value;
}
extern "C" __global__ void not_known(double* out) { out[0] = out[1] * out[2]; }
