// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Connected queue pairs and their device: emulated NICs or a verbs device.

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

/// Parameters for creating a link's queue pairs.
struct RdmaLinkShape {
  uint32_t queues = 1;
  uint32_t waves = 1;  ///< waves that use each queue pair
  uint32_t wave_size = 1;
  bool loopback = true;          ///< each queue pair is connected to itself, else to another one of this process
  bool remote = false;           ///< each queue pair is connected to one of another process
  uint32_t sq_units = 2;         ///< size of the send ring, a power of two
  uint32_t units_in_flight = 1;  ///< units of a send ring in flight
  uint32_t cq_entries = 2;       ///< a power of two
  uint32_t rq_entries = 2;       ///< a power of two
  uint32_t inline_bytes = 0;     ///< inline data that an entry must hold
};

/// Observations of the device, summed over all queue pairs.
struct RdmaSeen {
  uint64_t doorbells = 0;   ///< several stores between two polls count once
  uint64_t operations = 0;  ///< operations executed
  uint64_t signaled = 0;    ///< operations that requested a completion entry
  uint64_t completions = 0;
  uint64_t receive_completions = 0;
  std::vector<std::string> violations;  ///< violations of the device's interface
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
  /// Address for the other process, which connects to it.
  virtual xio::host::QueuePairAddress address(uint32_t number) const = 0;
  /// Connects to a queue pair of another process; other links connect at creation.
  virtual void connect(uint32_t number, const xio::host::QueuePairAddress& peer) = 0;
  /// Registers memory, which must outlive the link.
  virtual RdmaKeys add_memory(void* memory, uint64_t bytes) = 0;
  /// Registers GPU memory, which must outlive the link.
  virtual RdmaKeys add_gpu_memory(const xio::host::MemoryBuffer& memory) {
    return add_memory(memory.cpu(), memory.size());
  }
  /// Starts the device.
  virtual void start() = 0;
  /// Stops a device that this process emulates, until start(): it needs a processor.
  virtual void stop() {}
  /// Runs the workload kernel on the CPU, on all queue pairs; returns when all have finished.
  virtual void run(const RdmaPhase& phase) = 0;
  virtual RdmaSeen seen() const = 0;
};

/// Capabilities of a provider's queue pairs, and their creation.
struct RdmaProvider {
  std::string address;  ///< IP address of the device's port; empty: unknown
  std::string name;
  std::string where;    ///< "emulated mlx5", or the device
  std::string heading;  ///< what the figures do not measure
  std::string described;
  std::string seen_by;       ///< meaning of RdmaSeen::doorbells
  uint32_t max_inline = 0;   ///< bytes of inline data that an entry can hold; 0: none
  uint32_t spare_units = 0;  ///< units of a send ring that always stay free
  /// Units of a send ring that one operation occupies.
  uint32_t (*units)(RdmaVerb verb, bool immediate, uint32_t bytes, bool inline_data) = nullptr;
  /// @param memory  for queues that the executor can access; must outlive the link
  std::function<std::unique_ptr<RdmaLink>(const RdmaLinkShape& shape, const ExecutorMemory& memory)> open;
};

/// Names of the emulated NICs' providers.
std::vector<std::string> rdma_provider_names();

/// Provider by name. Throws BadInput for an unknown name.
RdmaProvider find_rdma_provider(const std::string& name);

}  // namespace tester
