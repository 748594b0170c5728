// SPDX-License-Identifier: MIT
#include "tester/rdma_runner.hpp"

#include <algorithm>

#include <xio/host/text.hpp>

#include "tester/interrupt.hpp"
#include "tester/operation_counts.hpp"
#include "tester/progress.hpp"

namespace tester {

namespace {

constexpr uint32_t wrong_room = 64;  // that a lane remembers
constexpr size_t most_texts = 32;
constexpr double tick_ns = 1e9 / static_cast<double>(xio::arch::clock_hz);

void add(std::vector<RdmaStatusCount>& all, const RdmaStatusCount& one) {
  for (RdmaStatusCount& known : all) {
    if (known.status != one.status) continue;
    known.count += one.count;
    known.first = std::min(known.first, one.first);
    return;
  }
  all.push_back(one);
}

void add(xio::arch::OperationCounts& all, const xio::arch::OperationCounts& more) {
  all.entry_stores += more.entry_stores;
  all.releases += more.releases;
  all.acquires += more.acquires;
  all.full_fences += more.full_fences;
  all.atomics += more.atomics;
  all.mmio_stores += more.mmio_stores;
}

}  // namespace

RdmaRunner::RdmaRunner(const RdmaOptions& options, const RdmaPlan& plan, bool repeat, RdmaLink& link)
    : options_(options), plan_(plan), link_(link) {
  const size_t queues = options.num_queues;
  slots_ = ZeroedArray<RdmaSlot>(queues * plan.depth);
  lanes_.resize(queues);
  phase_.lanes = lanes_.data();
  phase_.verb = options.verb;
  phase_.immediate = options.write_imm;
  phase_.inline_data = plan.inline_data;
  phase_.repeat = repeat;
  phase_.check = options.verify;
  phase_.bytes = plan.bytes;
  phase_.batch = plan.batch;
  phase_.depth = plan.depth;
  phase_.operations = options.iterations;
  phase_.stride = queues;
  phase_.place_bytes = plan.place_bytes;
  phase_.deadline_ticks = uint64_t{options.deadline_ms} * (xio::arch::clock_hz / 1000);
  phase_.stop = Interrupt::word();
}

void RdmaRunner::prepare() {
  latencies_ = ZeroedArray<Latency>(lanes_.size());
  wrong_ = ZeroedArray<RdmaWrong>(lanes_.size() * wrong_room);
  for (uint32_t i = 0; i < lanes_.size(); ++i) {
    RdmaLane& lane = lanes_[i] = RdmaLane{};
    lane.queue = link_.queue(i);
    lane.receives = link_.receives(i);
    lane.slots = &slots_[size_t{i} * plan_.depth];
    lane.offset = plan_.place_bytes * plan_.depth * i;
    lane.number = i;
    lane.latency = &latencies_[i];
    lane.wrong = &wrong_[i * wrong_room];
    lane.wrong_room = wrong_room;
    if (options_.verb == RdmaVerb::fetch_add)
      std::fill_n(phase_.far + lane.offset, xio::rdma::atomic_bytes, uint8_t{0});
  }
}

void RdmaRunner::run(RdmaResult& result) {
  const uint64_t seed = options_.seed + runs_;
  phase_.content = options_.lfsr_seed ? BlockContent::lfsr(*options_.lfsr_seed + runs_) : BlockContent::hashed(seed);
  ++runs_;
  prepare();
  if (phase_.repeat && options_.duration > 0)
    phase_.end_tick =
        xio::arch::clock() + static_cast<uint64_t>(options_.duration * static_cast<double>(xio::arch::clock_hz));
  const xio::arch::OperationCounts counts = xio::arch::operation_counts;
  const Usage usage = Usage::now();
  {
    const auto done = [this] {
      uint64_t sum = 0;
      for (const RdmaLane& lane : lanes_) sum += xio::arch::load<xio::arch::Scope::system>(&lane.progress);
      return sum;
    };
    const Progress progress("operations", phase_.repeat ? 0 : phase_.operations, done, options_.progress);
    link_.run(phase_);
  }
  const Usage used = Usage::now().since(usage);
  result.usage.user += used.user;
  result.usage.system += used.system;
  add(result.counts, difference(xio::arch::operation_counts, counts));
  collect(result, seed);
}

void RdmaRunner::collect(RdmaResult& result, uint64_t seed) const {
  RdmaRun one;
  one.seed = seed;
  uint64_t began = ~uint64_t{0};
  uint64_t ended = 0;
  for (const RdmaLane& lane : lanes_) {
    result.submitted += lane.submitted;
    result.failed += lane.failed;
    result.batches += lane.batches;
    result.received += lane.received;
    result.checked += lane.checked;
    result.wrong_count += lane.wrong_count;
    result.doorbells += lane.doorbells;
    result.gave_up = result.gave_up || lane.gave_up != 0;
    one.completed += lane.completed;
    for (uint32_t i = 0; i < lane.statuses_used; ++i) add(result.statuses, lane.statuses[i]);
    const uint64_t kept = std::min<uint64_t>(lane.wrong_count, lane.wrong_room);
    for (uint64_t i = 0; i < kept && result.wrong.size() < most_texts; ++i)
      result.wrong.push_back(describe(lane.wrong[i], phase_.content));
    result.latency.add(*lane.latency, tick_ns);
    if (lane.submitted == 0) continue;
    began = std::min(began, lane.began);
    ended = std::max(ended, lane.ended);
  }
  one.seconds = ended > began ? static_cast<double>(ended - began) * tick_ns * 1e-9 : 0;
  if (one.seconds > 0) {
    one.per_second = static_cast<double>(one.completed) / one.seconds;
    one.megabytes_per_second = one.per_second * plan_.bytes / 1e6;
  }
  result.completed += one.completed;
  result.seconds += one.seconds;
  result.runs.push_back(one);
  result.seen = link_.seen();
}

void RdmaMemory::add_to(RdmaLink& link, const RdmaPlan& plan, RdmaPhase& phase) const {
  std::fill_n(far.data(), plan.side_bytes, rdma_untouched);
  std::fill_n(near.data(), plan.side_bytes, rdma_untouched);
  phase.near = near.data();
  phase.far = far.data();
  phase.local = {reinterpret_cast<uint64_t>(near.data()), plan.side_bytes,
                 link.add_memory(near.data(), plan.side_bytes)};
  const uint32_t key = link.add_memory(far.data(), plan.side_bytes);
  phase.remote = {reinterpret_cast<uint64_t>(far.data()), plan.side_bytes, key};
  phase.receiving = {phase.remote.base, plan.side_bytes, key};
}

RdmaResult measure(const RdmaOptions& options, const RdmaProvider& provider, const RdmaPlan& plan, bool last) {
  RdmaResult result;
  result.plan = plan;
  result.repeated = options.duration > 0 || (options.infinite && last);
  const RdmaMemory memory(plan);
  const std::unique_ptr<RdmaLink> link = provider.open_emulated(plan.shape);
  RdmaRunner runner(options, plan, result.repeated, *link);
  memory.add_to(*link, plan, runner.phase());
  link->start();
  for (uint32_t i = 0; i < options.runs; ++i) {
    runner.run(result);
    if (result.failed != 0 || Interrupt::requested()) break;
  }
  return result;
}

std::string describe(const RdmaWrong& wrong, const BlockContent& content) {
  const std::string operation = "operation " + std::to_string(wrong.number);
  const auto instead = [&](const char* what) {
    return operation + ": " + what + " " + xio::host::to_hex(wrong.found[0]) + " instead of " +
           xio::host::to_hex(wrong.found[1]);
  };
  switch (wrong.kind) {
    case RdmaFaultKind::immediate: return instead("immediate data");
    case RdmaFaultKind::length: return instead("a message of length");
    case RdmaFaultKind::sum: return instead("the sum was");
    case RdmaFaultKind::behind:
      return operation + ": what lies behind the data changed, at byte " + std::to_string(wrong.offset);
    case RdmaFaultKind::content: break;
  }
  if (wrong.offset == 0 && !content.is_lfsr()) {
    const uint64_t holder = xio::pattern::address_of(content.seed(), wrong.found[0], 0);
    if (content.word(holder, 1) == wrong.found[1])
      return operation + " holds the data of operation " + std::to_string(holder);
  }
  return operation + " holds something else, from byte " + std::to_string(wrong.offset) + " on";
}

}  // namespace tester
