// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What the kernel and programs use the namespaces of a controller for.

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
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
  std::string what;   ///< "nvme0n1p1 is mounted on /home"
  std::string end;    ///< command that ends the use
  bool known = true;  ///< false: whether the device is used cannot be seen; `what` is the reason, `end` the remedy
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

/// Whether two block devices are the same namespace, through two controllers. Without multipath in the kernel each
/// controller has its own.
inline bool same_namespace(const std::string& sysfs, const KernelController& of_first, const KernelNamespace& first,
                           const KernelController& of_second, const KernelNamespace& second) {
  const std::string subsystem = of_first.subsystem();
  if (!subsystem.empty() && subsystem == of_second.subsystem() && first.nsid == second.nsid) return true;
  for (const char* file : {"/wwid", "/uuid"}) {
    const std::string id = first_word(sysfs + "/class/block/" + first.name + file);
    if (id.find_first_not_of("0-") != std::string::npos &&
        id == first_word(sysfs + "/class/block/" + second.name + file))
      return true;
  }
  return false;
}

/// Names of a block device and its partitions.
inline std::vector<std::string> with_partitions(const std::string& sysfs, const std::string& name) {
  std::vector<std::string> blocks = {name};
  for (const std::string& entry : names_in(sysfs + "/class/block/" + name))
    if (entry.compare(0, name.size() + 1, name + "p") == 0) blocks.push_back(entry);
  return blocks;
}

/// Opens a block device, claimed for its own: -1 and errno if that fails. A node of another device is ENODEV.
inline int open_claimed(KernelCalls& calls, const std::string& name) {
  const int fd = calls.open_exclusive("/dev/" + name);
  if (fd < 0 || calls.is_block_device(fd, first_word(calls.sysfs() + "/class/block/" + name + "/dev"))) return fd;
  ::close(fd);
  errno = ENODEV;
  return -1;
}

/// A device that could not be opened.
inline BlockUse unknown_use(const std::string& name, int error) {
  const std::string node = "/dev/" + name;
  const std::string why = error == ENODEV ? "it is another device" : std::strerror(error);
  const std::string remedy =
      error == EACCES ? "run as root" : "give this process " + node + ", as a container's --device";
  return {node + " cannot be opened to see whether " + name + " is used: " + why, remedy, false};
}

/// Whether something has claimed a block device: uses that nothing names, such as ZFS, an exclusive open by a program,
/// or a mount in another mount namespace.
inline std::vector<BlockUse> claims_of(KernelCalls& calls, const std::string& name) {
  const auto error_of = [&calls](const std::string& block) {
    const int fd = open_claimed(calls, block);
    if (fd < 0) return errno;
    ::close(fd);
    return 0;
  };
  // A claim of a partition also claims the whole device, whose answer is therefore enough.
  const int whole = error_of(name);
  for (const std::string& block : with_partitions(calls.sysfs(), name)) {
    if ((block == name ? whole : error_of(block)) != EBUSY) continue;
    return {{block + " is held by something", "fuser -v /dev/" + block + ", and end that; or zpool export"}};
  }
  if (whole != 0) return {unknown_use(name, whole)};
  return {};
}

}  // namespace detail

/// Names of all block devices that are this namespace: of its own controller, and of others that share it.
inline std::vector<std::string> blocks_of(KernelCalls& calls, const KernelController& controller,
                                          const KernelNamespace& one) {
  std::vector<std::string> names = {one.name};
  for (const KernelController& other : kernel_controllers(calls.sysfs()))
    for (const KernelNamespace& candidate : other.namespaces())
      if (std::find(names.begin(), names.end(), candidate.name) == names.end() &&
          detail::same_namespace(calls.sysfs(), controller, one, other, candidate))
        names.push_back(candidate.name);
  return names;
}

/// Uses of a namespace and its partitions, through whichever controller; empty if nothing has claimed them.
inline std::vector<BlockUse> uses_of(KernelCalls& calls, const KernelController& controller,
                                     const KernelNamespace& one) {
  const std::vector<std::string> names = blocks_of(calls, controller, one);
  std::vector<BlockUse> uses;
  const auto add_all = [&](const auto& find) {
    for (const std::string& name : names) {
      const size_t before = uses.size();
      find(name);
      if (name == one.name) continue;
      for (size_t i = before; i < uses.size(); ++i)
        uses[i].what += " (" + name + " is the same namespace as " + one.name + ")";
    }
  };
  add_all([&](const std::string& name) {
    for (const std::string& block : detail::with_partitions(calls.sysfs(), name))
      detail::add_named_uses(calls, block, uses);
  });
  if (!uses.empty()) return uses;
  add_all([&](const std::string& name) {
    for (const BlockUse& use : detail::claims_of(calls, name)) uses.push_back(use);
  });
  return uses;
}

/// Uses of all namespaces of a controller.
inline std::vector<BlockUse> uses_of(KernelCalls& calls, const KernelController& controller) {
  std::vector<BlockUse> all;
  for (const KernelNamespace& one : controller.namespaces())
    for (const BlockUse& use : uses_of(calls, controller, one)) all.push_back(use);
  return all;
}

/// @}
}  // namespace host

XIO_NAMESPACE_END
