// SPDX-License-Identifier: MIT
// A program that launches a kernel on the CPU, compiled for a GPU.
#if defined(XIO_CORRECTED)
#include <xio/host/launch.hpp>
#else
#include <xio/host/simt/simt.hpp>
#endif

XIO_KERNEL void kernel(int*) {}

void run() {
#if defined(XIO_CORRECTED)
  xio::host::launch(xio::host::default_executor(), {2, 64}, kernel, static_cast<int*>(nullptr));
#else
  xio::simt::launch(xio::simt::Grid::of_waves(2, 1, 64), kernel, static_cast<int*>(nullptr));
#endif
}
