// SPDX-License-Identifier: MIT
#pragma once

#include <xio/xio.hpp>

/// What one rank of an all-to-all knows of another one.
struct Rank {
  xio::rdma::QueuePairHandle queue;  ///< a queue pair that is connected to it
  xio::rdma::RemoteMemory memory;    ///< its buffer of what it receives, followed by one signal word for each rank
};

/// One wave of rank `me`: lane `i` sends block `i` of the buffer to rank `i`, with a signal behind it, then waits for
/// what rank `i` has sent. Each lane drives a queue pair of its own. `Vendor` is the kind of NIC.
/// @param ones  8 bytes with the number 1, in registered memory
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
