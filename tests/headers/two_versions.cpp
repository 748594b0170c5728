// SPDX-License-Identifier: MIT

/// @file
/// @brief Two versions of the library in one program: the inline namespace keeps their symbols apart.

#include <xio_all_headers.hpp>

#include <string>
#include <typeinfo>

#include "catch.hpp"

/// What two_versions_other.cpp, compiled as another version, says of itself.
int other_abi_number();
std::string other_status_type();
const void* other_name_function();

TEST_CASE("two versions of the library link into one program") {
  CHECK(other_abi_number() == 999);
  CHECK(XIO_ABI_NUMBER != 999);
  CHECK(other_status_type() != typeid(xio::Status).name());
  const char* (*const name)(xio::Status::Code) = xio::name;
  CHECK(other_name_function() != reinterpret_cast<const void*>(name));
}
