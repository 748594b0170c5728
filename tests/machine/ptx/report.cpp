// SPDX-License-Identifier: MIT
/// @file
/// @brief The state of threads as text.

#include <machine/ptx/machine.hpp>

#include <cstdio>
#include <map>

namespace machine::ptx {

const Instruction* Machine::instruction_of(const Thread& thread) const {
  const Frame& frame = thread.frame;
  return frame.function != nullptr && frame.pc < frame.function->code.size() ? &frame.function->code[frame.pc]
                                                                             : nullptr;
}

void Machine::trace_line(const Thread& thread, const Instruction& i) {
  char text[96];
  std::snprintf(text, sizeof text,
                "%9llu block %u thread %u PTX %u: ", static_cast<unsigned long long>(counts.instructions), thread.block,
                thread.index, i.line);
  trace(text + program_.line(i) + "  // " + program_.source(i.place));
}

void Machine::trace_access(uint64_t address, uint64_t value) {
  char text[64];
  std::snprintf(text, sizeof text, "          [%llx] = %llx", static_cast<unsigned long long>(address),
                static_cast<unsigned long long>(value));
  trace(text);
}

void Machine::fail(const Thread& thread, const std::string& what) {
  std::string text = "seed " + std::to_string(seed_) + ", " + target() + ", block " + std::to_string(thread.block) +
                     " thread " + std::to_string(thread.index) + " (lane " + std::to_string(thread.lane) + "): " + what;
  if (const Instruction* const i = instruction_of(thread)) {
    text += "\n  PTX " + std::to_string(i->line) + ": " + program_.line(*i) + "\n  at " + program_.source(i->place);
    for (size_t k = thread.callers.size(); k-- > 0;)
      text += "\n  called at " + program_.source(thread.callers[k].function->code[thread.callers[k].pc].place);
  }
  throw Fault(text + where_all_stand(24));
}

std::string Machine::where_all_stand(size_t most) const {
  static const char* const names[] = {"goes on", "asks who is here", "waits for threads", "waits at a barrier",
                                      "has ended"};
  std::string out;
  for (size_t warp = 0; warp < warps_.size() && most != 0; ++warp) {
    std::map<std::string, uint32_t> groups;
    for (uint32_t k = 0; k < warps_[warp].count; ++k) {
      const Thread& one = threads_[warps_[warp].first + k];
      std::string text = names[static_cast<int>(one.state)];
      if (one.state == State::gathering) {
        char mask[16];
        std::snprintf(mask, sizeof mask, " %08x", one.mask);
        text += mask;
      }
      const Instruction* const i = one.state == State::done ? nullptr : instruction_of(one);
      if (i != nullptr)
        text += " at PTX " + std::to_string(i->line) + " [" + program_.line(*i) + "] " + program_.source(i->place, 3);
      groups[text] |= 1u << one.lane;
    }
    for (const auto& [text, lanes] : groups) {
      if (most-- == 0) return out + "\n  ...";
      char line[64];
      std::snprintf(line, sizeof line, "\n  warp %zu lanes %08x: ", warp, lanes);
      out += line + text;
      if (most == 0) break;
    }
  }
  return out;
}

}  // namespace machine::ptx
