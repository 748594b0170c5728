// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Kernel interface of the vfio transport: a device and an IOMMU address space, by container group or iommufd.

#include <linux/vfio.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/linux/kernel_calls.hpp>
#include <xio/host/linux/pci.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

/// Range of bus addresses that the IOMMU lets a device use; both ends are included.
struct IovaRange {
  uint64_t first;
  uint64_t last;
};

/// An opened device in its own IOMMU address space. Usable from several threads. Throws Error if the kernel refuses a
/// request. Destruction closes everything, which revokes the device's access to memory.
class VfioAccess {
 public:
  virtual ~VfioAccess() = default;
  VfioAccess(const VfioAccess&) = delete;
  VfioAccess& operator=(const VfioAccess&) = delete;

  /// Descriptor of the device.
  virtual int device() const = 0;
  /// Address ranges that may be mapped, in ascending order.
  virtual const std::vector<IovaRange>& iova_ranges() const = 0;
  /// Smallest page of the IOMMU in bytes: mappings begin and end at multiples of it.
  virtual uint64_t page_bytes() const = 0;
  /// Lets the device read and write `bytes` of this process's memory at bus address `iova`. The pages stay locked until
  /// unmap().
  virtual void map(void* data, uint64_t iova, uint64_t bytes) = 0;
  /// Removes exactly one mapping made by map().
  virtual void unmap(uint64_t iova, uint64_t bytes) = 0;
  /// Human-readable name, for instance "group 12".
  virtual std::string description() const = 0;

 protected:
  VfioAccess() = default;
};

namespace detail {

template <class T>
uintptr_t argument_of(T* data) {
  return reinterpret_cast<uintptr_t>(data);
}

/// Result of an ioctl whose struct begins with `argsz`, `flags` and may be followed by a chain of capabilities.
template <class Info>
class VfioInfo {
 public:
  /// @param ask  the struct with its input filled in, except for `argsz`
  VfioInfo(KernelCalls& calls, int fd, unsigned long request, Info ask, const std::string& what) {
    size_t bytes = sizeof(Info);
    for (int round = 0; round < 2; ++round) {
      words_.assign((bytes + 7) / 8, 0);
      ask.argsz = static_cast<uint32_t>(bytes);
      std::memcpy(words_.data(), &ask, sizeof ask);
      if (calls.ioctl(fd, request, argument_of(words_.data())) != 0) throw_system_error("vfio: " + what, errno);
      // The kernel returns the full length, and omits what does not fit.
      if (get().argsz <= bytes) return;
      bytes = get().argsz;
    }
  }

  const Info& get() const { return *reinterpret_cast<const Info*>(words_.data()); }

  /// Returns the fixed part of the capability `id` in the chain that starts at `first`; null if absent. Elements that
  /// follow it are read by elements().
  template <class Capability>
  const Capability* find(uint32_t first, uint16_t id) const {
    const auto* bytes = reinterpret_cast<const unsigned char*>(words_.data());
    for (uint32_t at = first; at != 0 && at % 8 == 0 && room(at) >= sizeof(vfio_info_cap_header);) {
      const auto* header = reinterpret_cast<const vfio_info_cap_header*>(bytes + at);
      if (header->id == id && room(at) >= sizeof(Capability)) return reinterpret_cast<const Capability*>(bytes + at);
      // Offsets must ascend, so that the walk terminates.
      if (header->next <= at) break;
      at = header->next;
    }
    return nullptr;
  }

  /// Returns up to `count` elements behind a capability, limited to the bytes received.
  template <class Element, class Capability>
  std::vector<Element> elements(const Capability* capability, size_t count) const {
    const auto* bytes = reinterpret_cast<const unsigned char*>(capability) + sizeof(Capability);
    const size_t left = room(static_cast<size_t>(bytes - reinterpret_cast<const unsigned char*>(words_.data())));
    std::vector<Element> all(std::min(count, left / sizeof(Element)));
    if (!all.empty()) std::memcpy(all.data(), bytes, all.size() * sizeof(Element));
    return all;
  }

 private:
  size_t room(size_t at) const { return at < words_.size() * 8 ? words_.size() * 8 - at : 0; }

  std::vector<uint64_t> words_;
};

/// Throws for a node below /dev that could not be opened.
[[noreturn]] inline void refuse_node(const std::string& path, const PciFunction& pci, int error) {
  const std::string start = "vfio: " + path + " cannot be opened";
  if (error == EACCES || error == EPERM)
    throw Error(start + ": run as root, or let your user in: scripts/xio-bind udev " + pci.address());
  if (error == ENOENT) throw Error(start + ": it does not exist; load the driver: modprobe vfio-pci");
  if (error == EBUSY) throw Error(start + ": another process uses " + pci.address() + " or its IOMMU group");
  throw_system_error(start, error);
}

/// Devices of the group that keep the kernel from granting it, each with its driver; empty if there are none.
inline std::string held_by_other_drivers(const PciFunction& pci) {
  std::string others;
  for (const std::string& address : pci.iommu_group_members()) {
    const std::string driver = pci.sibling(address).driver();
    // Drivers that do no DMA do not block the group.
    if (driver.empty() || driver == "vfio-pci" || driver == "pci-stub" || driver == "pcieport") continue;
    if (!others.empty()) others += ", ";
    others.append(address).append(" (").append(driver).append(")");
  }
  return others;
}

/// Throws for a group in which other drivers hold devices.
[[noreturn]] inline void refuse_group(const PciFunction& pci, const std::string& others) {
  throw Error("vfio: group " + pci.iommu_group() + " of " + pci.address() +
              " cannot be used while other drivers hold parts of it: " + (others.empty() ? "unknown" : others) +
              "; give them to vfio-pci too (scripts/xio-bind bind), or use another slot");
}

/// Throws for memory that the kernel did not map.
[[noreturn]] inline void refuse_mapping(uint64_t iova, uint64_t bytes, int error) {
  const std::string start = "vfio: cannot map " + std::to_string(bytes >> 10) + " KiB of memory for the controller";
  rlimit limit{};
  const bool limited = ::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  if (error == ENOMEM && limited)
    throw Error(start + ": this user may lock " + std::to_string(limit.rlim_cur >> 10) +
                " KiB; raise ulimit -l (memlock in /etc/security/limits.conf), or lower dma= (VfioOptions::dma_bytes)");
  if (error == ENOSPC) throw Error(start + ": the kernel's limit of mappings is reached; map larger pieces");
  if (error == EFAULT)
    throw Error(start +
                ": it is not ordinary memory. iommufd does not map memory of other drivers, such as a GPU's; "
                "interface=group may");
  throw_system_error(start + " at bus address " + to_hex(iova), error);
}

}  // namespace detail

/// @}
}  // namespace host

XIO_NAMESPACE_END
