// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A tiny NVMe queue pair for the explorer: rings in plain memory, and a device that is one more actor. It
/// fetches, completes in any order, and fails the execution when an entry, an identifier or a ring is not as it must
/// be.

#include <cstring>
#include <string>

#include <xio/device/nvme/queue.hpp>

#include "model/actor_steps.hpp"
#include "model/explorer.hpp"

namespace model {

using xio::Notification;
using xio::QueueState;
using xio::Status;
using xio::Token;
using xio::nvme::CompletionSlot;
using xio::nvme::Cqe;
using xio::nvme::FailureLog;
using xio::nvme::QueueHandle;
using xio::nvme::Sqe;

/// Sizes of the rings; powers of two.
struct Sizes {
  uint32_t sq = 4;
  uint32_t cq = 8;
  uint32_t slots = 4;
  uint32_t depth = 2;
};

constexpr uint32_t most_entries = 8;

struct Live {
  uint32_t cid;
  uint32_t block;
};

/// Commands that a device has, in the order of their identifiers: what else differs between two states does not matter.
inline void add(Live* live, uint32_t& count, const Live& one) {
  uint32_t at = count++;
  for (; at > 0 && live[at - 1].cid > one.cid; --at) live[at] = live[at - 1];
  live[at] = one;
}
inline Live remove(Live* live, uint32_t& count, uint32_t which) {
  const Live one = live[which];
  for (uint32_t i = which; i + 1 < count; ++i) live[i] = live[i + 1];
  live[--count] = {};
  return one;
}

/// What the device knows, and what is counted for the checks.
struct DeviceState {
  Live live[most_entries];
  uint32_t live_count;
  uint32_t ended_runs;  ///< of wave()
  uint32_t accepted, fetched, completed;
  uint32_t woken_by;
  uint32_t awake;
  uint32_t spare;
  uint64_t seen;   ///< blocks fetched, one bit each
  uint64_t ended;  ///< blocks completed
};

struct NoMore {};

/// Everything that waves and device share. All of it is part of the explorer's state.
/// @tparam More  what else a program has
template <class More>
struct QueueMemory : More {
  QueueState state;
  uint64_t links[most_entries];
  Sqe sq[most_entries];
  Cqe cq[most_entries];
  CompletionSlot slots[most_entries];
  FailureLog failures;
  uint64_t failure_entries[2];
  Notification* notifications[most_entries];
  Notification notification;
  uint32_t sq_doorbell, cq_doorbell;
  uint32_t sq_shadow, cq_shadow, sq_event, cq_event;
  uint64_t word[4];
  DeviceState device;
};
static_assert(sizeof(QueueMemory<NoMore>) % 8 == 0);

/// A program of waves with one queue, and a device as its last actor.
template <class More = NoMore>
class QueueProgramWith : public Program {
 public:
  QueueProgramWith(Explorer& explorer, const Sizes& sizes, uint32_t waves)
      : explorer_(explorer), sizes_(sizes), waves_(waves) {
    std::memset(static_cast<void*>(&memory_), 0, sizeof memory_);
    std::memset(static_cast<void*>(memory_.sq), 0xff, sizeof memory_.sq);
  }

  uint32_t actors() const final { return waves_ + 1; }
  void* memory() final { return &memory_; }
  size_t memory_bytes() const final { return sizeof memory_; }
  void run(uint32_t actor) final {
    if (actor == waves_) return device();
    wave(actor);
    ++device_.ended_runs;
  }
  std::string judge() final {
    const QueueState& state = memory_.state;
    if (state.broken != 0) return "the queue is broken";
    if ((state.retired & xio::protocol::draining_bit) != 0) return "a drain was not given back";
    if (xio::protocol::tickets(state.reserved) != accepted()) return "tickets were taken that nobody has, or lost";
    if (state.reservation != 0 || state.reserved > xio::protocol::ticket_bits)
      return "a reservation was not taken back";
    if (device_.fetched != accepted() || device_.completed != accepted()) return "an entry was lost";
    if (state.retired > device_.completed) return "a completion was taken twice";
    return verdict();
  }

 protected:
  /// What wave `number` does.
  virtual void wave(uint32_t number) = 0;
  /// How often wave() is called: once for each lane.
  virtual uint32_t runs() const { return waves_; }
  /// More to look at in the end.
  virtual std::string verdict() { return {}; }
  /// Operations that the waves were given tickets for.
  virtual uint32_t accepted() const { return device_.accepted; }
  /// Looks at an entry that is fetched, which no other one may be like.
  virtual void look_at(const Sqe& entry) {
    const uint32_t block = entry.cdw10;
    explorer_.require(block < 64 && (device_.seen >> block & 1) == 0, "an entry was announced twice");
    device_.seen |= uint64_t{1} << block;
  }
  /// Executes a command that ends; returns its status field.
  virtual uint16_t execute(const Live& command) { return status_of(command.block); }
  /// Dword 0 of the completion of a command of this block.
  virtual uint32_t result_of(uint64_t block) const { return static_cast<uint32_t>(block * 1000 + 7); }
  /// Status field for a command of this block.
  virtual uint16_t status_of(uint64_t) const { return 0; }
  /// Whether the device may complete this one now.
  virtual bool may_complete(uint64_t) const { return true; }

