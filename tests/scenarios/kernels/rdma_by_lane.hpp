// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Lanes of one wave that use different queue pairs and receive queues.

#include <scenarios/kernels/rdma.hpp>

namespace scenarios {

/// Every second lane uses the peer's queue pair. Each writes, reads it back, and sends a message for which it has
/// posted a receive on the other side; any lane's message may arrive there that was sent the same way.
template <class Vendor, xio::Sharing S>
XIO_DEVICE void by_lane(const RdmaJob& job) {
  using namespace xio;
  const uint32_t self = thread_number();
  const bool back = self % 2 != 0;
  rdma::QueuePair<Vendor, S> qp(back ? job.peer : job.handle);
  rdma::ReceiveQueue<Vendor, S> receives(back ? job.peers_messages : job.receive);
  uint64_t* const out = job.data + uint64_t{self} * (thread_bytes / 8);
  uint64_t* const in = out + block_words;
  const uint64_t* const inbox = job.inbox_data + uint64_t{self} * (thread_bytes / 8);
  const uint64_t offset = self * thread_bytes;
  const uint32_t bytes = job.words * 8;
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const uint64_t stamp = uint64_t{self} << 32 | round;
    fill(out, stamp, job.words);
    const Deadline limit = qp.deadline(Duration{job.patience_ns});
    Token token = qp.put(job.remote.at(offset, bytes), job.local.at(offset, bytes), limit);
    Status status = qp.wait(token, limit);
    count(job.report, status, true, 41);
    hold_in_cache(out[block_words - 1], in[0]);
    token = qp.get(job.local.at(offset + thread_bytes / 2, bytes), job.remote.at(offset, bytes), limit);
    status = qp.wait(token, limit);
    count(job.report, first_of({status, qp.quiet(limit)}), holds(in, stamp, job.words), 42);
    const Token posted = receives.post(job.inbox.at(offset, bytes), limit);
    token = qp.send_immediate(job.local.at(offset, bytes), self << 8 | round, limit);
    count(job.report, first_of({posted.status, qp.wait(token, limit)}), true, 43);
    const rdma::Received got = receives.wait(posted, limit);
    const uint64_t sender = uint64_t{got.immediate >> 8} << 32 | (got.immediate & 0xff);
    count(job.report, got.status, (got.immediate >> 8) % 2 == self % 2 && holds(inbox, sender, job.words), 44);
  }
}

}  // namespace scenarios
