// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief RAII owner of a file descriptor.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include <xio/config.hpp>
#include <xio/host/error.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// Owns a file descriptor and closes it when destroyed. Movable.
class FileDescriptor {
 public:
  FileDescriptor() = default;

  /// Takes ownership of a descriptor returned by a system call. Throws Error with `what` if the call failed.
  ///
  /// Descriptors 0 to 2 are duplicated to higher numbers: a child process would use them as its standard streams.
  FileDescriptor(int returned, const std::string& what) : fd_(returned) {
    if (fd_ < 0) throw_system_error(what, errno);
    if (fd_ > STDERR_FILENO) return;
    const int low = fd_;
    fd_ = ::fcntl(low, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int error = errno;
    ::close(low);
    if (fd_ < 0) throw_system_error(what, error);
  }

  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    FileDescriptor taken(std::move(other));
    std::swap(fd_, taken.fd_);
    return *this;
  }
  ~FileDescriptor() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

}  // namespace host

XIO_NAMESPACE_END
