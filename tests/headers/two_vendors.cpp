// SPDX-License-Identifier: MIT

/// @file
/// @brief Queue pairs of five vendors in one source, and again in another one of the same program.

#include "headers/two_vendors.hpp"
#include "catch.hpp"

/// What two_vendors_other.cpp finds.
std::vector<std::string> exchange_all_elsewhere();
using Exchange = std::string (*)();
Exchange mlx5_exchange_elsewhere();

TEST_CASE("all vendors live in one source, and two such sources in one program") {
  const std::vector<std::string> all{"mlx5", "bnxt", "ionic", "ernic", "rxe"};
  CHECK(two_vendors::exchange_all() == all);
  CHECK(exchange_all_elsewhere() == all);
  // The linker kept one definition of what both have.
  CHECK(mlx5_exchange_elsewhere() == &two_vendors::exchange<xio::emulation::Mlx5Kit<>>);
}
