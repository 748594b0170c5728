// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Queue pairs of emulated NICs in this process, one provider per vendor (`Kit`:
/// xio/host/emulation/rdma/kits.hpp).

#include <xio/device/rdma/handle.hpp>
#include <xio/host/emulation/memory_source.hpp>
#include <xio/host/emulation/rdma/nic.hpp>
#include <xio/host/memory/gpu_reach.hpp>

#include "tester/launch/memory.hpp"
#include "tester/rdma/launch.hpp"
#include "tester/rdma/link.hpp"

namespace tester {

/// Allocator of rings, which live as long as `memory`.
inline xio::emulation::MemorySource ring_memory(const ExecutorMemory& memory) {
  if (!memory.gpu()) return xio::emulation::heap_memory();
  const auto allocate = [memory](size_t bytes, size_t) -> void* {
    const xio::host::MemoryBuffer buffer =
        xio::host::MemoryAllocator(memory.gpu()).allocate(xio::host::MemoryKind::host_coherent, bytes);
    memory.add(buffer);
    return buffer.cpu();
  };
  return {allocate, [](void*) {}};
}

/// Converts CPU addresses to the executor's addresses.
template <class... T>
void to_executor(const ExecutorMemory& memory, T*&... addresses) {
  const auto translated = [&memory](auto* cpu) {
    using Object = std::remove_pointer_t<decltype(cpu)>;
    return cpu == nullptr ? cpu : static_cast<Object*>(memory.address(const_cast<std::remove_const_t<Object>*>(cpu)));
  };
  ((addresses = translated(addresses)), ...);
}

inline void to_executor(const ExecutorMemory& memory, xio::rdma::CompletionQueueHandle& cq) {
  to_executor(memory, cq.entries, cq.producer, cq.record, cq.doorbell);
}

inline xio::rdma::QueuePairHandle for_executor(xio::rdma::QueuePairHandle handle, const ExecutorMemory& memory) {
  to_executor(memory, handle.state, handle.send, handle.sq, handle.sq_record, handle.sq_doorbell, handle.side_table);
  to_executor(memory, handle.cq);
  handle.clock_hz = memory.clock_hz();
  return handle;
}

inline xio::rdma::ReceiveQueueHandle for_executor(xio::rdma::ReceiveQueueHandle handle, const ExecutorMemory& memory) {
  to_executor(memory, handle.state, handle.rq, handle.record, handle.doorbell, handle.slots);
  to_executor(memory, handle.cq);
  handle.clock_hz = memory.clock_hz();
  return handle;
}

template <class Kit>
class EmulatedRdmaLink final : public RdmaLink {
 public:
  using Fabric = xio::emulation::RdmaFabric;

  /// @param fabric  shared with other links of this process, whose queue pairs have other numbers
  /// @param first   number of the first queue pair on the fabric
  /// @param memory  memory for the rings
  explicit EmulatedRdmaLink(const RdmaLinkShape& shape, std::shared_ptr<Fabric> fabric = std::make_shared<Fabric>(),
                            uint32_t first = 0, const ExecutorMemory& memory = ExecutorMemory())
      : shape_(shape), memory_(memory), fabric_(std::move(fabric)) {
    const uint32_t sides = shape.loopback || shape.remote ? 1 : 2;
    for (uint32_t i = 0; i < shape.queues * sides; ++i) {
      pairs_.push_back(std::make_unique<Pair>(*fabric_, config_of(shape, first + i), ring_memory(memory_)));
      pairs_.back()->limit_depth(shape.units_in_flight);
      nic_.add(pairs_.back()->model());
      // Waves of a GPU poll the state.
      if (memory_.gpu())
        states_.push_back(
            xio::host::GpuReach(memory_.gpu()).copy(&pairs_.back()->state(), pairs_.back()->state_bytes()));
    }
    if (shape.remote) return;
    for (uint32_t i = 0; i < shape.queues; ++i) {
      pair(i).model().connect(peer(i).config().qpn);
      peer(i).model().connect(pair(i).config().qpn);
    }
  }

  xio::rdma::QueuePairHandle queue(uint32_t number) override {
    xio::rdma::QueuePairHandle handle = for_executor(pair(number).handle(), memory_);
    in_gpu(handle.state, pair(number));
    in_gpu(handle.send, pair(number));
    handle.signal_every = 0;  // only the last operation of each batch
    return handle;
  }
  xio::rdma::ReceiveQueueHandle receives(uint32_t number) override {
    xio::rdma::ReceiveQueueHandle handle = for_executor(peer(number).receive_handle(), memory_);
    in_gpu(handle.state, peer(number));
    in_gpu(handle.slots, peer(number));
    return handle;
  }
  xio::host::QueuePairAddress address(uint32_t number) const override {
    return {pair(number).config().qpn, 0, 4096, 0, {}};
  }
  void connect(uint32_t number, const xio::host::QueuePairAddress& peer) override {
    pair(number).model().connect(peer.qpn);
  }
  RdmaKeys add_memory(void* memory, uint64_t bytes) override {
    const uint32_t key = fabric_->keys().add(memory, bytes);
    return {key, key};
  }
  void start() override { nic_.start(); }
  void stop() override { nic_.stop(); }

