// SPDX-License-Identifier: MIT

/// @file
/// @brief Every header in two sources of one program: what is not inline would be defined twice. A third one is of
/// another version of the library: the inline namespace keeps their symbols apart.

#include <xio_all_headers.hpp>

#include <string>
#include <typeinfo>

#include "catch.hpp"

/// Address of a function of the library as two_sources_other.cpp sees it.
const void* name_function_elsewhere();

/// What another_version.cpp says of itself.
int other_abi_number();
std::string other_status_type();
const void* other_name_function();

TEST_CASE("two sources with every header link into one program") {
  const char* (*const name)(xio::Status::Code) = xio::name;
  CHECK(name_function_elsewhere() == reinterpret_cast<const void*>(name));
}

TEST_CASE("two versions of the library link into one program") {
  CHECK(other_abi_number() == 999);
  CHECK(XIO_ABI_NUMBER != 999);
  CHECK(other_status_type() != typeid(xio::Status).name());
  const char* (*const name)(xio::Status::Code) = xio::name;
  CHECK(other_name_function() != reinterpret_cast<const void*>(name));
}
