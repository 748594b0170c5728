// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The machine as seen by doctor: files below a root, and queries that require system calls.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <xio/host/linux/kernel_calls.hpp>

namespace tester::doctor {

/// Numbers of capabilities, as in <linux/capability.h>.
enum class Capability : uint32_t { lock_memory = 14, raw_io = 17, administrate = 21 };

/// A kernel module.
enum class ModuleState { loaded, available, absent, unknown };

/// System calls below the root of a machine. Arguments and results are paths of the machine itself.
class MachineCalls : public xio::host::KernelCalls {
 public:
  explicit MachineCalls(std::string root) : root_(std::move(root)) {}

  int open(const std::string& path) override { return KernelCalls::open(on_root(path)); }
  int open_exclusive(const std::string& path) override { return KernelCalls::open_exclusive(on_root(path)); }
  bool exists(const std::string& path) override { return KernelCalls::exists(on_root(path)); }
  int look(const std::string& path, struct stat& found) override { return KernelCalls::look(root_ + path, found); }
  std::string resolve(const std::string& path) override;
  std::string sysfs() const override { return root_ + "/sys"; }
  std::string procfs() const override { return root_ + "/proc"; }

 private:
  /// Path of a device node below the root; sysfs and procfs paths already include the root.
  std::string on_root(const std::string& path) const { return path.compare(0, 5, "/dev/") == 0 ? root_ + path : path; }

  std::string root_;
};

/// State of the machine, read at every call. Nothing is modified: nodes are opened and closed, and admin commands only
/// query.
class Machine {
 public:
  /// @param root  root of the file system, without a trailing slash; tests use their own tree
  explicit Machine(std::string root = "") : root_(std::move(root)) {}
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  virtual ~Machine() = default;

  std::string path(const std::string& of) const { return root_ + of; }
  std::string sysfs() const { return path("/sys"); }
  bool exists(const std::string& of) const;
  /// First word of a file; empty if there is none.
  std::string word(const std::string& of) const;
  std::vector<std::string> lines(const std::string& of) const;
  /// Names in a folder, sorted.
  std::vector<std::string> names(const std::string& folder) const;
  /// Whether the file `of` contains the word `wanted`, such as a kernel parameter.
  bool has_word(const std::string& of, const std::string& wanted) const;

  std::string kernel_release() const { return word("/proc/sys/kernel/osrelease"); }
  bool has(Capability capability) const;
  /// Bytes that this process may lock; empty: no limit.
  std::optional<uint64_t> lockable_bytes() const;
  /// Whether this is a guest of a hypervisor, according to x86 CPU flags.
  bool is_guest() const { return has_word("/proc/cpuinfo", "hypervisor"); }

  /// State of the module with the file name `name`, such as "vfio-pci".
  ModuleState module(const std::string& name) const;
  /// Version that a loaded module reports; empty if it reports none.
  std::string module_version(const std::string& name) const;

  /// The command that adds a kernel parameter permanently and reboots.
  std::string boot_with(const std::string& parameter) const;

  /// 0 if a node can be opened for reading and writing, else errno.
  virtual int open_error(const std::string& node) const;
  /// Kernel calls for the library's own checks; never null.
  virtual std::shared_ptr<xio::host::KernelCalls> calls() const;
  /// Name of the first of these libraries that can be loaded; empty if none can.
  virtual std::string loadable(const std::vector<std::string>& libraries) const;
  /// Number of GPUs visible to a vendor's runtime; empty if it cannot be queried.
  /// @param library  as loadable() returns it
  /// @param function function that stores the number and returns 0: "hipGetDeviceCount"
  virtual std::optional<int> visible_gpus(const std::string& library, const std::string& function) const;
  /// QEMUs that start, "qemu-system-x86_64 7.2.22".
  virtual std::vector<std::string> qemus() const;

 private:
  std::string root_;
};

}  // namespace tester::doctor
