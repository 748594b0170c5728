// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Command-line flags whose error messages state what is accepted.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <xio/host/text.hpp>

namespace tester {

/// Maximum of flags that take any number.
constexpr uint64_t any_number = std::numeric_limits<uint64_t>::max();

/// Adds the flags of a sub-command when its name is parsed: creating the flags of all sub-commands takes longer than
/// many runs.
template <class AddFlags>
void when_chosen(CLI::App* command, AddFlags add_flags) {
  command->preparse_callback([add_flags](size_t) { add_flags(); });
}

/// Adds a flag that takes an integer from `least` to `most`, with an optional suffix K, M or G.
template <class Number>
CLI::Option* add_number(CLI::App& app, const std::string& flag, Number& to, uint64_t least, uint64_t most,
                        const std::string& help) {
  const auto parse = [flag, least, most, &to](const std::string& text) {
    const auto value = xio::host::parse_bytes(text);
    if (!value || *value < least || *value > most) {
      throw CLI::ValidationError(flag, text + " is not accepted; an integer from " + std::to_string(least) + " to " +
                                           std::to_string(most) + " is");
    }
    to = static_cast<Number>(*value);
  };
  return app.add_option_function<std::string>(flag, parse, help)->type_name("N");
}

/// Adds `--json`, which names a file.
inline CLI::Option* add_json(CLI::App& app, std::string& to) {
  const auto name = [&to](const std::string& text) {
    if (text.empty())
      throw CLI::ValidationError("--json", "an empty name is not accepted; a file, or - for standard output, is");
    to = text;
  };
  return app
      .add_option_function<std::string>("--json", name, "write everything to a file as JSON; - is standard output")
      ->type_name("FILE");
}

/// Items of a comma-separated list, none of them empty.
/// @param flag  for the message of the CLI::ValidationError
inline std::vector<std::string> split_list(const std::string& flag, const std::string& text) {
  std::vector<std::string> items(1);
  for (const char c : text) {
    if (c == ',') {
      items.emplace_back();
    } else {
      items.back() += c;
    }
  }
  for (const std::string& item : items)
    if (item.empty()) throw CLI::ValidationError(flag, "'" + text + "' is not accepted; list items must not be empty");
  return items;
}

/// Adds a flag that takes seconds, optionally with a fraction.
inline CLI::Option* add_seconds(CLI::App& app, const std::string& flag, double& to, const std::string& help) {
  const auto parse = [flag, &to](const std::string& text) {
    size_t used = 0;
    try {
      to = std::stod(text, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used != text.size() || !(to > 0) || to > 1e6)
      throw CLI::ValidationError(flag, text + " is not accepted; seconds above 0, up to 1000000, are");
  };
  return app.add_option_function<std::string>(flag, parse, help)->type_name("SECONDS");
}

/// Adds a flag that takes the initial state of a 32-bit shift register.
inline CLI::Option* add_lfsr_seed(CLI::App& app, const std::string& flag, std::optional<uint32_t>& to,
                                  const std::string& help) {
  const auto parse = [flag, &to](const std::string& text) {
    const auto value = xio::host::parse_number(text);
    if (!value || *value > 0xffffffff) throw CLI::ValidationError(flag, text + " is not accepted; a 32-bit integer is");
    to = static_cast<uint32_t>(*value);
  };
  return app.add_option_function<std::string>(flag, parse, help)->type_name("N");
}

/// Adds a flag that takes one of a set of words.
template <class Value>
CLI::Option* add_choice(CLI::App& app, const std::string& flag, Value& to,
                        const std::vector<std::pair<std::string, Value>>& words, const std::string& help) {
  std::string accepted;
  for (const auto& [word, value] : words) accepted += (accepted.empty() ? "" : "|") + word;
  const auto choose = [flag, words, accepted, &to](const std::string& text) {
    for (const auto& [word, value] : words) {
      if (word == text) {
        to = value;
        return;
      }
    }
    throw CLI::ValidationError(flag, text + " is not accepted; " + accepted + " is");
  };
  return app.add_option_function<std::string>(flag, choose, help)->type_name(accepted);
}

/// Adds `--executor` and `--gpu`.
template <class Executor>
void add_executor(CLI::App& app, Executor& to, uint32_t& number, const std::string& group) {
  add_choice<Executor>(app, "--executor", to,
                       {{"auto", Executor::automatic}, {"host", Executor::host}, {"gpu", Executor::gpu}},
                       "where the kernel runs (default auto: a GPU if there is one, else the CPU, which emulates it)")
      ->group(group);
  add_number(app, "--gpu", number, 0, 255, "which GPU, as HIP or CUDA counts them (default 0)")->group(group);
}

}  // namespace tester
