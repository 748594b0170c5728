// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Kernels that use every call of an NVMe queue, and compare the data read with the data written.

#include <scenarios/kernels/job.hpp>

namespace scenarios {

/// A thread's buffers, its blocks in the namespace, and its operations on them.
template <class Queue>
class Blocks {
 public:
  XIO_DEVICE Blocks(Queue& queue, const NvmeJob& job, uint32_t self)
      : queue_(queue), job_(job), self_(self), out_(job.data + uint64_t{self} * (thread_bytes / 8)) {}

  XIO_DEVICE uint64_t* out() const { return out_; }
  XIO_DEVICE uint64_t* in() const { return out_ + block_words; }
  XIO_DEVICE uint64_t out_bus() const { return job_.bus + self_ * thread_bytes; }
  XIO_DEVICE uint64_t in_bus() const { return out_bus() + thread_bytes / 2; }
  XIO_DEVICE uint64_t lba(uint32_t round) const { return self_ + uint64_t{round & 3} * job_.lanes; }
  XIO_DEVICE uint64_t stamp(uint32_t round) const { return uint64_t{self_} << 32 | round; }
  XIO_DEVICE xio::Deadline until() const { return queue_.deadline(xio::Duration{job_.patience_ns}); }

  /// Writes a block and reads it back, waiting for each. The read goes to a buffer that a cache may hold.
  XIO_DEVICE void write_and_read(uint32_t round) {
    using namespace xio;
    fill(out(), stamp(round), job_.words);
    queue_.publish_payload();
    const Deadline limit = until();
    Token token = queue_.submit(nvme::write(lba(round), 1), nvme::ContiguousPages{out_bus()}, limit);
    Status status = queue_.wait(token, limit);
    count(job_.report, status, true, 1);
    const bool written = status.is_ok();
    hold_in_cache(out()[block_words - 1], in()[0]);
    token = queue_.submit(nvme::read(lba(round), 1), nvme::ContiguousPages{in_bus()}, limit);
    status = queue_.wait(token, limit);
    count(job_.report, status, !written || holds(in(), stamp(round), job_.words), 2);
  }

 private:
  Queue& queue_;
  const NvmeJob& job_;
  uint32_t self_;
  uint64_t* out_;
};

template <xio::Sharing S>
XIO_DEVICE const xio::nvme::QueueHandle& own_queue(const NvmeJob& job) {
  return job.queues[S == xio::Sharing::thread ? thread_number() : 0];
}

template <xio::Sharing S, class Policy, class Doorbell = xio::MmioDoorbell>
XIO_DEVICE void write_read(const NvmeJob& job) {
  if (thread_number() >= job.lanes) return;
  xio::nvme::Queue<S, xio::Policy<Policy, xio::RingBy<Doorbell>>> queue(own_queue<S>(job));
  Blocks<decltype(queue)> blocks(queue, job, thread_number());
  for (uint32_t round = 0; round < job.rounds; ++round) blocks.write_and_read(round);
}

/// Only reads and waits, to measure the cost of an operation.
template <xio::Sharing S, class Policy = xio::Policy<>>
XIO_DEVICE void reads(const NvmeJob& job) {
  using namespace xio;
  nvme::Queue<S, Policy> queue(own_queue<S>(job));
  Blocks<decltype(queue)> blocks(queue, job, thread_number());
  const Deadline limit = blocks.until();
  uint64_t good = 0;
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const Token token = queue.submit(nvme::read(blocks.lba(round), 1), nvme::ContiguousPages{blocks.in_bus()}, limit);
    good += queue.wait(token, limit).is_ok();
  }
  arch::fetch_add<arch::Scope::system>(&job.report->good, good);
}

