// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Kernels that write, read and send by RDMA, the same for all vendors.

#include <scenarios/kernels/turns.hpp>

namespace scenarios {

/// Writes a block to the peer and reads it back into other memory; if the device has atomics, all threads count rounds
/// in one word of the peer, the last 8 bytes of its memory.
template <class Vendor, xio::Sharing S, class Policy, bool Atomics>
XIO_DEVICE void put_get(const RdmaJob& job) {
  using namespace xio;
  const uint32_t self = thread_number();
  if (self >= job.lanes) return;
  rdma::QueuePair<Vendor, S, Policy> qp(job.handle);
  uint64_t* const out = job.data + uint64_t{self} * (thread_bytes / 8);
  uint64_t* const in = out + block_words;
  const uint64_t offset = self * thread_bytes;
  const uint32_t bytes = job.words * 8;
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const uint64_t stamp = uint64_t{self} << 32 | round;
    fill(out, stamp, job.words);
    if constexpr (Policy::publication == Publication::write_through) arch::release_system();
    const Deadline limit = qp.deadline(Duration{job.patience_ns});
    Token token = qp.put(job.remote.at(offset, bytes), job.local.at(offset, bytes), limit);
    Status status = qp.wait(token, limit);
    count(job.report, status, true, 1);
    hold_in_cache(out[block_words - 1], in[0]);
    token = qp.get(job.local.at(offset + thread_bytes / 2, bytes), job.remote.at(offset, bytes), limit);
    if constexpr (S == Sharing::thread) {
      status = qp.test(token);
      while (status == Status::pending && !limit.passed()) status = qp.test(token);
    } else {
      status = qp.wait(token, limit);
    }
    count(job.report, status, holds(in, stamp, job.words), 2);
    if constexpr (Atomics) {
      const rdma::RemoteSpan word = job.remote.at(job.remote.length - 8, 8);
      token = qp.fetch_add(word, 1, job.local.at(offset + thread_bytes / 2, 8), limit);
      status = qp.wait(token, limit);
      const uint64_t before = in[0];
      count(job.report, status, before < uint64_t{job.lanes} * job.rounds, 3);
    }
  }
}

/// Each wave reads from the peer without waiting. The wave before it waits, by fence(), quiet() or with test(), and
/// compares the data. Every second wave takes completions before.
template <class Vendor, xio::Sharing S>
XIO_DEVICE void others(const RdmaJob& job) {
  using namespace xio;
  if (arch::lane() >= comparing_lanes) return;
  rdma::QueuePair<Vendor, S> qp(job.handle);
  const Turns turns(job.turns, job.lanes);
  const uint32_t self = thread_number();
  uint64_t* const out = job.data + uint64_t{self} * (thread_bytes / 8);
  const uint64_t* const theirs = job.data + uint64_t{turns.next()} * (thread_bytes / 8) + block_words;
  const uint64_t offset = self * thread_bytes;
  const uint32_t bytes = job.words * 8;
  for (uint32_t round = 0; round < job.rounds; ++round) {
    fill(out, uint64_t{self} << 32 | round, job.words);
    const Deadline limit = qp.deadline(Duration{job.patience_ns});
    const Token put = qp.put(job.remote.at(offset, bytes), job.local.at(offset, bytes), limit);
    count(job.report, qp.wait(put, limit), true, 11);
    const Status began = turns.begin(round, limit);
    const Token get = qp.get(job.local.at(offset + thread_bytes / 2, bytes), job.remote.at(offset, bytes), limit);
    constexpr uint64_t refused = ~uint64_t{0};
    Token shown = get;
    if (!get.submitted()) shown.last = refused;
    Token token = turns.exchange(round, shown, limit);
    if (token.last == refused) token = Token::refused(Status::broken);
    hold_in_cache(out[block_words - 1], theirs[0]);
    const auto test = [&] { return qp.test(token) != Status::pending; };
    if (turns.drains_first()) (void)qp.wait(get, limit);
    const uint32_t way = round % 3;
    const Status waited = way == 0 ? qp.fence(limit) : way == 1 ? qp.quiet(limit) : poll_until(test, limit);
    const bool right = holds(theirs, uint64_t{turns.next()} << 32 | round, job.words);
    // Not before the data is compared: this orders loads.
    const Status theirs_ended = token.submitted() ? qp.test(token) : token.status;
    count(job.report, first_of({began, waited, theirs_ended, qp.wait(get, limit)}), right, 12);
    turns.end(round);
  }
}

