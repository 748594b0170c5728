// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The calls of an NVMe queue that the other kernels make in some sharing mode only, and a call and its wait in
/// a function of the program.

#include <scenarios/kernels/nvme.hpp>
#include <scenarios/kernels/turns.hpp>

namespace scenarios {

/// Asks until an operation has ended. The lanes of a wave's queue ask together, also those that know.
template <xio::Sharing S, class Test>
XIO_DEVICE xio::Status ask(Test test, xio::Deadline limit) {
  xio::Status status = test();
  const auto asks = [&] { return status == xio::Status::pending && !limit.passed(); };
  if constexpr (S == xio::Sharing::wave) {
    while (xio::arch::ballot(xio::arch::together(0), asks()) != 0) status = test();
  } else {
    while (asks()) status = test();
  }
  return status;
}

/// Whether a queue's deadline() is as far away as it is told.
template <class Queue>
XIO_DEVICE bool keeps_time(const Queue& queue) {
  const uint64_t before = xio::arch::clock();
  const uint64_t end = queue.deadline(xio::Duration{1'000'000'000}).tick;
  const uint64_t after = xio::arch::clock();
  const uint64_t second = queue.handle().clock_hz != 0 ? queue.handle().clock_hz : xio::arch::clock_hz;
  // Nothing orders the three reads of the clock.
  return end >= before + second / 2 && end <= after + second / 2 * 3;
}

/// The number of calls in which a kernel's lanes act together, which of them is the caller's, and whether it leads.
template <xio::Sharing S>
struct Caller {
  static constexpr bool alone = S == xio::Sharing::thread;
  uint32_t number;
  uint32_t of;
  bool leads;

  XIO_DEVICE explicit Caller(uint32_t lanes)
      : number(alone ? thread_number() : thread_number() / xio::arch::wave_size()),
        of(alone ? lanes : lanes / xio::arch::wave_size()),
        leads(alone || xio::arch::lane() == 0) {}
};

/// All lanes take part. The pieces from number job.lanes on belong to those who call together, each as many. So do the
/// notifications: those of the lanes, then of their transfers, then of their batches.
template <xio::Sharing S>
XIO_DEVICE void every_call(const NvmeJob& job) {
  using namespace xio;
  nvme::Queue<S, Policy<Notify, Deferred<4>>> queue(own_queue<S>(job));
  Blocks<decltype(queue)> blocks(queue, job, thread_number());
  const Region data{job.bus, uint64_t{job.lanes} * thread_bytes};
  const uint64_t at = blocks.out_bus() - job.bus;
  const Caller<S> caller(job.lanes);
  const uint32_t pieces = (job.count - job.lanes) / caller.of;
  const nvme::Piece* const list = job.pieces + job.lanes + caller.number * pieces;
  Notification& ends = job.notifications[thread_number()];
  Notification& progress = job.notifications[job.lanes + caller.number];
  Notification& batch = job.notifications[2 * job.lanes + caller.number];
  const auto are_told = [&](const Notification& of, uint64_t due, Deadline limit) {
    return poll_until([&] { return arch::observe<arch::Scope::system>(&of.done) >= due; }, limit).is_ok();
  };
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const Deadline limit = blocks.until();
    fill(blocks.out(), blocks.stamp(round), job.words);
    queue.publish_payload();
    const auto tells = Options().notify(ends);
    Token token = queue.write(blocks.lba(round), data.at(at, block_bytes), limit, tells);
    queue.ring();
    Status status = queue.fence(limit);
    uint64_t result = 0;
    bool right = queue.ended(token) && queue.result(token, result) != Status::pending &&
                 queue.slot_of(token) == (token.last & job.queues->slot_mask) && keeps_time(queue);
    count(job.report, first_of({token.status, status}), right, 44);

    hold_in_cache(blocks.out()[block_words - 1], blocks.in()[0]);
    const nvme::ContiguousPages in{blocks.in_bus()};
    const Token both[2] = {queue.try_submit(nvme::read(blocks.lba(round), 1), in, tells),
                           queue.read(blocks.lba(round), data.at(at + block_bytes, block_bytes), limit, tells)};
    uint32_t which = 2;
    status = queue.wait_any(both, 2, limit, which);
    // The other may be under way to the same memory.
    count(job.report, status, which < 2 && queue.ended(both[which]), 45);
    status = queue.wait_all(both, 2, limit);
    right = queue.ended(both[0]) && queue.ended(both[1]) && holds(blocks.in(), blocks.stamp(round), job.words);
    right = right && are_told(ends, 3 * (round + 1), limit);
    count(job.report, status, right, 46);

    token = queue.submit(nvme::read(blocks.lba(round), 1), in, limit);
    status = ask<S>([&] { return queue.test(token); }, limit);
    count(job.report, status, queue.ended(token) && holds(blocks.in(), blocks.stamp(round), job.words), 47);

    token = queue.submit_batch(nvme::Opcode::read, list, pieces, limit, Options().notify(batch));
    status = queue.wait_batch(token, limit);
    right = are_told(batch, uint64_t{pieces} * (round + 1), limit);
    if (caller.leads) count(job.report, status, right, 48);
    status = queue.transfer(nvme::Opcode::read, list, pieces, limit, progress);
    const uint64_t done = arch::load<arch::Scope::system>(&progress.done);
    if (caller.leads) count(job.report, status, done == pieces, 49);

    token = queue.submit(nvme::read(blocks.lba(round), 1), in, limit);
    (void)queue.drain();
    right = queue.errors().count == 0 && queue.flush_inbound(limit) == Status::unsupported;
    status = queue.quiet(limit);
    count(job.report, first_of({token.status, status}), right && queue.ended(token), 50);
    if constexpr (!is_shared<S>) {
      const uint32_t due = S == Sharing::thread ? 1 : arch::wave_size();
      uint32_t ended = 0;
      uint32_t bad = 0;
      token = queue.submit(nvme::read(blocks.lba(round), 1), in, limit);
      queue.ring();
      uint32_t taken = 0;
      const auto take = [&] {
        taken += queue.drain();
        return taken < due ? Status::pending : Status::ok;
      };
      const Status drained = first_of({token.status, ask<S>(take, limit)});
      right = taken == due && queue.ended(token) && queue.slot_of(token) == (token.last & job.queues->slot_mask);
      token = queue.try_submit(nvme::read(blocks.lba(round), 1), in);
      queue.ring();
      const auto look = [&](const nvme::Completion& one) { bad += static_cast<uint32_t>(!one.status().is_ok()); };
      const auto process = [&] {
        ended += queue.process_completions(look);
        return ended < due ? Status::pending : Status::ok;
      };
      status = ask<S>(process, limit);
      count(job.report, first_of({drained, token.status, status}), right && ended == due && bad == 0, 51);
    }
  }
}

/// One command and its wait. It calls functions, so that AMD GPUs keep its return address in scratch memory.
template <xio::Sharing S>
__attribute__((noinline)) XIO_DEVICE xio::Status execute(const xio::nvme::QueueHandle& handle,
                                                         const xio::nvme::Command& command, uint64_t bus,
                                                         uint64_t patience_ns) {
  using namespace xio;
  nvme::Queue<S> queue(handle);
  const Deadline limit = queue.deadline(Duration{patience_ns});
  return queue.wait(queue.submit(command, nvme::ContiguousPages{bus}, limit), limit);
}

template <xio::Sharing S>
XIO_DEVICE void called(const NvmeJob& job) {
  using namespace xio;
  if (thread_number() >= job.lanes) return;
  nvme::Queue<S> queue(own_queue<S>(job));
  Blocks<decltype(queue)> blocks(queue, job, thread_number());
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const uint64_t lba = blocks.lba(round);
    fill(blocks.out(), blocks.stamp(round), job.words);
    queue.publish_payload();
    Status status = execute<S>(own_queue<S>(job), nvme::write(lba, 1), blocks.out_bus(), job.patience_ns);
    count(job.report, status, true, 1);
    const bool written = status.is_ok();
    blocks.out()[block_words - 1] = blocks.in()[0];
    status = execute<S>(own_queue<S>(job), nvme::read(lba, 1), blocks.in_bus(), job.patience_ns);
    count(job.report, status, !written || holds(blocks.in(), blocks.stamp(round), job.words), 2);
  }
}

}  // namespace scenarios
