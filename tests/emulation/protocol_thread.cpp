// SPDX-License-Identifier: MIT

/// @file
/// @brief Sharing::thread: every policy, wave size and pattern of active lanes, in order and out of it.

#include "emulation/protocol_matrix.hpp"

using namespace protocol_tests;

TEMPLATE_TEST_CASE("H23 H17 H22 H38: a queue of one thread moves blocks in every shape", "", Throughput, Latency, Deferred<5>,
                   Notifying<>, WriteThrough<>) {
  for (const Shape& shape : shapes(1)) {
    for (const uint32_t depth : {1u, 8u}) {
      for (const uint64_t jitter : {0u, 7u}) run_exchange<Sharing::thread, TestType>(shape, depth, jitter);
    }
  }
}
