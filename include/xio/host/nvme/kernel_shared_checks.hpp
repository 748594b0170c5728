// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Conditions for sharing a controller with the kernel, one at a time: what must hold, and the remedy if it does
/// not.

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/linux/file_descriptor.hpp>
#include <xio/host/linux/kernel_calls.hpp>
#include <xio/host/linux/pci.hpp>
#include <xio/host/nvme/admin_result.hpp>
#include <xio/host/nvme/controller_access.hpp>
#include <xio/host/nvme/kernel_controller.hpp>
#include <xio/host/nvme/kernel_obstacle.hpp>
#include <xio/host/nvme/kernel_registers.hpp>
#include <xio/host/nvme/kernel_shared_options.hpp>
#include <xio/host/nvme/kernel_use.hpp>
#include <xio/host/text.hpp>
#include <xio/vendors/nvme/identify.hpp>
#include <xio/vendors/nvme/registers.hpp>

XIO_NAMESPACE_BEGIN

namespace host::detail {

inline std::string use_vfio(const std::string& address) { return "use vfio: scripts/xio-bind bind " + address; }

/// Builds an obstacle whose message begins with the transport's name.
inline SharingObstacle sharing_obstacle(const std::string& what, const std::string& message, const std::string& fix,
                                        const std::string& boot_parameter = {}) {
  return {what, "kernel-shared: " + message, fix, boot_parameter};
}

/// Resolves the path.
inline KernelNvmePath check_path(KernelCalls& calls, const KernelSharedOptions& options) {
  if (!calls.exists(options.path))
    throw Error("kernel-shared: " + options.path + " does not exist; /sys/class/nvme lists the controllers");
  KernelNvmePath found = find_kernel_nvme(calls, options.path);
  if (found.controller.empty())
    throw Error("kernel-shared: " + options.path +
                " is neither a controller (/dev/nvme0) nor a whole namespace (/dev/nvme0n1, /dev/disk/by-id/...)");
  return found;
}

inline void check_transport(const KernelController& controller, SharingFindings& findings) {
  const std::string transport = controller.transport();
  if (transport == "pcie") return;
  const std::string what =
      "reached by " + (transport.empty() ? "nothing" : transport) + "; only controllers on PCI Express can be shared";
  findings.add(sharing_obstacle("it is " + what, controller.name() + " is " + what, "take another drive"));
}

inline void check_state(const KernelController& controller, SharingFindings& findings) {
  const std::string state = controller.state();
  if (!KernelController::is_gone(state)) return;
  const std::string gone = "gone (state '" + state + "')";
  findings.add(
      sharing_obstacle("it is " + gone, controller.name() + " is " + gone + "; see dmesg", "dmesg | grep nvme"));
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

/// Checks that addresses which the driver gives the controller stay valid after its command, and are physical.
inline void check_iommu(const PciFunction& pci, SharingFindings& findings) {
  if (pci.iommu_group().empty()) return;
  const std::string domain = pci.iommu_domain();
  if (domain == "identity") return;
  const std::string name = domain.empty() ? "unknown" : domain;
  const std::string vfio = use_vfio(pci.address());
  findings.add(sharing_obstacle(
      "its IOMMU domain translates (" + name + ")",
      pci.address() + " is behind an IOMMU that translates (domain " + name + "): boot with iommu=pt, or " + vfio,
      vfio + " --apply", "iommu=pt"));
}

inline void check_uses(KernelCalls& calls, const KernelController& controller, const KernelSharedOptions& options,
                       SharingFindings& findings) {
  for (const BlockUse& use : uses_of(calls, controller))
    findings.add(sharing_obstacle((use.known ? "in use: " : "may be in use: ") + use.what,
                                  controller.name() + (use.known ? " is in use: " : " may be in use: ") + use.what +
                                      "; " + (use.known ? "end that" : use.end) + ", or read only: " + options.path +
                                      ",mounted=read",
                                  use.end));
}

/// Why writes are not allowed, with a remedy; empty if they are. Requires unused namespaces, or mounted=read.
inline std::string why_read_only(KernelCalls& calls, const KernelController& controller, const KernelNvmePath& path,
                                 const KernelSharedOptions& options) {
  if (options.read_mounted) {
    const std::vector<BlockUse> uses = uses_of(calls, controller);
    if (uses.empty()) return "kernel-shared: mounted=read allows reads only; leave it out";
    return "kernel-shared: " + uses.front().what +
           ", and mounted=read allows reads only; end that, and leave mounted= out";
  }
  if (!path.by_id)
    return "kernel-shared: " + options.path +
           " may be another drive after the next boot; to write, name the namespace: /dev/disk/by-id/nvme-...";
  return {};
}

/// Claims a namespace that is to be written to, so that nothing else can mount it, through whichever controller.
inline std::vector<FileDescriptor> claim(KernelCalls& calls, const KernelController& controller,
                                         const KernelNamespace& one) {
  std::vector<FileDescriptor> claims;
  for (const std::string& name : blocks_of(calls, controller, one))
    claims.emplace_back(open_claimed(calls, name), "kernel-shared: /dev/" + name + " cannot be claimed");
  return claims;
}

inline SharingObstacle unmapped_registers(const PciFunction& pci, int error) {
  const std::string start = "BAR0 of " + pci.address() + " cannot be mapped";
  const std::string vfio = use_vfio(pci.address());
  if (error == EINVAL)
    return sharing_obstacle(
        "the kernel does not let its registers be mapped (CONFIG_IO_STRICT_DEVMEM)",
        start + " while the driver has it (CONFIG_IO_STRICT_DEVMEM): boot with iomem=relaxed, or " + vfio,
        vfio + " --apply", "iomem=relaxed");
  // Lockdown fails the mapping of registers; missing rights fail the opening of their file.
  if (error == EPERM || error == EACCES)
    return sharing_obstacle(
        "the kernel is locked down: no registers are mapped",
        start + ": run as root, and without kernel lockdown (secure boot switches it on); or " + vfio,
        "switch Secure Boot off in the firmware, or " + vfio + " --apply");
  return sharing_obstacle("its registers cannot be mapped: " + std::string(std::strerror(error)),
                          start + ": " + std::strerror(error), vfio + " --apply");
}

/// Maps the registers; null if an obstacle prevents it.
inline std::unique_ptr<KernelRegisters> map_registers(KernelCalls& calls, const PciFunction& pci,
                                                      SharingFindings& findings) {
  const int opened = calls.open(pci.resource(0));
  if (opened < 0) {
    findings.add(unmapped_registers(pci, errno));
    return nullptr;
  }
  const FileDescriptor fd(opened, "kernel-shared: BAR0");
  struct stat info{};
  if (::fstat(fd.get(), &info) != 0) throw_system_error("kernel-shared: BAR0 of " + pci.address(), errno);
  const auto bytes = static_cast<size_t>(info.st_size);
  if (bytes < KernelRegisters::min_bytes) {
    const std::string what = "has " + std::to_string(bytes) + " bytes; this is no NVMe controller";
    findings.add(sharing_obstacle("its BAR0 " + what, "BAR0 of " + pci.address() + " cannot be mapped: it " + what,
                                  "take another drive"));
    return nullptr;
  }
  void* const data = calls.map(fd.get(), bytes);
  if (data == MAP_FAILED) {
    findings.add(unmapped_registers(pci, errno));
    return nullptr;
  }
  return std::make_unique<KernelRegisters>(data, bytes);
}

/// Checks that the driver has enabled the controller, with entries of the usual sizes.
/// @return log2 of the controller's memory page
inline uint32_t check_configuration(const KernelRegisters& registers, SharingFindings& findings) {
  const nvme::Cc cc{registers.read32(nvme::reg::cc)};
  if (~cc.raw == 0) {
    const std::string gone = "gone: its registers read as all ones";
    findings.add(sharing_obstacle("it is " + gone, "the controller is " + gone, "dmesg | grep nvme"));
  } else if (!cc.en()) {
    findings.add(sharing_obstacle("the kernel has not enabled it",
                                  "the kernel has not enabled the controller; see dmesg", "dmesg | grep nvme"));
  } else if (cc.iosqes() != 6 || cc.iocqes() != 4) {
    const std::string sizes = "with entries of " + std::to_string(1u << cc.iosqes()) + " and " +
                              std::to_string(1u << cc.iocqes()) + " bytes; only 64 and 16 are supported";
    findings.add(sharing_obstacle("the kernel runs it " + sizes, "the kernel runs this controller " + sizes,
                                  "take another drive"));
  }
  return 12 + cc.mps();
}

/// Checks for shadow doorbells, which the driver always enables if they are supported. The controller then ignores the
/// registers of new queues, too, and reads a page that is private to the driver.
inline void check_shadow_doorbells(const KernelController& controller, uint32_t oacs, SharingFindings& findings) {
  if ((oacs & nvme::oacs::doorbell_buffer_config) == 0) return;
  const std::string vfio = use_vfio(controller.pci().address());
  findings.add(sharing_obstacle(
      "the kernel has switched its shadow doorbells on (Doorbell Buffer Config)",
      controller.name() +
          " has shadow doorbells (Doorbell Buffer Config), which the kernel has switched on: a virtual drive; switch "
          "them off (QEMU 10: dbcs=off), or " +
          vfio,
      vfio + " --apply; or, with QEMU 10, dbcs=off"));
}

/// Human-readable summary: "8 queue pairs, 4 of them the kernel's".
inline std::string queues_text(const QueueIds& spare) {
  return std::to_string(spare.last) + " queue pairs, " + std::to_string(spare.first - 1) + " of them the kernel's";
}

inline void check_spare_queues(const KernelController& controller, const QueueIds& spare, SharingFindings& findings) {
  if (spare.count() != 0) return;
  const std::string none = "no spare queue on this controller: ";
  const std::string vfio = use_vfio(controller.pci().address());
  findings.add(sharing_obstacle(
      none + queues_text(spare),
      none + "the kernel uses all " + std::to_string(spare.last) + " of " + controller.name() + "; " + vfio,
      vfio + " --apply"));
}

}  // namespace host::detail

XIO_NAMESPACE_END
