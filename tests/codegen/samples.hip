// SPDX-License-Identifier: MIT
// Samples sorted and binned by rocPRIM: its kernels, for our types, are made for a target.
#include <hip/hip_runtime.h>

#include <xio/host/gpu/samples.hpp>

xio::host::SampleFigures figures(const uint64_t* samples, size_t count, hipStream_t stream) {
  return xio::host::figures_of_gpu(samples, count, stream);
}
