// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The host's side of the rings between a job of fio and the kernel that works for it.

#include <cstdint>

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

  HostRing(const Memory& memory, uint32_t depth, uint32_t slot_mask, uint32_t block_shift)
      : memory_(memory), depth_(depth), slot_mask_(slot_mask), block_shift_(block_shift) {}

  /// Commands without an answer.
  uint32_t in_flight() const { return static_cast<uint32_t>(posted_ - given_); }
  /// Whether so many commands may be posted, if their completion slots are free.
  bool has_room(uint32_t commands = 1) const { return in_flight() + commands <= depth_; }
  /// The completion slot of the command that is posted after `ahead` others.
  uint32_t slot(uint32_t ahead = 0) const { return static_cast<uint32_t>(posted_ + ahead) & slot_mask_; }

  /// Posts a command for which there is room; commit() shows it to the kernel.
  /// @param bus bus address of its data
  void post(const xio::nvme::Command& command, uint64_t bus) {
    memory_.commands[posted_++ & memory_.commands_mask] = describe(command, bus, block_shift_);
  }
  void commit() const { __atomic_store_n(memory_.posted, posted_, __ATOMIC_RELEASE); }
  /// Makes the kernel end when it has answered everything; with `abandon`, at once.
  void end(bool abandon) const {
    __atomic_store_n(memory_.posted, posted_ | Posted::ends | (abandon ? Posted::abandons : 0), __ATOMIC_RELEASE);
  }

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
      each(xio::nvme::Completion{0, 0, Answer::slot(word), Answer::status_field(word)});
    }
    return taken;
  }

  /// The number of the last launch that has ended; 0: none.
  uint64_t left() const { return __atomic_load_n(&memory_.report->left, __ATOMIC_ACQUIRE); }
  /// Why the kernel's queue refused a command, after which it has ended.
  xio::Status refusal() const {
    return xio::Status::unpack(__atomic_load_n(&memory_.report->refusal, __ATOMIC_RELAXED));
  }

 private:
  Memory memory_;
  uint32_t depth_;
  uint32_t slot_mask_;
  uint32_t block_shift_;
  uint64_t posted_ = 0;
  uint64_t given_ = 0;
};

}  // namespace fio
