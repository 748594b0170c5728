// SPDX-License-Identifier: MIT

/// @file
/// @brief GPUNetIO's writes as kernels of the scenarios.

#include <peers/gpunetio.hpp>
#include <scenarios/kernels/job.hpp>
#include <scenarios/kernels/kernel.hpp>

namespace scenarios {

template <doca_gpu_dev_verbs_exec_scope Scope>
XIO_DEVICE void gpunetio_puts(const RdmaJob& job) {
  const uint64_t good = peers::gpunetio_puts<Scope>(job.handle, job.remote, job.local, thread_number() * thread_bytes,
                                                    job.words * 8, job.rounds);
  xio::arch::fetch_add<xio::arch::Scope::system>(&job.report->good, good);
}

}  // namespace scenarios

using scenarios::RdmaJob;

SCENARIO(RdmaJob, gpunetio_warp_puts, gpunetio_puts<DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP>)
SCENARIO(RdmaJob, gpunetio_thread_puts, gpunetio_puts<DOCA_GPUNETIO_VERBS_EXEC_SCOPE_THREAD>)
