// SPDX-License-Identifier: MIT
/// @file
/// @brief Parsing of declarations and operands.

#include <cstdlib>
#include <cstring>
#include <map>

#include <machine/ptx/parser.hpp>

namespace machine::ptx {

namespace {

bool is_number(const std::string& text) {
  return !text.empty() && (text[0] == '-' || (text[0] >= '0' && text[0] <= '9'));
}

/// Bits of a number. PTX writes floats as `0f3F800000` and `0d3FF0000000000000`.
uint64_t number(const std::string& text) {
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'f' || text[1] == 'F' || text[1] == 'd' || text[1] == 'D'))
    return std::strtoull(text.c_str() + 2, nullptr, 16);
  if (text[0] == '-') return 0 - std::strtoull(text.c_str() + 1, nullptr, 0);
  if (text.compare(0, 2, "0b") == 0 || text.compare(0, 2, "0B") == 0)
    return std::strtoull(text.c_str() + 2, nullptr, 2);
  return std::strtoull(text.c_str(), nullptr, 0);
}

}  // namespace

void Parser::declare_registers(const std::string& text) {
  if (current_ < 0) fail("registers outside of a function");
  constexpr uint32_t most_registers = 1 << 20;
  const size_t space = text.find_first_of(" \t", 5);
  if (space == text.npos) fail("registers without a name");
  Type type;
  const std::string type_name = trimmed(text.substr(5, space - 5));
  if (type_name[0] != '.' || !parse_type(type_name.substr(1), type)) fail("unknown type of registers");
  for (const std::string& one : split(text.substr(space), ',')) {
    const size_t bracket = one.find('<');
    Registers r;
    r.first = static_cast<int32_t>(function().registers);
    const unsigned long count = bracket == one.npos ? 0 : std::strtoul(one.c_str() + bracket + 1, nullptr, 10);
    if (one.empty() || bracket == 0) fail("registers without a name");
    if (count > most_registers ||
        (function().registers += count == 0 ? 1u : static_cast<uint32_t>(count)) > most_registers)
      fail("more registers than are modelled");
    r.count = static_cast<int32_t>(count);
    r.bits = type.bits;
    blocks_.back().registers[one.substr(0, bracket)] = r;
  }
}

void Parser::declare_parameter(const std::string& text) {
  if (current_ < 0) fail("a parameter outside of a function");
  const Declaration d = declaration(text);
  const uint32_t offset = place(function().parameter_bytes, d);
  blocks_.back().parameters[d.name] = {offset, static_cast<uint32_t>(d.bytes)};
  function().parameter_bytes = offset + static_cast<uint32_t>(d.bytes);
}

void Parser::declare_variable(const std::string& text) {
  const size_t equals = text.find('=');
  Declaration d = declaration(text.substr(0, equals));
  if (text.find(".local") != text.npos) {
    if (current_ < 0) fail("a local variable outside of a function");
    const uint32_t offset = place(function().local_bytes, d);
    blocks_.back().locals[d.name] = offset;
    function().local_bytes = offset + static_cast<uint32_t>(d.bytes);
    return;
  }
  Variable out;
  out.bytes = d.bytes;
  out.align = d.align;
  if (text.find(".shared") != text.npos) {
    out.space = Space::shared;
    out.external = d.open_ended;
    if (!out.external) {
      out.offset = place(program_.shared_bytes, d);
      program_.shared_bytes = out.offset + d.bytes;
    }
    if (equals != text.npos) fail("shared memory with an initialiser");
  } else {
    if (text.find(".extern") != text.npos) fail("a variable of another module");
    out.space = text.find(".const") != text.npos ? Space::constant : Space::global;
    if (equals != text.npos) initialise(trimmed(text.substr(equals + 1)), d.type, out);
    d.align = std::max(d.align, 8u);
    d.bytes = out.bytes;
    out.offset = place(program_.global_bytes, d);
    program_.global_bytes = out.offset + out.bytes;
  }
  program_.variables[d.name] = out;
}

void Parser::initialise(const std::string& text, const Type& type, Variable& out) {
  std::vector<std::string> values;
  const std::vector<std::string> tops = text[0] == '{' ? split(text.substr(1, text.size() - 2), ',') : split(text, ',');
  for (const std::string& one : tops) {  // rows of a matrix have braces of their own
    if (one[0] != '{') {
      values.push_back(one);
      continue;
    }
    for (const std::string& inner : split(one.substr(1, one.size() - 2), ',')) values.push_back(inner);
  }
  if (out.bytes < values.size() * type.bytes()) out.bytes = values.size() * type.bytes();  // name[] = {...}
  out.initial.resize(values.size() * type.bytes());
  for (size_t i = 0; i < values.size(); ++i) {
    if (is_number(values[i])) {
      const uint64_t value = number(values[i]);
      std::memcpy(out.initial.data() + i * type.bytes(), &value, type.bytes());
      continue;
    }
    std::string name = values[i];
    if (name.rfind("generic(", 0) == 0) name = name.substr(8, name.size() - 9);
    if (type.bits != 64 || name.find_first_of("+()") != name.npos) fail("initialiser " + values[i]);
    out.pointers.emplace_back(i * type.bytes(), name);
  }
}

