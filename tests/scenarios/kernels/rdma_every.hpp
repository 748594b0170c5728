// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A kernel with the calls of an RDMA queue pair that the others make in some sharing mode only.

#include <scenarios/kernels/nvme_every.hpp>
#include <scenarios/kernels/rdma.hpp>

namespace scenarios {

XIO_DEVICE xio::rdma::Work signaled_put(const xio::rdma::RemoteSpan& to) {
  xio::rdma::Work work;
  work.flags = xio::rdma::work_flag::signaled;
  work.remote = to.address;
  work.rkey = to.rkey;
  return work;
}

/// All lanes take part. The pieces of a wave's batch lie in the blocks of its own lanes.
template <class Vendor, xio::Sharing S>
XIO_DEVICE void every_call(const RdmaJob& job) {
  using namespace xio;
  const uint32_t self = thread_number();
  rdma::QueuePair<Vendor, S, Policy<Deferred<4>>> qp(job.handle);
  uint64_t* const out = job.data + uint64_t{self} * (thread_bytes / 8);
  uint64_t* const in = out + block_words;
  uint64_t* const old = in + block_words / 2;
  const uint64_t offset = self * thread_bytes;
  const uint32_t bytes = job.words * 8;
  const RegionSpan from = job.local.at(offset, bytes);
  const RegionSpan to = job.local.at(offset + thread_bytes / 2, bytes);
  const rdma::RemoteSpan block = job.remote.at(offset, bytes);
  const rdma::RemoteSpan word = job.remote.at(offset + thread_bytes / 2, 8);
  const Caller<S> caller(job.lanes);
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const uint64_t stamp = uint64_t{self} << 32 | round;
    const uint64_t value = word_of(stamp, job.words);
    fill(out, stamp, job.words);
    const Deadline limit = qp.deadline(Duration{job.patience_ns});
    const Token writes[2] = {qp.put(block, from, limit), qp.put_value(word, value, limit)};
    qp.ring();
    const Status fenced = qp.fence(limit);
    count(job.report, first_of({writes[0].status, writes[1].status, fenced}), true, 41);

    hold_in_cache(out[block_words - 1], in[0], *old);
    const Token both[2] = {qp.get(to, block, limit),
                           qp.compare_swap(word, value, stamp, job.local.at(offset + 3 * thread_bytes / 4, 8), limit)};
    uint32_t which = 2;
    Status status = qp.wait_any(both, 2, limit, which);
    count(job.report, status, which == 0 && holds(in, stamp, job.words), 42);
    status = qp.wait_all(both, 2, limit);
    count(job.report, status, *old == value, 43);

    const rdma::OneSge one{{from.address, from.length, from.key}};
    const Token posts[2] = {qp.try_submit(signaled_put(block), one), qp.submit(signaled_put(block), one, limit)};
    qp.ring();
    status = ask<S>([&] { return qp.test(posts[1]); }, limit);
    const bool posted = posts[0].submitted() || posts[0].status == Status::would_block;  // which does not wait for room
    count(job.report, first_of({posts[1].status, status}), posted, 44);

    const Token token = qp.submit_batch(rdma::Operation::put, job.pieces + caller.number * job.count, job.count, limit);
    status = qp.wait_batch(token, limit);
    if (caller.leads) count(job.report, first_of({token.status, status}), true, 45);

    (void)qp.drain();
    const bool right = qp.flush_inbound(limit) == Status::unsupported;
    count(job.report, qp.quiet(limit), right, 46);
  }
}

}  // namespace scenarios
