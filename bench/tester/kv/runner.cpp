// SPDX-License-Identifier: MIT
#include "tester/kv/runner.hpp"

#include <chrono>
#include <utility>

#include <xio/host/simt/simt.hpp>

#include "tester/cli/interrupt.hpp"
#include "tester/cli/progress.hpp"
#include "tester/kv/workload.hpp"

namespace tester {

const char* name_of(KvOperation operation) {
  switch (operation) {
    case KvOperation::store: return "store";
    case KvOperation::retrieve: return "retrieve";
    case KvOperation::exist: return "exist";
    case KvOperation::remove: return "delete";
    case KvOperation::absent: return "absent";
  }
  return "?";
}

KvRunner::KvRunner(const KvOptions& options, const KvPlan& plan, const Target& target, const ExecutorMemory& memory,
                   GpuExecutor* gpu, const std::vector<xio::host::NvmeQueue>& queues, xio::host::DmaBuffer data)
    : options_(options),
      plan_(plan),
      target_(target),
      memory_(memory),
      gpu_(gpu),
      data_(std::move(data)),
      handles_(memory, queues.size()),
      stop_(memory, 1) {
  for (size_t i = 0; i < queues.size(); ++i) handles_[i] = queues[i].handle();
}

void KvRunner::prepare_lanes() {
  const size_t count = size_t{plan_.lanes_per_queue()} * handles_.size();
  lanes_ = MirroredArray<KvLane>(memory_, count);
  latencies_ = MirroredArray<Latency>(memory_, count);
  progress_ = SharedArray<uint64_t>(memory_, count);
  for (size_t i = 0; i < count; ++i) {
    lanes_[i].number = i;
    lanes_[i].latency = latencies_.executor() + i;
    lanes_[i].progress = progress_.executor() + i;
  }
}

KvPhase KvRunner::describe(KvOperation operation) const {
  KvPhase phase;
  phase.queues = handles_.executor();
  phase.lanes = lanes_.executor();
  phase.lanes_per_queue = plan_.lanes_per_queue();
  phase.operation = operation;
  phase.content = plan_.content;
  phase.operations = options_.keys;
  phase.stride = lanes_.size();
  phase.deadline_ticks = uint64_t{options_.deadline_ms} * (memory_.clock_hz() / 1000);
  phase.check = operation == KvOperation::retrieve && options_.verify;
  phase.values = data_.region();
  phase.data = static_cast<uint8_t*>(memory_.address(data_.data()));
  phase.buffer_bytes = plan_.buffer_bytes;
  // A GPU cannot access the word that signal handlers set.
  phase.stop = gpu_ != nullptr ? stop_.executor() : Interrupt::word();
  return phase;
}

uint64_t KvRunner::done() const {
  uint64_t sum = 0;
  for (const uint64_t& lane : progress_) sum += xio::arch::load<xio::arch::Scope::system>(&lane);
  return sum;
}

void KvRunner::execute(const KvPhase& phase) {
  const auto queues = static_cast<uint32_t>(handles_.size());
  if (gpu_ == nullptr) {
    xio::simt::Grid grid = xio::simt::Grid::of_waves(queues, plan_.waves, plan_.wave_size);
    grid.resident_waves = queues * plan_.waves;  // all queues run concurrently
    grid.spin = plan_.spin;
    xio::simt::launch(grid, [](const KvPhase& one) { kv_workload(one); }, phase);
    return;
  }
  handles_.push();
  latencies_.push();
  lanes_.push();
  const auto ask = [this] { xio::arch::store<xio::arch::Scope::system>(&stop_[0], *Interrupt::word()); };
  gpu_->run(
      "kv_grid", phase, queues, plan_.lanes_per_queue(), std::chrono::milliseconds(options_.deadline_ms),
      [this] { return done(); }, ask);
  latencies_.pull();
  lanes_.pull();
}

KvResult KvRunner::run(KvOperation operation) {
  KvResult result;
  result.operation = operation;
  result.asked = options_.keys;
  prepare_lanes();
  const KvPhase phase = describe(operation);
  result.verified = phase.check;
  const SeenDoorbells seen = target_.seen_doorbells();
  const xio::arch::OperationCounts counts = xio::arch::operation_counts;
  const Usage usage = Usage::now();
  {
    const Progress progress(name_of(operation), options_.keys, [this] { return done(); }, options_.progress);
    execute(phase);
  }
  result.usage = Usage::now().since(usage);
  result.counts = xio::arch::operation_counts - counts;
  result.counted = gpu_ == nullptr;
  const SeenDoorbells seen_after = target_.seen_doorbells();
  result.seen_rings = seen_after.sq - seen.sq + seen_after.cq - seen.cq;
  collect(result);
  return result;
}

void KvRunner::collect(KvResult& result) const {
  LaneSum sum(result, 1e9 / static_cast<double>(memory_.clock_hz()));
  for (const KvLane& lane : lanes_) {
    sum.add(lane, latencies_[lane.number]);
    result.bytes += lane.bytes;
    result.sq_rings += lane.sq_rings;
    result.cq_rings += lane.cq_rings;
    if (lane.wrong_count != 0) result.wrong.push_back(lane.wrong);
  }
  result.seconds = sum.seconds();
}

}  // namespace tester