int32_t Parser::register_of(const std::string& name, uint8_t* bits) const {
  const size_t digits = name.find_last_not_of("0123456789") + 1;
  const std::string prefix = name.substr(0, digits);
  const int32_t number = digits == name.size() ? -1 : std::atoi(name.c_str() + digits);
  for (size_t i = blocks_.size(); i-- > 0;) {
    const auto& here = blocks_[i].registers;
    auto found = here.find(name);
    if (found != here.end() && found->second.count == 0) {
      if (bits) *bits = found->second.bits;
      return found->second.first;
    }
    found = here.find(prefix);
    if (number < 0 || found == here.end() || number >= found->second.count) continue;
    if (bits) *bits = found->second.bits;
    return found->second.first + number;
  }
  return -1;
}

Operand Parser::operand(const std::string& text) {
  Operand out;
  std::string name = text;
  if (name.empty()) fail("an operand is missing");
  if (name[0] == '!') {
    out.negated = true;
    name = trimmed(name.substr(1));
  }
  if (name == "_") {
    out.bits = 0;  // a sink
    return out;
  }
  if (is_number(name)) {
    out.value = number(name);
    return out;
  }
  if (name == "WARP_SZ") {
    out.value = 32;
    return out;
  }
  out.index = register_of(name, &out.bits);
  if (out.index < 0) fail("unknown operand " + name);
  return out;
}

const Parser::Area& Parser::parameter(const std::string& name) const {
  for (size_t i = blocks_.size(); i-- > 0;) {
    const auto found = blocks_[i].parameters.find(name);
    if (found != blocks_[i].parameters.end()) return found->second;
  }
  fail("unknown parameter " + name);
}

bool Parser::address_of_variable(const std::string& text, Instruction& out) {
  const size_t plus = text.find('+');
  const std::string name = trimmed(text.substr(0, plus));
  const int64_t more = plus == text.npos ? 0 : std::strtoll(text.c_str() + plus + 1, nullptr, 0);
  for (size_t i = blocks_.size(); i-- > 0;) {
    if (const auto found = blocks_[i].parameters.find(name); found != blocks_[i].parameters.end()) {
      out.space = Space::parameter;
      out.offset = found->second.offset + more;
      return true;
    }
    if (const auto found = blocks_[i].locals.find(name); found != blocks_[i].locals.end()) {
      out.space = Space::local;
      out.offset = found->second + more;
      return true;
    }
  }
  const auto found = program_.variables.find(name);
  if (found == program_.variables.end()) return false;
  out.space = found->second.space;
  // Dynamic shared memory begins behind the static one, whose size is known only at the end of the text.
  out.offset = found->second.external ? INT64_MIN + more : static_cast<int64_t>(found->second.offset) + more;
  return true;
}

void Parser::address(const std::string& text, Instruction& out) {
  if (text.size() < 3 || text[0] != '[' || text.back() != ']') fail("an address is wanted: " + text);
  const std::string inner = trimmed(text.substr(1, text.size() - 2));
  const size_t sign = inner.find_first_of("+-", 1);
  const std::string name = trimmed(inner.substr(0, sign));
  int64_t offset = 0;
  if (sign != inner.npos) {
    const std::string rest = trimmed(inner.substr(sign + 1));
    offset = std::strtoll(rest.c_str(), nullptr, 0);
    if (inner[sign] == '-') offset = -offset;
  }
  const Space stated = out.space;
  out.offset = offset;
  if (is_number(name)) {
    out.base.value = number(name);
    return;
  }
  out.base.index = register_of(name, &out.base.bits);
  if (out.base.index >= 0) {
    // The register holds what mov gives: a generic address in a kernel, one of local memory in a device function.
    if (stated == Space::parameter) out.space = function().entry ? Space::generic : Space::local;
    return;
  }
  Instruction variable;
  if (!address_of_variable(name, variable)) fail("unknown address " + name);
  if (stated != Space::generic && stated != variable.space) fail("the address is of another space");
  out.space = variable.space;
  out.offset = variable.offset + offset;
  out.base.index = -2;  // the beginning of the space
}

void Parser::call(const std::vector<std::string>& operands, Instruction& out) {
  Call call;
  const auto list = [&](const std::string& text, std::vector<uint32_t>& to) {
    for (const std::string& one : split(text.substr(1, text.size() - 2), ',')) to.push_back(parameter(one).offset);
  };
  size_t at = 0;
  if (operands.at(at)[0] == '(') list(operands[at++], call.results);
  call.name = operands.at(at++);
  if (call.name[0] == '%') fail("a call through a register");
  if (at < operands.size()) list(operands[at++], call.arguments);
  if (at < operands.size()) fail("too many operands");
  out.target = static_cast<int32_t>(function().calls.size());
  function().calls.push_back(std::move(call));
}

}  // namespace machine::ptx
