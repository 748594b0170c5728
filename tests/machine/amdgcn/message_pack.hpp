// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Reader for MessagePack, the format of kernel metadata in code objects.

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

  /// Value of a key of a map; none if it is absent.
  const Value& operator[](const std::string& key) const;
  uint32_t number() const { return static_cast<uint32_t>(integer); }
};

/// @throws Fault if it is truncated, or uses types that code objects do not
Value read_message(const std::vector<uint8_t>& bytes);

}  // namespace machine::amdgcn
