// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Conversions between numbers and text, for options and messages.

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_support
/// @{

/// Formats a value as "0x1f", with at least `digits` hexadecimal digits.
inline std::string to_hex(uint64_t value, size_t digits = 1) {
  std::string text;
  for (; value != 0 || text.size() < digits; value >>= 4) text.insert(text.begin(), "0123456789abcdef"[value & 15]);
  return "0x" + text;
}

/// Escapes untrusted text for terminals and logs: a byte that is not printable ASCII becomes a backslash, `x` and two
/// hexadecimal digits; a backslash is doubled; input beyond `most` characters is cut and replaced by "...".
inline std::string printable(const std::string& text, size_t most = 200) {
  std::string safe;
  for (const char c : text.substr(0, most)) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '\\') {
      safe += "\\\\";
    } else if (code >= 0x20 && code < 0x7f) {
      safe += c;
    } else {
      safe += "\\x" + to_hex(code, 2).substr(2);
    }
  }
  return text.size() > most ? safe + "..." : safe;
}

/// Pieces of a text between characters of `separators`; empty ones are left out.
inline std::vector<std::string> pieces_of(const std::string& text, const char* separators) {
  std::vector<std::string> pieces;
  size_t end = 0;
  for (size_t at; (at = text.find_first_not_of(separators, end)) != std::string::npos;) {
    end = std::min(text.find_first_of(separators, at), text.size());
    pieces.push_back(text.substr(at, end - at));
  }
  return pieces;
}

/// Parses a decimal number, or a hexadecimal one after 0x. Empty for anything else, signs and spaces included.
inline std::optional<uint64_t> parse_number(const std::string& text) {
  const bool hexadecimal = text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  const uint64_t base = hexadecimal ? 16 : 10;
  uint64_t value = 0;
  if (text.empty()) return std::nullopt;
  for (size_t i = hexadecimal ? 2 : 0; i < text.size(); ++i) {
    const char c = text[i];
    uint64_t digit = 16;
    if (c >= '0' && c <= '9') digit = static_cast<uint64_t>(c - '0');
    if (c >= 'a' && c <= 'f') digit = static_cast<uint64_t>(c - 'a') + 10;
    if (c >= 'A' && c <= 'F') digit = static_cast<uint64_t>(c - 'A') + 10;
    if (digit >= base || value > (std::numeric_limits<uint64_t>::max() - digit) / base) return std::nullopt;
    value = value * base + digit;
  }
  return value;
}

/// Parses a size in bytes: a number, optionally followed by K, M, G or T (powers of 1024, either case). Empty for
/// anything else.
inline std::optional<uint64_t> parse_bytes(std::string text) {
  unsigned shift = 0;
  if (!text.empty()) {
    switch (text.back()) {
      case 'K':
      case 'k': shift = 10; break;
      case 'M':
      case 'm': shift = 20; break;
      case 'G':
      case 'g': shift = 30; break;
      case 'T':
      case 't': shift = 40; break;
      default: break;
    }
  }
  if (shift != 0) text.pop_back();
  const std::optional<uint64_t> number = parse_number(text);
  if (!number || *number > (std::numeric_limits<uint64_t>::max() >> shift)) return std::nullopt;
  return *number << shift;
}

/// @}
}  // namespace host

XIO_NAMESPACE_END
