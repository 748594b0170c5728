// SPDX-License-Identifier: MIT

/// @file
/// @brief GPU entry points of the engine of fio. A block is one wave.

#include "fio/serve.hpp"

extern "C" {

XIO_BOUNDED_KERNEL(64) void fio_serve(fio::RingJob job) { fio::serve<xio::MmioDoorbell>(job); }
XIO_BOUNDED_KERNEL(64) void fio_serve_shadow(fio::RingJob job) { fio::serve<xio::ShadowDoorbell>(job); }

}  // extern "C"
