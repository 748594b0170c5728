// SPDX-License-Identifier: MIT
#pragma once

#include <xio/xio.hpp>

/// Each thread reads blocks from the drive and writes them to a peer: from SSD to another node, without a CPU. `bus` is
/// the buffer's address for the drive, `local` its registration with the NIC. `Vendor` selects the NIC.
template <class Vendor>
XIO_DEVICE void nvme_to_rdma(const xio::nvme::QueueHandle& drive, const xio::rdma::QueuePairHandle& nic, uint64_t bus,
                             xio::Region local, xio::rdma::RemoteMemory remote, uint32_t blocks, xio::Status* results) {
  using namespace xio;
  nvme::Queue<Sharing::grid> queue(drive);
  rdma::QueuePair<Vendor, Sharing::grid> qp(nic);
  const uint32_t thread = arch::block_index() * arch::block_size() + arch::thread_index();
  const uint32_t bytes = blocks << drive.block_shift;
  const uint64_t offset = uint64_t{thread} * bytes;
  const Deadline until = queue.deadline(1_s);
  const Token read =
      queue.submit(nvme::read(uint64_t{thread} * blocks, blocks), nvme::ContiguousPages{bus + offset}, until);
  Status status = queue.wait(read, until);
  // Blocks that could not be read are not sent; all lanes still take part, and an empty span costs nothing.
  const uint32_t sent = status.is_ok() ? bytes : 0;
  const Token put = qp.put(remote.at(offset, sent), local.at(offset, sent), until);
  const Status arrived = qp.wait(put, until);
  results[thread] = status.is_ok() ? arrived : status;
}
