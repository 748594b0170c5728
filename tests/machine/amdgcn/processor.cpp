// SPDX-License-Identifier: MIT
#include <machine/amdgcn/processor.hpp>

#include <algorithm>

#include <machine/core/load.hpp>

namespace machine::amdgcn {

Processor::Processor(const std::string& path) : program_(path), caches_(program_.target(), random_, counts) {}

std::vector<KernelInfo> Processor::kernels() const {
  std::vector<KernelInfo> all;
  for (const auto& [name, kernel] : program_.kernels()) {
    KernelInfo info;
    info.name = name;
    info.shared_bytes = kernel.shared_bytes;
    info.private_bytes = kernel.private_bytes;
    info.registers = kernel.vector_registers;
    for (const Argument& argument : kernel.arguments) {
      if (argument.hidden()) continue;
      info.argument_offsets.push_back(argument.offset);
      info.argument_sizes.push_back(argument.bytes);
      info.argument_bytes = std::max(info.argument_bytes, argument.offset + argument.bytes);
    }
    all.push_back(std::move(info));
  }
  return all;
}

void Processor::start(uint64_t seed) {
  seed_ = seed;
  random_ = Random(seed != 0 ? seed : order);
  counts = {};
  ticks_ = 0;
  mood_ = draw_mood(seed, model().several_second_levels, random_);
  caches_.start(mood_);
  for (const uint32_t number : begun_) {
    Instruction& instruction = program_.code()[number];
    instruction.executed = 0;
    instruction.served = Waits();
    instruction.to_memory = false;
    instruction.begun = false;
  }
  begun_.clear();
}

std::unique_ptr<Gpu> load(const std::string& path) { return std::make_unique<Processor>(path); }

}  // namespace machine::amdgcn
