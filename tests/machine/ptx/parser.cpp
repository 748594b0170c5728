// SPDX-License-Identifier: MIT
/// @file
/// @brief See parser.hpp.

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>

#include <machine/ptx/parser.hpp>

namespace machine::ptx {

namespace {

/// Reads a file's number, a line and a column.
void read_place(const char* text, uint32_t (&place)[3]) {
  char* end = nullptr;
  for (uint32_t& one : place) {
    one = static_cast<uint32_t>(std::strtoul(text, &end, 10));
    text = end;
  }
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

}  // namespace

bool parse_type(const std::string& text, Type& out) {
  if (text == "pred") {
    out = {'p', 1};
    return true;
  }
  const char letter = text.empty() ? ' ' : text[0];
  if (letter != 'b' && letter != 'u' && letter != 's' && letter != 'f') return false;
  const std::string_view width = std::string_view(text).substr(1);
  const int bits = width == "64" ? 64 : width == "32" ? 32 : width == "16" ? 16 : width == "8" ? 8 : 0;
  if (bits == 0 || (letter == 'f' && bits < 32)) return false;
  out = {letter, static_cast<uint8_t>(bits)};
  return true;
}

Parser::Parser(const std::string& text) : lexer_(text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) program_.text.push_back(std::move(line));
  run();
  link();
}

Program Parser::take() { return std::move(program_); }

void Parser::fail(const std::string& what) const {
  std::string text = "PTX line " + std::to_string(line_) + ": " + what;
  if (line_ != 0 && line_ <= program_.text.size()) text += ": " + trimmed(program_.text[line_ - 1]);
  throw Fault(text);
}

void Parser::run() {
  for (;;) {
    const Statement one = lexer_.next();
    line_ = one.line;
    if (one.kind == Statement::end) break;
    try {
      statement(one);
    } catch (const std::out_of_range&) {
      fail("something is missing");
    }
  }
  if (!blocks_.empty()) fail("the text ends inside of a function");
}

void Parser::statement(const Statement& one) {
  switch (one.kind) {
    case Statement::end: break;
    case Statement::open:
      if (current_ < 0) fail("a block outside of a function");
      blocks_.emplace_back();
      break;
    case Statement::close:
      if (blocks_.size() <= 1) fail("a brace too many");
      blocks_.pop_back();
      if (blocks_.size() == 1) finish();
      break;
    case Statement::label:
      if (current_ < 0) fail("a label outside of a function");
      labels_[one.text] = function().code.size();
      break;
    case Statement::header: header(one.text); break;
    case Statement::simple:
      if (one.text[0] == '.') {
        directive(one.text);
      } else {
        instruction(one.text);
      }
      break;
  }
}

void Parser::directive(const std::string& text) {
  const std::string_view word = std::string_view(text).substr(0, text.find_first_of(" \t"));
  if (word == ".loc") return location(text);
  if (word == ".reg") return declare_registers(text);
  if (word == ".param") return declare_parameter(text);
  if (word == ".version" || word == ".pragma" || word == ".weak" || word == ".alias") {
    if (word != ".weak" && word != ".alias") return;
  }
  if (word == ".target") {
    program_.target = trimmed(text.substr(7, text.find(',') == std::string::npos ? text.npos : text.find(',') - 7));
    if (program_.target.rfind("sm_", 0) != 0 || std::atoi(program_.target.c_str() + 3) < 70)
      fail("a target before sm_70");
    return;
  }
  if (word == ".address_size") {
    if (std::atoi(text.c_str() + word.size()) != 64) fail("addresses of 64 bits are wanted");
    return;
  }
  if (word == ".file") {
    const size_t quote = text.find('"');
    if (quote == std::string::npos) fail("a file without a name");
    program_.files[static_cast<uint32_t>(std::atoi(text.c_str() + 5))] =
        text.substr(quote + 1, text.find('"', quote + 1) - quote - 1);
    return;
  }
  if (text.find(".global") != text.npos || text.find(".const") != text.npos || text.find(".shared") != text.npos ||
      text.find(".local") != text.npos)
    return declare_variable(text);
  fail("unknown directive");
}

void Parser::location(const std::string& text) {
  uint32_t here[3] = {};
  read_place(text.c_str() + 4, here);
  const auto key = [](const uint32_t* at) {
    return uint64_t{at[0]} << 48 | uint64_t{at[1] & 0xffffffu} << 16 | (at[2] & 0xffffu);
  };
  int32_t up = -1;
  if (const size_t in = text.find("inlined_at"); in != text.npos) {
    uint32_t at[3] = {};
    read_place(text.c_str() + in + 10, at);
    const auto found = inlined_.find(key(at));
    if (found != inlined_.end()) {
      up = found->second;
    } else {
      up = static_cast<int32_t>(program_.places.size());
      program_.places.push_back({at[0], at[1], -1});
    }
  }
  place_ = static_cast<int32_t>(program_.places.size());
  program_.places.push_back({here[0], here[1], up});
  inlined_[key(here)] = place_;
}

Parser::Declaration Parser::declaration(const std::string& text) const {
  Declaration out;
  bool typed = false;
  const std::vector<std::string> words = words_of(text);
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == ".align") {
      out.align = static_cast<uint32_t>(std::strtoul(words.at(++i).c_str(), nullptr, 10));
      if (out.align == 0 || out.align > most_bytes || (out.align & (out.align - 1)) != 0) fail("unknown alignment");
    } else if (word == ".param" || word == ".ptr" || word == ".global" || word == ".const" || word == ".shared" ||
               word == ".local" || word == ".visible" || word == ".extern" || word == ".weak" || word == ".common") {
    } else if (word[0] == '.') {
      if (!parse_type(word.substr(1), out.type)) fail("unknown type " + word);
      typed = true;
    } else {
      out.name += word;
    }
  }
  if (!typed) fail("a declaration without a type");
  uint64_t count = 1;
  if (const size_t bracket = out.name.find('['); bracket != std::string::npos) {
    for (size_t at = bracket; at != std::string::npos; at = out.name.find('[', at + 1)) {
      const uint64_t here = std::strtoull(out.name.c_str() + at + 1, nullptr, 10);
      if (here == 0) out.open_ended = true;
      if (here > most_bytes || count * here > most_bytes) fail("more memory than is modelled");
      count *= here;
    }
    out.name.resize(bracket);
  }
  if (out.name.empty()) fail("a declaration without a name");
  out.bytes = count * out.type.bytes();
  out.align = std::max(out.align, out.type.bytes());
  return out;
}

