// SPDX-License-Identifier: MIT
#pragma once

#include <xio/xio.hpp>

/// Each thread writes its part of a buffer to a peer and records the status. `Vendor` selects the NIC.
template <class Vendor>
XIO_DEVICE void put_and_wait(const xio::rdma::QueuePairHandle& handle, xio::rdma::RemoteMemory remote,
                             xio::Region local, uint32_t bytes, xio::Status* results) {
  using namespace xio;
  rdma::QueuePair<Vendor, Sharing::grid> qp(handle);
  const uint32_t thread = arch::block_index() * arch::block_size() + arch::thread_index();
  const uint64_t offset = uint64_t{thread} * bytes;
  const Deadline until = qp.deadline(1_s);
  const Token token = qp.put(remote.at(offset, bytes), local.at(offset, bytes), until);
  // Other work could be done here while the NIC is busy.
  results[thread] = qp.wait(token, until);
}
