// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The host's side of the rings between a job of fio and a wave that works for it.

#include <cstdint>
#include <vector>

#include <xio/device/nvme/types.hpp>

#include "fio/ring.hpp"

namespace fio {

/// Posts commands, and takes answers. Used by one thread at a time.
class HostRing {
 public:
  /// Addresses of the host; zeroed before the first command, and as many entries as RingJob says.
  struct Memory {
    Descriptor* commands;
    uint64_t* answers;
    uint64_t* posted;
    const Report* report;
    uint32_t commands_mask;
    uint32_t answers_shift;
  };

  /// @param first_slot of this ring among the completion slots of all
  HostRing(const Memory& memory, uint32_t depth, uint32_t slot_mask, uint32_t block_shift, uint32_t first_slot = 0)
      : memory_(memory), depth_(depth), slot_mask_(slot_mask), block_shift_(block_shift), first_slot_(first_slot) {}

  /// Commands without an answer.
  uint32_t in_flight() const { return static_cast<uint32_t>(posted_ - given_); }
  /// Whether `count` commands may be posted.
  /// @param commands by completion slot: 0 where it is free
  bool has_room(const std::vector<uintptr_t>& commands, uint32_t count) const {
    if (in_flight() + count > depth_) return false;
    for (uint32_t i = 0; i < count; ++i)
      if (commands[slot(i)] != 0) return false;
    return true;
  }
  /// The completion slot of the command that is posted after `ahead` others.
  uint32_t slot(uint32_t ahead = 0) const {
    return first_slot_ + (static_cast<uint32_t>(posted_ + ahead) & slot_mask_);
  }

  /// Posts a command for which there is room; commit() shows it to the wave.
  /// @param bus bus address of its data
  void post(const xio::nvme::Command& command, uint64_t bus) {
    memory_.commands[posted_++ & memory_.commands_mask] = describe(command, bus, block_shift_);
  }
  void commit() { show(posted_); }
  /// Makes the wave end when it has answered everything; with `abandon`, at once. commit() takes it back.
  void end(bool abandon) { show(posted_ | Posted::ends | (abandon ? Posted::abandons : 0)); }

  /// Calls `each(const nvme::Completion&)`, without a ticket and a result, for at most `most` answers. Returns how many
  /// there were.
  template <class Each>
  uint32_t take(Each&& each, uint32_t most) {
    uint32_t taken = 0;
    for (; taken < most; ++taken) {
      const uint64_t place = given_;
      const uint64_t word =
          __atomic_load_n(&memory_.answers[place & ((uint64_t{1} << memory_.answers_shift) - 1)], __ATOMIC_ACQUIRE);
      if (!Answer::is_new(word, place, memory_.answers_shift)) break;
      ++given_;
      each(xio::nvme::Completion{0, 0, first_slot_ + Answer::slot(word), Answer::status_field(word)});
    }
    return taken;
  }

  /// The number of the last launch that has ended; 0: none.
  uint64_t left() const { return __atomic_load_n(&memory_.report->left, __ATOMIC_ACQUIRE); }
  /// Why the wave's queue refused a command, after which it has ended.
  xio::Status refusal() const {
    return xio::Status::unpack(__atomic_load_n(&memory_.report->refusal, __ATOMIC_RELAXED));
  }

 private:
  /// The wave polls the word: it is stored when it changes.
  void show(uint64_t word) {
    if (word == shown_) return;
    shown_ = word;
    __atomic_store_n(memory_.posted, word, __ATOMIC_RELEASE);
  }

  Memory memory_;
  uint32_t depth_;
  uint32_t slot_mask_;
  uint32_t block_shift_;
  uint32_t first_slot_;
  uint64_t posted_ = 0;
  uint64_t shown_ = 0;
  uint64_t given_ = 0;
};

}  // namespace fio