/// Three parts of a wave submit separately, and any part may announce the entries.
template <class Policy>
XIO_DEVICE void in_parts(const NvmeJob& job) {
  using namespace xio;
  using Queue = nvme::Queue<Sharing::grid, Policy>;
  Queue queue(job.queues[0]);
  Blocks<Queue> blocks(queue, job, thread_number());
  for (uint32_t round = 0; round < 2 * job.rounds; ++round) {
    const Deadline limit = blocks.until();
    const uint64_t wave = arch::together(0);
    Token token;
    for (uint32_t part = 0; part < 3; ++part) {
      const bool mine = arch::lane() % 3 == part;
      const uint64_t lanes = arch::ballot(wave, mine);
      if (!mine) continue;
      token = Queue(job.queues[0], lanes)
                  .submit(nvme::read(blocks.lba(round), 1), nvme::ContiguousPages{blocks.in_bus()}, limit);
    }
    queue.ring();
    count(job.report, queue.wait(token, limit), true, 17);
  }
}

/// The queue's state in registers.
template <xio::Sharing S, class Policy>
XIO_DEVICE void session(const NvmeJob& job) {
  xio::nvme::Queue<S, Policy> queue(own_queue<S>(job));
  auto view = queue.session();
  Blocks<decltype(view)> blocks(view, job, thread_number());
  for (uint32_t round = 0; round < job.rounds; ++round) blocks.write_and_read(round);
  view.end();
}

/// Tokens waited for in completion order, tested, or waited for together.
template <xio::Sharing S, class Policy = xio::Policy<xio::Notify>>
XIO_DEVICE void many_tokens(const NvmeJob& job) {
  using namespace xio;
  if (thread_number() >= job.lanes) return;
  nvme::Queue<S, Policy> queue(own_queue<S>(job));
  Blocks<decltype(queue)> blocks(queue, job, thread_number());
  constexpr uint32_t most = 3;
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const Deadline limit = blocks.until();
    Token tokens[most];
    for (uint32_t i = 0; i < most; ++i)
      tokens[i] = queue.submit(nvme::read(blocks.lba(round + i), 1), nvme::ContiguousPages{blocks.in_bus()}, limit);
    if (round % 3 == 0) {
      uint32_t left = most;
      for (uint32_t i = 0; i < most; ++i) {
        uint32_t which = 0;
        const Status status = queue.wait_any(tokens, left, limit, which);
        count(job.report, status, which < left, 3);
        if (which < left) tokens[which] = tokens[--left];
      }
    } else if (round % 3 == 1) {
      const Status all = queue.wait_all(tokens, most, limit);
      Status first;
      for (uint32_t i = 0; i < most; ++i) {
        const Status status = queue.wait(tokens[i], limit);
        if (first.is_ok()) first = status;
        count(job.report, status, all == first || i + 1 != most, 4);
      }
    } else {
      for (uint32_t i = 0; i < most; ++i) {
        Status status = queue.test(tokens[i]);
        // The lanes of a wave's queue call together, including those whose status is already known.
        const auto asks = [&] { return status == Status::pending && !limit.passed(); };
        if constexpr (S == Sharing::wave) {
          const uint64_t all = job.lanes < arch::wave_size() ? (uint64_t{1} << job.lanes) - 1 : 0;
          while (arch::ballot(arch::together(all), asks()) != 0) status = queue.test(tokens[i]);
        } else {
          while (asks()) status = queue.test(tokens[i]);
        }
        count(job.report, status, true, 5);
      }
    }
  }
}

