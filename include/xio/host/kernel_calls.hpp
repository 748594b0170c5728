// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The system calls by which drivers of the kernel are spoken to, behind an interface that tests can play.

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <string>

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// open(2), ioctl(2) and whether a node is there, and where the kernel shows its devices. Each function does what the
/// system call of its name does, errno included. Descriptors are real ones in any case, so that they can be closed,
/// mapped and read as usual.
class KernelCalls {
 public:
  KernelCalls() = default;
  KernelCalls(const KernelCalls&) = delete;
  KernelCalls& operator=(const KernelCalls&) = delete;
  virtual ~KernelCalls() = default;

  /// Opens for reading and writing.
  virtual int open(const std::string& path) { return ::open(path.c_str(), O_RDWR | O_CLOEXEC); }
  virtual bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }
  /// @param argument  a number, or the address of what `request` works on
  virtual int ioctl(int fd, unsigned long request, uintptr_t argument) { return ::ioctl(fd, request, argument); }
  /// Root of sysfs, without a slash at the end.
  virtual std::string sysfs() const { return "/sys"; }
};

}  // namespace host

XIO_NAMESPACE_END