/// Part of a wave's lanes write before all of them read.
template <class Vendor>
XIO_DEVICE void apart(const RdmaJob& job) {
  using namespace xio;
  using QueuePair = rdma::QueuePair<Vendor, Sharing::wave>;
  const uint32_t self = thread_number();
  const bool first = arch::lane() % 4 == 1;
  const uint64_t lanes = arch::ballot(arch::together(0), first);
  QueuePair qp(job.handle);
  uint64_t* const out = job.data + uint64_t{self} * (thread_bytes / 8);
  uint64_t* const in = out + block_words;
  const uint64_t offset = self * thread_bytes;
  const uint32_t bytes = job.words * 8;
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const uint64_t stamp = uint64_t{self} << 32 | round;
    const Deadline limit = qp.deadline(Duration{job.patience_ns});
    Status status;
    if (first) {
      fill(out, stamp, job.words);
      QueuePair part(job.handle, lanes);
      const Token token = part.put(job.remote.at(offset, bytes), job.local.at(offset, bytes), limit);
      status = part.wait(token, limit);
      hold_in_cache(out[block_words - 1], in[0]);
    }
    count(job.report, status, true, 15);
    const Token token = qp.get(job.local.at(offset + thread_bytes / 2, bytes), job.remote.at(offset, bytes), limit);
    status = qp.wait(token, limit);
    count(job.report, status, !first || holds(in, stamp, job.words), 16);
  }
}

/// Only writes and waits, to measure the cost of an operation.
template <class Vendor, xio::Sharing S>
XIO_DEVICE void puts(const RdmaJob& job) {
  using namespace xio;
  rdma::QueuePair<Vendor, S> qp(job.handle);
  const uint64_t offset = thread_number() * thread_bytes;
  const uint32_t bytes = job.words * 8;
  const Deadline limit = qp.deadline(Duration{job.patience_ns});
  uint64_t good = 0;
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const Token token = qp.put(job.remote.at(offset, bytes), job.local.at(offset, bytes), limit);
    good += qp.wait(token, limit).is_ok();
  }
  arch::fetch_add<arch::Scope::system>(&job.report->good, good);
}

/// A write, then a signal for which the same thread waits on the other side: its data has arrived then.
/// @tparam Inline whether entries can hold the signal
template <class Vendor, bool Inline = true>
XIO_DEVICE void signals(const RdmaJob& job) {
  using namespace xio;
  const uint32_t self = thread_number();
  rdma::QueuePair<Vendor, Sharing::grid> qp(job.handle);
  uint64_t* const out = job.data + uint64_t{self} * (thread_bytes / 8);
  uint64_t* const in = job.inbox_data + uint64_t{self} * (thread_bytes / 8);
  const uint64_t offset = self * thread_bytes;
  const uint32_t bytes = job.words * 8;
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const uint64_t stamp = uint64_t{self} << 32 | round;
    fill(out, stamp, job.words);
    hold_in_cache(out[block_words - 1], in[0]);
    const Deadline limit = qp.deadline(Duration{job.patience_ns});
    Token token;
    if constexpr (Inline) {
      token = qp.put_signal(job.remote.at(offset, bytes), job.local.at(offset, bytes),
                            job.remote.at(offset + thread_bytes / 2, 8), round + 1, limit);
    } else {
      constexpr uint32_t apart = block_words / 2;
      out[apart] = round + 1;
      token = qp.put_signal(job.remote.at(offset, bytes), job.local.at(offset, bytes),
                            job.remote.at(offset + thread_bytes / 2, 8), job.local.at(offset + apart * 8, 8), limit);
    }
    Status status = token.status;
    if (token.submitted()) status = wait_until(in + block_words, round + 1, limit);
    count(job.report, status, holds(in, stamp, job.words), 9);
    if (token.submitted()) status = qp.wait(token, limit);
    if (!status.is_ok()) count(job.report, status, true, 10);
  }
}

/// No waits: all entries must be announced when the last wave has ended.
template <class Vendor, xio::Sharing S, class Policy>
XIO_DEVICE void posts(const RdmaJob& job) {
  using namespace xio;
  if (arch::lane() >= posting_lanes) return;
  rdma::QueuePair<Vendor, S, Policy> qp(job.handle);
  const uint64_t offset = thread_number() * thread_bytes;
  const uint32_t bytes = job.words * 8;
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const Token token = qp.put(job.remote.at(offset, bytes), job.local.at(offset, bytes), Now{});
    count(job.report, token.status, true, 7);
  }
  qp.ring();
}

