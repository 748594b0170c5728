// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief From what was asked for and what the provider can do to the numbers of a run with one transfer size.

#include "tester/rdma/link.hpp"
#include "tester/rdma/options.hpp"

namespace tester {

struct RdmaPlan {
  uint32_t bytes = 0;       ///< of one operation
  uint32_t sq_depth = 0;    ///< operations that a send queue is made for
  uint32_t depth = 0;       ///< operations in flight on a queue pair
  uint32_t batch = 0;       ///< entries of a wave for one doorbell; 0: as many as there is room for
  uint32_t lanes = 1;       ///< that share a queue pair
  uint32_t window = 0;      ///< operations of a lane in flight
  uint32_t lane_batch = 0;  ///< of one lane
  uint32_t units = 1;       ///< of a send ring, for one operation
  bool inline_data = false;
  RdmaLinkShape shape;
  bool notices = false;       ///< two nodes: a message closes each batch, since its writes are silent
  uint32_t receives = 0;      ///< two nodes: posted at a time on each queue pair
  uint32_t far_places = 0;    ///< of the other side's memory, for each lane; this side's has `window`
  uint64_t place_bytes = 0;   ///< from one place to the next
  uint64_t near_credits = 0;  ///< where the places end in the requesting side's memory
  uint64_t far_credits = 0;   ///< and in the other side's
  uint64_t near_bytes = 0;    ///< of the requesting side's memory
  uint64_t far_bytes = 0;     ///< of the other side's
};

/// The transfer sizes of a run, as they were given or as the operation has them.
std::vector<uint64_t> transfer_sizes(const RdmaOptions& options);

/// Throws BadInput where the provider cannot do what was asked for.
RdmaPlan make_plan(const RdmaOptions& options, const RdmaProvider& provider, uint64_t bytes);

}  // namespace tester