uint32_t Parser::place(uint64_t used, const Declaration& declared) const {
  const uint64_t begin = aligned(used, declared.align);
  if (begin + declared.bytes > most_bytes) fail("more memory than is modelled");
  return static_cast<uint32_t>(begin);
}

void Parser::header(std::string text) {
  if (current_ >= 0) fail("a function inside of a function");
  const bool declared_only = text.back() == ';';
  if (declared_only) text.pop_back();
  Function f;
  f.entry = text.find(".entry") != text.npos;
  std::string rest = trimmed(text.substr(text.find(f.entry ? ".entry" : ".func") + (f.entry ? 6 : 5)));
  const auto list = [&](std::vector<Parameter>& to) {
    const size_t close = rest.find(')');
    if (close == rest.npos) fail("a bracket is missing");
    for (const std::string& one : split(rest.substr(1, close - 1), ',')) {
      const Declaration d = declaration(one);
      const uint32_t offset = place(f.parameter_bytes, d);
      to.push_back({d.name, offset, static_cast<uint32_t>(d.bytes)});
      f.parameter_bytes = offset + static_cast<uint32_t>(d.bytes);
    }
    rest = trimmed(rest.substr(close + 1));
  };
  if (rest[0] == '(') list(f.results);
  const uint32_t result_bytes = f.parameter_bytes;
  size_t end = rest.find_first_of(" (");
  f.name = trimmed(rest.substr(0, end));
  rest = end == rest.npos ? "" : trimmed(rest.substr(end));
  if (f.name.empty()) fail("a function without a name");
  if (f.entry && result_bytes != 0) fail("a kernel with a result");
  if (!rest.empty() && rest[0] == '(') list(f.parameters);
  f.argument_bytes = f.parameter_bytes;
  f.parameter_bytes = static_cast<uint32_t>(aligned(f.parameter_bytes, 16));
  for (const std::string& word : words_of(rest)) {
    if (word[0] == '.' && word.rfind(".max", 0) != 0 && word.rfind(".min", 0) != 0 && word.rfind(".req", 0) != 0 &&
        word != ".noreturn")
      fail("unknown directive " + word);
  }
  auto [found, fresh] = program_.by_name.try_emplace(f.name, static_cast<int32_t>(program_.functions.size()));
  if (fresh) program_.functions.push_back(f);
  if (declared_only) return;
  current_ = found->second;
  if (function().defined) fail("defined twice");
  f.defined = true;
  program_.functions[static_cast<size_t>(current_)] = std::move(f);
  blocks_.assign(1, {});
  for (const Parameter& one : function().parameters) blocks_[0].parameters[one.name] = {one.offset, one.bytes};
  for (const Parameter& one : function().results) blocks_[0].parameters[one.name] = {one.offset, one.bytes};
  labels_.clear();
  fixups_.clear();
  inlined_.clear();
  place_ = -1;
}

