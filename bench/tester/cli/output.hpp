// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Checked output: if not all output could be written, the exit status reports it.

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>

#include "tester/cli/errors.hpp"

namespace tester {

namespace detail {

/// Occupies closed descriptors 0 to 2. Otherwise the next file or socket would get the number, and output would go
/// there. The descriptor is a folder opened for reading, to which writes fail.
inline void occupy_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    const int opened = ::open("/", O_RDONLY | O_DIRECTORY);  // the lowest free number
    if (opened >= 0 && opened != fd) ::close(opened);
  }
}

/// Why standard output was not completely written so far; empty if it was.
inline std::string standard_output_trouble() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) {
    // Some file systems report errors only when a file is closed.
    const int copy = ::dup(STDOUT_FILENO);
    return copy < 0 || ::close(copy) == 0 ? std::string() : std::strerror(errno);
  }
  // The stream's error flag does not hold the reason of an earlier failure.
  if (errno == 0 && ::write(STDOUT_FILENO, "\n", 1) == 1) return "a part of it is missing";
  return std::strerror(errno);
}

}  // namespace detail

/// Runs a program. `body()` prints to standard output and returns an exit status. If not all output could be written, a
/// status of success, or of an interrupted run that has reported, becomes exit_failed, and one line on standard error
/// states why. Nothing may be printed afterwards. One call per process.
/// @param program  program name for that line
template <class Body>
int with_checked_output(const char* program, Body&& body) {
  detail::occupy_standard_descriptors();
  // Exceeding a file size limit then fails the write instead of ending the program.
  ::signal(SIGXFSZ, SIG_IGN);
  const int status = body();
  const std::string trouble = detail::standard_output_trouble();
  if (trouble.empty()) return status;
  std::fprintf(stderr, "%s: standard output cannot be written: %s\n", program, trouble.c_str());
  return status == exit_ok || status == exit_interrupted ? exit_failed : status;
}

/// Why a file cannot be written, for checks before a run; empty if it can. Existing contents are kept, and no file is
/// left behind.
inline std::string why_not_writable(const std::string& path) {
  struct stat before{};
  const bool there = ::lstat(path.c_str(), &before) == 0;
  errno = 0;
  if (!std::ofstream(path, std::ios::app)) return std::strerror(errno);
  if (!there) ::unlink(path.c_str());
  return "";
}

/// Replaces the contents of `path` by `text`. Throws Failed if not all of it could be written.
/// @param option  the option that names the file, for the message
inline void write_file(const std::string& option, const std::string& path, const std::string& text) {
  errno = 0;
  std::ofstream file(path, std::ios::trunc);
  file << text << std::flush;
  std::string reason = file ? "" : std::strerror(errno);
  file.close();
  if (file) return;
  if (reason.empty()) reason = std::strerror(errno);
  throw Failed(option + " " + path + ": cannot be written: " + reason);
}

}  // namespace tester
