// SPDX-License-Identifier: MIT

/// @file
/// @brief GPU entry points of the engine of fio. A block is one wave.

#include "fio/serve.hpp"

extern "C" {

XIO_BOUNDED_KERNEL(64) void fio_serve(const fio::RingJob* jobs, uint64_t launch) {
  fio::serve<xio::MmioDoorbell>(jobs, launch);
}
XIO_BOUNDED_KERNEL(64) void fio_serve_shadow(const fio::RingJob* jobs, uint64_t launch) {
  fio::serve<xio::ShadowDoorbell>(jobs, launch);
}

}  // extern "C"
