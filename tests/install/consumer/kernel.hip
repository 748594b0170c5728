// SPDX-License-Identifier: MIT
#include <hip/hip_runtime.h>

#include <xio/xio.hpp>

extern "C" __global__ void ring(uint32_t* doorbell, uint32_t value) {
  xio::arch::release_system();
  xio::arch::store_mmio(doorbell, value);
}
