// SPDX-License-Identifier: MIT

/// @file
/// @brief Another version of the library; its definitions come from the build.

#include <xio_all_headers.hpp>

#include <string>
#include <typeinfo>

int other_abi_number() { return XIO_ABI_NUMBER; }

std::string other_status_type() { return typeid(xio::Status).name(); }

const void* other_name_function() {
  const char* (*const name)(xio::Status::Code) = xio::name;
  return reinterpret_cast<const void*>(name);
}
