// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Kernels with the calls of RDMA queues that the kernels of rdma.hpp do not use, or in some sharing mode only.

#include <scenarios/kernels/nvme_every.hpp>
#include <scenarios/kernels/rdma.hpp>

namespace scenarios {

/// Several operations of each lane in flight: waits for all, waits for any, posts that do not wait.
template <class Vendor, xio::Sharing S>
XIO_DEVICE void several(const RdmaJob& job) {
  using namespace xio;
  const uint32_t self = thread_number();
  if (self >= job.lanes) return;
  rdma::QueuePair<Vendor, S> qp(job.handle);
  uint64_t* const out = job.data + uint64_t{self} * (thread_bytes / 8);
  uint64_t* const in = out + block_words;
  uint64_t* const old = in + block_words / 2;
  const uint64_t offset = self * thread_bytes;
  const uint32_t bytes = job.words * 8;
  const rdma::RemoteSpan block = job.remote.at(offset, bytes);
  const rdma::RemoteSpan word = job.remote.at(offset + thread_bytes / 2, 8);
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const uint64_t stamp = uint64_t{self} << 32 | round;
    const uint64_t value = word_of(stamp, job.words);
    fill(out, stamp, job.words);
    const Deadline limit = qp.deadline(Duration{job.patience_ns});
    const RegionSpan from = job.local.at(offset, bytes);
    const Token writes[2] = {qp.put(block, from, limit), qp.put_value(word, value, limit)};
    const Status written = qp.wait_all(writes, 2, limit);
    const uint64_t* const far = job.inbox_data + offset / 8;
    count(job.report, written, holds(far, stamp, job.words) && far[block_words] == value, 17);
    hold_in_cache(out[block_words - 1], in[0], *old);
    Token both[2];
    both[1] = qp.get(job.local.at(offset + thread_bytes / 2, bytes), block, limit);
    both[0] = qp.compare_swap(word, value, stamp, job.local.at(offset + 3 * thread_bytes / 4, 8), limit);
    uint32_t which = 0;
    Status status = qp.wait_any(both, 2, limit, which);
    count(job.report, status, which == 1 && holds(in, stamp, job.words), 18);
    status = qp.wait_any(both, 1, limit, which);
    count(job.report, status, which == 0 && *old == value && far[block_words] == stamp, 19);
    rdma::Work work;
    work.flags = rdma::work_flag::signaled;
    work.remote = block.address;
    work.rkey = block.rkey;
    const rdma::OneSge one{{from.address, from.length, from.key}};
    Token token = qp.try_submit(work, one);
    while (token.status == Status::would_block && !limit.passed()) {
      qp.drain();
      token = qp.try_submit(work, one);
    }
    count(job.report, token.submitted() ? qp.wait(token, limit) : token.status, true, 20);
  }
}

/// put_get() with the queue's state in registers for each round. In every second one, part of a wave's lanes use it.
template <class Vendor, xio::Sharing S>
XIO_DEVICE void sessions(const RdmaJob& job) {
  using namespace xio;
  const uint32_t self = thread_number();
  if (self >= job.lanes) return;
  const bool first = S == Sharing::thread || arch::lane() % 4 == 1;
  const uint64_t lanes = S == Sharing::thread ? 0 : arch::ballot(arch::together(0), first);
  uint64_t* const out = job.data + uint64_t{self} * (thread_bytes / 8);
  uint64_t* const in = out + block_words;
  const uint64_t offset = self * thread_bytes;
  const uint32_t bytes = job.words * 8;
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const uint64_t stamp = uint64_t{self} << 32 | round;
    fill(out, stamp, job.words);
    const bool in_part = round % 2 == 1;
    if (in_part && !first) {
      count(job.report, Status(), true, 21);
      count(job.report, Status(), true, 22);
      continue;
    }
    const rdma::QueuePair<Vendor, S> qp(job.handle, in_part ? lanes : 0);
    auto own = qp.session();
    const Deadline limit = own.deadline(Duration{job.patience_ns});
    Token token = own.put(job.remote.at(offset, bytes), job.local.at(offset, bytes), limit);
    Status status = own.wait(token, limit);
    count(job.report, status, true, 21);
    hold_in_cache(out[block_words - 1], in[0]);
    token = own.get(job.local.at(offset + thread_bytes / 2, bytes), job.remote.at(offset, bytes), limit);
    status = own.wait(token, limit);
    count(job.report, status, holds(in, stamp, job.words), 22);
    own.end();
  }
}

