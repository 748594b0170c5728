// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief NVMe controllers of the kernel's driver, and their namespaces, as reported by sysfs.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/files.hpp>
#include <xio/host/linux/kernel_calls.hpp>
#include <xio/host/linux/pci.hpp>
#include <xio/host/text.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

/// A namespace with a kernel block device.
struct KernelNamespace {
  std::string name;  ///< of the block device: "nvme0n1"
  uint32_t nsid = 0;
};

namespace detail {

/// Returns the decimal digits at `at` in `text`, and moves `at` behind them. Empty if there are none.
inline std::string digits_at(const std::string& text, size_t& at) {
  const size_t begin = at;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
  return text.substr(begin, at - begin);
}

/// Returns "nvme0n1" for that name and for "nvme0c2n1", which is a path to it; empty for anything else.
inline std::string namespace_name(const std::string& text) {
  const std::string start = "nvme";
  if (text.compare(0, start.size(), start) != 0) return {};
  size_t at = start.size();
  const std::string instance = digits_at(text, at);
  if (at < text.size() && text[at] == 'c' && digits_at(text, ++at).empty()) return {};
  if (instance.empty() || at >= text.size() || text[at] != 'n') return {};
  const std::string number = digits_at(text, ++at);
  return number.empty() || at != text.size() ? std::string() : start + instance + "n" + number;
}

}  // namespace detail

/// Properties of one controller, read again at every call; empty or 0 if sysfs does not report them.
class KernelController {
 public:
  /// @param name  "nvme0"
  KernelController(std::string name, std::string sysfs) : name_(std::move(name)), sysfs_(std::move(sysfs)) {}

  const std::string& name() const { return name_; }
  bool present() const { return detail::exists(folder()); }
  /// "pcie", or a fabric.
  std::string transport() const { return word("transport"); }
  /// NVMe qualified name of the subsystem that the controller belongs to; several controllers may share its namespaces.
  std::string subsystem() const { return word("subsysnqn"); }
  /// "live", "resetting", "connecting", "dead" ...
  std::string state() const { return word("state"); }
  /// Whether a controller in this state is lost permanently; one that is being reset is not.
  static bool is_gone(const std::string& state) { return state.empty() || state == "dead" || state == "deleting"; }
  /// Queues that the driver uses, including its admin queue: the highest identifier plus one.
  uint32_t queue_count() const { return static_cast<uint32_t>(parse_number(word("queue_count")).value_or(0)); }
  /// PCI function of the controller.
  PciFunction pci() const { return {detail::last_part(detail::link_target(folder() + "/device")), sysfs_}; }
  std::vector<KernelNamespace> namespaces() const {
    std::vector<KernelNamespace> all;
    for (const std::string& entry : detail::names_in(folder())) {
      const std::string name = detail::namespace_name(entry);
      if (!name.empty()) all.push_back({name, number_in(sysfs_ + "/class/block/" + name + "/nsid")});
    }
    return all;
  }

 private:
  std::string folder() const { return sysfs_ + "/class/nvme/" + name_; }
  std::string word(const char* file) const { return detail::first_word(folder() + "/" + file); }
  static uint32_t number_in(const std::string& path) {
    return static_cast<uint32_t>(parse_number(detail::first_word(path)).value_or(0));
  }

  std::string name_;
  std::string sysfs_;
};

/// All controllers of the kernel's driver, sorted by name.
inline std::vector<KernelController> kernel_controllers(const std::string& sysfs) {
  std::vector<KernelController> all;
  for (const std::string& name : detail::names_in(sysfs + "/class/nvme")) all.emplace_back(name, sysfs);
  return all;
}

/// Target of a path: a controller, or a namespace and its controller.
struct KernelNvmePath {
  std::string controller;                        ///< "nvme0"; empty: the path leads to neither
  std::optional<KernelNamespace> one_namespace;  ///< set if the path leads to a namespace
  bool by_id = false;                            ///< the path is a persistent name of the drive
};

inline KernelNvmePath find_kernel_nvme(KernelCalls& calls, const std::string& path) {
  KernelNvmePath found;
  const std::string name = detail::last_part(calls.resolve(path));
  const std::string wanted = detail::namespace_name(name);
  for (const KernelController& one : kernel_controllers(calls.sysfs())) {
    if (one.name() == name) found.controller = name;
    if (wanted.empty() || !found.controller.empty()) continue;
    for (const KernelNamespace& candidate : one.namespaces()) {
      if (candidate.name != wanted) continue;
      found.controller = one.name();
      found.one_namespace = candidate;
    }
  }
  const std::string lasting = "/dev/disk/by-id/";
  found.by_id = found.one_namespace && path.compare(0, lasting.size(), lasting) == 0 &&
                path.find('/', lasting.size()) == std::string::npos;
  return found;
}

/// @}
}  // namespace host

XIO_NAMESPACE_END
