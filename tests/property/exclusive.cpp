// SPDX-License-Identifier: MIT

/// @file
/// @brief Random sequences on queues of one thread or one wave.

#include "property/sequences.hpp"

using namespace property;

TEST_CASE("Random sequences: a thread's queue") {
  run_sequences<Sharing::thread, xio::Policy<>>(25);
  run_sequences<Sharing::thread, Policy<Deferred<3>, Notify>>(25);
}

TEST_CASE("Random sequences: a wave's queue") { run_sequences<Sharing::wave, Policy<WriteThrough, Notify>>(25); }
