// SPDX-License-Identifier: MIT
/// @file
/// @brief Decodes an instruction's name and modifiers.

#include <algorithm>
#include <map>
#include <set>

#include <machine/ptx/arithmetic.hpp>
#include <machine/ptx/parser.hpp>

namespace machine::ptx {

namespace {

using Words = std::vector<std::string>;

const std::map<std::string, How>& variants() {
  static const std::map<std::string, How> all = {
      {"add", How::add},       {"exch", How::exchange}, {"cas", How::compare_exchange},
      {"and", How::bit_and},   {"or", How::bit_or},     {"xor", How::bit_xor},
      {"min", How::min},       {"max", How::max},       {"inc", How::increment},
      {"dec", How::decrement}, {"ballot", How::ballot}, {"any", How::any},
      {"all", How::all},       {"uni", How::uniform},   {"idx", How::index},
      {"up", How::up},         {"down", How::down},     {"bfly", How::butterfly},
  };
  return all;
}

bool order_or_scope(const std::string& word, Instruction& out) {
  static const std::map<std::string, Order> orders = {{"weak", Order::weak},       {"relaxed", Order::relaxed},
                                                      {"acquire", Order::acquire}, {"release", Order::release},
                                                      {"acq_rel", Order::acq_rel}, {"sc", Order::sc}};
  static const std::map<std::string, Scope> scopes = {
      {"cta", Scope::cta}, {"cluster", Scope::gpu}, {"gpu", Scope::gpu}, {"gl", Scope::gpu}, {"sys", Scope::sys}};
  if (const auto found = orders.find(word); found != orders.end()) {
    out.order = found->second;
    return true;
  }
  if (const auto found = scopes.find(word); found != scopes.end()) {
    out.scope = found->second;
    return true;
  }
  if (word == "volatile" || word == "mmio") {  // "the same semantics as relaxed, of system scope"
    if (out.order == Order::weak) out.order = Order::relaxed;
    out.scope = Scope::sys;
    return true;
  }
  return false;
}

bool space_word(const std::string& word, Instruction& out) {
  static const std::map<std::string, Space> spaces = {
      {"global", Space::global},          {"param", Space::parameter},      {"local", Space::local},
      {"shared", Space::shared},          {"const", Space::constant},       {"shared::cta", Space::shared},
      {"param::entry", Space::parameter}, {"param::func", Space::parameter}};
  const auto found = spaces.find(word);
  if (found == spaces.end()) return false;
  out.space = found->second;
  return true;
}

/// Whether the word is a cache hint, which does not affect what an access may observe.
bool cache_word(const std::string& word) {
  static const std::set<std::string> hints = {"ca",
                                              "cg",
                                              "cs",
                                              "lu",
                                              "cv",
                                              "wb",
                                              "wt",
                                              "L1::no_allocate",
                                              "L1::evict_normal",
                                              "L1::evict_first",
                                              "L1::evict_last",
                                              "L1::evict_unchanged",
                                              "L2::64B",
                                              "L2::128B",
                                              "L2::256B"};
  return hints.count(word) != 0;
}

void vector_or_one(Parser& parser, const std::string& text, Instruction& out) {
  if (text[0] != '{') {
    out.out[out.outputs++] = parser.operand(text);
    return;
  }
  for (const std::string& one : split(text.substr(1, text.size() - 2), ',')) {
    if (out.outputs == 4) parser.fail("more than 4 elements");
    out.out[out.outputs++] = parser.operand(one);
  }
}

/// Results such as `%r1|%p1`.
void one_or_two(Parser& parser, const std::string& text, Instruction& out) {
  const Words results = split(text, '|');
  if (results.empty() || results.size() > 2) parser.fail("one or two results are wanted");
  for (const std::string& one : results) out.out[out.outputs++] = parser.operand(one);
}

void inputs(Parser& parser, const Words& operands, size_t from, Instruction& out) {
  for (size_t i = from; i < operands.size(); ++i) {
    if (out.inputs == 4) parser.fail("more than 4 operands");
    out.in[out.inputs++] = parser.operand(operands[i]);
  }
}

void access(Parser& parser, const Words& name, const Words& operands, Instruction& out) {
  const bool loads = name[0] == "ld" || name[0] == "ldu";
  out.kind = loads ? Kind::load : Kind::store;
  uint32_t elements = 1;
  bool typed = false;
  for (size_t i = 1; i < name.size(); ++i) {
    const std::string& word = name[i];
    if (order_or_scope(word, out) || space_word(word, out) || cache_word(word)) continue;
    if (word == "v2" || word == "v4") {
      elements = word == "v2" ? 2 : 4;
    } else if (word == "nc") {
      out.non_coherent = true;
    } else if (parse_type(word, out.type)) {
      typed = true;
    } else {
      parser.fail("unknown modifier ." + word);
    }
  }
  if (!typed || out.type.bytes() == 0 || operands.size() != 2) parser.fail("a type and two operands are wanted");
  parser.address(operands[loads ? 1 : 0], out);
  vector_or_one(parser, operands[loads ? 0 : 1], out);
  if (out.outputs != elements) parser.fail("another number of elements");
  if (out.order == Order::acq_rel || out.order == Order::sc || (loads && out.order == Order::release) ||
      (!loads && out.order == Order::acquire))
    parser.fail("an order that this access cannot have");
  if (out.space == Space::constant && !loads) parser.fail("a store to constants");
}

void atomic(Parser& parser, const Words& name, const Words& operands, Instruction& out) {
  out.kind = Kind::atomic;
  out.order = Order::relaxed;
  out.scope = Scope::gpu;
  for (size_t i = 1; i < name.size(); ++i) {
    if (order_or_scope(name[i], out) || space_word(name[i], out)) continue;
    if (const auto found = variants().find(name[i]); found != variants().end() && found->second <= How::decrement) {
      out.how = found->second;
    } else if (!parse_type(name[i], out.type)) {
      parser.fail("unknown modifier ." + name[i]);
    }
  }
  if (out.how == How::none || out.type.bits < 16) parser.fail("an operation and a type are wanted");
  if (out.type.bits == 16 && out.how != How::compare_exchange) parser.fail("not known for 16 bits");
  if (out.type.is_float() && out.how != How::add) parser.fail("not known for floats");
  size_t at = 0;
  if (name[0] == "atom") out.out[out.outputs++] = parser.operand(operands.at(at++));
  parser.address(operands.at(at++), out);
  inputs(parser, operands, at, out);
  if (out.inputs != (out.how == How::compare_exchange ? 2 : 1)) parser.fail("another number of operands");
}

void fence(Parser& parser, const Words& name, Instruction& out) {
  out.kind = Kind::fence;
  out.order = name[0] == "membar" ? Order::sc : Order::acq_rel;
  bool scoped = false;
  for (size_t i = 1; i < name.size(); ++i) {
    if (!order_or_scope(name[i], out)) parser.fail("unknown modifier ." + name[i]);
    scoped = scoped || name[i] == "cta" || name[i] == "gpu" || name[i] == "gl" || name[i] == "sys";
  }
  if (!scoped) parser.fail("a scope is wanted");
  out.release_half = out.order != Order::acquire;
  out.acquire_half = out.order != Order::release;
}

void block_barrier(Parser& parser, const Words& name, const Words& operands, Instruction& out) {
  out.kind = Kind::block_barrier;
  for (size_t i = 1; i < name.size(); ++i) {
    if (name[i] == "arrive") {
      out.arrive_only = true;
    } else if (name[i] != "sync" && name[i] != "aligned" && name[i] != "cta") {
      parser.fail("unknown modifier ." + name[i]);
    }
  }
  inputs(parser, operands, 0, out);
  out.narrow_barrier = out.inputs > 1;
  if (out.inputs == 0 || out.inputs > 2 || (out.arrive_only && out.inputs != 2))
    parser.fail("another number of operands");
}

void collective(Parser& parser, const Words& name, const Words& operands, Instruction& out) {
  static const std::map<std::string, Kind> kinds = {
      {"vote", Kind::vote}, {"match", Kind::match}, {"redux", Kind::reduce}, {"shfl", Kind::shuffle}};
  out.kind = kinds.at(name[0]);
  bool sync = false;
  for (size_t i = 1; i < name.size(); ++i) {
    if (name[i] == "sync") {
      sync = true;
    } else if (const auto found = variants().find(name[i]); found != variants().end()) {
      out.how = found->second;
    } else if (!parse_type(name[i], out.type)) {
      parser.fail("unknown modifier ." + name[i]);
    }
  }
  if (!sync) parser.fail("only .sync is known");
  one_or_two(parser, operands.at(0), out);
  inputs(parser, operands, 1, out);
  if (out.inputs != (out.kind == Kind::shuffle ? 4 : 2)) parser.fail("another number of operands");
}

/// setp, and set, which has a number for true: all ones, or 1.0.
void compare(Parser& parser, const Words& name, const Words& operands, Instruction& out) {
  out.kind = Kind::compare;
  out.value_of_true = 1;
  const std::string& relation = name.at(1);
  uint32_t types = 0;
  for (size_t i = 2; i < name.size(); ++i) {
    if (name[i] == "and" || name[i] == "or" || name[i] == "xor") {
      out.how = variants().at(name[i]);
    } else if (name[i] != "ftz" && !parse_type(name[i], out.type)) {
      parser.fail("unknown modifier ." + name[i]);
    } else if (name[i] != "ftz" && types++ == 0 && name[0] == "set") {
      if (out.type.bits != 32 || out.type.letter == 'b') parser.fail("another type of result");
      out.value_of_true = out.type.is_float() ? 0x3f800000u : 0xffffffffu;
    }
  }
  if (types != (name[0] == "set" ? 2 : 1)) parser.fail("another number of types");
  out.compute = comparison(relation, out.type);
  if (out.compute == nullptr) parser.fail("unknown comparison");
  one_or_two(parser, operands.at(0), out);
  inputs(parser, operands, 1, out);
  if (out.inputs != (out.how == How::none ? 2 : 3) || (name[0] == "set" && out.outputs != 1))
    parser.fail("another number of operands");
}

void move(Parser& parser, const Words& name, const Words& operands, Instruction& out) {
  if (operands.size() != 2 || !parse_type(name.back(), out.type)) parser.fail("unknown move");
  if (operands[0][0] == '{') {
    out.kind = Kind::unpack;
    vector_or_one(parser, operands[0], out);
    if (out.outputs == 0) parser.fail("elements are missing");
    out.in[out.inputs++] = parser.operand(operands[1]);
    return;
  }
  out.out[out.outputs++] = parser.operand(operands[0]);
  if (operands[1][0] == '{') {
    out.kind = Kind::pack;
    inputs(parser, split(operands[1].substr(1, operands[1].size() - 2), ','), 0, out);
    if (out.inputs == 0) parser.fail("elements are missing");
    return;
  }
  if (special_register(operands[1], out.special)) {
    out.kind = Kind::special;
    return;
  }
  if (operands[1][0] != '%' && parser.address_of_variable(operands[1], out)) {
    out.kind = Kind::address;
    return;
  }
  out.kind = Kind::compute;
  out.compute = move_of(out.type);
  out.in[out.inputs++] = parser.operand(operands[1]);
}

void compute(Parser& parser, const Words& name, const Words& operands, Instruction& out) {
  for (size_t i = name.size(); i-- > 1;) {  // the result's type comes first
    Type type;
    if (parse_type(name[i], type)) out.type = type;
  }
  out.kind = Kind::compute;
  out.out[out.outputs++] = parser.operand(split(operands.at(0), '|').at(0));
  if (operands[0].find('|') != std::string::npos) parser.fail("two results");
  inputs(parser, operands, 1, out);
  uint32_t wanted = 0;
  out.compute = computation(name, out.out[0].bits, wanted);
  if (out.compute == nullptr) {
    out.kind = Kind::carry;
    out.carry = carrying(name, wanted);
    if (out.carry == nullptr) parser.fail("unknown instruction");
  }
  if (out.inputs != wanted) parser.fail("another number of operands");
}

}  // namespace

void decode(Parser& parser, const Words& name, const Words& operands, Instruction& out) {
  const std::string_view op = name[0];
  if (op == "bra") {
    out.kind = Kind::branch;
    if (name.size() > 2 || (name.size() == 2 && name[1] != "uni")) parser.fail("unknown modifier");
    return parser.branch_to(operands.at(0));
  }
  if (op == "call") {
    out.kind = Kind::call;
    return parser.call(operands, out);
  }
  if (op == "ret" || op == "exit" || op == "trap" || op == "brkpt") {
    out.kind = op == "ret" ? Kind::leave : op == "exit" ? Kind::exit : Kind::trap;
    return;
  }
  if (op == "ld" || op == "ldu" || op == "st") return access(parser, name, operands, out);
  if (op == "atom" || op == "red") return atomic(parser, name, operands, out);
  if (op == "fence" || op == "membar") return fence(parser, name, out);
  if (op == "setp" || op == "set") return compare(parser, name, operands, out);
  if (op == "mov") return move(parser, name, operands, out);
  if (op == "vote" || op == "match" || op == "redux" || op == "shfl") return collective(parser, name, operands, out);
  if ((op == "bar" || op == "barrier") && name.size() == 3 && name[1] == "warp" && name[2] == "sync") {
    out.kind = Kind::warp_barrier;
    return inputs(parser, operands, 0, out);
  }
  if (op == "bar" || op == "barrier") return block_barrier(parser, name, operands, out);
  if (op == "activemask") {
    out.kind = Kind::active_mask;
    out.type = {'b', 32};
    out.out[out.outputs++] = parser.operand(operands.at(0));
    return;
  }
  if (op == "nanosleep") {
    out.kind = Kind::sleep;
    return inputs(parser, operands, 0, out);
  }
  if (op == "cvta") {
    out.kind = Kind::convert_address;
    for (size_t i = 1; i < name.size(); ++i) {
      if (name[i] == "to") {
        out.to_space = true;
      } else if (!space_word(name[i], out) && !parse_type(name[i], out.type)) {
        parser.fail("unknown modifier ." + name[i]);
      }
    }
    out.out[out.outputs++] = parser.operand(operands.at(0));
    Instruction variable;
    if (parser.register_of(operands.at(1)) < 0 && parser.address_of_variable(operands[1], variable))
      parser.fail("cvta of a variable's name");
    return inputs(parser, operands, 1, out);
  }
  if (op == "pmevent" || op == "prefetch" || op == "prefetchu" || op == "discard") parser.fail("not modelled");
  compute(parser, name, operands, out);
}

void Parser::instruction(std::string text) {
  if (current_ < 0) fail("an instruction outside of a function");
  Instruction out;
  out.line = line_;
  out.place = place_;
  if (text[0] == '@') {
    const size_t space = text.find_first_of(" \t");
    if (space == text.npos) fail("an instruction is missing");
    out.predicate_negated = text[1] == '!';
    out.predicate = register_of(text.substr(out.predicate_negated ? 2 : 1, space - (out.predicate_negated ? 2 : 1)));
    if (out.predicate < 0) fail("unknown predicate");
    text = trimmed(text.substr(space));
  }
  const size_t space = text.find_first_of(" \t");
  const std::vector<std::string> operands =
      space == text.npos ? std::vector<std::string>{} : split(text.substr(space), ',');
  decode(*this, split(text.substr(0, space), '.'), operands, out);
  function().code.push_back(out);
}

}  // namespace machine::ptx
