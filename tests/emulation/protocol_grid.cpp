// SPDX-License-Identifier: MIT

/// @file
/// @brief Sharing::grid: every policy, wave size and pattern of active lanes, in order and out of it.

#include "emulation/protocol_matrix.hpp"

using namespace protocol_tests;

TEMPLATE_TEST_CASE("H23 H17 H22 H38: a queue of the grid moves blocks in every shape", "", xio::Policy<>,
                   Policy<Deferred<5>>, Policy<Notify>, Policy<WriteThrough>) {
  run_shapes<Sharing::grid, TestType>(3, 4, 64);
}