/// Writes that are not waited for individually: fence and quiet, which tells of errors in the end, too.
template <class Vendor>
XIO_DEVICE void put_quiet(const RdmaJob& job) {
  using namespace xio;
  const uint32_t self = thread_number();
  if (self >= job.lanes) return;
  rdma::QueuePair<Vendor, Sharing::grid, Policy<Deferred<4>>> qp(job.handle);
  uint64_t* const out = job.data + uint64_t{self} * (thread_bytes / 8);
  const uint64_t offset = self * thread_bytes;
  const uint32_t bytes = job.words * 8;
  for (uint32_t round = 0; round < job.rounds; ++round) {
    fill(out, uint64_t{self} << 32 | round, job.words);
    const Deadline limit = qp.deadline(Duration{job.patience_ns});
    const Token token = qp.put(job.remote.at(offset, bytes), job.local.at(offset, bytes), limit);
    Status status = token.status;
    if (token.submitted()) status = round % 2 == 0 ? qp.fence(limit) : qp.quiet(limit);
    count(job.report, status, true, 4);
  }
  const Status rest = qp.quiet(qp.deadline(Duration{job.patience_ns}));
  if (!rest.is_ok()) arch::fetch_add<arch::Scope::system>(&job.report->told, uint64_t{1});
}

/// Writes that ask for no completion: fence and quiet post an operation that does. The peer has what was written then.
template <class Vendor>
XIO_DEVICE void quiet_unsignaled(const RdmaJob& job) {
  using namespace xio;
  const uint32_t self = thread_number();
  if (self >= job.lanes) return;
  rdma::QueuePair<Vendor, Sharing::grid> qp(job.handle);
  const uint64_t offset = self * thread_bytes;
  rdma::Work work;
  work.remote = job.remote.base + offset;
  work.rkey = job.remote.rkey;
  const rdma::OneSge from{{job.local.base + offset, job.words * 8, job.local.key}};
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const uint64_t stamp = uint64_t{self} << 32 | round;
    fill(job.data + offset / 8, stamp, job.words);
    const Deadline limit = qp.deadline(Duration{job.patience_ns});
    const Token token = qp.submit(work, from, limit);
    Status status = token.status;
    if (token.submitted()) status = round % 2 == 0 ? qp.fence(limit) : qp.quiet(limit);
    count(job.report, status, holds(job.inbox_data + offset / 8, stamp, job.words), 4);
  }
}

/// Every wave writes a batch of pieces and reads it back into other memory, at its threads' locations.
template <class Vendor>
XIO_DEVICE void batches(const RdmaJob& job) {
  using namespace xio;
  rdma::QueuePair<Vendor, Sharing::grid> qp(job.handle);
  const uint32_t self = thread_number();
  const uint32_t first = self / arch::wave_size() * job.count;
  const uint32_t all = job.lanes / arch::wave_size() * job.count;
  uint64_t* const out = job.data + uint64_t{self} * (thread_bytes / 8);
  // The pieces of a lane lie one behind the other.
  const uint32_t words = (job.count + arch::wave_size() - 1 - arch::lane()) / arch::wave_size() * job.words;
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const uint64_t stamp = uint64_t{self} << 32 | round;
    fill(out, stamp, words);
    hold_in_cache(out[block_words - 1], out[block_words]);
    const Deadline limit = qp.deadline(Duration{job.patience_ns});
    Token token = qp.submit_batch(rdma::Operation::put, job.pieces + first, job.count, limit);
    Status status = qp.wait_batch(token, limit);
    if (arch::lane() == 0) count(job.report, status, true, 7);
    token = qp.submit_batch(rdma::Operation::get, job.pieces + all + first, job.count, limit);
    status = qp.wait_batch(token, limit);
    const uint64_t wave = arch::together(0);
    const bool right = arch::ballot(wave, holds(out + block_words, stamp, words)) == wave;
    if (arch::lane() == 0) count(job.report, status, right, 8);
  }
}

