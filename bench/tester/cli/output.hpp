// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What a program writes has arrived, or its exit status says that it has not.

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

/// Where one of the descriptors 0 to 2 is closed, the next file or socket that is opened would get its number, and what
/// is printed would go there. A folder that is open for reading takes its place: writing to it is an error.
inline void occupy_standard_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(fd, F_GETFD) >= 0) continue;
    const int opened = ::open("/", O_RDONLY | O_DIRECTORY);  // the lowest number that is free
    if (opened >= 0 && opened != fd) ::close(opened);
  }
}

/// Why what was printed so far is not, or not all, where it should be; empty where it is.
inline std::string standard_output_trouble() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) {
    // Some file systems say it only when a file is closed.
    const int copy = ::dup(STDOUT_FILENO);
    return copy < 0 || ::close(copy) == 0 ? std::string() : std::strerror(errno);
  }
  // An earlier failure is remembered without its reason.
  if (errno == 0 && ::write(STDOUT_FILENO, "\n", 1) == 1) return "a part of it is missing";
  return std::strerror(errno);
}

}  // namespace detail

/// Runs a program. `body()` prints to standard output and returns an exit status, which becomes exit_failed where it
/// was one of success, or of an interrupted run that has reported, and not all that was printed could be written; one
/// line on standard error says why. Nothing may be printed afterwards. One call in a process.
/// @param program  its name, for that line
template <class Body>
int with_checked_output(const char* program, Body&& body) {
  detail::occupy_standard_descriptors();
  // A limit on the size of files is an error of the write then, and not the end of the program.
  ::signal(SIGXFSZ, SIG_IGN);
  const int status = body();
  const std::string trouble = detail::standard_output_trouble();
  if (trouble.empty()) return status;
  std::fprintf(stderr, "%s: standard output cannot be written: %s\n", program, trouble.c_str());
  return status == exit_ok || status == exit_interrupted ? exit_failed : status;
}

/// Why a file cannot be written, to be asked before a run; empty where it can. What is in it stays, and where there was
/// no file, there is none afterwards.
inline std::string why_not_writable(const std::string& path) {
  struct stat before{};
  const bool there = ::lstat(path.c_str(), &before) == 0;
  errno = 0;
  if (!std::ofstream(path, std::ios::app)) return std::strerror(errno);
  if (!there) ::unlink(path.c_str());
  return "";
}

/// Makes `path` hold `text`, in place of what it held. Throws Failed where not all of it could be written.
/// @param option  what named the file, for the message
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
