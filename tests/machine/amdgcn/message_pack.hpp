// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Reads MessagePack, in which code objects describe their kernels.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace machine::amdgcn {

struct Value {
  enum class Kind : uint8_t { none, boolean, integer, text, list, map };
  Kind kind = Kind::none;
  int64_t integer = 0;
  std::string text;
  std::vector<Value> list;
  std::vector<std::pair<std::string, Value>> map;

  /// What a map has for a key; none where it has nothing.
  const Value& operator[](const std::string& key) const;
  uint32_t number() const { return static_cast<uint32_t>(integer); }
};

/// @throws Fault where it is cut short, or has something that code objects do not
Value read_message(const std::vector<uint8_t>& bytes);

}  // namespace machine::amdgcn
