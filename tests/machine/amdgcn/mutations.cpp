// SPDX-License-Identifier: MIT
/// @file
/// @brief The orderings that machine code requests, each weakened by one step.

#include <machine/amdgcn/parsers.hpp>
#include <machine/amdgcn/processor.hpp>

namespace machine::amdgcn {
namespace {

constexpr uint32_t longest_hold = 20000;

struct Counter {
  const char* name;
  uint8_t Waits::* limit;
};
constexpr Counter counters[] = {{"vector memory", &Waits::vector},
                                {"stores", &Waits::stores},
                                {"LDS", &Waits::shared},
                                {"scalar memory", &Waits::scalar},
                                {"LDS and scalar memory", &Waits::shared_or_scalar}};

bool is_cache_control(const std::string& name) {
  return starts_with(name, "buffer_wb") || starts_with(name, "buffer_inv") || starts_with(name, "buffer_gl") ||
         starts_with(name, "global_inv") || starts_with(name, "global_wb") || name == "s_dcache_inv";
}

bool is_vector_access(const std::string& name) {
  const bool moves = name.find("_load_") != std::string::npos || name.find("_store_") != std::string::npos ||
                     name.find("_atomic_") != std::string::npos;
  return moves && (starts_with(name, "global_") || starts_with(name, "flat_") || starts_with(name, "buffer_"));
}

/// The next weaker scope that makes a difference; the instruction's own scope if there is none.
Scope weaker(const Instruction& instruction, const Target& target) {
  const std::string& name = instruction.mnemonic;
  const bool control = is_cache_control(name);
  if (!control && !is_vector_access(name)) return instruction.scope;
  if (instruction.scope == Scope::system) return Scope::agent;
  // Atomics are performed in the L2; with one L2, agent-scope stores and write-backs have no effect beyond it.
  const bool stores = name.find("_store_") != std::string::npos || name.find("_wb") != std::string::npos;
  if (name.find("_atomic_") != std::string::npos || (stores && !target.several_second_levels)) return instruction.scope;
  if (instruction.scope == Scope::agent) return target.several_second_levels ? Scope::group : Scope::unit;
  return instruction.scope > target.first_level_serves ? Scope::unit : instruction.scope;
}

std::string name_of(Scope scope) {
  return scope == Scope::agent ? "agent scope" : scope == Scope::group ? "workgroup scope" : "no scope";
}

}  // namespace

std::vector<Mutation> Processor::mutations(const std::string& kernel) const {
  std::vector<Mutation> all;
  std::vector<uint32_t> numbers;
  const auto add = [&](uint32_t number, const std::string& change) {
    all.push_back({number, program_.code()[number].text, {}, change});
    numbers.push_back(number);
  };
  for (const uint32_t number : program_.reachable(kernel)) {
    const Instruction& instruction = program_.fetch(number);
    for (const Counter& counter : counters)
      if (instruction.waits.*counter.limit != Waits::any) add(number, std::string("no wait for ") + counter.name);
    const bool barrier = instruction.mnemonic == "s_barrier" || instruction.mnemonic == "s_barrier_wait";
    if (barrier || is_cache_control(instruction.mnemonic)) add(number, "removed");
    const Scope scope = weaker(instruction, model());
    if (scope != instruction.scope) add(number, name_of(scope));
  }
  const std::vector<std::string> sources = program_.sources(numbers);
  for (size_t i = 0; i < all.size(); ++i) all[i].source = sources[i];
  return all;
}

uint64_t Processor::executed(const Mutation& mutation) const { return program_.code()[mutation.instruction].executed; }

bool Processor::mattered(const Mutation& mutation) const {
  const Instruction& instruction = program_.code()[mutation.instruction];
  for (const Counter& counter : counters)
    if (mutation.change == std::string("no wait for ") + counter.name) return instruction.served.*counter.limit == 0;
  // No cache holds a register: the scope of a store to it has no effect.
  if (is_vector_access(instruction.mnemonic) && !instruction.to_memory) return false;
  return instruction.executed != 0;
}

void Processor::apply(const Mutation& mutation) {
  Instruction& instruction = program_.fetch(static_cast<uint32_t>(mutation.instruction));
  saved_.push_back({mutation.instruction, instruction});
  if (mutation.change == "removed") {
    instruction.run = [](Wave&, const Instruction&) {};
    return;
  }
  for (const Counter& counter : counters) {
    if (mutation.change != std::string("no wait for ") + counter.name) continue;
    instruction.dropped.*counter.limit = instruction.waits.*counter.limit;
    instruction.waits.*counter.limit = Waits::any;
    return;
  }
  const Scope scope = weaker(instruction, model());
  if (scope == instruction.scope || mutation.change != name_of(scope))
    throw Fault("no change \"" + mutation.change + "\"");
  instruction.scope = scope;
}

void Processor::restore() {
  for (size_t i = saved_.size(); i-- > 0;) {
    program_.code()[saved_[i].instruction] = saved_[i].kept;
    begun_.push_back(static_cast<uint32_t>(saved_[i].instruction));
  }
  saved_.clear();
}

void Processor::hold_back(Wave& wave, const Waits& dropped) {
  if (mood_.calm || (dropped.vector == Waits::any && dropped.stores == Waits::any) || !random_.one_in(2)) return;
  for (const auto& access : wave.flight) {
    const uint8_t limit = access->stores_counter ? dropped.stores : dropped.vector;
    if (limit == 0 && access->pending() && random_.one_in(2)) access->hold = ticks_ + random_.below(longest_hold);
  }
}

}  // namespace machine::amdgcn
