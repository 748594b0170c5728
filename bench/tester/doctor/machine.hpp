// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What doctor asks of a machine: files below one root, and the few questions that only system calls answer.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tester::doctor {

/// Numbers of capabilities, as in <linux/capability.h>.
enum class Capability : uint32_t { lock_memory = 14, raw_io = 17, administrate = 21 };

/// A kernel module.
enum class ModuleState { loaded, available, absent, unknown };

/// Reads anew at every call. Nothing is changed: nodes are opened and closed again, and admin commands only ask.
class Machine {
 public:
  /// @param root  of the file system, without a slash at the end; tests put a tree of theirs there
  explicit Machine(std::string root = "") : root_(std::move(root)) {}
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  virtual ~Machine() = default;

  std::string path(const std::string& of) const { return root_ + of; }
  std::string sysfs() const { return path("/sys"); }
  bool exists(const std::string& of) const;
  /// First word of a file; empty where there is none.
  std::string word(const std::string& of) const;
  std::vector<std::string> lines(const std::string& of) const;
  /// Names in a folder, sorted.
  std::vector<std::string> names(const std::string& folder) const;
  /// Whether a word of `of`, such as a parameter of the kernel, is this one.
  bool has_word(const std::string& of, const std::string& wanted) const;

  std::string kernel_release() const { return word("/proc/sys/kernel/osrelease"); }
  bool has(Capability capability) const;
  /// Bytes that this process may lock; empty: no limit.
  std::optional<uint64_t> lockable_bytes() const;
  /// Whether this is a guest of a hypervisor, as far as x86 processors tell.
  bool is_guest() const { return has_word("/proc/cpuinfo", "hypervisor"); }

  /// By its file's name: "vfio-pci".
  ModuleState module(const std::string& name) const;
  /// Version that a loaded module says it has; empty where it says none.
  std::string module_version(const std::string& name) const;

  /// The command that adds a parameter to the kernel's for good, and boots.
  std::string boot_with(const std::string& parameter) const;

  /// 0 where a node can be opened for reading and writing, else what errno says.
  virtual int open_error(const std::string& node) const;
  /// 0 where a file of a base address register can be mapped for stores, else what errno says. Nothing is stored.
  virtual int map_error(const std::string& file) const;
  /// I/O queue pairs that a controller of the kernel's driver ("nvme0") has handed out; empty where it cannot be asked.
  virtual std::optional<uint32_t> granted_queues(const std::string& controller) const;
  /// Its optional admin commands, see xio::nvme::oacs; empty where it cannot be asked.
  virtual std::optional<uint32_t> admin_commands(const std::string& controller) const;
  /// Name of the first of these libraries that can be loaded; empty where none can.
  virtual std::string loadable(const std::vector<std::string>& libraries) const;
  /// GPUs that the runtime of a vendor sees; empty where it cannot be asked.
  /// @param library  as loadable() returns it
  /// @param function that stores their number and returns 0: "hipGetDeviceCount"
  virtual std::optional<int> visible_gpus(const std::string& library, const std::string& function) const;
  /// QEMUs that start, "qemu-system-x86_64 7.2.22".
  virtual std::vector<std::string> qemus() const;

 private:
  std::string root_;
};

}  // namespace tester::doctor
