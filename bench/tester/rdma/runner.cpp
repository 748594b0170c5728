// SPDX-License-Identifier: MIT
#include "tester/rdma/runner.hpp"

#include <algorithm>

#include <xio/host/memory/placement.hpp>
#include <xio/host/text.hpp>

#include "tester/cli/errors.hpp"
#include "tester/cli/interrupt.hpp"
#include "tester/cli/progress.hpp"
#include "tester/rdma/check.hpp"

namespace tester {

namespace {

constexpr uint32_t wrong_room = 64;  // wrong data that a lane records
constexpr size_t most_texts = 32;

}  // namespace

RdmaRunner::RdmaRunner(const RdmaOptions& options, const RdmaPlan& plan, bool repeat, RdmaLink& link,
                       const RdmaMemory& memory)
    : options_(options),
      plan_(plan),
      link_(link),
      memory_(memory),
      tick_ns_(1e9 / static_cast<double>(memory.executor.clock_hz())),
      queues_(memory.executor, driven_queues(options)),
      receivers_(memory.executor, options.num_queues),
      slots_(memory.executor, size_t{driven_queues(options)} * plan.lanes * std::max(plan.window, plan.receives)),
      lanes_(memory.executor, size_t{driven_queues(options)} * plan.lanes),
      progress_(memory.executor, lanes_.size()),
      stop_(memory.executor, 1) {
  memory.add_to(link, plan, phase_);
  phase_.queues = queues_.executor();
  phase_.receivers = receivers_.executor();
  phase_.lanes = lanes_.executor();
  phase_.lanes_per_queue = plan.lanes;
  phase_.side = side_of(options.role);
  phase_.verb = options.verb;
  phase_.ping_pong = options.ping_pong;
  phase_.immediate = options.write_imm;
  phase_.inline_data = plan.inline_data;
  phase_.repeat = repeat;
  phase_.check = options.verify;
  phase_.coarse_timing = options.less_timing;
  phase_.time_steps = options.substep_timing;
  phase_.bytes = plan.bytes;
  phase_.batch = plan.lane_batch;
  phase_.depth = plan.window;
  phase_.notices = plan.notices;
  phase_.receives = plan.receives;
  phase_.far_places = plan.far_places;
  phase_.near_credits = plan.near_credits;
  phase_.far_credits = plan.far_credits;
  phase_.operations = options.iterations;
  phase_.stride = options.num_queues * plan.lanes;
  phase_.place_bytes = plan.place_bytes;
  phase_.deadline_ticks = uint64_t{options.deadline_ms} * (memory.executor.clock_hz() / 1000);
  if (repeat && options.duration > 0)
    phase_.duration_ticks = static_cast<uint64_t>(options.duration * static_cast<double>(memory.executor.clock_hz()));
  // A GPU cannot access the word that signal handlers set.
  phase_.stop = options.executes ? stop_.executor() : Interrupt::word();
}

void RdmaRunner::prepare() {
  const uint64_t seed = options_.seed + runs_;
  phase_.content = options_.lfsr_seed ? BlockContent::lfsr(*options_.lfsr_seed + runs_) : BlockContent::hashed(seed);
  ++runs_;
  latencies_ = MirroredArray<Latency>(memory_.executor, lanes_.size());
  wrong_ = MirroredArray<RdmaWrong>(memory_.executor, lanes_.size() * wrong_room);
  for (uint32_t i = 0; i < queues_.size(); ++i) queues_[i] = link_.queue(i);
  for (uint32_t i = 0; i < receivers_.size(); ++i) receivers_[i] = link_.receives(i);
  const uint32_t requesters = options_.num_queues * plan_.lanes;
  for (uint32_t i = 0; i < lanes_.size(); ++i) {
    RdmaLane& lane = lanes_[i];
    progress_[i] = 0;
    // Receives left over from a run are used by the next one.
    const uint64_t messages = lane.messages;
    const uint64_t taken = lane.taken;
    lane = RdmaLane{};
    lane.messages = messages;
    lane.taken = taken;
    lane.slots = slots_.executor() + size_t{i} * std::max(plan_.window, plan_.receives);
    lane.number = i % requesters;
    lane.offset = plan_.place_bytes * plan_.window * lane.number;
    lane.far_offset = plan_.place_bytes * plan_.far_places * lane.number;
    lane.responds = i >= requesters || phase_.side == RdmaSide::responder;
    if (lanes_.size() != requesters) lane.partner = lanes_.executor() + (i + requesters) % lanes_.size();
    lane.latency = latencies_.executor() + i;
    lane.wrong = wrong_.executor() + size_t{i} * wrong_room;
    lane.wrong_room = wrong_room;
    lane.progress = progress_.executor() + i;
    if (phase_.side != RdmaSide::requester) fill_places(lane);
  }
}

/// Fills the other side's memory with the values that operations expect.
void RdmaRunner::fill_places(const RdmaLane& lane) const {
  if (options_.verb == RdmaVerb::fetch_add)
    std::fill_n(memory_.far.data() + lane.far_offset, xio::rdma::atomic_bytes, uint8_t{0});
  // In one process, the data of each read is stored before it.
  if (phase_.side != RdmaSide::responder || options_.verb != RdmaVerb::read || !phase_.check) return;
  for (uint64_t i = 0; i < plan_.far_places; ++i) {
    uint8_t* const place = memory_.far.data() + lane.far_offset + i * plan_.place_bytes;
    fill_message(phase_.content, place, lane.number + i * phase_.stride, phase_.bytes);
    std::fill_n(place + phase_.bytes, plan_.place_bytes - phase_.bytes, rdma_untouched);
  }
}

std::vector<RdmaTotals> RdmaRunner::totals() const {
  std::vector<RdmaTotals> all;
  for (const RdmaLane& lane : lanes_) all.push_back({lane.completed, lane.failed, lane.sum});
  return all;
}

void RdmaRunner::run_on_gpu(const std::function<uint64_t()>& done) const {
  queues_.push();
  receivers_.push();
  slots_.push();
  latencies_.push();
  lanes_.push();
  const auto ask = [this] { xio::arch::store<xio::arch::Scope::system>(&stop_[0], *Interrupt::word()); };
  const std::string kernel = "rdma_" + options_.provider +
                             (options_.ping_pong ? "_ping_pong"
                              : plan_.lanes == 1 ? "_thread"
                                                 : "_grid");
  options_.executes->run(kernel, phase_, static_cast<uint32_t>(queues_.size()), plan_.lanes,
                         std::chrono::milliseconds(options_.deadline_ms), done, ask);
  latencies_.pull();
  wrong_.pull();
  lanes_.pull();
}

void RdmaRunner::execute(RdmaResult& result, const std::function<void()>& wait_for_requester) {
  const xio::arch::OperationCounts counts = xio::arch::operation_counts;
  const Usage usage = Usage::now();
  {
    const auto done = [this] {
      uint64_t sum = 0;
      for (const uint64_t& lane : progress_) sum += xio::arch::load<xio::arch::Scope::system>(&lane);
      return sum;
    };
    const Progress progress("operations", phase_.repeat ? 0 : phase_.operations, done, options_.progress);
    if (phase_.side == RdmaSide::responder && phase_.receives == 0 && !phase_.ping_pong) wait_for_requester();
    if (options_.executes)
      run_on_gpu(done);
    else
      link_.run(phase_);
  }
  const Usage used = Usage::now().since(usage);
  result.usage.user += used.user;
  result.usage.system += used.system;
  result.counts += xio::arch::operation_counts - counts;
  result.counted = !options_.executes;
  collect(result);
}

void RdmaRunner::collect(RdmaResult& result) const {
  LaneSum sum(result, tick_ns_);
  for (size_t i = 0; i < lanes_.size(); ++i) {
    const RdmaLane& lane = lanes_[i];
    sum.add_steps(lane);
    sum.add(lane, latencies_[i]);
    result.batches += lane.batches;
    result.received += lane.received;
    result.doorbells += lane.doorbells;
    const uint64_t kept = std::min<uint64_t>(lane.wrong_count, lane.wrong_room);
    for (uint64_t k = 0; k < kept && result.wrong.size() < most_texts; ++k)
      result.wrong.push_back(describe(wrong_[i * wrong_room + k], phase_.content));
  }
  RdmaRun one;
  one.seed = options_.seed + runs_ - 1;
  one.completed = sum.completed();
  one.seconds = sum.seconds();
  if (one.seconds > 0) {
    one.per_second = static_cast<double>(one.completed) / one.seconds;
    one.megabytes_per_second = one.per_second * plan_.bytes / 1e6;
  }
  result.seconds += one.seconds;
  result.runs.push_back(one);
  result.seen = link_.seen();
}

RdmaData::RdmaData(uint64_t bytes, const ExecutorMemory& executor, const std::shared_ptr<xio::host::GpuRuntime>& gpu)
    : host_(gpu || executor.gpu() ? 0 : bytes), in_gpu_(gpu != nullptr), on_gpu_(executor.gpu() != nullptr) {
  if (bytes == 0) return;
  if (gpu) {
    placed_ =
        xio::host::allocate_for(xio::host::MemoryAllocator(gpu), xio::memory_mode::data, xio::memory_mode::data, bytes);
    if (placed_.cpu() == nullptr)
      throw CannotRun(std::string("--memory-mode 8: the CPU cannot access this GPU's memory, and ") +
                      (on_gpu_ ? "it emulates the NIC" : "--executor host needs it to"));
  } else if (on_gpu_) {
    placed_ = xio::host::MemoryAllocator(executor.gpu()).allocate(xio::host::MemoryKind::host_coherent, bytes);
  }
}

void RdmaMemory::add_to(RdmaLink& link, const RdmaPlan& plan, RdmaPhase& phase) const {
  RdmaKeys near_keys;
  phase.near = near.executor();
  phase.far = far.executor();
  if (near.data() != nullptr) {
    std::fill_n(near.data(), plan.near_credits, rdma_untouched);
    near_keys = near.add_to(link, plan.near_bytes);
    phase.local = {reinterpret_cast<uint64_t>(near.data()), plan.near_bytes, near_keys.local};
  }
  if (far.data() != nullptr) {
    std::fill_n(far.data(), plan.far_credits, rdma_untouched);
    const RdmaKeys keys = far.add_to(link, plan.far_bytes);
    phase.receiving = {reinterpret_cast<uint64_t>(far.data()), plan.far_bytes, keys.local};
    phase.remote = {phase.receiving.base, plan.far_bytes, keys.remote, keys.atomics};
    phase.returning = {phase.local.base, plan.near_bytes, near_keys.remote, near_keys.atomics};
  } else {
    phase.remote = {phase.local.base, plan.near_bytes, near_keys.remote, near_keys.atomics};
  }
}

RdmaMemory memory_for(const RdmaOptions& options, const RdmaPlan& plan) {
  const ExecutorMemory executor(options.executes ? options.executes->gpu() : nullptr);
  return RdmaMemory(plan, side_of(options.role), executor, options.gpu);
}

RdmaSide side_of(RdmaRole role) {
  return role == RdmaRole::server   ? RdmaSide::responder
         : role == RdmaRole::client ? RdmaSide::requester
                                    : RdmaSide::both;
}

RdmaMeasurement::RdmaMeasurement(const RdmaOptions& options, const RdmaProvider& provider, const RdmaPlan& plan,
                                 bool last)
    : memory_(memory_for(options, plan)),
      link_(provider.open(plan.shape, memory_.executor)),
      repeat_(options.duration > 0 || (options.infinite && last)),
      runner_(options, plan, repeat_, *link_, memory_) {
  result_.plan = plan;
  result_.repeated = repeat_;
}

bool RdmaMeasurement::run() {
  if (!started_) link_->start();
  started_ = true;
  runner_.run(result_);
  return result_.failed == 0 && !Interrupt::requested();
}

void RdmaMeasurement::pause() {
  link_->stop();
  started_ = false;
}

RdmaResult measure(const RdmaOptions& options, const RdmaProvider& provider, const RdmaPlan& plan, bool last) {
  RdmaMeasurement measurement(options, provider, plan, last);
  for (uint32_t i = 0; i < options.runs; ++i)
    if (!measurement.run()) break;
  return measurement.result();
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
      return operation + ": memory after the data changed, at byte " + std::to_string(wrong.offset);
    case RdmaFaultKind::content: break;
  }
  if (wrong.offset == 0 && !content.is_lfsr()) {
    const uint64_t holder = xio::pattern::address_of(content.seed(), wrong.found[0], 0);
    if (content.word(holder, 1) == wrong.found[1])
      return operation + " holds the data of operation " + std::to_string(holder);
  }
  return operation + " holds unexpected data from byte " + std::to_string(wrong.offset) + " on";
}

}  // namespace tester
