// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Exit statuses of the tester, and the exceptions that map to them.

#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace tester {

enum ExitStatus : int {
  exit_ok = 0,
  exit_failed = 1,        ///< an operation failed, a block was wrong, a deadline passed
  exit_bad_input = 2,     ///< invalid request; one line on standard error states why
  exit_cannot_run = 77,   ///< valid, but not possible on this machine or with this build
  exit_interrupted = 130  ///< Ctrl-C or SIGTERM; partial results were reported
};

/// The request is invalid. The message states what is accepted.
class BadInput : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The run failed: a deadline passed, or the other side is gone.
class Failed : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The request is valid, but not possible on this machine or with this build.
class CannotRun : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Refuses a batch that can never be full. 0: chosen elsewhere.
inline void check_batch(uint32_t batch, uint32_t depth) {
  if (depth != 0 && batch > depth)
    throw BadInput("--batch-size " + std::to_string(batch) + " is more than --depth " + std::to_string(depth) +
                   "; give at most that");
}

/// `text` without line breaks: every error of the tester is one line.
inline std::string one_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  for (size_t at; (at = text.find('\n')) != std::string::npos;) text.replace(at, 1, "; ");
  return text;
}

/// Reports on standard error that --verify was given but nothing was compared, which is a failure.
inline void complain_of_verification() { std::fprintf(stderr, "xio-tester: --verify compared nothing\n"); }

}  // namespace tester
