// SPDX-License-Identifier: MIT
#include "tester/rdma/plan.hpp"

#include <algorithm>

#include <xio/host/power_of_two.hpp>

#include "tester/cli/errors.hpp"

namespace tester {

namespace {

constexpr uint64_t most_memory = uint64_t{1} << 33;  // total of both sides
constexpr uint64_t line = 64;

std::string text(uint64_t number) { return std::to_string(number); }

/// Entries of a ring for at least so many.
uint32_t ring_for(uint32_t least) { return static_cast<uint32_t>(xio::host::power_of_two_from(std::max(least, 2u))); }

void plan_depths(const RdmaOptions& o, RdmaPlan& plan) {
  plan.lanes = o.waves * o.wave_size;
  if (plan.lanes > rdma_most_depth)
    throw BadInput("--waves " + text(o.waves) + " of " + text(o.wave_size) +
                   " lanes are more than a send queue holds; at most " + text(rdma_most_depth / o.wave_size) +
                   " are accepted");
  for (const uint32_t given : {o.depth, o.sq_depth})
    if (given != 0 && given < plan.lanes)
      throw BadInput(std::string(given == o.depth ? "--depth " : "--sq-depth ") + text(given) + " is less than the " +
                     text(plan.lanes) + " lanes that share a queue pair; give at least that");
  const uint32_t usual_depth = std::max(plan.lanes, o.batch_size == 1 ? 1 : 2 * o.batch_size);
  if (o.sq_depth != 0 && o.depth > o.sq_depth)
    throw BadInput("--depth " + text(o.depth) + " is more than --sq-depth " + text(o.sq_depth) + "; give at most that");
  const uint32_t asked = o.depth != 0 ? o.depth : usual_depth;
  plan.sq_depth = o.sq_depth != 0 ? o.sq_depth : std::min(std::max(asked, 128u), rdma_most_depth);
  plan.depth = o.depth != 0 ? o.depth : std::min(o.batch_size == 0 ? plan.sq_depth : usual_depth, plan.sq_depth);
  plan.window = plan.depth / plan.lanes;
  plan.depth = plan.window * plan.lanes;
  // Lanes of a wave post together: a batch is a multiple of the wave size.
  if (o.ping_pong) plan.window = ping_pong_places;
  plan.lane_batch = o.batch_size == 0 ? 0 : std::min(std::max(1u, o.batch_size / o.wave_size), plan.window);
  plan.batch = plan.lane_batch * o.wave_size;
}

/// Flow control of the requester by receives: see responder.hpp.
void plan_flow(const RdmaOptions& o, RdmaPlan& plan) {
  plan.far_places = plan.window;
  if (o.role == RdmaRole::alone || o.ping_pong) return;
  plan.notices = o.verify && o.verb == RdmaVerb::write && !o.write_imm;
  if (!plan.notices && !o.write_imm && o.verb != RdmaVerb::send) return;
  // Operations that a receive admits: one, or a batch of at most this size.
  const uint32_t step = !plan.notices ? 1 : plan.batch == 0 ? plan.depth : plan.batch;
  plan.receives = std::max(4u, 2 * plan.depth / step);
  plan.far_places = plan.depth + plan.receives * step;
}

void plan_rings(const RdmaOptions& o, const RdmaProvider& provider, RdmaPlan& plan) {
  RdmaLinkShape& shape = plan.shape;
  shape.queues = o.num_queues;
  shape.waves = o.waves;
  shape.wave_size = o.wave_size;
  shape.loopback = o.loopback;
  shape.remote = o.role != RdmaRole::alone;
  shape.inline_bytes = o.inline_threshold;
  // At most one message per operation, which occupies no more units than it.
  // Ping-pong consumes a write's completion while the next one is on its way.
  const uint32_t messages = plan.notices || o.ping_pong ? 2 : 1;
  shape.sq_units = ring_for(messages * plan.sq_depth * plan.units + provider.spare_units);
  shape.units_in_flight = messages * plan.depth * plan.units;
  // With twice the send ring's size, the queue code acknowledges half a ring at a time.
  shape.cq_entries = o.cq_depth != 0 ? ring_for(o.cq_depth) : 2 * shape.sq_units;
  // A failure completes every operation in flight with its own entry.
  if (shape.cq_entries <= shape.units_in_flight)
    throw BadInput("--cq-depth " + text(o.cq_depth) + " is less than what may be in flight; at least " +
                   text(shape.units_in_flight + 1) + " is accepted for " + text(plan.depth) + " operations");
  shape.rq_entries = ring_for(std::max(plan.depth, plan.receives) + 2);
}

}  // namespace

std::vector<uint64_t> transfer_sizes(const RdmaOptions& options) {
  if (!options.transfer_sizes.empty()) return options.transfer_sizes;
  if (options.verb == RdmaVerb::fetch_add) return {xio::rdma::atomic_bytes};
  return {256, 1 << 10, 4 << 10, 64 << 10, 1 << 20};
}

RdmaPlan make_plan(const RdmaOptions& options, const RdmaProvider& provider, uint64_t bytes) {
  if (options.inline_threshold > provider.max_inline)
    throw BadInput("--inline-threshold " + text(options.inline_threshold) + ": entries of " + provider.name +
                   (provider.max_inline == 0 ? " hold no data; 0 is accepted"
                                             : " hold less; 0 to " + text(provider.max_inline) + " is accepted"));
  if (options.verb == RdmaVerb::fetch_add && bytes != xio::rdma::atomic_bytes)
    throw BadInput("--transfer-size " + text(bytes) + ": fetch-add transfers 8 bytes; omit it");
  RdmaPlan plan;
  plan.bytes = static_cast<uint32_t>(bytes);
  const bool carries = options.verb == RdmaVerb::write || options.verb == RdmaVerb::send;
  plan.inline_data = carries && bytes != 0 && bytes <= options.inline_threshold;
  plan_depths(options, plan);
  plan_flow(options, plan);
  plan.units = provider.units(options.verb, options.write_imm, plan.bytes, plan.inline_data);
  plan_rings(options, provider, plan);
  // If data is checked, so are the bytes behind it. Otherwise pages of data are pages of memory.
  plan.place_bytes = std::max((bytes + line - 1) / line * line, line) + (options.verify ? line : 0);
  const uint64_t credits = plan.receives == 0 ? 0 : rdma_credit_bytes * options.num_queues;
  plan.near_credits = plan.place_bytes * plan.window * plan.lanes * options.num_queues;
  plan.far_credits = plan.place_bytes * plan.far_places * plan.lanes * options.num_queues;
  plan.near_bytes = plan.near_credits + credits;
  plan.far_bytes = plan.far_credits + credits;
  if (plan.near_bytes + plan.far_bytes > most_memory)
    throw BadInput("--transfer-size " + text(bytes) + " with " + text(plan.depth) + " in flight on each of " +
                   text(options.num_queues) +
                   " queue pairs needs more than 8 GiB; give a smaller size, --depth, --batch-size or --num-queues");
  return plan;
}

}  // namespace tester
