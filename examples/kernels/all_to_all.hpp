// SPDX-License-Identifier: MIT
#pragma once

#include <xio/xio.hpp>

/// One rank of an all-to-all, as seen by another.
struct Rank {
  xio::rdma::QueuePairHandle queue;  ///< local queue pair connected to the rank
  xio::rdma::RemoteMemory memory;    ///< the rank's receive buffer, followed by one signal word per rank
};

/// One wave of rank `me`: lane `i` sends block `i` of the buffer to rank `i`, followed by a signal, then waits for rank
/// `i`'s block. Each lane drives its own queue pair. `Vendor` selects the NIC.
/// @param ones  the 8-byte number 1, in registered memory
template <class Vendor>
XIO_DEVICE void all_to_all(const Rank* ranks, uint32_t count, uint32_t me, xio::Region send, xio::Region ones,
                           const uint64_t* signals, uint32_t bytes, xio::Status* results) {
  using namespace xio;
  const uint32_t peer = arch::lane();
  if (peer >= count) return;
  const Rank& to = ranks[peer];
  rdma::QueuePair<Vendor, Sharing::thread> qp(to.queue);
  const Deadline until = qp.deadline(60_s);
  const uint64_t signal = uint64_t{count} * bytes + 8 * me;
  const Token sent = qp.put_signal(to.memory.at(uint64_t{me} * bytes, bytes), send.at(uint64_t{peer} * bytes, bytes),
                                   to.memory.at(signal, 8), ones.at(0, 8), until);
  const Status status = qp.wait(sent, until);
  const Status received = wait_until(signals + peer, 1, until);
  results[peer] = status.is_ok() ? received : status;
}
