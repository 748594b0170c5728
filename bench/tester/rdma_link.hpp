// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Connected queue pairs and what is behind them, whatever that is: emulated NICs today. A verbs device becomes
/// one more way to open a link.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <xio/device/rdma_handle.hpp>

#include "tester/rdma_phase.hpp"

namespace tester {

/// How a link's queue pairs are to be made.
struct RdmaLinkShape {
  uint32_t queues = 1;
  bool loopback = true;
  uint32_t sq_units = 2;         ///< of the send ring, a power of two
  uint32_t units_in_flight = 1;  ///< of a send ring
  uint32_t cq_entries = 2;       ///< a power of two
  uint32_t rq_entries = 2;       ///< a power of two
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

class RdmaLink {
 public:
  virtual ~RdmaLink() = default;

  virtual xio::rdma::QueuePairHandle queue(uint32_t number) = 0;
  /// The receive queue of the side that the queue pair sends to.
  virtual xio::rdma::ReceiveQueueHandle receives(uint32_t number) = 0;
  /// Registers memory, which outlives the link. The key is the local and the remote one.
  virtual uint32_t add_memory(void* memory, uint64_t bytes) = 0;
  /// The other side begins to work.
  virtual void start() = 0;
  /// Runs the workload kernel on all queue pairs; returns when the last one is done.
  virtual void run(const RdmaPhase& phase) = 0;
  virtual RdmaSeen seen() const = 0;
};

/// What a provider's queue pairs can do, and how to make some.
struct RdmaProvider {
  std::string name;
  uint32_t max_inline = 0;   ///< bytes of data that an entry can hold; 0: none
  uint32_t spare_units = 0;  ///< of a send ring that always stay free
  /// Units of a send ring that one operation takes.
  uint32_t (*units)(RdmaVerb verb, bool immediate, uint32_t bytes, bool inline_data) = nullptr;
  std::unique_ptr<RdmaLink> (*open_emulated)(const RdmaLinkShape& shape) = nullptr;
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
