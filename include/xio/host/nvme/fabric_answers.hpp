// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What a target's answers mean for its host. A target may answer anything: each of these gives what can be
/// used, or throws Error. Needs no RDMA.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/nvme/fabric_options.hpp>
#include <xio/host/nvme/identify.hpp>
#include <xio/host/nvme/queue_plan.hpp>
#include <xio/host/nvme/queue_setup.hpp>
#include <xio/vendors/nvme/fabrics.hpp>
#include <xio/vendors/nvme/registers.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

namespace detail {

/// Capsules that the controller can receive, of the private data of an accepted connection.
/// @param who  for the message
inline uint32_t accepted_capsules(const std::vector<uint8_t>& private_data, const std::string& who) {
  nvme::fabrics::RdmaAccept accept{};
  if (private_data.size() < sizeof accept)
    throw Error("fabrics: " + who + " is no NVMe target: its answer is too short; is the port right?");
  std::memcpy(&accept, private_data.data(), sizeof accept);
  return accept.receive_entries;
}

/// Entries of the largest queue: CAP.MQES + 1, and no more than the commands that the controller takes (MAXCMD).
inline uint32_t largest_fabric_queue(nvme::Cap cap, const ControllerInfo& info) {
  const uint32_t commands = info.view().maxcmd();
  return commands == 0 ? cap.mqes() + 1 : std::min(cap.mqes() + 1, commands);
}

/// I/O queues of which the controller has both: dword 0 of the completion of Set Features, Number of Queues.
inline uint32_t granted_queues(uint32_t dw0, uint32_t wanted) {
  return std::min({(dw0 & 0xffff) + 1, (dw0 >> 16) + 1, wanted});
}

/// Identifiers in a list of namespaces.
inline std::vector<uint32_t> listed_namespaces(const IdentifyPage& page) {
  std::vector<uint32_t> list;
  for (size_t i = 0; i < nvme::identify_bytes; i += 4) {
    const auto nsid = static_cast<uint32_t>(nvme::load_le(page.data() + i, 4));
    if (nsid == 0) break;
    list.push_back(nsid);
  }
  return list;
}

/// Sizes of a queue for kernels. The rings are ours: the target only knows how many commands are in flight. Capsules
/// have some more room than nvme::FabricLink demands, so that completions of SENDs are few.
inline QueuePlan plan_fabric_queue(uint32_t entries, const ControllerInfo& info, const NamespaceInfo& names) {
  constexpr uint32_t largest_ring = 65536;
  QueueOptions wanted;
  wanted.depth = entries - 1;
  QueueLimits limits;
  limits.max_entries = largest_ring;
  limits.block_shift = names.block_shift;
  limits.max_transfer_bytes = info.max_transfer_bytes;
  limits.commands = info.limits;
  QueuePlan plan = plan_queue(wanted, limits);
  plan.list_bytes = 0;  // each command has one descriptor
  plan.sq_entries = std::max(4 * plan.sq_entries, 64u);
  return plan;
}

}  // namespace detail

/// @}
}  // namespace host

XIO_NAMESPACE_END
