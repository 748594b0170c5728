// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The kernel that works for a job of fio: each wave submits what the host posts in its ring, and answers what
/// ends.

#include <xio/nvme.hpp>

#include "fio/ring.hpp"

namespace fio {

/// The wave's stores are entries alone, in host memory: nothing is left in a cache. The host knows which slots are
/// free.
template <class Doorbell>
using RingsEach = xio::Policy<xio::Unchecked, xio::WriteThrough, xio::RingBy<Doorbell>>;
/// Short waves take what is there in several pieces, and ring once for them.
template <class Doorbell>
using RingsOnce = xio::Policy<RingsEach<Doorbell>, xio::Deferred<1u << 30>>;
template <class Doorbell>
using ServedQueue =
    xio::nvme::Queue<xio::Sharing::wave, typename xio::Choose<(xio::arch::wave_size() > 32), RingsEach<Doorbell>,
                                                              RingsOnce<Doorbell>>::type>;
using Wave = xio::Group<xio::Sharing::wave>;

/// Loads what the lane's command differs in from others, and submits it. Returns why not: Status::pack(), else 0.
template <class Queue>
XIO_DEVICE_INLINE uint32_t submit_one(Queue& queue, const Descriptor* from) {
  constexpr xio::arch::Scope system = xio::arch::Scope::system;
  const auto* const words = reinterpret_cast<const uint64_t*>(from);
  const uint64_t address = xio::arch::load<system>(words);
  const uint64_t bus = xio::arch::load<system>(words + 1);
  const uint64_t kind = xio::arch::load<system>(words + 2);
  const uint64_t size = xio::arch::load<system>(words + 3);
  xio::nvme::Command command;
  command.cdw0 = static_cast<uint32_t>(kind);
  command.cdw10 = static_cast<uint32_t>(address);
  command.cdw11 = static_cast<uint32_t>(address >> 32);
  command.cdw12 = static_cast<uint32_t>(kind >> 32);
  command.data = static_cast<uint32_t>(size);
  // Without waiting: what a wait takes of completions has no answer.
  return queue.try_submit(command, xio::nvme::ContiguousPages{bus}).status.pack();
}

/// Runs in blocks of one wave, all of whose lanes call; until the host ends it, or nothing has happened for
/// RingJob::patience, or the queue refuses a command.
/// @param jobs   that of the wave by the number of its block
/// @param launch number of this launch, from 1
template <class Doorbell>
XIO_DEVICE_INLINE void serve(const RingJob* jobs, uint64_t launch) {
  namespace arch = xio::arch;
  // Long waves load members again, from the scalar cache, where short ones hold them: the budgets of
  // tests/fio/ring.cpp.
  typename xio::Choose<(arch::wave_size() > 32), const RingJob&, const RingJob>::type job =
      *arch::unchanging<RingJob>(reinterpret_cast<uint64_t>(jobs + arch::block_index()));
  constexpr arch::Scope system = arch::Scope::system;
  using Queue = ServedQueue<Doorbell>;
  const Wave wave(arch::together(0));
  const uint32_t lanes = arch::wave_size();
  const uint32_t lane = arch::lane();
  const uint64_t answers_mask = (uint64_t{1} << job.answers_shift) - 1;
  Queue queue(job.queue);
  uint64_t taken = job.progress->taken;
  uint64_t given = job.progress->given;
  xio::Deadline until{0};
  uint32_t refusal = 0;
  for (uint32_t idle = 0;;) {
    // 1. All that is there: one doorbell.
    const uint64_t posted = wave.from_leader(arch::load<system>(job.posted));
    if (XIO_UNLIKELY((posted & Posted::abandons) != 0)) break;
    bool quiet = true;
    if (Posted::number(posted) != taken) {
      arch::order_loads<system>();  // order: the number before the commands
      wave.converge();              // only the leader has seen it
      uint64_t left = Posted::number(posted) - taken;
      do {
        const uint32_t count = left < lanes ? static_cast<uint32_t>(left) : lanes;
        if (lane < count) {
          Queue part(job.queue, ~uint64_t{0} >> (64 - count));
          refusal |= submit_one(part, &job.commands[(taken + lane) & job.commands_mask]);
        }
        wave.converge();
        taken += count;
        left -= count;
      } while (left != 0);
      queue.ring();
      if (XIO_UNLIKELY(wave.any(refusal != 0))) break;
      quiet = false;
    }

    // 2. All that has ended, lanes side by side. Meanwhile the host posts more, to be submitted together.
    for (;;) {
      xio::nvme::Completion mine{};
      bool has_one = false;
      queue.process_completions(
          [&](const xio::nvme::Completion& completion) XIO_INLINE_LAMBDA {
            mine = completion;
            has_one = true;
          },
          1);
      const uint64_t takers = wave.members(has_one);
      const uint32_t count = arch::count_lanes(takers);
      if (count == 0) break;
      const uint64_t place = given + Wave::rank_in(takers);
      if (has_one)
        arch::store<system>(&job.answers[place & answers_mask],
                            Answer::pack(place, job.answers_shift, mine.slot, mine.status_field));
      given += count;
      quiet = false;
    }

    // 3. Nothing was there.
    if (!quiet) {
      idle = 0;
      continue;
    }
    if ((posted & Posted::ends) != 0 && given == taken) break;
    if (idle == 0) until = queue.deadline(job.patience);
    // bound: looks in vain
    if (++idle % arch::looks_per_clock == 0 && !wave.any(!until.passed())) break;
    arch::pause(idle);
  }
  const uint64_t refused = wave.members(refusal != 0);
  if (refused != 0) {
    refusal = wave.from_lane(refusal, arch::first_lane(refused));
    if (wave.leads()) arch::store<system>(&job.report->refusal, refusal);
  }
  if (wave.leads()) {
    job.progress->taken = taken;
    job.progress->given = given;
    arch::publish<system>(&job.report->left, launch);  // order: refusal before the end
  }
}

}  // namespace fio
