// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What doctor asks of a machine: files below one root, and the few questions that only system calls answer.

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

/// System calls below the root of a machine. Paths that are given and returned are as on the machine itself.
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
  /// Nodes of devices; files of sysfs and procfs have the root already.
  std::string on_root(const std::string& path) const { return path.compare(0, 5, "/dev/") == 0 ? root_ + path : path; }

  std::string root_;
};

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
  /// The way to the kernel, for the library's own checks; never null.
  virtual std::shared_ptr<xio::host::KernelCalls> calls() const;
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
