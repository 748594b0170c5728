// SPDX-License-Identifier: MIT
/// @file
/// @brief Reads on NVMe queues: drives are waves of the grid, or one program of the CPU that takes a time for each
/// command.

#include <algorithm>
#include <cstring>
#include <vector>

#include <machine/timed/arguments.hpp>
#include <machine/timed/rounds.hpp>

#include <xio/version.hpp>

namespace machine::timed {

namespace {

/// A controller of one queue whose time is a CPU's, which completes in order. It sees a store when it is issued, as a
/// load sees its stores: both are half a trip away from it.
class CpuDrive {
 public:
  CpuDrive(const gpu::NullQueue& queue, double service) : queue_(queue), service_(service) {}

  void advance(double now) {
    const uint32_t tail = *queue_.sq_doorbell;
    if ((fetched_ & queue_.sq_mask) == tail) free_ = std::max(free_, now);
    while ((fetched_ & queue_.sq_mask) != tail && free_ + service_ <= now) {
      free_ += service_;
      busy_ += service_;
      complete();
    }
  }
  double busy() const { return busy_; }

 private:
  void complete() {
    const auto* const entry = reinterpret_cast<const uint32_t*>(queue_.sq + (fetched_ & queue_.sq_mask));
    auto* const words = reinterpret_cast<uint64_t*>(queue_.cq + (fetched_ & queue_.cq_mask));
    const uint64_t phase = (fetched_ / (uint64_t{queue_.cq_mask} + 1) + 1) & 1;
    words[0] = 0;
    words[1] = ((fetched_ + 1) & queue_.sq_mask) | uint64_t{1} << 16 | uint64_t{entry[0] >> 16} << 32 | phase << 48;
    ++fetched_;
  }

  gpu::NullQueue queue_;
  double service_;
  uint64_t fetched_ = 0;
  double free_ = 0;
  double busy_ = 0;
};

xio::nvme::QueueHandle queue_of(const Setup& setup, Grounds& grounds, uint32_t number) {
  using namespace xio;
  Arena& state = setup.state == "gpu" ? grounds.near : grounds.far;
  Arena& rings = setup.rings == "gpu" ? grounds.near : grounds.far;
  uint32_t size = 1;
  while (size < setup.depth + 1) size *= 2;
  nvme::QueueHandle h{};
  h.state = reinterpret_cast<QueueState*>(state.make<char>(sizeof(QueueState) + link_bytes(size)));
  h.depth = setup.depth;
  h.sq = rings.make<nvme::Sqe>(size);
  h.sq_doorbell = rings.make<uint32_t>(32);
  h.sq_mask = size - 1;
  h.slot_mask = 2 * size - 1;
  h.nsid = 1;
  h.page_shift = 12;
  h.slots = state.make<nvme::CompletionSlot>(2 * size);
  h.block_shift = 9;
  h.max_blocks = 65536;
  h.namespace_blocks = 1 << 20;
  h.cq = rings.make<nvme::Cqe>(2 * size);
  h.cq_doorbell = rings.make<uint32_t>(32);
  h.cq_mask = 2 * size - 1;
  h.qid = number + 1;
  h.notifications = state.make<Notification*>(2 * size);
  h.failures = reinterpret_cast<nvme::FailureLog*>(state.make<char>(8192));
  h.failure_entries = 64;
  h.max_bytes = 1 << 20;
  h.abi = XIO_ABI_NUMBER;
  h.handle_bytes = sizeof h;
  return h;
}

}  // namespace

Prediction predict_reads(ptx::TimedMachine& machine, const Setup& setup) {
  using namespace xio;
  if (setup.device == "gpu" && setup.rings == "host")
    throw Fault(setup.text() + ": a drive of the GPU has rings near it");
  Grounds grounds;
  const bool per_thread = setup.kernel.find("thread") != std::string::npos;
  const bool shared = setup.kernel.find("grid") != std::string::npos;
  const uint32_t waves_per_queue = setup.queue_waves != 0 ? setup.queue_waves : shared ? setup.waves : 1;
  grounds.queues = per_thread ? 32 * setup.waves : (setup.waves + waves_per_queue - 1) / waves_per_queue;
  auto* const queues = grounds.near.make<nvme::QueueHandle>(grounds.queues);
  auto* const drives = grounds.near.make<gpu::NullQueue>(grounds.queues);
  std::vector<CpuDrive> programs;
  for (uint32_t q = 0; q < grounds.queues; ++q) {
    queues[q] = queue_of(setup, grounds, q);
    const nvme::QueueHandle& h = queues[q];
    drives[q] = {h.sq, const_cast<nvme::Cqe*>(h.cq), h.sq_doorbell, h.cq_doorbell, h.sq_mask, h.cq_mask};
    if (setup.device == "cpu") programs.emplace_back(drives[q], setup.service);
  }
  if (setup.device == "gpu") grounds.devices = grounds.queues;
  if (setup.device == "cpu")
    grounds.programs = [&](double now) {
      for (CpuDrive& one : programs) one.advance(now);
    };
  ReadArguments arguments{};
  arguments.queues = queues;
  arguments.drives = drives;
  arguments.done = grounds.done;
  arguments.stop = grounds.stop;
  arguments.rounds = setup.rounds;
  arguments.devices = grounds.devices;
  arguments.rows = setup.rows;
  arguments.waves_per_queue = waves_per_queue;
  Prediction out = launch(machine, setup, grounds, &arguments, sizeof arguments);
  for (const CpuDrive& one : programs) out.device_busy = std::max(out.device_busy, one.busy() / machine.ended_at());
  return out;
}

}  // namespace machine::timed
