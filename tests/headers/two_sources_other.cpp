// SPDX-License-Identifier: MIT

/// @file
/// @brief The second source of the program.

#include <xio_all_headers.hpp>

const void* name_function_elsewhere() {
  const char* (*const name)(xio::Status::Code) = xio::name;
  return reinterpret_cast<const void*>(name);
}
