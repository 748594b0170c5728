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
/// @addtogroup host_support
/// @{

/// Thrown by every operation of xio::host that fails. The message fits one terminal line unless it quotes the output of
/// another program.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What was asked for is in order, but this machine does not provide it: a program or a library is not installed, or
/// does not start.
class Unavailable : public Error {
 public:
  using Error::Error;
};

/// Throws an Error whose message is `what: strerror(error_number)`.
/// @param error_number  a value of errno
[[noreturn]] inline void throw_system_error(const std::string& what, int error_number) {
  throw Error(what + ": " + std::strerror(error_number));
}

/// @}
}  // namespace host

XIO_NAMESPACE_END
