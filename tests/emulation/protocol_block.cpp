// SPDX-License-Identifier: MIT

/// @file
/// @brief Sharing::block: every policy, wave size and pattern of active lanes, in order and out of it.

#include "emulation/protocol_matrix.hpp"

using namespace protocol_tests;

TEMPLATE_TEST_CASE("H23 H17 H22 H38: a queue of a block moves blocks in every shape", "", Throughput, Latency, Deferred<5>,
                   Notifying<>, WriteThrough<>) {
  for (const Shape& shape : shapes(3)) {
    for (const uint32_t depth : {4u, 64u}) {
      for (const uint64_t jitter : {0u, 7u}) run_exchange<Sharing::block, TestType>(shape, depth, jitter);
    }
  }
}
