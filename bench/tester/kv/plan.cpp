// SPDX-License-Identifier: MIT
#include "tester/kv/plan.hpp"

#include <algorithm>
#include <string>

#include "tester/cli/errors.hpp"
#include "tester/launch/gpu/executor.hpp"
#include "tester/launch/spin.hpp"

namespace tester {

namespace {

std::string decimal(uint64_t number) { return std::to_string(number); }

void check_queues(const KvOptions& o, const xio::host::NvmeController& controller) {
  if (o.queue_length > controller.max_queue_entries())
    throw BadInput("--queue-length " + decimal(o.queue_length) + " is more than the controller's queues hold; 1 to " +
                   decimal(controller.max_queue_entries()) + " (CAP.MQES + 1) is accepted");
  if (o.num_queues > controller.granted_queues())
    throw BadInput("--num-queues " + decimal(o.num_queues) + " is more than the controller granted; give at most " +
                   decimal(controller.granted_queues()));
}

KvContent content_of(const KvOptions& o, const xio::host::KeyValueInfo& space, uint64_t largest_transfer) {
  const std::string name = "namespace " + decimal(space.nsid);
  KvContent content{o.seed, o.key_bytes != 0 ? o.key_bytes : space.longest_key, o.least_bytes, o.most_bytes};
  if (content.key_bytes > space.longest_key)
    throw BadInput("--key-size " + decimal(o.key_bytes) + " is more than the longest key of " + name + ", " +
                   decimal(space.longest_key) + " bytes");
  if (content.key_bytes < 8 && o.keys > uint64_t{1} << (8 * content.key_bytes))
    throw BadInput("--keys " + decimal(o.keys) + " do not differ in " + decimal(content.key_bytes) +
                   " bytes; give fewer, or a larger --key-size");
  if (o.most_bytes > space.longest_value)
    throw BadInput("--value-size " + decimal(o.most_bytes) + " is more than the longest value of " + name + ", " +
                   decimal(space.longest_value) + " bytes");
  if (largest_transfer != 0 && o.most_bytes > largest_transfer)
    throw BadInput("--value-size " + decimal(o.most_bytes) + " is more than one command of this controller moves, " +
                   decimal(largest_transfer) + " bytes (MDTS)");
  return content;
}

}  // namespace

KvPlan make_kv_plan(const KvOptions& o, const Target& target, uint32_t gpu_wave_size) {
  KvPlan plan;
  plan.nsid = target.namespace_or(o.nsid);
  plan.space = target.identify_key_values(plan.nsid);
  check_queues(o, *target.controller);
  plan.content = content_of(o, plan.space, target.controller->info().max_transfer_bytes);
  plan.waves = o.waves;
  plan.wave_size = o.wave_size != 0 ? o.wave_size : gpu_wave_size != 0 ? gpu_wave_size : 1;
  if (gpu_wave_size != 0) check_lanes(gpu_wave_size, plan.waves, plan.wave_size);
  if (target.on_its_own()) plan.spin = spin_of(uint64_t{o.num_queues} * o.waves);
  // Small values do not cross a page; large ones begin at a page boundary.
  uint64_t step = 64;
  while (step < o.most_bytes && step < 4096) step *= 2;
  plan.buffer_bytes = (uint64_t{std::max(o.most_bytes, 1u)} + step - 1) / step * step;
  return plan;
}

std::vector<xio::host::NvmeQueue> create_kv_queues(const KvOptions& o, const KvPlan& plan, const Target& target,
                                                   const ExecutorMemory& memory) {
  std::vector<xio::host::NvmeQueue> queues;
  for (uint32_t i = 0; i < o.num_queues; ++i) {
    xio::host::QueueOptions wanted;
    wanted.depth = o.queue_length;
    wanted.nsid = plan.nsid;
    queues.push_back(target.controller->create_queue(xio::host::on(memory, wanted)));
  }
  return queues;
}

}  // namespace tester
