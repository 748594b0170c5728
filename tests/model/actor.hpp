// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief An actor of the explorer: a wave, each of its lanes on a fibre, which gives way before every coherent access.

#include <cstring>
#include <memory>
#include <vector>

#include <xio/device/arch/arch.hpp>
#include <xio/host/simt/fibre.hpp>

#include "model/lanes.hpp"
#include "model/program.hpp"

#if !XIO_INTERLEAVE
#error "the explorer needs XIO_INTERLEAVE=1"
#endif

namespace model {

class Execution;

/// A store that is not performed yet.
struct Store {
  unsigned char* to;
  uint32_t bytes;
  bool entry;
  unsigned char value[64];

  bool operator==(const Store& other) const {
    return to == other.to && bytes == other.bytes && std::memcmp(value, other.value, bytes) == 0;
  }
};

/// All of an actor that changes, but for its stacks. Copied byte by byte, up to the last store.
struct ActorState {
  /// Why it gave way.
  enum class Request : uint32_t { step, choice, end };
  static constexpr uint32_t most_stores = 16;

  Request request = Request::step;
  uint32_t options = 0;  ///< of a choice
  uint32_t answer = 0;
  bool ended = false;
  bool pauses = false;   ///< it has given way by Execution::wait()
  bool hurries = false;  ///< in a pause: it goes on once its deadline has passed
  bool changed = false;  ///< it has changed memory
  uint64_t digest = 0;   ///< of all that it has read
  uint64_t spin_site = 0;
  uint64_t spin_digest = 0;
  uint64_t call = 0;  ///< not 0: the digest before a call that keeps nothing where it pauses
  Loops loops;
  uint32_t running = 0;  ///< the lane that goes on
  uint32_t stores = 0;
  Lane lanes[most_lanes];
  Store store[most_stores];

  /// Whether such a store is among those that wait.
  bool has(const Store& one) const {
    for (uint32_t i = 0; i < stores; ++i) {
      if (store[i] == one) return true;
    }
    return false;
  }
  bool has_more_stores(const ActorState& before) const {
    for (uint32_t i = 0; i < stores; ++i) {
      if (!before.has(store[i])) return true;
    }
    return false;
  }
  /// Whether it has paused, and so has this one, and they go on alike.
  bool pauses_like(const ActorState& other) const {
    return pauses && other.pauses && digest == other.digest && stores == other.stores && !has_more_stores(other);
  }
  size_t bytes() const { return reinterpret_cast<uintptr_t>(store + stores) - reinterpret_cast<uintptr_t>(this); }
};

class Actor final : public xio::arch::WaveOps, public ActorState {
 public:
  using Strand = xio::simt::detail::Strand;
  using Fibre = xio::simt::detail::Fibre;

  /// @param main  the stack of what lets it go on
  Actor(Execution& owner, Strand& main, uint32_t index, const Program& program)
      : number(index), execution_(owner), main_(main), place_(program.place(index)), unmarked_(program.unmarked()) {
    const WavePlace& place = place_;
    wave_size = place.lanes;
    block_index = place.block;
    block_size = place.block_threads;
    grid_size = place.blocks;
    for (uint32_t i = 0; i < place.lanes; ++i) {
      fibres_.push_back(std::make_unique<Fibre>(most_stack_bytes, index + i));
      lanes[i].low = top(i) - 64;
      fibres_[i]->assign(&Actor::body, this);
    }
    go_to(0);
  }

  uint64_t active(const xio::arch::CallSite& site) override {
    if (place_.lanes == 1) return 1;
    return meet(Meeting::active, mix(reinterpret_cast<uintptr_t>(site.address), fibre().depth(site.frame)), 0);
  }
  uint64_t ballot(uint64_t mask, bool predicate) override {
    return place_.lanes == 1 ? predicate : meet(Meeting::ballot, mask, predicate);
  }
  uint64_t shuffle(uint64_t mask, uint64_t value, uint32_t source) override {
    return place_.lanes == 1 ? value : meet(Meeting::shuffle, mask, value, source);
  }
  uint64_t alike(uint64_t mask, uint64_t value) override {
    return place_.lanes == 1 ? mask : meet(Meeting::alike, mask, value);
  }
  void block_barrier() override { meet(Meeting::barrier, 0, 0); }
  void yield(uint32_t) override;
  uint64_t now() override;
  void perform_stores() override;
  bool store_later(void* to, const void* value, uint32_t bytes, bool entry) override;
  void access(const void* where, uint32_t bytes) override;

