// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Exploring a program as a check of a test case.

#include <cstdio>
#include <cstdlib>
#include <memory>

#include "catch.hpp"
#include "model/explorer.hpp"

namespace model {

/// Explores programs of a type: so many executions in order, and a quarter as many with random choices. In the
/// environment: XIO_MODEL_FACTOR, so many times as many of both; XIO_MODEL_FULL, all schedules, however long that
/// takes.
template <class P, class... Arguments>
void explore(uint64_t executions, Arguments... arguments) {
  if (const char* const factor = std::getenv("XIO_MODEL_FACTOR")) executions *= std::strtoull(factor, nullptr, 10);
  Limits limits{executions, executions / 4};
  if (std::getenv("XIO_MODEL_FULL") != nullptr) limits.executions = ~uint64_t{0};
  Explorer explorer;
  const Result result =
      explorer.explore([&](Explorer& self) { return std::make_unique<P>(self, arguments...); }, limits);
  INFO(result.failure << "\nafter " << result.executions << " executions: " << result.trace);
  CHECK(result.failure.empty());
  std::printf("%9llu executions, %9llu states, %s\n", static_cast<unsigned long long>(result.executions),
              static_cast<unsigned long long>(result.states), result.complete ? "all schedules" : "limit reached");
}

}  // namespace model
