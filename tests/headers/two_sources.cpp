// SPDX-License-Identifier: MIT

/// @file
/// @brief Every header in two sources of one program: what is not inline would be defined twice.

#include <xio_all_headers.hpp>

#include "catch.hpp"

/// Address of a function of the library as two_sources_other.cpp sees it.
const void* name_function_elsewhere();

TEST_CASE("two sources with every header link into one program") {
  const char* (*const name)(xio::Status::Code) = xio::name;
  CHECK(name_function_elsewhere() == reinterpret_cast<const void*>(name));
}