/// Batches of pieces: written, then read into other memory by the same, shifted list.
template <class Policy>
XIO_DEVICE void batches(const NvmeJob& job) {
  using namespace xio;
  nvme::Queue<Sharing::wave, Policy> queue(job.queues[0]);
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const Deadline limit = queue.deadline(Duration{job.patience_ns});
    for (uint32_t i = thread_number(); i < job.count; i += arch::wave_size())
      fill(job.data + i * (thread_bytes / 8), uint64_t{i} << 32 | round, job.words);
    arch::converge(arch::together(0));
    queue.publish_payload();
    arch::converge(arch::together(0));
    Token token = queue.submit_batch(nvme::Opcode::write, job.pieces, job.count, limit);
    Status status = queue.wait_batch(token, limit);
    if (arch::lane() == 0) count(job.report, status, true, 6);
    token = queue.submit_batch(nvme::Opcode::read, job.pieces + job.count, job.count, limit);
    status = queue.wait_batch(token, limit);
    bool right = true;
    for (uint32_t i = thread_number(); i < job.count; i += arch::wave_size())
      right = right && holds(job.data + i * (thread_bytes / 8) + block_words, uint64_t{i} << 32 | round, job.words);
    const uint64_t wave = arch::together(0);
    const bool all = arch::ballot(wave, right) == wave;
    if (arch::lane() == 0) count(job.report, status, all, 7);
  }
}

/// Every wave moves its own pieces through the shared queue; progress is a notification.
XIO_DEVICE void transfers(const NvmeJob& job) {
  using namespace xio;
  nvme::Queue<Sharing::grid, Policy<Notify>> queue(job.queues[0]);
  const uint32_t wave = thread_number() / arch::wave_size();
  const uint32_t waves = job.lanes / arch::wave_size();
  const uint32_t first = wave * job.count;
  // Piece i of all waves has block i, and the data of thread i.
  for (uint32_t i = first + arch::lane(); i < first + job.count; i += arch::wave_size()) {
    uint64_t* const out = job.data + uint64_t{i} * (thread_bytes / 8);
    fill(out, i, job.words);
    hold_in_cache(out[block_words - 1], out[block_words]);
  }
  queue.publish_payload();
  const auto run = [&](nvme::Opcode opcode, const nvme::Piece* pieces, Notification& progress) {
    const Status status =
        queue.transfer(opcode, pieces, job.count, queue.deadline(Duration{job.patience_ns}), progress);
    if (arch::lane() == 0) count(job.report, status, arch::load<arch::Scope::system>(&progress.done) == job.count, 8);
    return status;
  };
  const Status written = run(nvme::Opcode::write, job.pieces + first, job.notifications[wave]);
  const Status read = run(nvme::Opcode::read, job.pieces + waves * job.count + first, job.notifications[waves + wave]);
  if (!written.is_ok() || !read.is_ok()) return;
  for (uint32_t i = first + arch::lane(); i < first + job.count; i += arch::wave_size()) {
    const uint64_t* const in = job.data + uint64_t{i} * (thread_bytes / 8) + block_words;
    if (!holds(in, i, job.words)) count(job.report, Status(), false, 9);
  }
}

/// Operations that are not waited for by token: notifications, kept results, fence and quiet.
template <xio::Sharing S>
XIO_DEVICE void unwaited(const NvmeJob& job) {
  using namespace xio;
  const uint32_t self = thread_number();
  if (self >= job.lanes) return;
  nvme::Queue<S, Policy<Notify>> queue(own_queue<S>(job));
  Blocks<decltype(queue)> blocks(queue, job, self);
  Notification& notification = job.notifications[self];
  for (uint32_t round = 0; round < job.rounds; ++round) {
    fill(blocks.out(), blocks.stamp(round), job.words);
    queue.publish_payload();
    const Deadline limit = blocks.until();
    const Token token = queue.submit(nvme::write(blocks.lba(round), 1), nvme::ContiguousPages{blocks.out_bus()}, limit,
                                     Options().notify(notification));
    Status status = token.status;
    if (token.submitted()) status = queue.fence(limit);
    // The wave that consumes a completion notifies after recording it, possibly slightly after the fence.
    const Status told =
        poll_until([&] { return arch::load<arch::Scope::system>(&notification.done) >= round + 1; }, limit);
    const uint64_t ends = arch::load<arch::Scope::system>(&notification.done);
    count(job.report, status, told.is_ok() && ends == round + 1, 9);
    uint64_t result = 0;
    const Status known = queue.result(token, result);
    const bool told_late = status.is_ok() && known == Status::pending;
    if (told_late || (known.is_ok() && result != answer_of(blocks.lba(round)))) count(job.report, Status(), false, 18);
    KeptResult& kept = job.kept[self];
    arch::store<arch::Scope::system>(&kept.ended, uint64_t{0});
    const Token read = queue.submit(nvme::read(blocks.lba(round), 1), nvme::ContiguousPages{blocks.in_bus()}, limit,
                                    Options().keep(kept));
    status = read.status;
    // Another wave may consume the completion and not yet be finished when the result is available.
    const auto is_kept = [&] {
      queue.drain();
      return arch::observe<arch::Scope::system>(&kept.ended) != 0;
    };
    if (read.submitted() && !poll_until(is_kept, limit).is_ok()) status = Status::timed_out;
    const uint64_t found = arch::load<arch::Scope::system>(&kept.result);
    if (read.submitted() && status.is_ok()) status = queue.quiet(limit);
    const bool ended = arch::observe<arch::Scope::system>(&kept.ended) == KeptResult::has_ended &&
                       found == answer_of(blocks.lba(round));
    count(job.report, status, ended && holds(blocks.in(), blocks.stamp(round), job.words), 10);
  }
}

