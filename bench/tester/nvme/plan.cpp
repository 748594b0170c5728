// SPDX-License-Identifier: MIT
#include "tester/nvme/plan.hpp"

#include <algorithm>
#include <string>

#include "tester/cli/errors.hpp"
#include "tester/launch/gpu/executor.hpp"

namespace tester {

namespace {

std::string text(uint64_t number) { return std::to_string(number); }

void plan_queues(const NvmeOptions& o, const Target& target, NvmePlan& plan) {
  const uint32_t longest = target.max_queue_entries();
  const uint32_t usual_depth = o.batch_size == 1 ? 1 : 2 * o.batch_size;
  if (o.queue_length > longest)
    throw BadInput("--queue-length " + text(o.queue_length) + " is more than the controller's queues hold; 1 to " +
                   text(longest) + " (CAP.MQES + 1) is accepted");
  if (o.depth > longest)
    throw BadInput("--depth " + text(o.depth) + " is more than the controller's queues hold; 1 to " + text(longest) +
                   " (CAP.MQES + 1) is accepted");
  if (o.queue_length != 0 && o.depth > o.queue_length)
    throw BadInput("--depth " + text(o.depth) + " is more than --queue-length " + text(o.queue_length) +
                   "; give at most that");
  const uint32_t asked = o.depth != 0 ? o.depth : std::max(usual_depth, 64u);
  plan.queue_length = o.queue_length != 0 ? o.queue_length : std::min(std::max(asked, 64u), longest);
  plan.depth =
      o.depth != 0 ? o.depth : std::min(o.batch_size == 0 ? plan.queue_length : usual_depth, plan.queue_length);
  plan.batch = o.batch_size;

  const xio::host::QueueIds ids = target.queue_ids();
  const uint32_t first = o.queue_id != 0 ? o.queue_id : ids.first;
  if (first < ids.first || first > ids.last || o.num_queues > ids.last - first + 1)
    throw BadInput("--num-queues " + text(o.num_queues) + " from --queue-id " + text(first) +
                   " on: the controller granted queues " + text(ids.first) + " to " + text(ids.last) +
                   "; give fewer or other ones");
}

xio::host::NamespaceInfo find_namespace(const Target& target, const NvmePlan& plan) {
  const std::vector<uint32_t> active = target.active_namespaces();
  if (std::find(active.begin(), active.end(), plan.nsid) == active.end()) {
    std::string known;
    for (const uint32_t nsid : active) known += (known.empty() ? "" : ", ") + text(nsid);
    throw BadInput("--namespace " + text(plan.nsid) +
                   " does not exist; active namespaces: " + (known.empty() ? "none" : known));
  }
  return target.identify_namespace(plan.nsid);
}

void plan_blocks(const NvmeOptions& o, const std::vector<const Target*>& targets, NvmePlan& plan) {
  if (o.nsid != 0) plan.nsid = o.nsid;
  xio::host::NamespaceInfo info = find_namespace(*targets.front(), plan);
  if (plan.drives > 1) {
    plan.stripe_blocks = o.stripe_blocks != 0 ? o.stripe_blocks : std::max(8u, o.lbas_per_io);
    // As NvmeDriveSet::blocks().
    for (const Target* const one : targets) info.blocks = std::min(info.blocks, find_namespace(*one, plan).blocks);
    info.blocks = info.blocks / plan.stripe_blocks * plan.stripe_blocks * plan.drives;
  }
  plan.block_bytes = info.block_bytes;
  plan.namespace_blocks = info.blocks;
  if (o.base_lba >= info.blocks)
    throw BadInput("--base-lba " + text(o.base_lba) + " is beyond the end; namespace " + text(plan.nsid) +
                   " has blocks 0 to " + text(info.blocks - 1));
  const uint64_t left = info.blocks - o.base_lba;
  const uint64_t usable = o.span_blocks == 0 ? left : std::min(left, o.span_blocks);
  if (o.lbas_per_io > usable)
    throw BadInput("--lbas-per-io " + text(o.lbas_per_io) + " from LBA " + text(o.base_lba) +
                   " exceeds the namespace; at most " + text(usable) + " blocks remain");
  const uint64_t places = usable / o.lbas_per_io;
  if (o.written > places)
    throw BadInput("--written " + text(o.written) + " operations do not fit; the maximum is " + text(places));
  plan.operation_bytes = uint64_t{o.lbas_per_io} * info.block_bytes;
  if (plan.operation_bytes > uint64_t{1} << 30)
    throw BadInput("--lbas-per-io " + text(o.lbas_per_io) + " is more than 1 GiB for one operation; give at most " +
                   text((uint64_t{1} << 30) / info.block_bytes));
  plan.pattern = AccessPattern::of(o.base_lba, places, o.lbas_per_io, o.random, o.seed);
  plan.content = o.lfsr_seed ? BlockContent::lfsr(*o.lfsr_seed) : BlockContent::hashed(o.seed);
}

void plan_lanes(const NvmeOptions& o, uint32_t gpu_wave_size, NvmePlan& plan) {
  plan.waves = o.waves;
  plan.wave_size = o.wave_size != 0 ? o.wave_size : gpu_wave_size != 0 ? gpu_wave_size : 1;
  if (gpu_wave_size != 0) check_lanes(gpu_wave_size, plan.waves, plan.wave_size);
  plan.lanes_per_queue = plan.waves * plan.wave_size;
  plan.sharing = plan.waves > 1 || plan.drives > 1 || plan.remote ? xio::Sharing::grid
                 : plan.wave_size > 1                             ? xio::Sharing::wave
                                                                  : xio::Sharing::thread;
}

void plan_buffers(const NvmeOptions& o, NvmePlan& plan) {
  // Small operations do not cross a page; large ones begin at a page boundary.
  uint64_t step = plan.block_bytes;
  while (step < plan.operation_bytes && step < 4096) step *= 2;
  plan.buffer_bytes = (plan.operation_bytes + step - 1) / step * step;
  const uint64_t slots = uint64_t{plan.in_flight()} * o.num_queues;
  const uint64_t least = slots * plan.buffer_bytes;
  if (o.data_buffer_size != 0 && o.data_buffer_size < least)
    throw BadInput("--data-buffer-size " + text(o.data_buffer_size) + " is too small; " + text(o.num_queues) +
                   " queues of depth " + text(plan.depth) + " need at least " + text(least) + " bytes");
  plan.buffers_per_slot = static_cast<uint32_t>(std::clamp<uint64_t>(o.data_buffer_size / least, 1, 1u << 20));
  plan.data_bytes = std::max(o.data_buffer_size, least);
}

}  // namespace

// Lanes are numbered across the waves, so that a small depth is spread over all of them.
uint32_t NvmePlan::lane_number(uint32_t thread) const {
  const uint32_t number = thread % wave_size * waves + thread / wave_size;
  return number < active_lanes ? number : ~0u;
}

uint32_t NvmePlan::window(uint32_t number) const {
  return in_flight() / active_lanes + (number < in_flight() % active_lanes);
}

uint32_t NvmePlan::windows_before(uint32_t number) const {
  return in_flight() / active_lanes * number + std::min(number, in_flight() % active_lanes);
}

NvmePlan make_plan(const NvmeOptions& options, const std::vector<const Target*>& targets, uint32_t gpu_wave_size) {
  NvmePlan plan;
  plan.remote = targets.front()->remote != nullptr;
  plan.drives = static_cast<uint32_t>(targets.size());
  for (const Target* const one : targets) {
    NvmePlan of_one;
    plan_queues(options, *one, of_one);
    const bool less = plan.queue_length == 0 || of_one.queue_length < plan.queue_length;
    if (!less) continue;
    plan.queue_length = of_one.queue_length;
    plan.depth = of_one.depth;
    plan.batch = of_one.batch;
  }
  plan_blocks(options, targets, plan);
  plan_lanes(options, gpu_wave_size, plan);
  plan_buffers(options, plan);
  return plan;
}

namespace {

/// Adjusts the plan to queues that were created.
void adjust(const NvmeOptions& options, const xio::host::QueuePlan& made, NvmePlan& plan) {
  plan.depth = std::min(plan.depth, made.depth);
  // A wave cannot have more operations in flight than its share of the depth.
  plan.batch = std::min(plan.batch, std::max(plan.in_flight() / plan.waves, 1u));
  plan.active_lanes = std::min(plan.in_flight(), plan.lanes_per_queue);
  plan.commands_per_operation = (options.lbas_per_io + made.max_blocks - 1) / made.max_blocks;
}

}  // namespace

void create_remote_queues(const NvmeOptions& options, NvmePlan& plan, RemoteController& controller) {
  controller.make_queues(options.num_queues, plan.queue_length, plan.nsid, plan.data_bytes);
  plan.first_queue_id = controller.handles().front().qid;
  plan.last_queue_id = controller.handles().back().qid;
  adjust(options, controller.rings(), plan);
}

xio::host::NvmeDriveSet create_drive_set(const NvmeOptions& options, NvmePlan& plan,
                                         const std::vector<xio::host::NvmeController*>& controllers,
                                         const ExecutorMemory& executor) {
  xio::host::DriveSetOptions wanted;
  wanted.queue.depth = plan.queue_length;
  wanted.queue.nsid = plan.nsid;
  wanted.queue.shadow_doorbells = options.doorbell == DoorbellKind::shadow;
  wanted.queues_per_drive = options.num_queues;
  wanted.stripe_blocks = plan.stripe_blocks;
  xio::host::NvmeDriveSet set = xio::host::make_drive_set(controllers, executor, wanted);
  uint32_t longest = ~0u;
  for (const xio::host::NvmeQueue& queue : set.queues()) {
    longest = std::min(longest, queue.plan().max_blocks);
    plan.depth = std::min(plan.depth, queue.plan().depth);
  }
  if (options.lbas_per_io > longest)
    throw BadInput("--lbas-per-io " + text(options.lbas_per_io) +
                   " is more than one command of all controllers; with " + "several controllers at most " +
                   text(longest) + " is accepted");
  plan.first_queue_id = set.queues().front().qid();
  plan.last_queue_id = set.queues()[options.num_queues - 1].qid();
  adjust(options, set.queues().front().plan(), plan);
  return set;
}

std::vector<xio::host::NvmeQueue> create_queues(const NvmeOptions& options, NvmePlan& plan,
                                                xio::host::NvmeController& controller, BufferPlacement& buffers) {
  std::vector<xio::host::NvmeQueue> queues;
  for (uint32_t i = 0; i < options.num_queues; ++i) {
    xio::host::QueueOptions wanted;
    wanted.depth = plan.queue_length;
    wanted.nsid = plan.nsid;
    wanted.qid = options.queue_id == 0 ? 0 : options.queue_id + i;
    wanted.shadow_doorbells = options.doorbell == DoorbellKind::shadow;
    buffers.place(wanted, plan.block_bytes);
    queues.push_back(controller.create_queue(wanted));
  }
  plan.first_queue_id = queues.front().qid();
  plan.last_queue_id = queues.back().qid();
  adjust(options, queues.front().plan(), plan);
  return queues;
}

std::vector<xio::nvme::QueueHandle> handles_of(const std::vector<xio::host::NvmeQueue>& queues) {
  std::vector<xio::nvme::QueueHandle> handles;
  for (const xio::host::NvmeQueue& one : queues) handles.push_back(one.handle());
  return handles;
}

}  // namespace tester
