// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief System calls for access to kernel drivers, behind an interface that tests can mock.

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cstddef>
#include <string>

#include <xio/config.hpp>
#include <xio/host/files.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_support
/// @{

/// Wrappers of open(2), ioctl(2), mmap(2) and similar calls, and the locations of sysfs and procfs. Each function
/// behaves like the system call of its name, including errno. Returned descriptors are always real ones: they can be
/// closed and read as usual.
class KernelCalls {
 public:
  KernelCalls() = default;
  KernelCalls(const KernelCalls&) = delete;
  KernelCalls& operator=(const KernelCalls&) = delete;
  virtual ~KernelCalls() = default;

  /// Opens for reading and writing.
  virtual int open(const std::string& path) { return ::open(path.c_str(), O_RDWR | O_CLOEXEC); }
  /// Opens a block device for reading and claims it exclusively, as a file system does: EBUSY if it is claimed already.
  virtual int open_exclusive(const std::string& path) { return ::open(path.c_str(), O_RDONLY | O_EXCL | O_CLOEXEC); }
  /// Whether an open file is the block device of a number.
  /// @param number  "259:0", as sysfs reports it
  virtual bool is_block_device(int fd, const std::string& number) {
    struct stat info{};
    return ::fstat(fd, &info) == 0 && S_ISBLK(info.st_mode) &&
           std::to_string(major(info.st_rdev)) + ":" + std::to_string(minor(info.st_rdev)) == number;
  }
  virtual bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }
  /// lstat(2).
  virtual int look(const std::string& path, struct stat& found) { return ::lstat(path.c_str(), &found); }
  /// ioctl(2).
  /// @param argument  a number, or the address of the request's argument
  virtual int ioctl(int fd, unsigned long request, uintptr_t argument) { return ::ioctl(fd, request, argument); }
  /// Maps the first `bytes` of `fd`, shared, for reading and writing. Returns MAP_FAILED on failure.
  virtual void* map(int fd, size_t bytes) { return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0); }
  /// Allocates the first `bytes` of a file, by fallocate(2).
  virtual int allocate(int fd, size_t bytes) { return ::fallocate(fd, 0, 0, static_cast<off_t>(bytes)); }
  /// Entry of /proc/self/pagemap for the page of `address`; 0 if it cannot be read.
  virtual uint64_t pagemap_entry(const void* address) {
    const int fd = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    uint64_t entry = 0;
    const auto page = reinterpret_cast<uintptr_t>(address) / static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    if (::pread(fd, &entry, sizeof entry, static_cast<off_t>(page * sizeof entry)) != sizeof entry) entry = 0;
    ::close(fd);
    return entry;
  }
  /// Resolves the symbolic links of `path`; empty if the target does not exist.
  virtual std::string resolve(const std::string& path) { return detail::real_path(path); }
  /// Root of sysfs, without a trailing slash.
  virtual std::string sysfs() const { return "/sys"; }
  /// Root of procfs, without a trailing slash.
  virtual std::string procfs() const { return "/proc"; }
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
