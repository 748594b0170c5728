// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Parameters of a run with one transfer size, derived from the options and the provider.

#include "tester/rdma/link.hpp"
#include "tester/rdma/options.hpp"

namespace tester {

struct RdmaPlan {
  uint32_t bytes = 0;       ///< of one operation
  uint32_t sq_depth = 0;    ///< operations that a send queue is created for
  uint32_t depth = 0;       ///< operations in flight on a queue pair
  uint32_t batch = 0;       ///< entries of a wave per doorbell; 0: as many as fit
  uint32_t lanes = 1;       ///< lanes that share a queue pair
  uint32_t window = 0;      ///< operations in flight of a lane; ping-pong: its places
  uint32_t lane_batch = 0;  ///< entries of one lane per doorbell
  uint32_t units = 1;       ///< units of a send ring per operation
  bool inline_data = false;
  RdmaLinkShape shape;
  bool notices = false;       ///< two nodes: a message closes each batch, since the responder is not notified of writes
  uint32_t receives = 0;      ///< two nodes: receives posted at a time on each queue pair
  uint32_t far_places = 0;    ///< places per lane in the other side's memory; this side has `window`
  uint64_t place_bytes = 0;   ///< distance of consecutive places
  uint64_t near_credits = 0;  ///< end of the places in the requesting side's memory
  uint64_t far_credits = 0;   ///< end of the places in the other side's memory
  uint64_t near_bytes = 0;    ///< size of the requesting side's memory
  uint64_t far_bytes = 0;     ///< size of the other side's memory
};

/// Transfer sizes of a run: the given ones, or the operation's defaults.
std::vector<uint64_t> transfer_sizes(const RdmaOptions& options);

/// Computes the plan. Throws BadInput if the provider cannot run the options.
RdmaPlan make_plan(const RdmaOptions& options, const RdmaProvider& provider, uint64_t bytes);

}  // namespace tester
