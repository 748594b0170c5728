// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Rings that wrap soon.

#include <algorithm>

#include <xio/host/nvme/queue_plan.hpp>
#include <xio/host/power_of_two.hpp>

namespace xio_tests {

/// Makes the CQ twice the SQ however small that is: tests go round it several times.
/// @param most  of the controller's queues
inline void keep_cq_small(xio::host::QueueOptions& options, uint32_t most) {
  if (options.cq_entries != 0) return;
  const uint64_t sq =
      options.sq_entries != 0 ? options.sq_entries : xio::host::power_of_two_from(uint64_t{options.depth} + 1);
  options.cq_entries = static_cast<uint32_t>(std::min(2 * sq, xio::host::power_of_two_up_to(most)));
}

}  // namespace xio_tests
