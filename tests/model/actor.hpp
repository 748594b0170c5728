// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief An actor of the explorer: a wave of one lane on a fibre, which gives way before every coherent access.

#include <cstring>
#include <memory>
#include <vector>

#include <xio/device/arch/arch.hpp>
#include <xio/host/simt/fibre.hpp>

#include "model/program.hpp"

#if !XIO_INTERLEAVE
#error "the explorer needs XIO_INTERLEAVE=1"
#endif

namespace model {

class Execution;

/// A digest of two values. Each bit of them matters to all of its bits: the digest of memory is a sum of such.
inline uint64_t mix(uint64_t a, uint64_t b) {
  uint64_t z = a * 0x9e3779b97f4a7c15 + b + 1;
  z = (z ^ (z >> 32)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 32)) * 0x94d049bb133111eb;
  return z ^ (z >> 32);
}

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

/// All of an actor that changes, but for its stack. Copied byte by byte, up to the last store.
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
  uintptr_t low = 0;  ///< its stack is not in use below this address
  uint32_t stores = 0;
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
  Actor(Execution& owner, Strand& main, uint32_t index)
      : number(index), fibre(most_stack_bytes, index), execution_(owner), main_(main) {
    block_index = index;
    low = top() - 64;
    fibre.assign(&Actor::body, this);
  }

  uint64_t active(const xio::arch::CallSite&) override { return 1; }
  uint64_t ballot(uint64_t, bool predicate) override { return predicate; }
  uint64_t shuffle(uint64_t, uint64_t value, uint32_t) override { return value; }
  void block_barrier() override {}
  void yield(uint32_t) override;
  uint64_t now() override;
  void perform_stores() override;
  bool store_later(void* to, const void* value, uint32_t bytes, bool entry) override;
  void access(const void* where, uint32_t bytes) override;

  /// Gives way. Returns when the explorer lets it go on.
  __attribute__((noinline)) void give_way(Request what, uint32_t count = 0) {
    request = what;
    options = count;
    low = reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) - frame_bytes;
    wipe();
    Strand::transfer(fibre, main_);
  }

  /// The stack of an actor that has given way.
  unsigned char* stack() const { return reinterpret_cast<unsigned char*>(low & ~uintptr_t{15}); }
  size_t stack_bytes() const { return top() - (low & ~uintptr_t{15}); }

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

  uintptr_t top() const { return reinterpret_cast<uintptr_t>(fibre.top()); }

  const uint32_t number;
  Fibre fibre;
  std::vector<uint32_t> reads;  ///< words, in its last step

 private:
  static constexpr size_t most_stack_bytes = 64 * 1024;
  /// Bytes that the frames of Strand::transfer() and give_way() take at most.
  static constexpr uintptr_t frame_bytes = 512;

  static Strand& body(void* argument);

  /// Not inlined: what its frame holds is no part of the actor's stack at the next step.
  __attribute__((noinline)) void read(const void* where, uint32_t bytes, const void* memory) {
    uint64_t value = 0;
    std::memcpy(&value, where, bytes < 8 ? bytes : 8);
    const auto offset = reinterpret_cast<uintptr_t>(where) - reinterpret_cast<uintptr_t>(memory);
    digest = mix(mix(digest, offset), value);
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
};

}  // namespace model
