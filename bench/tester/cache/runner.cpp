// SPDX-License-Identifier: MIT
#include "tester/cache/runner.hpp"

#include <chrono>

#include <xio/host/simt/simt.hpp>

#include "tester/cache/workload.hpp"
#include "tester/cli/interrupt.hpp"
#include "tester/cli/progress.hpp"

namespace tester {

namespace {

xio::CacheCounts since(const xio::CacheCounts& now, const xio::CacheCounts& then) {
  return {now.misses - then.misses,           now.evictions - then.evictions,       now.write_backs - then.write_backs,
          now.read_errors - then.read_errors, now.write_errors - then.write_errors, now.stuck - then.stuck};
}

}  // namespace

const char* name_of(CacheOperation operation) {
  switch (operation) {
    case CacheOperation::put: return "put";
    case CacheOperation::flush: return "flush";
    case CacheOperation::get: return "get";
  }
  return "?";
}

CacheRunner::CacheRunner(const TesterCacheOptions& options, const CachePlan& plan, const Targets& targets,
                         const ExecutorMemory& memory, GpuExecutor* gpu, const xio::host::NvmeCache& cache)
    : options_(options),
      plan_(plan),
      targets_(addresses_of(targets)),
      memory_(memory),
      gpu_(gpu),
      cache_(cache),
      stop_(memory, 1) {}

uint64_t CacheRunner::asked(CacheOperation operation) const {
  switch (operation) {
    case CacheOperation::put: return plan_.content.elements;
    case CacheOperation::flush: return 1;
    case CacheOperation::get: return options_.gets;
  }
  return 0;
}

void CacheRunner::prepare_lanes() {
  const size_t count = size_t{plan_.waves} * plan_.wave_size;
  lanes_ = MirroredArray<CacheLane>(memory_, count);
  latencies_ = MirroredArray<Latency>(memory_, count);
  progress_ = SharedArray<uint64_t>(memory_, count);
  for (size_t i = 0; i < count; ++i) {
    lanes_[i].number = i;
    lanes_[i].latency = latencies_.executor() + i;
    lanes_[i].progress = progress_.executor() + i;
  }
}

CachePhase CacheRunner::describe(CacheOperation operation) const {
  CachePhase phase;
  phase.cache = cache_.handle();
  phase.lanes = lanes_.executor();
  phase.wave_size = plan_.wave_size;
  phase.operation = operation;
  phase.content = plan_.content;
  phase.operations = asked(operation);
  phase.stride = lanes_.size();
  phase.deadline_ticks = uint64_t{options_.deadline_ms} * (memory_.clock_hz() / 1000);
  phase.check = operation == CacheOperation::get && options_.verify;
  // A GPU cannot access the word that signal handlers set.
  phase.stop = gpu_ != nullptr ? stop_.executor() : Interrupt::word();
  return phase;
}

uint64_t CacheRunner::done() const {
  uint64_t sum = 0;
  for (const uint64_t& lane : progress_) sum += xio::arch::load<xio::arch::Scope::system>(&lane);
  return sum;
}

void CacheRunner::execute(const CachePhase& phase) {
  if (gpu_ == nullptr) {
    xio::simt::Grid grid = xio::simt::Grid::of_waves(1, plan_.waves, plan_.wave_size);
    grid.resident_waves = plan_.waves;
    grid.spin = plan_.spin;
    xio::simt::launch(grid, [](const CachePhase& one) { cache_workload(one); }, phase);
    return;
  }
  latencies_.push();
  lanes_.push();
  const auto ask = [this] { xio::arch::store<xio::arch::Scope::system>(&stop_[0], *Interrupt::word()); };
  gpu_->run(
      "cache_grid", phase, 1, plan_.waves * plan_.wave_size, std::chrono::milliseconds(options_.deadline_ms),
      [this] { return done(); }, ask);
  latencies_.pull();
  lanes_.pull();
}

CacheResult CacheRunner::run(CacheOperation operation) {
  CacheResult result;
  result.operation = operation;
  result.asked = asked(operation);
  result.page_bytes = options_.page_bytes;
  prepare_lanes();
  const CachePhase phase = describe(operation);
  result.verified = phase.check;
  const SeenDoorbells seen = seen_doorbells(targets_);
  const xio::CacheCounts cached = cache_.counts();
  const xio::arch::OperationCounts counts = xio::arch::operation_counts;
  const Usage usage = Usage::now();
  {
    const Progress progress(name_of(operation), result.asked, [this] { return done(); }, options_.progress);
    execute(phase);
  }
  result.usage = Usage::now().since(usage);
  result.counts = xio::arch::operation_counts - counts;
  result.counted = gpu_ == nullptr;
  result.cache = since(cache_.counts(), cached);
  const SeenDoorbells seen_after = seen_doorbells(targets_);
  result.seen_rings = seen_after.sq - seen.sq + seen_after.cq - seen.cq;
  collect(result);
  return result;
}

void CacheRunner::collect(CacheResult& result) const {
  LaneSum sum(result, 1e9 / static_cast<double>(memory_.clock_hz()));
  for (const CacheLane& lane : lanes_) {
    sum.add(lane, latencies_[lane.number]);
    result.sq_rings += lane.sq_rings;
    result.cq_rings += lane.cq_rings;
    if (lane.wrong_count != 0) result.wrong.push_back(lane.wrong);
  }
  result.seconds = sum.seconds();
}

}  // namespace tester
