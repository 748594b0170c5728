// SPDX-License-Identifier: MIT
/// @file
/// @brief Initial registers and argument memory of a wave: LLVM's "Initial Kernel Execution State".

#include <algorithm>
#include <cstring>

#include <machine/amdgcn/processor.hpp>

namespace machine::amdgcn {
namespace {

constexpr uint64_t latest_group = 20000;

/// Bits of the descriptor's kernel_code_properties: which scalar registers are set up.
enum : uint16_t {
  private_segment_buffer = 1,
  dispatch_pointer = 2,
  queue_pointer = 4,
  argument_pointer = 8,
  dispatch_number = 16,
  flat_scratch_init = 32,
  private_segment_size = 64
};

uint32_t threads(const Extent& extent) { return extent.x * extent.y * extent.z; }

/// Whether the waves of a workgroup run on several units (threadgroup split mode of gfx9).
bool is_split(const Kernel& kernel, const Target& target) {
  return target.generation == 9 && (kernel.resources3 >> 16 & 1) != 0;
}

/// The value of a hidden argument. @throws Fault if it is not modelled
uint64_t hidden_value(const std::string& kind, const Launch& launch) {
  if (kind == "hidden_block_count_x") return launch.grid.x;
  if (kind == "hidden_block_count_y") return launch.grid.y;
  if (kind == "hidden_block_count_z") return launch.grid.z;
  if (kind == "hidden_group_size_x") return launch.block.x;
  if (kind == "hidden_group_size_y") return launch.block.y;
  if (kind == "hidden_group_size_z") return launch.block.z;
  if (kind == "hidden_grid_dims")
    return launch.grid.z * launch.block.z > 1 ? 3 : launch.grid.y * launch.block.y > 1 ? 2 : 1;
  if (kind == "hidden_dynamic_lds_size") return launch.dynamic_shared_bytes;
  if (kind == "hidden_private_base") return private_base >> 32;
  if (kind == "hidden_shared_base") return shared_base >> 32;
  // Remainders and offsets are 0, since blocks are whole; host services (printf, heap) do not exist.
  return 0;
}

}  // namespace

void Processor::lay_out_arguments(const Kernel& kernel, const Launch& launch) {
  uint32_t visible = 0;
  for (const Argument& argument : kernel.arguments)
    if (!argument.hidden()) visible = std::max(visible, argument.offset + argument.bytes);
  if (launch.argument_bytes < visible)
    throw Fault(kernel.name + " takes " + std::to_string(visible) + " bytes of arguments, and has " +
                std::to_string(launch.argument_bytes));
  arguments_.assign(kernel.argument_bytes / line_bytes + 2, {});
  uint8_t* const arguments = arguments_[0].bytes;
  if (visible != 0) std::memcpy(arguments, launch.arguments, visible);
  for (const Argument& argument : kernel.arguments) {
    if (!argument.hidden()) continue;
    const uint64_t value = hidden_value(argument.kind, launch);
    std::memcpy(arguments + argument.offset, &value, std::min<size_t>(argument.bytes, sizeof value));
  }
  // The fields of HSA's dispatch packet that kernels read.
  packet_ = {};
  const uint16_t block[3] = {static_cast<uint16_t>(launch.block.x), static_cast<uint16_t>(launch.block.y),
                             static_cast<uint16_t>(launch.block.z)};
  const uint32_t grid[3] = {launch.grid.x * launch.block.x, launch.grid.y * launch.block.y,
                            launch.grid.z * launch.block.z};
  std::memcpy(packet_.bytes + 4, block, sizeof block);
  std::memcpy(packet_.bytes + 12, grid, sizeof grid);
}

void Processor::set_scalars(const Kernel& kernel, Wave& wave) {
  uint32_t next = 0;
  const auto pointer = [&](const void* value) {
    wave.set_pair(next, reinterpret_cast<uint64_t>(value));
    next += 2;
  };
  if (kernel.properties & private_segment_buffer) {
    // Base 0, and the bit for interleaved lanes, by which buffer instructions recognise private memory.
    wave.set_pair(next, uint64_t{1} << 63);
    wave.set_pair(next + 2, 0);
    next += 4;
  }
  if (kernel.properties & dispatch_pointer) pointer(packet_.bytes);
  if (kernel.properties & queue_pointer) pointer(nullptr);
  if (kernel.properties & argument_pointer) pointer(arguments_.data());
  if (kernel.properties & dispatch_number) pointer(nullptr);
  if (kernel.properties & flat_scratch_init) pointer(nullptr);
  if (kernel.properties & private_segment_size) wave.s[next] = kernel.private_bytes;
  next = kernel.resources2 >> 1 & 31;
  const uint32_t* const index = wave.group->index;
  if (model().generation >= 12) {
    wave.s[ttmp + 9] = index[0];
    wave.s[ttmp + 7] = index[2] << 16 | (index[1] & 0xffff);
  } else {
    for (uint32_t axis = 0; axis < 3; ++axis)
      if (kernel.resources2 & 1u << (7 + axis)) wave.s[next++] = index[axis];
    if (kernel.resources2 & 1u << 10) throw Fault(kernel.name + " asks for the workgroup's wave count");
    // Start of the wave's private memory: the same for all waves.
    if (kernel.resources2 & 1) wave.s[next] = 0;
  }
}

void Processor::make_wave(const Kernel& kernel, const Launch& launch, Group& group, uint32_t number) {
  std::unique_ptr<Wave> made;
  if (free_waves_.empty()) {
    made = std::make_unique<Wave>();
    made->v.resize(vector_registers);
  } else {
    made = std::move(free_waves_.back());
    free_waves_.pop_back();
    std::vector<Lanes> kept = std::move(made->v);
    *made = Wave();
    made->v = std::move(kept);
  }
  Wave& wave = *made;
  wave.processor = this;
  wave.group = &group;
  wave.lanes = model().lanes;
  wave.number = static_cast<uint32_t>(waves_.size());
  wave.counter = program_.at(kernel.entry);
  wave.requester = {group.unit, group.in_order ? static_cast<uint32_t>(groups_.size()) : wave.number};
  const bool work_group_processor = model().generation >= 11 && (kernel.resources1 >> 29 & 1) != 0;
  if (work_group_processor || is_split(kernel, model())) {
    // The waves of a workgroup run on both units of a pair.
    const uint32_t first = group.unit / units_of_array * units_of_array;
    wave.requester.unit = first + (mood_.calm ? number % units_of_array : random_.below(units_of_array));
  }
  const auto garbage = static_cast<uint32_t>(random_.next());
  for (uint32_t i = 0; i < scalar_registers; ++i) wave.s[i] = garbage + i * 0x9e3779b9u;
  for (uint32_t i = 0; i < vector_registers; ++i) wave.v[i].fill(garbage ^ (i * 0x85ebca6bu));
  const uint32_t first = number * wave.lanes;
  const uint32_t count = std::min(wave.lanes, threads(launch.block) - first);
  wave.set_pair(exec, count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1);
  for (uint32_t lane = 0; lane < wave.lanes; ++lane) {
    const uint32_t thread = first + lane;
    const uint32_t x = thread % launch.block.x;
    const uint32_t y = thread / launch.block.x % launch.block.y;
    const uint32_t z = thread / launch.block.x / launch.block.y;
    wave.v[0][lane] = x | y << 10 | z << 20;
  }
  wave.private_bytes = kernel.private_bytes + (kernel.dynamic_stack ? 16384 : 0);
  wave.private_memory.assign(size_t{wave.private_bytes} * wave.lanes, static_cast<uint8_t>(garbage));
  wave.private_stored.assign(wave.private_memory.size(), false);
  set_scalars(kernel, wave);
  waves_.push_back(std::move(made));
}

void Processor::make_group(const Kernel& kernel, const Launch& launch, uint32_t number) {
  groups_.push_back(std::make_unique<Group>());
  Group& group = *groups_.back();
  group.index[0] = number % launch.grid.x;
  group.index[1] = number / launch.grid.x % launch.grid.y;
  group.index[2] = number / launch.grid.x / launch.grid.y;
  group.unit = mood_.calm ? number % compute_units : random_.below(compute_units);
  group.in_order = model().groups_in_order && !is_split(kernel, model());
  group.waves = (threads(launch.block) + model().lanes - 1) / model().lanes;
  const uint64_t begins = mood_.late_groups ? ticks_ + random_.below(latest_group) : 0;
  group.shared.assign(kernel.shared_bytes + launch.dynamic_shared_bytes, static_cast<uint8_t>(random_.next()));
  for (uint32_t i = 0, count = group.waves; i < count; ++i) {
    make_wave(kernel, launch, group, i);
    waves_.back()->wake = begins;
  }
}

/// Checks before a kernel runs that every instruction which it may execute is known.
void Processor::check_reachable(const std::string& name) {
  if (std::find(checked_.begin(), checked_.end(), name) != checked_.end()) return;
  for (const uint32_t number : program_.reachable(name)) {
    const Instruction& instruction = program_.fetch(number);
    if (instruction.trouble.empty()) continue;
    current_ = &instruction;
    throw Fault(instruction.trouble);
  }
  checked_.push_back(name);
}

void Processor::run(const std::string& name, const Launch& launch) {
  current_ = nullptr;
  current_wave_ = nullptr;
  try {
    check_reachable(name);
    const Kernel& kernel = program_.kernel(name);
    const uint32_t size = threads(launch.block);
    if (size == 0 || size > 1024 || threads(launch.grid) == 0)
      throw Fault("launch of " + std::to_string(size) + " threads");
    lay_out_arguments(kernel, launch);
    waves_.clear();
    groups_.clear();
    for (auto& list : pending_) list.clear();
    AddressSpace all = memory;
    all.add(program_.image(), program_.image_bytes(), MemoryKind::local, "code object");
    all.add(arguments_.data(), kernel.argument_bytes + 64, MemoryKind::local, "arguments", false);
    all.add(packet_.bytes, sizeof packet_.bytes, MemoryKind::local, "dispatch packet", false);
    caches_.clear();
    caches_.map(all.ranges());
    for (uint32_t number = 0; number < threads(launch.grid); ++number) make_group(kernel, launch, number);
    schedule(name);
    caches_.end_kernel();
  } catch (const Fault& fault) {
    const std::string text = fault.what() + where();
    for (auto& wave : waves_) free_waves_.push_back(std::move(wave));
    waves_.clear();
    throw Fault(text);
  }
}

}  // namespace machine::amdgcn
