// SPDX-License-Identifier: MIT
/// @file
/// @brief Writes on ConnectX queue pairs: all memory is this GPU's, and NICs are waves of the grid.

#include <cstring>

#include <machine/timed/arguments.hpp>
#include <machine/timed/rounds.hpp>

#include <xio/vendors/mlx5/layout.hpp>

namespace machine::timed {

namespace {

constexpr uint32_t entries = 1024;
constexpr uint32_t qpn = 0x1234;

}  // namespace

Prediction predict_puts(ptx::TimedMachine& machine, const Setup& setup) {
  using namespace xio;
  Grounds grounds;
  const bool shared = setup.kernel.find("wave") == std::string::npos;
  const uint32_t waves_per_queue = setup.queue_waves != 0 ? setup.queue_waves : shared ? setup.waves : 1;
  grounds.queues = grounds.devices = (setup.waves + waves_per_queue - 1) / waves_per_queue;
  const uint32_t cq_entries = setup.cq_laps * entries;
  auto* const queues = grounds.near.make<rdma::QueuePairHandle>(grounds.queues);
  auto* const nics = grounds.near.make<gpu::NullNic>(grounds.queues);
  for (uint32_t q = 0; q < grounds.queues; ++q) {
    auto* const sq = grounds.near.make<mlx5::ControlSegment>(4 * entries);
    auto* const cq = grounds.near.make<mlx5::Cqe>(cq_entries);
    // As in tests/gpu/rdma_peers.hip: the record, the consumer's record at 16, violations at 32, the doorbell at 64.
    auto* const words = grounds.near.make<uint32_t>(96);
    const size_t send = (sizeof(QueueState) + rdma::send_link_bytes(entries) + 63) / 64 * 64;
    auto* const states = grounds.near.make<char>(send + sizeof(rdma::SendState));
    std::memset(static_cast<void*>(cq), mlx5::initial_opcode_owner, cq_entries * sizeof(mlx5::Cqe));
    nics[q] = {sq, cq, words, entries, cq_entries, qpn, words + 32};
    rdma::QueuePairHandle& h = queues[q];
    h.state = reinterpret_cast<QueueState*>(states);
    h.send = reinterpret_cast<rdma::SendState*>(states + send);
    h.sq = sq;
    h.sq_record = words;
    h.sq_doorbell = words + 64;
    h.shape.qpn = qpn;
    h.shape.entries = entries;
    h.shape.entry_shift = 6;
    h.shape.max_sges = 1;
    h.depth = entries;
    h.signal_every = 128;
    h.cq = {cq, nullptr, words + 16, nullptr, cq_entries, 7};
    h.gpu_memory = memory_mode::queue;
  }
  PutArguments arguments{};
  arguments.handle = queues[0];
  arguments.queues = queues;
  arguments.nics = nics;
  arguments.scratch = grounds.near.take(size_t{4096} * grounds.queues);
  arguments.done = grounds.done;
  arguments.stop = grounds.stop;
  arguments.rounds = setup.rounds;
  arguments.devices = grounds.devices;
  const Prediction out = launch(machine, setup, grounds, &arguments, sizeof arguments);
  for (uint32_t q = 0; q < grounds.queues; ++q) {
    if (*nics[q].violations == 1)
      throw Fault(setup.text() + ": the NIC saw a record that announces more than there is");
    if (*nics[q].violations != 0) throw Fault(setup.text() + ": the NIC saw an entry that it did not expect");
  }
  return out;
}

}  // namespace machine::timed
