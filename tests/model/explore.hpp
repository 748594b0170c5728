// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Exploring a program as a check of a test case.

#include <cstdio>
#include <memory>

#include "catch.hpp"
#include "model/actor_steps.hpp"
#include "model/explorer.hpp"

namespace model {

/// Begins the line of an exploration.
inline void say(const char* what) {
  std::printf("%-56s", what);
  std::fflush(stdout);
}

template <class P, class... Arguments>
Result explore_with(const Limits& limits, Arguments... arguments) {
  Explorer explorer;
  const Result result =
      explorer.explore([&](Explorer& self) { return std::make_unique<P>(self, arguments...); }, limits);
  INFO(result.failure << "\nafter " << result.steps << " steps: " << result.trace);
  CHECK(result.failure.empty());
  if (result.complete) CHECK(result.ends != 0);
  std::printf("%9llu states, %9llu steps, %s\n", static_cast<unsigned long long>(result.states),
              static_cast<unsigned long long>(result.steps),
              result.complete          ? "all schedules"
              : result.failure.empty() ? "limit reached"
                                       : "failed");
  return result;
}

/// Explores all schedules of a program.
template <class P, class... Arguments>
void explore_all(Arguments... arguments) {
  CHECK(explore_with<P>(Limits{}, arguments...).complete);
}

/// Explores so many states of a program in order, and for each 40 of them one execution with random choices. At night:
/// all schedules, or 5 million states, which take about a minute.
template <class P, class... Arguments>
void explore(uint64_t states, Arguments... arguments) {
  explore_with<P>(at_night() ? Limits{5000000, 0} : Limits{states, states / 40}, arguments...);
}

/// Explores so many states by day as explore() does, and all schedules at night.
template <class P, class... Arguments>
void explore_whole(uint64_t states, Arguments... arguments) {
  if (at_night()) {
    explore_all<P>(arguments...);
  } else {
    explore<P>(states, arguments...);
  }
}

}  // namespace model
