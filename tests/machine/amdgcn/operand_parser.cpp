// SPDX-License-Identifier: MIT
#include <machine/amdgcn/parsers.hpp>

#include <cstdlib>
#include <cstring>
#include <map>

#include <machine/core/address_space.hpp>

namespace machine::amdgcn {

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t");
  const size_t last = text.find_last_not_of(" \t\r\n");
  return first == std::string::npos ? std::string() : text.substr(first, last - first + 1);
}

bool starts_with(const std::string& text, const char* beginning) {
  return text.compare(0, std::strlen(beginning), beginning) == 0;
}

bool ends_with(const std::string& text, const char* end) {
  const size_t length = std::strlen(end);
  return text.size() >= length && text.compare(text.size() - length, length, end) == 0;
}

std::vector<std::string> split_operands(const std::string& text) {
  std::vector<std::string> parts;
  std::string part;
  int depth = 0;
  for (const char c : text) {
    depth += (c == '[' || c == '(') - (c == ']' || c == ')');
    if (c == ',' && depth == 0) {
      parts.push_back(trimmed(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!trimmed(part).empty()) parts.push_back(trimmed(part));
  return parts;
}

namespace {

struct Named {
  Operand::Kind kind;
  uint16_t index;
  uint8_t width;
  uint64_t value;
};

const std::map<std::string, Named>& named_operands() {
  using Kind = Operand::Kind;
  static const std::map<std::string, Named> names = {
      {"vcc", {Kind::scalar, vcc, 2, 0}},
      {"vcc_lo", {Kind::scalar, vcc, 1, 0}},
      {"vcc_hi", {Kind::scalar, vcc + 1, 1, 0}},
      {"exec", {Kind::scalar, exec, 2, 0}},
      {"exec_lo", {Kind::scalar, exec, 1, 0}},
      {"exec_hi", {Kind::scalar, exec + 1, 1, 0}},
      {"flat_scratch", {Kind::scalar, flat_scratch, 2, 0}},
      {"flat_scratch_lo", {Kind::scalar, flat_scratch, 1, 0}},
      {"flat_scratch_hi", {Kind::scalar, flat_scratch + 1, 1, 0}},
      {"m0", {Kind::scalar, m0, 1, 0}},
      {"null", {Kind::scalar, null_register, 2, 0}},
      {"scc", {Kind::condition, 0, 1, 0}},
      {"src_scc", {Kind::condition, 0, 1, 0}},
      {"off", {Kind::off, 0, 1, 0}},
      {"src_shared_base", {Kind::constant, 0, 2, shared_base}},
      {"src_flat_scratch_base_lo", {Kind::constant, 0, 2, lanes_private_base}},
      {"src_private_base", {Kind::constant, 0, 2, private_base}},
  };
  return names;
}

/// Parses "5" or "[4:7]".
bool parse_range(const char* text, Operand& operand) {
  char* end = nullptr;
  if (*text == '[') {
    const auto first = std::strtoul(text + 1, &end, 10);
    if (*end == ']' && end[1] == 0) {
      operand.index = static_cast<uint16_t>(first);
      return true;
    }
    if (*end != ':') return false;
    const auto last = std::strtoul(end + 1, &end, 10);
    if (*end != ']' || end[1] != 0 || last < first) return false;
    operand.index = static_cast<uint16_t>(first);
    operand.width = static_cast<uint8_t>(last - first + 1);
    return true;
  }
  if (*text < '0' || *text > '9') return false;
  operand.index = static_cast<uint16_t>(std::strtoul(text, &end, 10));
  return *end == 0;
}

bool parse_constant(const std::string& text, bool wide, bool sign, uint64_t& value) {
  const size_t digit = text[0] == '-' ? 1 : 0;
  if (digit >= text.size() || text[digit] < '0' || text[digit] > '9') return false;
  char* end = nullptr;
  if (starts_with(text, "0x")) {
    value = std::strtoull(text.c_str(), &end, 16);
    if (sign && value <= 0xffffffffu) value = static_cast<uint64_t>(int64_t{static_cast<int32_t>(value)});
  } else if (text.find('.') != std::string::npos) {
    if (wide) {
      const double number = std::strtod(text.c_str(), &end);
      std::memcpy(&value, &number, sizeof value);
    } else {
      const float number = std::strtof(text.c_str(), &end);
      uint32_t bits;
      std::memcpy(&bits, &number, sizeof bits);
      value = bits;
    }
  } else {
    value = static_cast<uint64_t>(std::strtoll(text.c_str(), &end, 10));
  }
  return *end == 0;
}

}  // namespace

Operand parse_operand(std::string text, bool wide, bool sign) {
  Operand operand;
  const std::string whole = text;
  // "lit(0x40)": a literal, although there is a shorter form of the constant.
  for (const char* mark : {"lit(", "lit64("})
    if (starts_with(text, mark) && text.back() == ')')
      text = text.substr(std::strlen(mark), text.size() - std::strlen(mark) - 1);
  if (parse_constant(text, wide, sign, operand.value)) {
    operand.kind = Operand::Kind::constant;
    operand.width = 2;
    return operand;
  }
  if (text[0] == '-') {
    operand.negate = true;
    text.erase(0, 1);
  }
  if (text.size() > 2 && text[0] == '|' && text.back() == '|') {
    operand.absolute = true;
    text = text.substr(1, text.size() - 2);
  }
  const auto named = named_operands().find(text);
  if (named != named_operands().end()) {
    operand.kind = named->second.kind;
    operand.index = named->second.index;
    operand.width = named->second.width;
    operand.value = named->second.value;
    return operand;
  }
  if (starts_with(text, "ttmp") && parse_range(text.c_str() + 4, operand)) {
    operand.kind = Operand::Kind::scalar;
    operand.index = static_cast<uint16_t>(operand.index + ttmp);
    return operand;
  }
  if (text.size() > 3 && (ends_with(text, ".l") || ends_with(text, ".h"))) {
    operand.half = text.back() == 'l' ? 1 : 2;
    text.resize(text.size() - 2);
  }
  const char bank = text[0];
  if ((bank == 'v' || bank == 's' || bank == 'a') && parse_range(text.c_str() + 1, operand)) {
    operand.kind = bank == 's' ? Operand::Kind::scalar : Operand::Kind::vector;
    if (bank == 'a') operand.index = static_cast<uint16_t>(operand.index + accumulators);
    const uint32_t count = bank == 's' ? uint32_t{vcc} : vector_registers;
    if (operand.index + operand.width <= count) return operand;
  }
  throw Fault("operand " + whole);
}

}  // namespace machine::amdgcn
