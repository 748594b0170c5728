// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Parser for the `key=value,...` part of controller specifications on a command line.

#include <set>
#include <string>
#include <utility>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/text.hpp>

XIO_NAMESPACE_BEGIN

namespace host::detail {

/// Maps a word to its value. Throws an Error that lists the accepted words.
template <class Value>
Value choose(const std::string& kind, const std::string& key, const std::string& word,
             const std::vector<std::pair<std::string, Value>>& words) {
  std::string accepted;
  for (const auto& known : words) {
    if (known.first == word) return known.second;
    accepted += (accepted.empty() ? "" : ", ") + known.first;
  }
  throw Error(kind + ": " + key + "=" + word + " is not known; accepted: " + accepted);
}

inline uint64_t spec_number(const std::string& kind, const std::string& key, const std::string& text, uint64_t lowest,
                            uint64_t highest) {
  const auto value = parse_bytes(text);
  if (!value || *value < lowest || *value > highest)
    throw Error(kind + ": " + key + "=" + text + " is not accepted; expected a number from " + std::to_string(lowest) +
                " to " + std::to_string(highest) + " (suffixes K, M, G, T)");
  return *value;
}

/// Throws an Error with the message `kind: what more`.
[[noreturn]] inline void refuse_spec(const std::string& kind, const std::string& what, const std::string& more) {
  throw Error(kind + ": " + what + more);
}

/// Calls `set(key, value)` for each `key=value` of `rest`, in order. Throws Error for a duplicate key or malformed
/// input.
/// @param kind     prefix of every message
/// @param spec     the complete specification, for messages
/// @param last_key key whose value extends to the end, commas included; empty: no such key
template <class Set>
void parse_keys(const std::string& kind, const std::string& spec, std::string rest, const std::string& last_key,
                Set&& set) {
  std::set<std::string> seen;
  while (!rest.empty()) {
    const size_t equals = rest.find('=');
    if (equals == std::string::npos || rest.find(',') < equals)
      refuse_spec(kind, "'" + rest.substr(0, rest.find(',')), "' is not of the form key=value");
    const std::string key = rest.substr(0, equals);
    rest.erase(0, equals + 1);
    const size_t end = !last_key.empty() && key == last_key ? std::string::npos : rest.find(',');
    if (!seen.insert(key).second) refuse_spec(kind, key, " is given twice");
    const std::string value = rest.substr(0, end);
    if (value.empty()) refuse_spec(kind, key, " needs a value after the =");
    set(key, value);
    if (end == std::string::npos) break;
    rest.erase(0, end + 1);
    if (rest.empty()) refuse_spec(kind, "nothing follows the last comma of ", spec);
  }
}

}  // namespace host::detail

XIO_NAMESPACE_END