/// The first lanes write with immediate data and send with immediate data in turn, the others receive, and look for the
/// data where the immediate data says. Every fourth receiver does not ask for its messages; one that is alone, for
/// every fourth. Each message arrives once.
template <class Vendor, xio::Sharing S>
XIO_DEVICE void immediates(const RdmaJob& job) {
  using namespace xio;
  const uint32_t self = thread_number();
  if (self >= job.lanes) return;
  const uint32_t bytes = job.words * 8;
  if (self < job.senders) {
    rdma::QueuePair<Vendor, S> qp(job.handle);
    const RegionSpan from = job.local.at(self * thread_bytes, bytes);
    for (uint32_t round = 0; round < job.rounds; ++round) {
      fill(job.data + uint64_t{self} * (thread_bytes / 8), uint64_t{self} << 32 | round, job.words);
      const Deadline limit = qp.deadline(Duration{job.patience_ns});
      const uint32_t number = self * job.rounds + round;
      // Each write has its own place.
      const uint64_t place = thread_bytes / 2 + round * 64;
      const Token token = round % 2 == 0
                              ? qp.put_immediate(job.remote.at(self * thread_bytes + place, bytes), from, number, limit)
                              : qp.send_immediate(from, number, limit);
      count(job.report, qp.wait(token, limit), true, 23);
    }
    return;
  }
  rdma::ReceiveQueue<Vendor, S> queue(job.receive);
  const uint32_t own = self - job.senders;
  uint64_t* const in = job.inbox_data + uint64_t{own} * (thread_bytes / 8);
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const Deadline limit =
        xio::deadline(Duration{job.patience_ns}, job.handle.clock_hz ? job.handle.clock_hz : arch::clock_hz);
    const Token token = queue.post(job.inbox.at(own * thread_bytes, bytes), limit);
    // The lanes of a wave's queue wait together.
    const bool forgets = (S == Sharing::thread ? round : own) % 4 == 3;
    if (forgets) {
      queue.forget(token);
      count(job.report, token.status, true, 24);
      if constexpr (S != Sharing::wave) continue;
    }
    if constexpr (S == Sharing::wave) (void)queue.drain();
    const rdma::Received got = queue.wait(forgets ? Token() : token, limit);
    if (forgets) continue;
    bool right = false;
    if (got.status.is_ok()) {
      const uint32_t sender = got.immediate / job.rounds;
      const uint32_t sent = got.immediate % job.rounds;
      const bool writes = (got.flags & rdma::receive_flag::write) != 0;
      const uint64_t* const at =
          writes ? job.inbox_data + (sender * thread_bytes + thread_bytes / 2 + sent * 64) / 8 : in;
      right = (got.flags & rdma::receive_flag::immediate) != 0 && sender < job.senders && writes == (sent % 2 == 0) &&
              got.bytes == bytes && holds(at, uint64_t{sender} << 32 | sent, job.words);
      const uint64_t bit = uint64_t{1} << sent % 64;
      const uint64_t before = arch::fetch_add<arch::Scope::system>(&job.turns[sender % job.lanes].ticket, bit);
      right = right && (before & bit) == 0;
    }
    count(job.report, got.status, right, 25);
  }
}

/// Reads whose data arrives after its completion, and which flush_inbound() makes visible.
template <class Vendor>
XIO_DEVICE void flushed(const RdmaJob& job) {
  using namespace xio;
  const uint32_t self = thread_number();
  if (self >= job.lanes) return;
  rdma::QueuePair<Vendor, Sharing::thread> qp(job.handle);
  uint64_t* const out = job.data + uint64_t{self} * (thread_bytes / 8);
  const uint64_t offset = self * thread_bytes;
  const uint32_t bytes = job.words * 8;
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const uint64_t stamp = uint64_t{self} << 32 | round;
    fill(out, stamp, job.words);
    const Deadline limit = qp.deadline(Duration{job.patience_ns});
    const Token put = qp.put(job.remote.at(offset, bytes), job.local.at(offset, bytes), limit);
    count(job.report, qp.wait(put, limit), true, 32);
    const Token get = qp.get(job.local.at(offset + thread_bytes / 2, bytes), job.remote.at(offset, bytes), limit);
    const Status ended = qp.wait(get, limit);
    const Status arrived = qp.flush_inbound(limit);
    count(job.report, first_of({ended, arrived}), holds(out + block_words, stamp, job.words), 33);
  }
}

/// Reads whose data may arrive after its completion: fence() and quiet() make it visible, or say that they cannot.
template <class Vendor, xio::Sharing S>
XIO_DEVICE void placed_quiet(const RdmaJob& job) {
  using namespace xio;
  const uint32_t self = thread_number();
  if (self >= job.lanes) return;
  rdma::QueuePair<Vendor, S, Policy<Placed<Memory::host, Memory::device>>> qp(job.handle);
  const bool able = job.handle.flush.local != 0;
  uint64_t* const out = job.data + uint64_t{self} * (thread_bytes / 8);
  uint64_t* const in = out + block_words;
  const uint64_t offset = self * thread_bytes;
  const uint32_t bytes = job.words * 8;
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const uint64_t stamp = uint64_t{self} << 32 | round;
    fill(out, stamp, job.words);
    const Deadline limit = qp.deadline(Duration{job.patience_ns});
    const Token put = qp.put(job.remote.at(offset, bytes), job.local.at(offset, bytes), limit);
    const Status put_ended = qp.wait(put, limit);
    hold_in_cache(out[block_words - 1], in[0]);
    const Token get = qp.get(job.local.at(offset + thread_bytes / 2, bytes), job.remote.at(offset, bytes), limit);
    Status all = round % 2 == 0 ? qp.quiet(limit) : qp.fence(limit);
    bool right = holds(in, stamp, job.words);
    if (!able) {
      right = put_ended == Status::unsupported && all == Status::unsupported;
      all = Status();
    }
    count(job.report, first_of({put.status, get.status, all}), right, 31);
  }
}

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

    const Token last = qp.put(block, from, limit);
    qp.ring();
    status = last.status;
    if constexpr (is_shared<S>) {
      (void)qp.drain();  // another wave may take the completion
    } else {
      uint32_t taken = 0;
      const auto take = [&] {
        taken += qp.drain();
        return taken != 0 ? Status::ok : Status::pending;
      };
      status = first_of({last.status, ask<S>(take, limit)});
    }
    bool right = qp.handle().state == job.handle.state && keeps_time(qp);
    right = right && qp.flush_inbound(limit) == Status::unsupported;
    count(job.report, first_of({status, qp.quiet(limit)}), right, 46);
  }
}

}  // namespace scenarios
