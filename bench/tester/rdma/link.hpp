// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Connected queue pairs and what is behind them, whatever that is: emulated NICs, or a verbs device.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <xio/device/rdma/handle.hpp>
#include <xio/host/memory/allocator.hpp>
#include <xio/host/rdma/address.hpp>

#include "tester/launch/memory.hpp"
#include "tester/rdma/phase.hpp"

namespace tester {

/// How a link's queue pairs are to be made.
struct RdmaLinkShape {
  uint32_t queues = 1;
  uint32_t waves = 1;  ///< that use each queue pair
  uint32_t wave_size = 1;
  bool loopback = true;          ///< each queue pair is connected to itself, else to one of this process
  bool remote = false;           ///< each queue pair is connected to one of another process
  uint32_t sq_units = 2;         ///< of the send ring, a power of two
  uint32_t units_in_flight = 1;  ///< of a send ring
  uint32_t cq_entries = 2;       ///< a power of two
  uint32_t rq_entries = 2;       ///< a power of two
  uint32_t inline_bytes = 0;     ///< that an entry has to hold
};

/// What the other side of the queues noticed, of all queue pairs together.
struct RdmaSeen {
  uint64_t doorbells = 0;   ///< several stores between two looks count once
  uint64_t operations = 0;  ///< executed
  uint64_t signaled = 0;    ///< of them, those that asked for a completion entry
  uint64_t completions = 0;
  uint64_t receive_completions = 0;
  std::vector<std::string> violations;  ///< what no driver may do
};

/// Keys of registered memory.
struct RdmaKeys {
  uint32_t local = 0;
  uint32_t remote = 0;
  bool atomics = true;  ///< rdma::RemoteMemory::atomics
};

class RdmaLink {
 public:
  virtual ~RdmaLink() = default;

  virtual xio::rdma::QueuePairHandle queue(uint32_t number) = 0;
  /// The receive queue of the side that the queue pair sends to.
  virtual xio::rdma::ReceiveQueueHandle receives(uint32_t number) = 0;
  /// For the other process, which connects to it.
  virtual xio::host::QueuePairAddress address(uint32_t number) const = 0;
  /// With a queue pair of another process; the other links connect when they are made.
  virtual void connect(uint32_t number, const xio::host::QueuePairAddress& peer) = 0;
  /// Registers memory, which outlives the link.
  virtual RdmaKeys add_memory(void* memory, uint64_t bytes) = 0;
  /// Registers memory of a GPU, which outlives the link.
  virtual RdmaKeys add_gpu_memory(const xio::host::MemoryBuffer& memory) {
    return add_memory(memory.cpu(), memory.size());
  }
  /// The other side begins to work.
  virtual void start() = 0;
  /// Runs the workload kernel on the CPU, on all queue pairs; returns when the last one is done.
  virtual void run(const RdmaPhase& phase) = 0;
  virtual RdmaSeen seen() const = 0;
};

/// What a provider's queue pairs can do, and how to make some.
struct RdmaProvider {
  std::string address;  ///< that other machines reach the device's port at by IP; empty: none is known
  std::string name;
  std::string where;    ///< "emulated mlx5", or the device
  std::string heading;  ///< what the figures are not
  std::string described;
  std::string seen_by;       ///< what RdmaSeen::doorbells counts
  uint32_t max_inline = 0;   ///< bytes of data that an entry can hold; 0: none
  uint32_t spare_units = 0;  ///< of a send ring that always stay free
  /// Units of a send ring that one operation takes.
  uint32_t (*units)(RdmaVerb verb, bool immediate, uint32_t bytes, bool inline_data) = nullptr;
  /// @param memory  for queues that the executor reaches; outlives the link
  std::function<std::unique_ptr<RdmaLink>(const RdmaLinkShape& shape, const ExecutorMemory& memory)> open;
};

// One source file for each, since each brings a kernel.
RdmaProvider mlx5_provider();
RdmaProvider bnxt_provider();
RdmaProvider ionic_provider();
RdmaProvider ernic_provider();
RdmaProvider rxe_provider();

/// Throws BadInput where there is no provider of that name.
RdmaProvider find_rdma_provider(const std::string& name);

}  // namespace tester