  QueueHandle handle() {
    QueueHandle h{};
    h.state = &memory_.state;
    h.sq = memory_.sq;
    h.cq = memory_.cq;
    h.slots = memory_.slots;
    h.failures = &memory_.failures;
    h.failure_entries = 2;
    h.notifications = memory_.notifications;
    h.sq_doorbell = &memory_.sq_doorbell;
    h.cq_doorbell = &memory_.cq_doorbell;
    h.sq_shadow = &memory_.sq_shadow;
    h.cq_shadow = &memory_.cq_shadow;
    h.sq_event_index = &memory_.sq_event;
    h.cq_event_index = &memory_.cq_event;
    h.sq_mask = sizes_.sq - 1;
    h.cq_mask = sizes_.cq - 1;
    h.slot_mask = sizes_.slots - 1;
    h.depth = sizes_.depth;
    h.max_blocks = 8;
    h.block_shift = 9;
    h.page_shift = 12;
    h.nsid = 1;
    return h;
  }

  /// Whether the device has completed the command of this block.
  bool done(uint32_t block) const { return (device_.ended >> block & 1) != 0; }

  /// Submits a read of a block; each block number is used once in an execution.
  template <class Q, class Until = xio::Now>
  Token read(Q& queue, uint64_t block, Until until = {}) {
    const Token token = queue.submit(xio::nvme::read(block, 1), xio::nvme::DataPointer{block << 12}, until);
    device_.accepted += token.count;
    return token;
  }
  static xio::Deadline forever() { return {~uint64_t{0}}; }

  Explorer& explorer_;
  const Sizes sizes_;
  const uint32_t waves_;
  QueueMemory<More> memory_;
  DeviceState& device_ = memory_.device;
  bool shadow_ = false;

 private:
  void device() {
    for (;;) {
      // All that it knows is in memory.
      explorer_.mark(1);
      explorer_.step();
      const uint32_t tail = announced();
      const uint32_t fetches = device_.fetched % sizes_.sq != tail ? 1 : 0;
      uint32_t ready = 0;
      uint32_t candidates[most_entries];
      for (uint32_t i = 0; i < device_.live_count; ++i) {
        if (may_complete(device_.live[i].block)) candidates[ready++] = i;
      }
      if (fetches + ready == 0) {
        if (device_.ended_runs == runs()) return;
        explorer_.wait(1);
        continue;
      }
      const uint32_t choice = explorer_.choose(fetches + ready);
      if (fetches != 0 && choice == 0) {
        fetch();
      } else {
        complete(candidates[choice - fetches]);
      }
    }
  }

  /// The tail that the device knows of; with shadow doorbells only the register wakes it, and then it reads the shadow.
  uint32_t announced() {
    if (!shadow_) return memory_.sq_doorbell;
    if (memory_.sq_doorbell != device_.woken_by) {
      device_.woken_by = memory_.sq_doorbell;
      device_.awake = 1;
    }
    const auto fetched = device_.fetched % sizes_.sq;
    if (device_.awake == 0) return fetched;
    if (memory_.sq_shadow == fetched) {
      // Idle: say from where on it wants to be woken, then look once more. Others may come in between.
      memory_.sq_event = fetched;
      explorer_.mark(2);
      explorer_.step();
      device_.awake = memory_.sq_shadow != fetched;
    }
    return device_.awake != 0 ? memory_.sq_shadow : fetched;
  }

  void fetch() {
    Sqe& entry = memory_.sq[device_.fetched % sizes_.sq];
    explorer_.require(entry.cdw0 != 0xffffffff, "the doorbell announced an entry that is not there, or went backwards");
    const uint32_t cid = entry.cdw0 >> 16;
    explorer_.require((cid & ~xio::nvme::detail::notified_bit) < sizes_.slots, "an identifier beyond the table");
    for (uint32_t i = 0; i < device_.live_count; ++i) {
      explorer_.require(device_.live[i].cid != cid, "an identifier is used twice");
    }
    explorer_.require(device_.live_count < sizes_.depth, "more in flight than the depth");
    const uint32_t block = entry.cdw10;
    look_at(entry);
    std::memset(static_cast<void*>(&entry), 0xff, sizeof entry);
    add(device_.live, device_.live_count, {cid, block});
    ++device_.fetched;
  }

  void complete(uint32_t which) {
    const uint32_t head = memory_.cq_doorbell;
    const auto used = (device_.completed - head) % sizes_.cq;
    explorer_.require(used < sizes_.cq - 1, "the completion ring is full");
    const Live last = remove(device_.live, device_.live_count, which);
    const uint16_t status = execute(last);
    auto* const words = reinterpret_cast<uint64_t*>(&memory_.cq[device_.completed % sizes_.cq]);
    const uint64_t phase = (device_.completed / sizes_.cq) % 2 == 0;
    __atomic_store_n(words, uint64_t{result_of(last.block)}, __ATOMIC_RELAXED);
    __atomic_store_n(words + 1, uint64_t{status} << 49 | phase << 48 | uint64_t{last.cid} << 32, __ATOMIC_RELEASE);
    device_.ended |= uint64_t{1} << last.block;
    ++device_.completed;
  }
};

using QueueProgram = QueueProgramWith<>;

}  // namespace model