/// The first lanes send, the others receive; threads pair up by messages, not by number. No thread waits for a receive
/// to be posted: post() may return before it is announced, and the device waits for it.
/// @tparam Polls whether test() waits
template <class Vendor, xio::Sharing S, bool Polls = false>
XIO_DEVICE void send_receive(const RdmaJob& job) {
  using namespace xio;
  const uint32_t self = thread_number();
  if (self >= job.lanes) return;
  const uint32_t bytes = job.words * 8;
  if (self < job.senders) {
    rdma::QueuePair<Vendor, S> qp(job.handle);
    uint64_t* const out = job.data + uint64_t{self} * (thread_bytes / 8);
    for (uint32_t round = 0; round < job.rounds; ++round) {
      fill(out, uint64_t{self} << 32 | round, job.words);
      const Deadline limit = qp.deadline(Duration{job.patience_ns});
      const Token token = qp.send(job.local.at(self * thread_bytes, bytes), limit);
      const Status status = qp.wait(token, limit);
      count(job.report, status, true, 5);
    }
    return;
  }
  rdma::ReceiveQueue<Vendor, S> queue(job.receive);
  const uint32_t own = self - job.senders;
  uint64_t* const in = job.inbox_data + uint64_t{own} * (thread_bytes / 8);
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const Deadline limit =
        xio::deadline(Duration{job.patience_ns}, job.handle.clock_hz ? job.handle.clock_hz : arch::clock_hz);
    hold_in_cache(job.data[uint64_t{self} * (thread_bytes / 8)], in[0]);
    const Token token = queue.post(job.inbox.at(own * thread_bytes, bytes), limit);
    rdma::Received got;
    got.status = token.status;
    uint32_t taken = 1;
    if constexpr (S == Sharing::wave) {
      // All lanes take part in every call.
      if constexpr (Polls) {
        const auto test = [&] {
          got = queue.test(token);
          return arch::ballot(arch::together(0), got.status == Status::pending) == 0;
        };
        (void)poll_until(test, limit);
      } else {
        got = queue.wait(token, limit);
      }
    } else if constexpr (Polls && S == Sharing::thread) {
      if (token.submitted()) taken = 0;
      while (taken == 0 && !limit.passed()) taken = queue.drain();
      if (token.submitted()) got = queue.test(token);
    } else if constexpr (Polls) {
      if (token.submitted()) got.status = Status::pending;
      // Of two lanes one takes completions for both.
      while (got.status == Status::pending && !limit.passed()) {
        if (own % 2 == 0) queue.drain();
        got = queue.test(token);
      }
    } else {
      if (token.submitted()) got = queue.wait(token, limit);
    }
    // The sender is unknown; the words show that the message is complete and from one sender.
    bool right = false;
    for (uint32_t r = 0; r < job.rounds && got.status.is_ok(); ++r)
      for (uint32_t s = 0; s < job.lanes - job.senders && !right; ++s)
        right = in[0] == word_of(uint64_t{s} << 32 | r, 0) && holds(in, uint64_t{s} << 32 | r, job.words);
    count(job.report, got.status, right && got.bytes == bytes && taken == 1, 6);
  }
}

/// Receives what the host sends, whose immediate data are the messages' numbers. Results are asked for late, when the
/// slot may belong to a later receive: each must be that of its own message, or expired.
template <class Vendor, xio::Sharing S>
XIO_DEVICE void receive_late(const RdmaJob& job) {
  using namespace xio;
  const uint32_t self = thread_number() / arch::wave_size() * late_lanes + arch::lane();
  if (arch::lane() >= late_lanes || self >= job.lanes) return;
  rdma::ReceiveQueue<Vendor, S, Policy<Unasked>> queue(job.receive);
  constexpr uint64_t place = 64;  // each message has one of its own
  const uint32_t bytes = job.words * 8;
  const Deadline limit =
      xio::deadline(Duration{job.patience_ns}, job.handle.clock_hz ? job.handle.clock_hz : arch::clock_hz);
  Token last;
  for (uint32_t round = 0; round <= job.rounds; ++round) {
    const uint64_t offset = self * thread_bytes + round * place;
    Token token = Token::refused(Status::ok);
    if (round != job.rounds) token = queue.post(job.inbox.at(offset, bytes), limit);
    if (round != 0) {
      const uint64_t* const in = job.inbox_data + (offset - place) / 8;
      rdma::Received got;
      got.status = last.status;
      bool right = true;
      for (uint32_t asks = 0; last.submitted() && asks < 6 && got.status != Status::expired; ++asks) {
        got = queue.wait(last, limit);
        const uint64_t stamp = uint64_t{got.immediate % job.lanes} << 32 | got.immediate / job.lanes;
        right = right && (!got.status.is_ok() || (got.bytes == bytes && holds(in, stamp, job.words)));
      }
      count(job.report, got.status == Status::expired ? Status() : got.status, right, 10);
    }
    last = token;
  }
}

}  // namespace scenarios
