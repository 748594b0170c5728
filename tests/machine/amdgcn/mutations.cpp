// SPDX-License-Identifier: MIT
/// @file
/// @brief The orderings that machine code asks for, each weakened by one step.

#include <machine/amdgcn/instruction_parser.hpp>
#include <machine/amdgcn/operand_parser.hpp>
#include <machine/amdgcn/processor.hpp>

namespace machine::amdgcn {
namespace {

void weaken_scope(Instruction& instruction) {
  instruction.scope = static_cast<Scope>(static_cast<uint8_t>(instruction.scope) - 1);
}

struct Counter {
  const char* name;
  uint8_t Waits::*limit;
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

/// Nothing of unit scope is weaker; nothing of workgroup scope is where a unit's cache serves that.
bool has_scope(const Instruction& instruction, const Target& target) {
  const bool atomic = instruction.mnemonic.find("_atomic_") != std::string::npos;
  if (atomic) return instruction.scope == Scope::system;
  return instruction.scope > Scope::unit && (target.scope_bits || target.generation == 12 || instruction.scope == Scope::agent);
}

const char* weaker_scope(Scope scope) {
  return scope == Scope::system ? "agent scope" : scope == Scope::agent ? "workgroup scope" : "no scope";
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
    const bool cache_control = is_cache_control(instruction.mnemonic);
    if (cache_control) add(number, "removed");
    if ((cache_control && instruction.scope > Scope::group) ||
        (is_vector_access(instruction.mnemonic) && has_scope(instruction, model())))
      add(number, weaker_scope(instruction.scope));
    if (instruction.mnemonic == "s_barrier" || instruction.mnemonic == "s_barrier_wait") add(number, "removed");
  }
  const std::vector<std::string> sources = program_.sources(numbers);
  for (size_t i = 0; i < all.size(); ++i) all[i].source = sources[i];
  return all;
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
    instruction.waits.*counter.limit = Waits::any;
    return;
  }
  if (mutation.change != weaker_scope(instruction.scope)) throw Fault("no change \"" + mutation.change + "\"");
  weaken_scope(instruction);
}

void Processor::restore() {
  for (size_t i = saved_.size(); i-- > 0;) program_.code()[saved_[i].instruction] = saved_[i].kept;
  saved_.clear();
}

}  // namespace machine::amdgcn
