// SPDX-License-Identifier: MIT
#include "tester/cli/invocation.hpp"

#include <CLI/CLI.hpp>

namespace tester {

namespace {

GivenFlags& flags() {
  static GivenFlags given;
  return given;
}

}  // namespace

void remember_flags(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options([](const CLI::Option* one) { return one->count() != 0; })) {
    const bool takes_value = option->get_expected_max() != 0;
    flags().emplace_back(option->get_name(), takes_value ? option->results().back() : "");
  }
}

const GivenFlags& given_flags() { return flags(); }

}  // namespace tester
