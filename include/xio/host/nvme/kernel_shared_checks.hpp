// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief When a controller can be shared with the kernel: what must hold, and what to do where it does not.

#include <cerrno>
#include <string>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/file_descriptor.hpp>
#include <xio/host/kernel_calls.hpp>
#include <xio/host/nvme/admin_result.hpp>
#include <xio/host/nvme/kernel_controller.hpp>
#include <xio/host/nvme/kernel_registers.hpp>
#include <xio/host/nvme/kernel_shared_options.hpp>
#include <xio/host/pci.hpp>
#include <xio/host/text.hpp>
#include <xio/vendors/nvme/identify.hpp>
#include <xio/vendors/nvme/registers.hpp>

XIO_NAMESPACE_BEGIN

namespace host::detail {

inline std::string use_vfio(const std::string& address) { return "use vfio: scripts/xio-bind bind " + address; }

/// Where the path leads.
inline KernelNvmePath check_path(KernelCalls& calls, const KernelSharedOptions& options) {
  if (!calls.exists(options.path))
    throw Error("kernel-shared: " + options.path + " is not there; see `xio-tester list`");
  KernelNvmePath found = find_kernel_nvme(calls, options.path);
  if (found.controller.empty())
    throw Error("kernel-shared: " + options.path +
                " is neither a controller (/dev/nvme0) nor a whole namespace (/dev/nvme0n1, /dev/disk/by-id/...)");
  return found;
}

inline void check_controller(const KernelController& controller) {
  if (controller.transport() != "pcie")
    throw Error("kernel-shared: " + controller.name() + " is reached by " +
                (controller.transport().empty() ? "nothing" : controller.transport()) +
                "; only controllers on PCI Express can be shared");
}

inline FileDescriptor open_controller(KernelCalls& calls, const KernelController& controller) {
  const std::string path = "/dev/" + controller.name();
  const int fd = calls.open(path);
  if (fd < 0 && (errno == EACCES || errno == EPERM))
    throw Error("kernel-shared: " + path +
                " cannot be opened: run as root (registers and physical addresses are root's alone); without root, use "
                "vfio: scripts/xio-bind udev " +
                controller.pci().address());
  return {fd, "kernel-shared: " + path + " cannot be opened"};
}

/// The addresses that the driver gives the controller must stay good after its command, and be the physical ones.
inline void check_iommu(const PciFunction& pci) {
  if (pci.iommu_group().empty()) return;
  const std::string domain = pci.iommu_domain();
  if (domain == "identity") return;
  throw Error("kernel-shared: " + pci.address() + " is behind an IOMMU that translates (domain " +
              (domain.empty() ? "unknown" : domain) + "): boot with iommu=pt, or " + use_vfio(pci.address()));
}

/// Why nothing may be written, and the way out; empty: it may. Throws where not even reading is safe.
inline std::string check_use(KernelCalls& calls, const KernelController& controller, const KernelNvmePath& path,
                             const KernelSharedOptions& options) {
  for (const KernelNamespace& one : controller.namespaces()) {
    const std::string use = use_of(calls, one);
    if (use.empty()) continue;
    if (!options.read_mounted)
      throw Error("kernel-shared: " + controller.name() + " is in use: " + use +
                  "; end that, or read only: " + options.path + ",mounted=read");
    return "kernel-shared: " + use + ", and mounted=read reads only; end that, and leave mounted= out";
  }
  if (options.read_mounted) return "kernel-shared: mounted=read reads only; leave it out";
  if (!path.by_id)
    return "kernel-shared: " + options.path +
           " may be another drive after the next boot; to write, name the namespace: /dev/disk/by-id/nvme-...";
  return {};
}

/// Keeps everybody else from mounting a namespace that we write to.
inline FileDescriptor claim(KernelCalls& calls, const KernelNamespace& one) {
  const std::string node = "/dev/" + one.name;
  return {calls.open_exclusive(node), "kernel-shared: " + node + " cannot be claimed"};
}

/// log2 of the controller's memory page. The driver has enabled the controller, with entries of the usual sizes.
inline uint32_t check_configuration(const KernelRegisters& registers) {
  const nvme::Cc cc{registers.read32(nvme::reg::cc)};
  if (~cc.raw == 0) throw ControllerFailure("kernel-shared: the controller is gone: its registers read as all ones");
  if (!cc.en()) throw Error("kernel-shared: the kernel has not enabled the controller; see dmesg");
  if (cc.iosqes() != 6 || cc.iocqes() != 4)
    throw Error("kernel-shared: the kernel runs this controller with entries of " + std::to_string(1u << cc.iosqes()) +
                " and " + std::to_string(1u << cc.iocqes()) + " bytes; only 64 and 16 are known");
  return 12 + cc.mps();
}

/// The driver switches shadow doorbells on wherever there are some. The controller then ignores the registers of new
/// queues, too, and looks into a page of the driver's that nobody else sees.
inline void check_shadow_doorbells(const KernelController& controller, uint32_t oacs) {
  if ((oacs & nvme::oacs::doorbell_buffer_config) == 0) return;
  throw Error(
      "kernel-shared: " + controller.name() +
      " has shadow doorbells (Doorbell Buffer Config), which the kernel has switched on: a virtual drive; switch "
      "them off (QEMU 10: dbcs=off), or " +
      use_vfio(controller.pci().address()));
}

}  // namespace host::detail

XIO_NAMESPACE_END