  void run(const RdmaPhase& phase) override {
    launch_rdma_workload<typename Kit::Vendor, Kit::has_inline>(shape_, phase);
  }

  RdmaSeen seen() const override {
    RdmaSeen all;
    for (const auto& one : pairs_) {
      const xio::emulation::RdmaStatistics statistics = one->model().statistics();
      all.doorbells += statistics.doorbells;
      all.operations += statistics.operations;
      all.signaled += statistics.signaled;
      all.completions += statistics.completions;
      all.receive_completions += statistics.receive_completions;
      all.violations.insert(all.violations.end(), statistics.violations.begin(), statistics.violations.end());
    }
    return all;
  }

  /// For tests: injects faults of the NIC.
  xio::emulation::RdmaFaultPlan& faults(uint32_t number) { return pair(number).model().faults(); }

 private:
  using Pair = xio::emulation::RdmaQueuePair<Kit>;

  /// With a GPU, changes the address of a part of the pair's state to that of its copy.
  template <class T>
  void in_gpu(T*& part, Pair& pair) const {
    if (!memory_.gpu()) return;
    size_t number = 0;
    while (pairs_[number].get() != &pair) ++number;
    const auto* const first = reinterpret_cast<const char*>(memory_.address(&pair.state()));
    const auto offset = reinterpret_cast<const char*>(part) - first;
    part = reinterpret_cast<T*>(static_cast<char*>(states_[number].get()) + offset);
  }

  static xio::emulation::RdmaQueueConfig config_of(const RdmaLinkShape& shape, uint32_t number) {
    xio::emulation::RdmaQueueConfig config = Kit::config();
    config.qpn = 0x100 + number;
    if (config.handle != 0) config.handle = 0x2000 + number;
    config.cqn = 0x4000 + 2 * number;
    config.receive_cqn = config.cqn + 1;
    config.sq_units = shape.sq_units;
    if (config.side_entries != 0) config.side_entries = shape.sq_units;
    config.cq_entries = shape.cq_entries;
    config.rq_entries = shape.rq_entries;
    config.receive_cq_entries = 2 * shape.rq_entries;
    return config;
  }

  Pair& pair(uint32_t number) const { return *pairs_[number]; }
  Pair& peer(uint32_t number) const {
    return *pairs_[shape_.loopback || shape_.remote ? number : shape_.queues + number];
  }

  RdmaLinkShape shape_;
  ExecutorMemory memory_;
  std::shared_ptr<Fabric> fabric_;
  std::vector<std::unique_ptr<Pair>> pairs_;
  std::vector<std::shared_ptr<void>> states_;  // of each pair, on a GPU
  xio::emulation::RdmaNic nic_;                // destroyed first
};

template <class Kit>
uint32_t units_of(RdmaVerb verb, bool immediate, uint32_t bytes, bool inline_data) {
  using xio::rdma::Operation;
  const xio::emulation::RdmaQueueConfig config = Kit::config();
  xio::rdma::SendShape shape;
  shape.entry_shift = config.sq_unit_shift;
  shape.max_sges = config.max_sges;
  shape.max_inline = config.max_inline;
  xio::rdma::Work work;
  work.operation = verb == RdmaVerb::read        ? Operation::get
                   : verb == RdmaVerb::send      ? Operation::send
                   : verb == RdmaVerb::fetch_add ? Operation::fetch_add
                   : immediate                   ? Operation::put_immediate
                                                 : Operation::put;
  using Send = typename Kit::Vendor::Send;
  if (bytes == 0) return Send::units(shape, work, xio::rdma::NoPayload{});
  if constexpr (Kit::has_inline) {
    if (inline_data) return Send::units(shape, work, xio::rdma::InlineBytes{nullptr, bytes});
  }
  return Send::units(shape, work, xio::rdma::OneSge{{0, bytes, 0}});
}

template <class Kit>
RdmaProvider emulated_provider() {
  RdmaProvider provider;
  const xio::emulation::RdmaQueueConfig config = Kit::config();
  provider.name = Kit::Vendor::name;
  provider.where = "emulated " + provider.name;
  provider.heading = "in-process model, not a NIC";
  provider.described = provider.name + ", emulated: one thread of this process emulates the NIC";
  provider.seen_by = "seen by NIC";
  provider.max_inline = Kit::has_inline ? config.max_inline : 0;
  provider.spare_units = config.sq_units - Kit::depth(config);
  provider.units = units_of<Kit>;
  provider.open = [](const RdmaLinkShape& shape, const ExecutorMemory& memory) -> std::unique_ptr<RdmaLink> {
    return std::make_unique<EmulatedRdmaLink<Kit>>(shape, std::make_shared<xio::emulation::RdmaFabric>(), 0, memory);
  };
  return provider;
}

}  // namespace tester
