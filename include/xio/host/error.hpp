// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The exception type of the host side. Its message names the failure and the remedy.

#include <cstring>
#include <stdexcept>
#include <string>

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// Thrown by every operation of xio::host that fails. The message fits one terminal line unless it quotes the output of
/// another program.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws an Error whose message is `what: strerror(error_number)`.
/// @param error_number  a value of errno
[[noreturn]] inline void throw_system_error(const std::string& what, int error_number) {
  throw Error(what + ": " + std::strerror(error_number));
}

}  // namespace host

XIO_NAMESPACE_END
