// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Conversion of an operation of the RDMA workload to a work request.

#include <xio/device/rdma/post.hpp>

#include "tester/rdma/check.hpp"
#include "tester/rdma/phase.hpp"

namespace tester {

/// Number of doorbells stored by the calling thread, if kernels run on the CPU.
XIO_DEVICE uint64_t doorbells_stored() {
#if XIO_ARCH_HOST
  return xio::arch::operation_counts.mmio_stores;
#else
  return 0;
#endif
}

/// Addend of a fetch-add.
XIO_DEVICE uint64_t addend_of(const RdmaPhase& phase, uint64_t number) {
  return phase.check ? first_word(phase.content, number) : 1;
}

/// Number of operations of a lane whose first one is `first`.
XIO_DEVICE uint64_t operations_of(const RdmaPhase& phase, uint64_t first) {
  if (phase.repeat) return ~uint64_t{0};
  return first < phase.operations ? (phase.operations - 1 - first) / phase.stride + 1 : 0;
}

/// Operation `number` of a phase, without its flags.
/// @param far  offset of its place in the other side's memory
XIO_DEVICE xio::rdma::Work work_of(const RdmaPhase& phase, uint64_t number, uint64_t far) {
  xio::rdma::Work work;
  work.remote = phase.remote.base + far;
  work.rkey = phase.remote.rkey;
  switch (phase.verb) {
    case RdmaVerb::write:
      work.operation = phase.immediate ? xio::rdma::Operation::put_immediate : xio::rdma::Operation::put;
      if (phase.immediate) work.immediate = immediate_of(phase.content, number);
      break;
    case RdmaVerb::read: work.operation = xio::rdma::Operation::get; break;
    case RdmaVerb::send: work.operation = xio::rdma::Operation::send; break;
    case RdmaVerb::fetch_add:
      work.operation = xio::rdma::Operation::fetch_add;
      work.swap_add = addend_of(phase, number);
      break;
  }
  return work;
}

}  // namespace tester
