// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A PCI function in sysfs: identification, driver, IOMMU group, BARs.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/files.hpp>
#include <xio/host/text.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_support
/// @{

/// Parses a PCI address `DDDD:BB:DD.F` or `BB:DD.F` (domain 0). A domain has up to eight digits: those that the kernel
/// invents, as for Intel's VMD, begin at 10000. Returns it as sysfs names it, in lower case; empty for anything else.
inline std::optional<std::string> parse_pci_address(const std::string& text) {
  std::string full = text.size() == 7 ? "0000:" + text : text;
  std::string form = "xxxx:xx:xx.x";
  // At least four digits are shown, and no more than are needed.
  while (full.size() > form.size() && full[0] == '0') full.erase(0, 1);
  if (full.size() > form.size() && full.size() <= form.size() + 4) form.insert(0, full.size() - form.size(), 'x');
  if (full.size() != form.size()) return std::nullopt;
  std::string address;
  for (size_t i = 0; i < form.size(); ++i) {
    const char c = full[i] >= 'A' && full[i] <= 'F' ? static_cast<char>(full[i] - 'A' + 'a') : full[i];
    const bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    if (form[i] == 'x' ? !digit : c != form[i]) return std::nullopt;
    address += c;
  }
  // A device number has five bits, a function number three.
  if (address[address.size() - 4] > '1' || address.back() > '7') return std::nullopt;
  return address;
}

/// A base address register (BAR) of a PCI function.
struct PciBar {
  static constexpr uint64_t memory_flag = 0x200;         // linux/ioport.h: IORESOURCE_MEM
  static constexpr uint64_t prefetchable_flag = 0x2000;  // IORESOURCE_PREFETCH

  uint32_t number = 0;  ///< 0 to 5
  uint64_t first = 0;   ///< first address
  uint64_t last = 0;    ///< last address, inclusive
  uint64_t flags = 0;   ///< resource flags of the kernel

  uint64_t bytes() const { return last - first + 1; }
  bool is_memory() const { return (flags & memory_flag) != 0; }
  bool is_prefetchable() const { return (flags & prefetchable_flag) != 0; }
};

/// Attributes of a PCI function, read from sysfs at every call; empty or 0 if not available.
class PciFunction {
 public:
  /// Class code of an NVMe controller: mass storage, non-volatile memory, NVM Express.
  static constexpr uint32_t nvme_class = 0x010802;

  /// @param address  as parse_pci_address() returns it
  /// @param sysfs    root of sysfs
  PciFunction(std::string address, std::string sysfs) : address_(std::move(address)), sysfs_(std::move(sysfs)) {}

  const std::string& address() const { return address_; }
  bool present() const { return detail::exists(folder()); }
  uint32_t class_code() const { return number("class"); }
  uint32_t vendor() const { return number("vendor"); }
  uint32_t device() const { return number("device"); }
  /// Name of the bound driver.
  std::string driver() const { return link_name("driver"); }
  /// Number of the IOMMU group, as a string.
  std::string iommu_group() const { return link_name("iommu_group"); }
  /// Name of the IOMMU group: "vfio-noiommu" if there is no IOMMU.
  std::string iommu_group_name() const { return first_word(folder() + "/iommu_group/name"); }
  /// Type of the group's default domain: "identity", or "DMA" and "DMA-FQ", which translate.
  std::string iommu_domain() const { return first_word(folder() + "/iommu_group/type"); }
  /// Path of the mappable sysfs file of a BAR.
  std::string resource(unsigned bar) const { return folder() + "/resource" + std::to_string(bar); }
  /// Addresses of all functions of the IOMMU group, including this one, sorted.
  std::vector<std::string> iommu_group_members() const { return detail::names_in(folder() + "/iommu_group/devices"); }
  /// Name of the character device below /dev/vfio/devices: "vfio3".
  std::string vfio_device() const {
    const std::vector<std::string> names = detail::names_in(folder() + "/vfio-dev");
    return names.empty() ? std::string() : names.front();
  }
  /// NUMA node reported by firmware; -1 if none.
  int numa_node() const { return detail::signed_number(folder() + "/numa_node").value_or(-1); }
  /// Canonical path in the device tree: `/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0`.
  std::string real_path() const { return detail::real_path(folder()); }
  /// Address of the physical function of a virtual function; empty for others.
  std::string physical_function() const { return link_name("physfn"); }
  /// Names in a subdirectory, sorted: "nvme" contains the NVMe controllers, "net" the network interfaces, "infiniband"
  /// the verbs devices.
  std::vector<std::string> names_in(const std::string& folder_name) const {
    return detail::names_in(folder() + "/" + folder_name);
  }
  /// First word of an attribute file; empty if there is none.
  std::string attribute(const std::string& file) const { return first_word(folder() + "/" + file); }
  /// Assigned BARs, sorted by number.
  std::vector<PciBar> bars() const {
    std::vector<PciBar> all;
    const std::vector<std::string> lines = detail::lines_of(folder() + "/resource");
    // Lines 0 to 5 are BARs; the expansion ROM and a bridge's windows follow.
    for (uint32_t number = 0; number < 6 && number < lines.size(); ++number) {
      const std::vector<std::string> words = pieces_of(lines[number], detail::blanks);
      if (words.size() != 3) break;
      const PciBar bar{number, parse_number(words[0]).value_or(0), parse_number(words[1]).value_or(0),
                       parse_number(words[2]).value_or(0)};
      if (bar.flags != 0 && bar.last > bar.first) all.push_back(bar);
    }
    return all;
  }
  /// Returns another function of the same machine.
  PciFunction sibling(const std::string& address) const { return {address, sysfs_}; }

 private:
  std::string folder() const { return sysfs_ + "/bus/pci/devices/" + address_; }

  static std::string first_word(const std::string& path) { return detail::first_word(path); }
  uint32_t number(const char* file) const {
    return static_cast<uint32_t>(parse_number(first_word(folder() + "/" + file)).value_or(0));
  }
  std::string link_name(const char* link) const {
    return detail::last_part(detail::link_target(folder() + "/" + link));
  }

  std::string address_;
  std::string sysfs_;
};

/// All PCI functions in sysfs, sorted by address.
inline std::vector<PciFunction> pci_functions(const std::string& sysfs) {
  std::vector<PciFunction> all;
  for (const std::string& name : detail::names_in(sysfs + "/bus/pci/devices")) all.emplace_back(name, sysfs);
  return all;
}

/// @}
}  // namespace host

XIO_NAMESPACE_END
