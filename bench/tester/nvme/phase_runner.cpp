// SPDX-License-Identifier: MIT
#include "tester/nvme/phase_runner.hpp"

#include <algorithm>
#include <utility>

#include <xio/device/core/placement.hpp>

#include "tester/cli/interrupt.hpp"
#include "tester/cli/progress.hpp"
#include "tester/nvme/executor.hpp"

namespace tester {

namespace {

constexpr uint32_t wrong_room = 256;  // differing blocks that a lane records

std::string kernel_name(const NvmePlan& plan, const NvmeOptions& options) {
  const char* const sharing = plan.drives > 1                        ? "drives"
                              : plan.sharing == xio::Sharing::thread ? "thread"
                              : plan.sharing == xio::Sharing::wave   ? "wave"
                                                                     : "grid";
  return std::string("nvme_") + sharing + (options.substep_timing ? "_steps" : "");
}

}  // namespace

PhaseRunner::PhaseRunner(const NvmeOptions& options, const NvmePlan& plan, std::vector<const Target*> targets,
                         const ExecutorMemory& memory, GpuExecutor* gpu,
                         const std::vector<xio::nvme::QueueHandle>& queues, DataPlace data)
    : options_(options),
      plan_(plan),
      targets_(std::move(targets)),
      memory_(memory),
      gpu_(gpu),
      tick_ns_(1e9 / static_cast<double>(memory.clock_hz())),
      data_(std::move(data)),
      handles_(memory, options.num_queues),
      slots_(memory, size_t{plan.in_flight()} * options.num_queues),
      stop_(memory, 1) {
  std::copy_n(queues.begin(), handles_.size(), handles_.begin());
}

void PhaseRunner::prepare_lanes() {
  const size_t active = size_t{plan_.active_lanes} * handles_.size();
  latencies_ = MirroredArray<Latency>(memory_, active * plan_.drives);
  failed_on_ = MirroredArray<uint64_t>(memory_, active * plan_.drives);
  wrong_ = MirroredArray<WrongBlock>(memory_, active * wrong_room);
  std::fill(slots_.begin(), slots_.end(), Slot{});
  const size_t places = prepare_places();
  lanes_ = MirroredArray<Lane>(memory_, size_t{plan_.lanes_per_queue} * handles_.size());
  progress_ = SharedArray<uint64_t>(memory_, lanes_.size());
  for (size_t queue = 0; queue < handles_.size(); ++queue) {
    for (uint32_t thread = 0; thread < plan_.lanes_per_queue; ++thread) {
      const size_t index = queue * plan_.lanes_per_queue + thread;
      Lane& lane = lanes_[index];
      lane.progress = progress_.executor() + index;
      const uint32_t number = plan_.lane_number(thread);
      if (number == ~0u) continue;
      lane.window = plan_.window(number);
      lane.first_slot = queue * plan_.in_flight() + plan_.windows_before(number);
      lane.slots = slots_.executor() + lane.first_slot;
      if (places != 0) {
        lane.place_of = places_.executor() + queue * places;
        lane.free_places = lane.place_of + handles_[queue].slot_mask + 1;
      }
      // Numbers alternate between queues, so that all of them access neighbouring blocks.
      lane.number = number * handles_.size() + queue;
      lane.latency = latencies_.executor() + lane.number * plan_.drives;
      lane.failed_on = failed_on_.executor() + lane.number * plan_.drives;
      lane.wrong = wrong_.executor() + lane.number * wrong_room;
      lane.wrong_room = wrong_room;
    }
  }
}

size_t PhaseRunner::prepare_places() {
  if (plan_.sharing != xio::Sharing::thread) return 0;
  size_t identifiers = 0;
  for (const auto& handle : handles_) identifiers = std::max<size_t>(identifiers, size_t{handle.slot_mask} + 1);
  // There are at least twice as many identifiers as places in a window.
  places_ = MirroredArray<uint32_t>(memory_, 2 * identifiers * handles_.size());
  std::fill(places_.begin(), places_.end(), no_place);
  return 2 * identifiers;
}

Phase PhaseRunner::describe(Direction direction, uint64_t operations, const AccessPattern& pattern, bool known,
                            bool repeat) const {
  Phase phase;
  phase.queues = handles_.executor();
  phase.lanes = lanes_.executor();
  phase.lanes_per_queue = plan_.lanes_per_queue;
  phase.direction = direction;
  phase.pattern = pattern;
  phase.operations = operations;
  phase.stride = uint64_t{plan_.active_lanes} * handles_.size();
  phase.repeat = repeat;
  phase.deadline_ticks = uint64_t{options_.deadline_ms} * (memory_.clock_hz() / 1000);
  if (repeat && options_.duration > 0)
    phase.duration_ticks = static_cast<uint64_t>(options_.duration * static_cast<double>(memory_.clock_hz()));
  phase.batch = plan_.batch;
  phase.coarse_timing = options_.less_timing;
  phase.fill = direction == Direction::write;
  phase.check = direction == Direction::read && options_.verify && known;
  phase.flush = direction == Direction::read && xio::needs_inbound_flush(options_.memory_mode);
  phase.content = plan_.content;
  phase.stripes = data_.stripes.executor();
  phase.data = data_.data;
  phase.data_bus = data_.bus;
  phase.buffer_bytes = plan_.buffer_bytes;
  phase.buffers_per_slot = plan_.buffers_per_slot;
  // A GPU cannot access the word that signal handlers set.
  phase.stop = gpu_ != nullptr ? stop_.executor() : Interrupt::word();
  return phase;
}

PhaseResult PhaseRunner::run(Direction direction, uint64_t operations, const AccessPattern& pattern, bool known,
                             bool repeat) {
  PhaseResult result;
  result.direction = direction;
  result.asked = operations;
  result.repeated = repeat;
  prepare_lanes();
  const Phase phase = describe(direction, operations, pattern, known, repeat);

  const SeenDoorbells seen = seen_doorbells(targets_);
  const xio::arch::OperationCounts counts = xio::arch::operation_counts;
  const Usage usage = Usage::now();
  {
    const auto done = [this] {
      uint64_t sum = 0;
      for (const uint64_t& lane : progress_) sum += xio::arch::load<xio::arch::Scope::system>(&lane);
      return sum;
    };
    const char* const what = direction == Direction::write ? "writes" : "reads";
    const Progress progress(what, repeat ? 0 : operations, done, options_.progress);
    const auto queues = static_cast<uint32_t>(handles_.size());
    if (gpu_ == nullptr) {
      execute(plan_, phase, queues, options_.substep_timing);
    } else {
      handles_.push();
      data_.stripes.push();
      slots_.push();
      places_.push();
      latencies_.push();
      failed_on_.push();
      lanes_.push();
      const auto ask = [this] { xio::arch::store<xio::arch::Scope::system>(&stop_[0], *Interrupt::word()); };
      gpu_->run(kernel_name(plan_, options_), phase, queues, plan_.lanes_per_queue,
                std::chrono::milliseconds(options_.deadline_ms), done, ask);
      latencies_.pull();
      failed_on_.pull();
      wrong_.pull();
      lanes_.pull();
    }
  }
  result.usage = Usage::now().since(usage);
  result.counts = xio::arch::operation_counts - counts;
  result.counted = gpu_ == nullptr;
  const SeenDoorbells seen_after = seen_doorbells(targets_);
  result.seen_rings = seen_after.sq - seen.sq + seen_after.cq - seen.cq;
  result.interrupted = Interrupt::requested();
  collect(result);
  if (phase.check) result.to_check = (result.completed + result.failed) * options_.lbas_per_io;
  return result;
}

void PhaseRunner::collect(PhaseResult& result) const {
  LaneSum sum(result, tick_ns_);
  if (plan_.drives > 1) result.drives.resize(plan_.drives);
  for (const Lane& lane : lanes_) {
    result.sq_rings += lane.sq_rings;
    result.cq_rings += lane.cq_rings;
    sum.add_steps(lane);
    if (lane.window == 0) continue;
    const size_t first = lane.number * plan_.drives;
    sum.add(lane, latencies_[first]);
    for (size_t drive = 0; drive < result.drives.size(); ++drive) {
      if (drive != 0) result.latency.add(latencies_[first + drive], tick_ns_);
      result.drives[drive].latency.add(latencies_[first + drive], tick_ns_);
      result.drives[drive].failed += failed_on_[first + drive];
    }
    const auto kept = static_cast<size_t>(std::min<uint64_t>(lane.wrong_count, lane.wrong_room));
    const WrongBlock* const wrong = wrong_.data() + lane.number * wrong_room;
    result.wrong.insert(result.wrong.end(), wrong, wrong + kept);
  }
  result.bytes = result.completed * plan_.operation_bytes;
  result.seconds = sum.seconds();
}

}  // namespace tester
