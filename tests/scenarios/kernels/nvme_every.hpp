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

/// All lanes take part. The pieces from number job.lanes on belong to those who call together, each as many.
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
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const Deadline limit = blocks.until();
    fill(blocks.out(), blocks.stamp(round), job.words);
    queue.publish_payload();
    Token token = queue.write(blocks.lba(round), data.at(at, block_bytes), limit);
    queue.ring();
    Status status = queue.fence(limit);
    uint64_t result = 0;
    bool right = queue.ended(token) && queue.result(token, result) != Status::pending &&
                 queue.slot_of(token) == (token.last & queue.handle().slot_mask);
    count(job.report, first_of({token.status, status}), right, 44);

    hold_in_cache(blocks.out()[block_words - 1], blocks.in()[0]);
    const nvme::ContiguousPages in{blocks.in_bus()};
    const Token both[2] = {queue.try_submit(nvme::read(blocks.lba(round), 1), in),
                           queue.read(blocks.lba(round), data.at(at + block_bytes, block_bytes), limit)};
    uint32_t which = 2;
    status = queue.wait_any(both, 2, limit, which);
    count(job.report, status, which < 2, 45);  // the other may be under way to the same memory
    status = queue.wait_all(both, 2, limit);
    count(job.report, status, holds(blocks.in(), blocks.stamp(round), job.words), 46);

    token = queue.submit(nvme::read(blocks.lba(round), 1), in, limit);
    status = ask<S>([&] { return queue.test(token); }, limit);
    count(job.report, status, holds(blocks.in(), blocks.stamp(round), job.words), 47);

    token = queue.submit_batch(nvme::Opcode::read, list, pieces, limit);
    status = queue.wait_batch(token, limit);
    if (caller.leads) count(job.report, status, true, 48);
    Notification& progress = job.notifications[caller.number];
    status = queue.transfer(nvme::Opcode::read, list, pieces, limit, progress);
    const uint64_t done = arch::load<arch::Scope::system>(&progress.done);
    if (caller.leads) count(job.report, status, done == pieces, 49);

    (void)queue.drain();
    right = queue.errors().count == 0 && queue.flush_inbound(limit) == Status::unsupported;
    count(job.report, queue.quiet(limit), right, 50);
    if constexpr (!is_shared<S>) {
      const uint32_t due = S == Sharing::thread ? 1 : arch::wave_size();
      uint32_t ended = 0;
      uint32_t bad = 0;
      token = queue.try_submit(nvme::read(blocks.lba(round), 1), in);
      queue.ring();
      const auto look = [&](const nvme::Completion& one) { bad += static_cast<uint32_t>(!one.status().is_ok()); };
      const auto process = [&] {
        ended += queue.process_completions(look);
        return ended < due ? Status::pending : Status::ok;
      };
      status = ask<S>(process, limit);
      count(job.report, first_of({token.status, status}), ended == due && bad == 0, 51);
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
