// SPDX-License-Identifier: MIT
/// @file
/// @brief The scheduler: which wave runs, and for how long.

#include <algorithm>
#include <cstdio>

#include <machine/amdgcn/processor.hpp>
#include <machine/amdgcn/unstored.hpp>

namespace machine::amdgcn {
namespace {

constexpr uint64_t idle_ticks = 64;
/// Limit of ticks per permitted instruction, which allows for waiting.
constexpr uint64_t ticks_of_instruction = 64;
constexpr uint32_t longest_stall = 2000;

bool is_poisoned(const uint64_t* bits, uint32_t first, uint32_t count) {
  for (uint32_t i = first; i < first + count; ++i)
    if (bits[i / 64] >> i % 64 & 1) return true;
  return false;
}

bool overlap(const Operand& operand, uint32_t first, uint32_t count) {
  return operand.index < first + count && first < operand.index + uint32_t{operand.width};
}

/// Whether every outstanding result for the instruction's registers arrives before its own.
bool comes_after_all(const Wave& wave, const Instruction& instruction) {
  const Operand& result = instruction.operand[0];
  if (instruction.arrival == Arrival::vector_memory) {
    for (const SharedAccess& access : wave.shared)
      if (overlap(result, access.destination, access.registers)) return false;
  } else {
    for (const auto& access : wave.flight)
      if (overlap(result, access->destination, access->registers)) return false;
  }
  return true;
}

}  // namespace

uint64_t Processor::clock() const {
  // 100 MHz.
  return (nanoseconds ? nanoseconds() : ticks_) / 10 + 1000;
}

void Processor::check_poison(const Wave& wave, const Instruction& instruction) const {
  for (const Instruction* half = &instruction; half != nullptr; half = half->second.get()) {
    for (uint32_t i = 0; i < half->operands; ++i) {
      const Operand& operand = half->operand[i];
      const bool vector = operand.kind == Operand::Kind::vector;
      if (!vector && operand.kind != Operand::Kind::scalar) continue;
      if (operand.index == null_register && !vector) continue;
      // A register may be overwritten while it awaits a result that arrives earlier by the same path.
      if (i == 0 && half->arrival != Arrival::at_once && comes_after_all(wave, *half)) continue;
      if (is_poisoned(vector ? wave.poisoned_vectors : wave.poisoned_scalars, operand.index, operand.width))
        throw Fault(std::string(vector ? "v" : "s") + std::to_string(operand.index) +
                    " used before its load was waited for");
    }
  }
  if (!wave.scalars.empty() && instruction.mnemonic.compare(0, 13, "s_cbranch_vcc") == 0 &&
      is_poisoned(wave.poisoned_scalars, vcc, 2))
    throw Fault("vcc used before its load was waited for");
}

void Processor::report_trace(const Wave& wave, const Instruction& instruction) const {
  char head[80];
  std::snprintf(head, sizeof head, "w%u t%llu %llx %016llx ", wave.number, static_cast<unsigned long long>(ticks_),
                static_cast<unsigned long long>(instruction.address), static_cast<unsigned long long>(wave.active()));
  trace(head + instruction.text);
}

/// Executes one instruction. Returns false if the wave cannot continue for now.
bool Processor::step(Wave& wave) {
  Instruction& instruction = program_.fetch(wave.counter);
  current_wave_ = &wave;
  current_ = &instruction;
  if (instruction.run == nullptr) throw Fault(instruction.trouble);
  if (wave.poisoned) check_poison(wave, instruction);
  if (wave.any_unstored) track_unstored(wave, instruction);
  if (trace) report_trace(wave, instruction);
  if (!instruction.begun) {
    instruction.begun = true;
    begun_.push_back(wave.counter);
  }
  const uint32_t before = wave.counter++;
  if (instruction.second) {
    // Both halves read before either writes.
    const uint32_t first = instruction.operand[0].index;
    const Lanes old = wave.v[first];
    instruction.run(wave, instruction);
    const Lanes result = wave.v[first];
    wave.v[first] = old;
    instruction.second->run(wave, *instruction.second);
    wave.v[first] = result;
  } else {
    instruction.run(wave, instruction);
  }
  if (wave.yielded) {
    wave.yielded = false;
    wave.counter = before;
    return false;
  }
  ++instruction.executed;
  ++ticks_;
  caches_.now = ticks_;
  ++counts.instructions;
  counts.lane_instructions += instruction.of_lanes ? count_bits(wave.active()) : 1;
  return !wave.done && !wave.at_barrier && wave.wake <= ticks_;
}

/// Advances accesses in flight, caches and devices between two bursts.
void Processor::background() {
  if (!mood_.calm) {
    const auto count = static_cast<uint32_t>(waves_.size());
    for (uint32_t i = 0; i < 2 + count / 8; ++i) {
      Wave& wave = *waves_[random_.below(count)];
      if (wave.in_flight()) perform_some(wave);
    }
    caches_.tick();
  }
  if (step_devices && random_.one_in(mood_.device)) step_devices(random_);
}

std::string Processor::where() const {
  if (current_ == nullptr) return " (seed " + std::to_string(seed_) + ")";
  char text[96];
  std::snprintf(text, sizeof text,
                "; seed %llu, wave %u, tick %llu, at 0x%llx: ", static_cast<unsigned long long>(seed_),
                current_wave_ != nullptr ? current_wave_->number : 0, static_cast<unsigned long long>(ticks_),
                static_cast<unsigned long long>(current_->address));
  std::string source;
  try {
    source = program_.sources({program_.at(current_->address)}).at(0);
  } catch (const Fault&) {
    // The tool is missing, or this is half of a dual instruction.
  }
  return text + current_->text + (source.empty() ? "" : " (" + source + ")");
}

void Processor::never_ends(const std::string& kernel) const {
  std::string all;
  for (const auto& wave : waves_) {
    char text[64];
    std::snprintf(text, sizeof text, "%s w%u%s at 0x%llx", all.empty() ? ":" : ",", wave->number,
                  wave->at_barrier ? " waits at a barrier" : "",
                  static_cast<unsigned long long>(program_.code()[wave->counter].address));
    all += text;
    if (all.size() > 400) {
      all += " …";
      break;
    }
  }
  throw Fault(kernel + " does not end" + all);
}

void Processor::sleep(Wave& wave, uint64_t duration) {
  wave.wake = ticks_ + 1 + duration * (mood_.calm ? 1 : 1 + random_.below(8));
}

/// All waves have arrived: releases the waiting ones.
void Processor::open_barrier(Group& group) {
  group.arrived = 0;
  ++group.barriers;
  for (const auto& other : waves_)
    if (other->group == &group) other->at_barrier = false;
}

void Processor::signal(Wave& wave) {
  Group& group = *wave.group;
  wave.signalled = true;
  wave.barrier = group.barriers;
  if (++group.arrived >= group.waves) open_barrier(group);
}

void Processor::await(Wave& wave) {
  if (!wave.signalled) throw Fault("barrier is waited for before it is signalled");
  wave.signalled = false;
  wave.at_barrier = wave.group->barriers == wave.barrier;
}

/// Ends a wave after its accesses in flight. Barriers do not wait for a wave that has ended.
void Processor::end(Wave& wave) {
  Waits all;
  all.vector = all.stores = all.shared = all.shared_or_scalar = all.scalar = 0;
  wave.yielded = !wait(wave, all);
  if (wave.yielded) return;
  wave.done = true;
  Group& group = *wave.group;
  --group.waves;
  if (group.waves != 0 && group.arrived >= group.waves) open_barrier(group);
}

/// The next wave that can run, or none.
Wave* Processor::choose_wave(uint32_t& turn) {
  const auto count = static_cast<uint32_t>(waves_.size());
  uint32_t chosen = mood_.calm && order == 0 ? turn % count : random_.below(count);
  for (uint32_t tried = 0; tried < count; ++tried) {
    Wave& wave = *waves_[chosen];
    chosen = chosen + 1 < count ? chosen + 1 : 0;
    if (wave.at_barrier || wave.wake > ticks_) continue;
    turn = chosen;
    return &wave;
  }
  return nullptr;
}

void Processor::schedule(const std::string& kernel) {
  const uint64_t last = counts.instructions + limits.instructions;
  const uint64_t last_tick = ticks_ + limits.instructions * ticks_of_instruction;
  uint32_t turn = 0;
  while (!waves_.empty()) {
    if (counts.instructions > last || ticks_ > last_tick) never_ends(kernel);
    Wave* const wave = choose_wave(turn);
    if (wave == nullptr) ticks_ += idle_ticks;
    background();
    if (wave == nullptr) continue;
    const uint32_t burst = mood_.calm ? mood_.burst : 1 + random_.below(mood_.burst);
    for (uint32_t left = burst; left > 0; --left) {
      if (step(*wave)) continue;
      // A blocked wait takes time too.
      if (!wave->done) ticks_ += 4;
      break;
    }
    if (wave->done) {
      const auto at = std::find_if(waves_.begin(), waves_.end(), [&](const auto& one) { return one.get() == wave; });
      free_waves_.push_back(std::move(*at));
      waves_.erase(at);
    } else if (random_.one_in(mood_.stall)) {
      wave->wake = std::max(wave->wake, ticks_ + random_.below(longest_stall));
    }
  }
}

}  // namespace machine::amdgcn
