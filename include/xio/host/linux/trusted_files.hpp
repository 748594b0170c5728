// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Checks that only root or this process's user can have written to a file or directory.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include <xio/config.hpp>
#include <xio/host/linux/kernel_calls.hpp>

XIO_NAMESPACE_BEGIN

namespace host::detail {

/// Formats a file mode: "mode 1777".
inline std::string mode_text(mode_t mode) {
  std::string digits;
  for (mode_t left = mode & 07777; left != 0 || digits.size() < 4; left >>= 3)
    digits.insert(digits.begin(), static_cast<char>('0' + (left & 7)));
  return "mode " + digits;
}

/// Returns why the owner is untrusted; empty if it is root or this process's user.
inline std::string why_not_owned(const struct stat& info) {
  if (info.st_uid == 0 || info.st_uid == ::geteuid()) return {};
  return "belongs to user " + std::to_string(info.st_uid);
}

/// Returns why other users could add files to `folder` or replace it; empty if they cannot. No path component may be a
/// symbolic link. Parent directories may be writable by others if they have the sticky bit.
/// @param folder  an absolute path
inline std::string why_untrusted_folder(KernelCalls& calls, const std::string& folder) {
  for (size_t end = 1;; end = folder.find('/', end + 1)) {
    const std::string part = folder.substr(0, end);
    const auto why = [&part](const std::string& what) { return std::string(part).append(" ").append(what); };
    struct stat info{};
    if (calls.look(part, info) != 0) return why(std::string("cannot be inspected: ") + std::strerror(errno));
    if (!S_ISDIR(info.st_mode)) return why("is not a directory");
    if (const std::string owner = why_not_owned(info); !owner.empty()) return why(owner);
    const bool whole = part.size() == folder.size();
    const bool kept = !whole && (info.st_mode & S_ISVTX) != 0;
    if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0 && !kept)
      return why("may be written to by others (" + mode_text(info.st_mode) + ")");
    if (whole) return {};
  }
}

/// Flags for opening a trusted file: do not follow symbolic links, do not block.
constexpr int trusted_open_flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;

/// Returns why other users could have written to an open file or could hold its lock (read access suffices for that);
/// empty if they cannot.
inline std::string why_untrusted_file(int fd) {
  struct stat info{};
  if (::fstat(fd, &info) != 0) return std::string("cannot be inspected: ") + std::strerror(errno);
  if (!S_ISREG(info.st_mode)) return "is not a regular file";
  if (const std::string owner = why_not_owned(info); !owner.empty()) return owner;
  if ((info.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return "is accessible to other users (" + mode_text(info.st_mode) + ")";
  return info.st_nlink > 1 ? "has more than one hard link" : std::string();
}

}  // namespace host::detail

XIO_NAMESPACE_END