/// No waits: all entries must be announced when the last wave has ended.
template <xio::Sharing S, class Policy, class Doorbell = xio::MmioDoorbell>
XIO_DEVICE void posts(const NvmeJob& job) {
  using namespace xio;
  if (arch::lane() >= posting_lanes) return;
  nvme::Queue<S, xio::Policy<Policy, xio::RingBy<Doorbell>>> queue(job.queues[0]);
  Blocks<decltype(queue)> blocks(queue, job, thread_number());
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const Token token = queue.try_submit(nvme::read(blocks.lba(round), 1), nvme::ContiguousPages{blocks.in_bus()});
    count(job.report, token.status, true, 19);
  }
  queue.ring();
}

/// Each wave counts the completions of its operations, including failed ones, in one notification.
template <xio::Sharing S>
XIO_DEVICE void notified(const NvmeJob& job) {
  using namespace xio;
  nvme::Queue<S, Policy<Notify>> queue(own_queue<S>(job));
  Blocks<decltype(queue)> blocks(queue, job, thread_number());
  Notification& ends = job.notifications[thread_number() / arch::wave_size()];
  uint64_t failures = 0;
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const Deadline limit = blocks.until();
    const Token token = queue.submit(nvme::read(blocks.lba(round), 1), nvme::ContiguousPages{blocks.in_bus()}, limit,
                                     Options().notify(ends));
    const uint64_t all = uint64_t{arch::wave_size()} * (round + 1);
    const Status told = poll_until(
        [&] {
          queue.drain();
          return arch::observe<arch::Scope::system>(&ends.done) >= all;
        },
        limit);
    const uint64_t failed = arch::load<arch::Scope::system>(&ends.failed);
    const Status status = queue.wait(token, limit);
    failures += arch::count_lanes(arch::ballot(arch::together(0), !status.is_ok()));
    count(job.report, status, true, 20);
    if (!told.is_ok() || failed != failures) count(job.report, Status(), false, 21);
  }
}

