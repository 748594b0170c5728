// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief All conditions for sharing a controller with the kernel, in the order of their checks; for sharing it, and
/// for reports only.

#include <chrono>
#include <memory>
#include <optional>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/linux/kernel_calls.hpp>
#include <xio/host/nvme/controller_access.hpp>
#include <xio/host/nvme/kernel_controller.hpp>
#include <xio/host/nvme/kernel_huge_pages.hpp>
#include <xio/host/nvme/kernel_obstacle.hpp>
#include <xio/host/nvme/kernel_registers.hpp>
#include <xio/host/nvme/kernel_shared_access.hpp>
#include <xio/host/nvme/kernel_shared_checks.hpp>
#include <xio/host/nvme/kernel_shared_options.hpp>
#include <xio/host/wait.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// Objects opened and values read by an inspection, as far as it got.
struct InspectedController {
  std::unique_ptr<KernelRegisters> registers;
  uint32_t page_shift = 12;       ///< log2 of the controller's memory page, in bytes
  std::optional<QueueIds> spare;  ///< queue identifiers that the kernel left
};

/// Checks everything that world-readable files report.
inline void inspect_from_outside(KernelCalls& calls, const KernelController& controller,
                                 const KernelSharedOptions& options, SharingFindings& findings) {
  detail::check_transport(controller, findings);
  detail::check_state(controller, findings);
  detail::check_iommu(controller.pci(), findings);
  if (!options.read_mounted) detail::check_uses(calls, controller, options, findings);
}

namespace detail {

/// Checks everything that only root can read: registers, which are only read, and admin commands that only query.
/// @param limit  for the driver, which may be resetting the controller, and for each command
inline InspectedController inspect_as_root(KernelCalls& calls, const KernelController& controller,
                                           KernelSharedAccess& access, std::chrono::milliseconds limit,
                                           SharingFindings& findings) {
  InspectedController found;
  const auto ask = [&findings](const auto& question) {
    try {
      question();
    } catch (const Error& reason) {
      findings.unanswered(reason);
    }
  };
  found.registers = map_registers(calls, controller.pci(), findings);
  bool live = false;
  ask([&] {
    access.wait_until_live(Timeout(limit));
    live = true;
  });
  if (!live) return found;
  if (found.registers) found.page_shift = check_configuration(*found.registers, findings);
  std::optional<uint32_t> oacs;
  ask([&] { oacs = access.optional_commands(limit); });
  if (oacs) check_shadow_doorbells(controller, *oacs, findings);
  ask([&] { found.spare = access.spare_queues(limit); });
  if (found.spare) check_spare_queues(controller, *found.spare, findings);
  return found;
}

}  // namespace detail

/// Runs inspect_from_outside() and inspect_as_root(). Changes nothing.
/// @return identifiers of the queues that the kernel left, if it reports them
inline std::optional<QueueIds> inspect_sharing(const std::shared_ptr<KernelCalls>& calls,
                                               const KernelController& controller, const KernelSharedOptions& options,
                                               std::chrono::milliseconds limit, SharingFindings& findings) {
  inspect_from_outside(*calls, controller, options, findings);
  try {
    detail::KernelSharedAccess access(calls, controller, options);
    return detail::inspect_as_root(*calls, controller, access, limit, findings).spare;
  } catch (const Error& reason) {
    findings.unanswered(reason);
  }
  return std::nullopt;
}

}  // namespace host

XIO_NAMESPACE_END