  /// Gives way. Returns when the explorer lets it go on.
  __attribute__((noinline)) void give_way(Request what, uint32_t count = 0) {
    request = what;
    options = count;
    leave_stack(__builtin_frame_address(0));
    Strand::transfer(fibre(), main_);
  }

  /// Of the lane that goes on.
  Fibre& fibre() { return *fibres_[running]; }
  Fibre& fibre(uint32_t which) const { return *fibres_[which]; }
  uint32_t lane_count() const { return place_.lanes; }
  /// Makes a lane the one that goes on.
  void go_to(uint32_t which) {
    running = lane = which;
    thread_index = place_.first_thread + which;
  }

  /// The stack of a lane of an actor that has given way.
  unsigned char* stack(uint32_t which) const {
    return reinterpret_cast<unsigned char*>(lanes[which].low & ~uintptr_t{15});
  }
  size_t stack_bytes(uint32_t which) const { return top(which) - (lanes[which].low & ~uintptr_t{15}); }

  /// Whether a store must wait for another one, to the same address.
  bool is_behind(uint32_t which) const {
    for (uint32_t i = 0; i < which; ++i) {
      if (store[i].to == store[which].to) return true;
    }
    return false;
  }
  void perform(uint32_t which) {
    const Store one = store[which];
    --stores;
    for (uint32_t i = which; i < stores; ++i) store[i] = store[i + 1];
    std::memcpy(one.to, one.value, one.bytes);
  }

  const uint32_t number;
  std::vector<uint32_t> reads;  ///< words, in its last step

 private:
  static constexpr size_t most_stack_bytes = 64 * 1024;
  /// Bytes that the frames of Strand::transfer() and give_way() take at most.
  static constexpr uintptr_t frame_bytes = 512;

  static Strand& body(void* argument);
  uintptr_t top(uint32_t which) const { return reinterpret_cast<uintptr_t>(fibres_[which]->top()); }

  /// Waits until the lanes that it meets have come.
  uint64_t meet(Meeting what, uint64_t key, uint64_t value, uint32_t source = 0) {
    Lane& own = lanes[running];
    own.come(what, key, value, source);
    settle(lanes, place_.lanes);
    if (own.waits()) {
      stand_back();
    } else {
      give_precedence();
    }
    return own.result;
  }
  void stand_back();
  /// Lets the first lane that need not wait go on before this one: in the same order each time, so that two rounds of a
  /// loop are alike.
  void give_precedence() {
    uint32_t first = 0;
    while (first != running && lanes[first].waits()) ++first;
    if (first != running) hand_over(first);
  }
  void let_some_go();

  /// Lets another lane go on. Returns when one lets this one go on.
  __attribute__((noinline)) void hand_over(uint32_t next) {
    Fibre& own = fibre();
    leave_stack(__builtin_frame_address(0));
    go_to(next);
    Strand::transfer(own, fibre());
  }
  __attribute__((always_inline)) void leave_stack(void* frame) {
    lanes[running].low = reinterpret_cast<uintptr_t>(frame) - frame_bytes;
    wipe();
  }

  /// Not inlined: what its frame holds is no part of the actor's stack at the next step.
  __attribute__((noinline)) void read(const void* where, uint32_t bytes, const void* memory) {
    uint64_t value = 0;
    std::memcpy(&value, where, bytes < 8 ? bytes : 8);
    const auto offset = reinterpret_cast<uintptr_t>(where) - reinterpret_cast<uintptr_t>(memory);
    digest = mix(mix(digest, offset), value);
    if (unmarked_) loops.read(offset, value);
    note(where, bytes, memory);
  }

  /// Counts these bytes among those that the step has read.
  void note(const void* where, uint32_t bytes, const void* memory) {
    const auto offset = reinterpret_cast<uintptr_t>(where) - reinterpret_cast<uintptr_t>(memory);
    for (uintptr_t word = offset / 8; word <= (offset + bytes - 1) / 8; ++word)
      reads.push_back(static_cast<uint32_t>(word));
  }

  /// Clears what earlier calls left where the frames of Strand::transfer() will be, and below.
  __attribute__((noinline)) static void wipe() {
    volatile unsigned char area[frame_bytes];
    for (size_t i = 0; i < frame_bytes; i += 8) *reinterpret_cast<volatile uint64_t*>(area + i) = 0;
  }

  Execution& execution_;
  Strand& main_;
  const WavePlace place_;
  const bool unmarked_;
  std::vector<std::unique_ptr<Fibre>> fibres_;  ///< of each lane
};

}  // namespace model
