// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief From what was asked for and what the provider can do to the numbers of a run with one transfer size.

#include "tester/rdma_link.hpp"
#include "tester/rdma_options.hpp"

namespace tester {

struct RdmaPlan {
  uint32_t bytes = 0;     ///< of one operation
  uint32_t sq_depth = 0;  ///< operations that a send queue is made for
  uint32_t depth = 0;     ///< operations in flight on a queue pair
  uint32_t batch = 0;     ///< entries for one doorbell; 0: as many as there is room for
  uint32_t units = 1;     ///< of a send ring, for one operation
  bool inline_data = false;
  RdmaLinkShape shape;
  uint64_t place_bytes = 0;  ///< from one place to the next
  uint64_t side_bytes = 0;   ///< of either side's memory
};

/// The transfer sizes of a run, as they were given or as the operation has them.
std::vector<uint64_t> transfer_sizes(const RdmaOptions& options);

/// Throws BadInput where the provider cannot do what was asked for.
RdmaPlan make_plan(const RdmaOptions& options, const RdmaProvider& provider, uint64_t bytes);

}  // namespace tester
