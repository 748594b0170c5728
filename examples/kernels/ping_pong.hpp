// SPDX-License-Identifier: MIT
#pragma once

#include <xio/xio.hpp>

/// One side of a ping-pong, run by one thread: writes the round number to the peer and waits for the reply in a word of
/// local memory. Completions are not polled before the end. `Vendor` selects the NIC.
/// @param local  starts with the word that is sent, followed by the word that the peer writes
template <class Vendor>
XIO_DEVICE void ping_pong(const xio::rdma::QueuePairHandle& handle, xio::rdma::RemoteMemory remote, xio::Region local,
                          bool first, uint64_t rounds, xio::Status* result) {
  using namespace xio;
  rdma::QueuePair<Vendor, Sharing::thread, xio::Policy<>> qp(handle);
  auto* const words = reinterpret_cast<uint64_t*>(local.base);
  Status status;
  for (uint64_t round = 1; round <= rounds && status.is_ok(); ++round) {
    const Deadline until = qp.deadline(5_s);
    if (!first) status = wait_until(words + 1, round, until);
    if (!status.is_ok()) break;
    // The previous word was sent: the peer has replied to its round.
    words[0] = round;
    const Token ping = qp.put(remote.at(8, 8), local.at(0, 8), until);
    status = ping.status;
    if (first && status.is_ok()) status = wait_until(words + 1, round, until);
  }
  const Status last = qp.quiet(qp.deadline(5_s));
  *result = status.is_ok() ? last : status;
}
