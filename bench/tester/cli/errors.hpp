// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief How the tester ends: exit statuses, and the exceptions that lead to them.

#include <cstdio>
#include <stdexcept>
#include <string>

namespace tester {

enum ExitStatus : int {
  exit_ok = 0,
  exit_failed = 1,        ///< an operation failed, a block was wrong, a deadline passed
  exit_bad_input = 2,     ///< what was asked for cannot be done; one line on standard error says why
  exit_cannot_run = 77,   ///< sensible, but not on this machine or with this build
  exit_interrupted = 130  ///< Ctrl-C or SIGTERM; what was measured so far was reported
};

/// The user asked for something that cannot be. The message says what is accepted.
class BadInput : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// It was tried and did not succeed: a deadline passed, or the other side is gone.
class Failed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The request makes sense, but not here.
class CannotRun : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// `text` without line ends: every error of the tester is one line.
inline std::string one_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  for (size_t at; (at = text.find('\n')) != std::string::npos;) text.replace(at, 1, "; ");
  return text;
}

/// Says on standard error that --verify was given and compared nothing, which is a failure.
/// @param why  for instance ": this run does not read"; may be empty
inline void complain_of_verification(const std::string& why) {
  std::fprintf(stderr, "xio-tester: --verify compared nothing%s\n", one_line(why).c_str());
}

}  // namespace tester
