// SPDX-License-Identifier: MIT

/// @file
/// @brief Random sequences on queues that are shared, though by nobody else here.

#include "property/sequences.hpp"

using namespace property;

TEST_CASE("Random sequences: a queue of the grid") {
  run_sequences<Sharing::grid, Policy<Notify>>(25);
  run_sequences<Sharing::grid, Policy<Deferred<4>>>(25);
}

TEST_CASE("Random sequences: a queue with shadow doorbells") {
  run_sequences<Sharing::grid, xio::Policy<>, xio::ShadowDoorbell>(25);
}