/// Completions handed to the kernel one by one.
XIO_DEVICE void processed(const NvmeJob& job) {
  using namespace xio;
  nvme::Queue<Sharing::thread> queue(own_queue<Sharing::thread>(job));
  Blocks<decltype(queue)> blocks(queue, job, thread_number());
  const Deadline limit = blocks.until();
  uint32_t submitted = 0;
  uint32_t ended = 0;
  while (ended < job.rounds && !limit.passed()) {
    while (submitted < job.rounds) {
      const Token token =
          queue.try_submit(nvme::read(blocks.lba(submitted), 1), nvme::ContiguousPages{blocks.in_bus()});
      if (token.status == Status::would_block) break;
      count(job.report, token.status, true, 11);
      ++submitted;
    }
    constexpr uint32_t most = 2;
    const auto look = [&](const nvme::Completion& one) { count(job.report, one.status(), true, 12); };
    const uint32_t taken = queue.process_completions(look, most);
    if (taken > most) count(job.report, Status(), false, 12);
    ended += taken;
  }
  for (uint32_t round = 0; round < 4 && !limit.passed(); ++round) {
    fill(blocks.out(), blocks.stamp(round), job.words);
    const Token write = queue.submit(nvme::write(blocks.lba(round), 1), nvme::ContiguousPages{blocks.out_bus()}, limit);
    const Status written = queue.wait(write, limit);
    count(job.report, written, true, 24);
    hold_in_cache(blocks.out()[block_words - 1], blocks.in()[0]);
    (void)queue.try_submit(nvme::read(blocks.lba(round), 1), nvme::ContiguousPages{blocks.in_bus()});
    const auto look = [&](const nvme::Completion& one) {
      count(job.report, one.status(), !written.is_ok() || holds(blocks.in(), blocks.stamp(round), job.words), 25);
    };
    while (queue.process_completions(look) == 0 && !limit.passed()) {
    }
  }
}

/// Split commands, and data over several pages with a page list.
template <class Policy>
XIO_DEVICE void long_commands(const NvmeJob& job) {
  using namespace xio;
  if (thread_number() >= job.lanes) return;
  nvme::Queue<Sharing::grid, Policy> queue(job.queues[0]);
  const Deadline limit = queue.deadline(Duration{job.patience_ns});
  const uint64_t bytes = uint64_t{job.count} * 512;
  const uint64_t offset = thread_number() * bytes;
  uint64_t* const data = job.data + offset / 8;
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const uint64_t lba = uint64_t{thread_number()} * job.count;
    for (uint32_t i = 0; i < job.count; ++i) fill(data + i * block_words, lba + i + round, 2);
    queue.publish_payload();
    Token token = queue.submit(nvme::write(lba, job.count), nvme::ContiguousPages{job.bus + offset}, limit);
    Status status = queue.wait(token, limit);
    count(job.report, status, true, 13);
    for (uint32_t i = 0; i < job.count; ++i) data[i * block_words] = 0;
    queue.publish_payload();
    token = queue.submit(nvme::read(lba, job.count), nvme::ContiguousPages{job.bus + offset}, limit);
    status = queue.wait(token, limit);
    bool right = true;
    for (uint32_t i = 0; i < job.count; ++i) right = right && holds(data + i * block_words, lba + i + round, 2);
    count(job.report, status, right, 14);
  }
}

/// Blocks striped over drives.
template <xio::Sharing S>
XIO_DEVICE void striped(const NvmeJob& job) {
  using namespace xio;
  if (thread_number() >= job.lanes) return;
  const nvme::DriveSetHandle set{job.queues, job.count, 1, 0};
  nvme::DriveSet<S> drives(set, thread_number() / arch::wave_size());
  const uint32_t self = thread_number();
  uint64_t* const out = job.data + uint64_t{self} * (thread_bytes / 8);
  const uint64_t bus = job.bus + self * thread_bytes;
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const Deadline limit{arch::clock() + job.patience_ns * (arch::clock_hz / 1000000) / 1000};
    const uint64_t block = self + uint64_t{round} * job.lanes;
    fill(out, block, job.words);
    arch::release_system();
    nvme::DriveToken token = drives.submit(nvme::write(block, 1), nvme::ContiguousPages{bus}, limit);
    Status status = drives.wait(token, limit);
    count(job.report, status, true, 15);
    token = drives.submit(nvme::read(block, 1), nvme::ContiguousPages{bus + thread_bytes / 2}, limit);
    status = drives.wait(token, limit);
    count(job.report, status, holds(out + block_words, block, job.words), 16);
  }
}

}  // namespace scenarios