void Parser::finish() {
  for (const auto& [index, label] : fixups_) {
    const auto found = labels_.find(label);
    if (found == labels_.end()) {
      line_ = function().code[index].line;
      fail("no label " + label);
    }
    function().code[index].target = static_cast<int32_t>(found->second);
  }
  blocks_.clear();
  current_ = -1;
}

/// Resolves the functions of calls, and the bytes that calls copy.
void Parser::link() {
  uint32_t first = 0;
  for (Function& f : program_.functions) {
    f.first = first;
    for (Instruction& i : f.code) {  // dynamic shared memory begins behind the static one
      if (i.space == Space::shared && i.offset < INT64_MIN / 2)
        i.offset = i.offset - INT64_MIN + static_cast<int64_t>(aligned(program_.shared_bytes, 16));
    }
    first += static_cast<uint32_t>(f.code.size());
    for (Call& one : f.calls) {
      const auto found = program_.by_name.find(one.name);
      if (found == program_.by_name.end()) throw Fault("PTX: call of an unknown function " + one.name);
      one.function = found->second;
      const Function& to = program_.functions[static_cast<size_t>(one.function)];
      if (to.parameters.size() != one.arguments.size() || to.results.size() != one.results.size())
        throw Fault("PTX: call of " + one.name + " with another number of arguments");
      const auto inside = [&](uint32_t offset, uint32_t bytes) {
        if (uint64_t{offset} + bytes > f.parameter_bytes)
          throw Fault("PTX: call of " + one.name + " with an argument of another size");
      };
      for (size_t i = 0; i < one.arguments.size(); ++i) {
        inside(one.arguments[i], to.parameters[i].bytes);
        one.in.push_back({one.arguments[i], to.parameters[i].offset, to.parameters[i].bytes});
      }
      for (size_t i = 0; i < one.results.size(); ++i) {
        inside(one.results[i], to.results[i].bytes);
        one.out.push_back({to.results[i].offset, one.results[i], to.results[i].bytes});
      }
    }
  }
}

std::string Program::source(int32_t place, uint32_t most) const {
  std::string out;
  for (; place >= 0 && most-- != 0; place = places[static_cast<size_t>(place)].inlined_at) {
    const Place& one = places[static_cast<size_t>(place)];
    const auto found = files.find(one.file);
    std::string name = found == files.end() ? "?" : found->second;
    const size_t library = name.rfind("/include/xio/");
    name = name.substr((library != std::string::npos ? library : name.rfind('/')) + 1);
    if (!out.empty()) out += " < ";
    out += name + ":" + std::to_string(one.line);
  }
  return out;
}

std::string Program::line(const Instruction& instruction) const {
  std::string out = trimmed(text[instruction.line - 1]);
  for (char& c : out) {
    if (c == '\t') c = ' ';
  }
  return out;
}

Program parse(const std::string& text) { return Parser(text).take(); }

Program parse_file(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw Fault("cannot read " + path);
  std::stringstream text;
  text << in.rdbuf();
  try {
    return parse(text.str());
  } catch (const Fault& fault) {
    throw Fault(path + ": " + fault.what());
  }
}

}  // namespace machine::ptx
