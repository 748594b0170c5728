// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What the kernel and programs use the namespaces of a controller for.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/files.hpp>
#include <xio/host/linux/kernel_calls.hpp>
#include <xio/host/linux/pci.hpp>
#include <xio/host/nvme/kernel_controller.hpp>
#include <xio/host/text.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

/// A use of one block device, in human-readable form.
struct BlockUse {
  std::string what;  ///< "nvme0n1p1 is mounted on /home"
  std::string end;   ///< command that ends the use
};

namespace detail {

/// Adds the uses of block device `name` that sysfs and procfs report.
inline void add_named_uses(KernelCalls& calls, const std::string& name, std::vector<BlockUse>& uses) {
  const std::string node = "/dev/" + name;
  const std::string number = first_word(calls.sysfs() + "/class/block/" + name + "/dev");
  const auto is_node = [&](const std::string& path) {
    return path == node || (path.compare(0, 5, "/dev/") == 0 && calls.resolve(path) == node);
  };
  const auto add = [&](const std::string& use, const std::string& end) {
    uses.push_back({std::string(name).append(" is ").append(use), end});
  };
  for (const std::string& line : lines_of(calls.procfs() + "/self/mountinfo")) {
    // id, parent, major:minor, root, mount point, options ... - type, source. btrfs reports its own device numbers.
    const std::vector<std::string> words = pieces_of(line, blanks);
    if (words.size() < 5) continue;
    const auto dash = std::find(words.begin() + 5, words.end(), "-");
    const std::string source = words.end() - dash > 2 ? dash[2] : std::string();
    if ((!number.empty() && words[2] == number) || is_node(source)) add("mounted on " + words[4], "umount " + words[4]);
  }
  for (const std::string& line : lines_of(calls.procfs() + "/swaps"))
    if (is_node(line.substr(0, line.find_first_of(" \t")))) add("swap", "swapoff " + node);
  for (const std::string& holder : names_in(calls.sysfs() + "/class/block/" + name + "/holders"))
    add("part of " + holder,
        (holder.compare(0, 2, "md") == 0 ? "mdadm --stop /dev/" : "dmsetup remove /dev/") + holder);
}

}  // namespace detail

/// Uses of a namespace and its partitions; empty if nothing has claimed them.
inline std::vector<BlockUse> uses_of(KernelCalls& calls, const KernelNamespace& one) {
  std::vector<std::string> blocks = {one.name};
  for (const std::string& entry : detail::names_in(calls.sysfs() + "/class/block/" + one.name))
    if (entry.compare(0, one.name.size() + 1, one.name + "p") == 0) blocks.push_back(entry);
  std::vector<BlockUse> uses;
  for (const std::string& block : blocks) detail::add_named_uses(calls, block, uses);
  if (!uses.empty()) return uses;
  // Uses such as ZFS or an exclusive open by a program. A claim of a partition also claims the whole device.
  for (const std::string& block : blocks) {
    const std::string node = "/dev/" + block;
    const int fd = calls.open_exclusive(node);
    const bool busy = fd < 0 && errno == EBUSY;
    if (fd >= 0) ::close(fd);
    if (busy) return {{block + " is held by something", "fuser -v " + node + ", and end that; or zpool export"}};
  }
  return uses;
}

/// Uses of all namespaces of a controller.
inline std::vector<BlockUse> uses_of(KernelCalls& calls, const KernelController& controller) {
  std::vector<BlockUse> all;
  for (const KernelNamespace& one : controller.namespaces())
    for (const BlockUse& use : uses_of(calls, one)) all.push_back(use);
  return all;
}

/// @}
}  // namespace host

XIO_NAMESPACE_END
