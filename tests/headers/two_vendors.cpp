// SPDX-License-Identifier: MIT

/// @file
/// @brief Queue pairs of all vendors in one source, and again in another one of the same program.

#include "headers/two_vendors.hpp"
#include "catch.hpp"
#include "each_vendor.hpp"

/// What two_vendors_other.cpp finds.
std::vector<std::string> exchange_all_elsewhere();
using Exchange = std::string (*)();
Exchange mlx5_exchange_elsewhere();

TEST_CASE("all vendors live in one source, and two such sources in one program") {
#define NAME(name, Vendor) #name,
  const std::vector<std::string> all{XIO_EACH_VENDOR(NAME)};
  CHECK(two_vendors::exchange_all() == all);
  CHECK(exchange_all_elsewhere() == all);
  // The linker kept one definition of what both have.
  CHECK(mlx5_exchange_elsewhere() == &two_vendors::exchange<xio::emulation::Mlx5Kit<>>);
}
