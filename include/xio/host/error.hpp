// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief How the host side reports failure: one exception type, whose message says what went wrong and what to do.

#include <cstring>
#include <stdexcept>
#include <string>

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// Thrown by everything in xio::host that cannot do what it was asked to do. The message fits a line of a terminal
/// unless it quotes another program.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws an Error of the form `what: text of error_number`.
/// @param error_number  a value of errno
[[noreturn]] inline void throw_system_error(const std::string& what, int error_number) {
  throw Error(what + ": " + std::strerror(error_number));
}

}  // namespace host

XIO_NAMESPACE_END
