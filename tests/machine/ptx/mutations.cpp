// SPDX-License-Identifier: MIT
/// @file
/// @brief Each ordering that a kernel requests, weakened by one step.

#include <machine/ptx/machine.hpp>

#include <set>

namespace machine::ptx {

namespace {

const char* narrower(Scope scope) { return scope == Scope::sys ? "scope gpu" : "scope cta"; }

/// The weaker forms of an instruction.
std::vector<std::string> weaker(const Instruction& i) {
  std::vector<std::string> out;
  switch (i.kind) {
    case Kind::fence: out.emplace_back(i.order == Order::sc ? "acq_rel" : "removed"); break;
    case Kind::load:
    case Kind::store:
      if (i.order == Order::weak || i.space == Space::parameter || i.space == Space::local) return out;
      if (i.order != Order::relaxed) out.emplace_back("relaxed");
      break;
    case Kind::atomic:
      if (i.order == Order::acq_rel) {
        out.emplace_back("acquire");
        out.emplace_back("release");
      } else if (i.order != Order::relaxed) {
        out.emplace_back("relaxed");
      }
      break;
    case Kind::warp_barrier:
    case Kind::block_barrier: out.emplace_back("removed"); return out;
    default: return out;
  }
  if (i.scope != Scope::cta) out.emplace_back(narrower(i.scope));
  return out;
}

void make(Instruction& i, const std::string& change) {
  if (change == "removed") {
    i.removed = true;
  } else if (change == "relaxed") {
    i.order = Order::relaxed;
  } else if (change == "acquire") {
    i.order = Order::acquire;
  } else if (change == "release") {
    i.order = Order::release;
  } else if (change == "acq_rel") {
    i.order = Order::acq_rel;
  } else if (change == "scope gpu") {
    i.scope = Scope::gpu;
  } else if (change == "scope cta") {
    i.scope = Scope::cta;
  } else {
    throw Fault("unknown change " + change);
  }
}

}  // namespace

std::vector<Mutation> Machine::mutations(const std::string& kernel) const {
  const auto found = program_.by_name.find(kernel);
  if (found == program_.by_name.end()) throw Fault("there is no kernel " + kernel);
  std::vector<Mutation> out;
  std::vector<int32_t> open = {found->second};
  std::set<int32_t> done;
  while (!open.empty()) {
    const int32_t which = open.back();
    open.pop_back();
    if (which < 0 || !done.insert(which).second) continue;
    const Function& f = program_.functions[static_cast<size_t>(which)];
    for (const Call& one : f.calls) open.push_back(one.function);
    for (size_t k = 0; k < f.code.size(); ++k) {
      for (const std::string& change : weaker(f.code[k]))
        out.push_back({f.first + k, program_.line(f.code[k]), program_.source(f.code[k].place), change});
    }
  }
  return out;
}

uint64_t Machine::executed(const Mutation& mutation) const {
  for (const Function& f : program_.functions) {
    if (mutation.instruction >= f.first && mutation.instruction < f.first + f.code.size())
      return f.executed.empty() ? 0 : f.executed[mutation.instruction - f.first];
  }
  return 0;
}

void Machine::apply(const Mutation& mutation) {
  for (Function& f : program_.functions) {
    if (mutation.instruction < f.first || mutation.instruction >= f.first + f.code.size()) continue;
    share_places(f);  // must come first: restore() could not put back the original afterwards
    Instruction& i = f.code[mutation.instruction - f.first];
    originals_.emplace_back(static_cast<uint32_t>(mutation.instruction), i);
    make(i, mutation.change);
    f.quick.clear();
    return;
  }
  throw Fault("there is no instruction " + std::to_string(mutation.instruction));
}

void Machine::restore() {
  for (size_t k = originals_.size(); k-- > 0;) {
    for (Function& f : program_.functions) {
      const uint32_t at = originals_[k].first;
      if (at < f.first || at >= f.first + f.code.size()) continue;
      f.code[at - f.first] = originals_[k].second;
      f.quick.clear();
    }
  }
  originals_.clear();
}

}  // namespace machine::ptx
