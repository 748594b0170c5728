// SPDX-License-Identifier: MIT

/// @file
/// @brief Every device and vendor header, compiled at run time: no system header is within reach.

#include <xio_device_headers.hpp>

extern "C" __global__ void first_lane_of_wave(xio::uint32_t* out) {
  if (xio::arch::is_first(xio::arch::active())) out[xio::arch::block_index()] = xio::arch::lane();
}
