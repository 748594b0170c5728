// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A PCI function as sysfs shows it: what it is, who drives it, and which IOMMU group it is in.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/text.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// `DDDD:BB:DD.F` in lower case from that or from `BB:DD.F` (domain 0); empty for anything else.
inline std::optional<std::string> parse_pci_address(const std::string& text) {
  const std::string full = text.size() == 7 ? "0000:" + text : text;
  const std::string form = "xxxx:xx:xx.x";
  if (full.size() != form.size()) return std::nullopt;
  std::string address;
  for (size_t i = 0; i < form.size(); ++i) {
    const char c = full[i] >= 'A' && full[i] <= 'F' ? static_cast<char>(full[i] - 'A' + 'a') : full[i];
    const bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    if (form[i] == 'x' ? !digit : c != form[i]) return std::nullopt;
    address += c;
  }
  // A device number has five bits, a function number three.
  if (address[8] > '1' || address.back() > '7') return std::nullopt;
  return address;
}

namespace detail {

/// Sorted; none where the folder cannot be read.
inline std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error))
    names.push_back(entry->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// First word of a file; empty where there is none.
inline std::string first_word(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

/// A number, with a sign or without, that is all of a file's first word.
inline std::optional<int> signed_number(const std::string& path) {
  const std::string word = first_word(path);
  const bool negative = !word.empty() && word[0] == '-';
  const std::optional<uint64_t> value = parse_number(negative ? word.substr(1) : word);
  if (!value || *value > 0x7fffffff) return std::nullopt;
  return negative ? -static_cast<int>(*value) : static_cast<int>(*value);
}

}  // namespace detail

/// A range of bus addresses that a PCI function answers to.
struct PciBar {
  static constexpr uint64_t memory_flag = 0x200;         // linux/ioport.h: IORESOURCE_MEM
  static constexpr uint64_t prefetchable_flag = 0x2000;  // IORESOURCE_PREFETCH

  uint32_t number = 0;  ///< 0 to 5
  uint64_t first = 0;
  uint64_t last = 0;  ///< of it
  uint64_t flags = 0;

  uint64_t bytes() const { return last - first + 1; }
  bool is_memory() const { return (flags & memory_flag) != 0; }
  bool is_prefetchable() const { return (flags & prefetchable_flag) != 0; }
};

/// Facts about one PCI function, read anew at every call; empty or 0 where sysfs does not tell.
class PciFunction {
 public:
  /// Class code of an NVMe controller: mass storage, non-volatile memory, NVM Express.
  static constexpr uint32_t nvme_class = 0x010802;

  /// @param address  as parse_pci_address() returns it
  /// @param sysfs    root of sysfs
  PciFunction(std::string address, std::string sysfs) : address_(std::move(address)), sysfs_(std::move(sysfs)) {}

  const std::string& address() const { return address_; }
  bool present() const {
    std::error_code error;
    return std::filesystem::exists(folder(), error);
  }
  uint32_t class_code() const { return number("class"); }
  uint32_t vendor() const { return number("vendor"); }
  uint32_t device() const { return number("device"); }
  /// Name of the driver that it is bound to.
  std::string driver() const { return link_name("driver"); }
  /// Number of its IOMMU group, as a word.
  std::string iommu_group() const { return link_name("iommu_group"); }
  /// What the kernel calls the group: "vfio-noiommu" where there is no IOMMU behind it.
  std::string iommu_group_name() const { return first_word(folder() + "/iommu_group/name"); }
  /// What the group's default domain does: "identity", or "DMA" and "DMA-FQ", which translate.
  std::string iommu_domain() const { return first_word(folder() + "/iommu_group/type"); }
  /// File of a base address register, to be mapped.
  std::string resource(unsigned bar) const { return folder() + "/resource" + std::to_string(bar); }
  /// Addresses of all functions of the group, itself included, sorted.
  std::vector<std::string> iommu_group_members() const { return detail::names_in(folder() + "/iommu_group/devices"); }
  /// Name of its character device below /dev/vfio/devices: "vfio3".
  std::string vfio_device() const {
    const std::vector<std::string> names = detail::names_in(folder() + "/vfio-dev");
    return names.empty() ? std::string() : names.front();
  }
  /// NUMA node that firmware puts it on; -1 where it says none.
  int numa_node() const { return detail::signed_number(folder() + "/numa_node").value_or(-1); }
  /// Where it is in the tree of devices, without links: `/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0`.
  std::filesystem::path real_path() const {
    std::error_code error;
    return std::filesystem::canonical(folder(), error);
  }
  /// Address of the function that a virtual function belongs to; empty for others.
  std::string physical_function() const { return link_name("physfn"); }
  /// Names in one of its folders, sorted: "nvme" gives its NVMe controllers, "net" its network interfaces, "infiniband"
  /// its verbs devices.
  std::vector<std::string> names_in(const std::string& folder_name) const {
    return detail::names_in(folder() + "/" + folder_name);
  }
  /// First word of one of its files; empty where there is none.
  std::string attribute(const std::string& file) const { return first_word(folder() + "/" + file); }
  /// BARs that have addresses, by number.
  std::vector<PciBar> bars() const {
    std::vector<PciBar> all;
    std::ifstream file(folder() + "/resource");
    std::string first;
    std::string last;
    std::string flags;
    // Lines 0 to 5 are BARs; the expansion ROM and a bridge's windows follow.
    for (uint32_t number = 0; number < 6 && file >> first >> last >> flags; ++number) {
      const PciBar bar{number, parse_number(first).value_or(0), parse_number(last).value_or(0),
                       parse_number(flags).value_or(0)};
      if (bar.flags != 0 && bar.last > bar.first) all.push_back(bar);
    }
    return all;
  }
  /// Another function of the same machine.
  PciFunction sibling(const std::string& address) const { return {address, sysfs_}; }

 private:
  std::string folder() const { return sysfs_ + "/bus/pci/devices/" + address_; }

  static std::string first_word(const std::string& path) { return detail::first_word(path); }
  uint32_t number(const char* file) const {
    return static_cast<uint32_t>(parse_number(first_word(folder() + "/" + file)).value_or(0));
  }
  std::string link_name(const char* link) const {
    std::error_code error;
    return std::filesystem::read_symlink(folder() + "/" + link, error).filename().string();
  }

  std::string address_;
  std::string sysfs_;
};

/// All PCI functions that sysfs shows, sorted by address.
inline std::vector<PciFunction> pci_functions(const std::string& sysfs) {
  std::vector<PciFunction> all;
  for (const std::string& name : detail::names_in(sysfs + "/bus/pci/devices")) all.emplace_back(name, sysfs);
  return all;
}

}  // namespace host

XIO_NAMESPACE_END
