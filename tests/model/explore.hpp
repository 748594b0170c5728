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

template <class P, class... Arguments>
Result explore_with(const Limits& limits, Arguments... arguments) {
  Explorer explorer;
  const Result result =
      explorer.explore([&](Explorer& self) { return std::make_unique<P>(self, arguments...); }, limits);
  INFO(result.failure << "\nafter " << result.executions << " executions: " << result.trace);
  CHECK(result.failure.empty());
  std::printf("%9llu states, %9llu executions, %s\n", static_cast<unsigned long long>(result.states),
              static_cast<unsigned long long>(result.executions), result.complete ? "all schedules" : "limit reached");
  return result;
}

/// Explores a program: so many states in order, and for each 40 of them one execution with random choices. In the
/// environment: XIO_MODEL_FACTOR, so many times as many of both; XIO_MODEL_FULL, all schedules, however long that
/// takes.
template <class P, class... Arguments>
void explore(uint64_t states, Arguments... arguments) {
  if (const char* const factor = std::getenv("XIO_MODEL_FACTOR")) states *= std::strtoull(factor, nullptr, 10);
  Limits limits{states, states / 40};
  if (std::getenv("XIO_MODEL_FULL") != nullptr) limits.states = ~uint64_t{0};
  explore_with<P>(limits, arguments...);
}

/// Explores all schedules of a program.
template <class P, class... Arguments>
void explore_all(Arguments... arguments) {
  CHECK(explore_with<P>(Limits{}, arguments...).complete);
}

}  // namespace model
