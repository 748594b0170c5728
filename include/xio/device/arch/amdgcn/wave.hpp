// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief AMD GPUs: lanes, collectives, clock.

#include <xio/device/arch/amdgcn/memory.hpp>

XIO_NAMESPACE_BEGIN

namespace arch {

XIO_DEVICE_INLINE uint32_t lane() {
#if XIO_WAVE64
  return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
#else
  return __builtin_amdgcn_mbcnt_lo(~0u, 0);
#endif
}

XIO_DEVICE_INLINE constexpr uint32_t wave_size() { return XIO_WAVE64 ? 64 : 32; }

XIO_DEVICE_INLINE uint32_t thread_index() { return __builtin_amdgcn_workitem_id_x(); }
XIO_DEVICE_INLINE uint32_t block_size() { return __builtin_amdgcn_workgroup_size_x(); }
XIO_DEVICE_INLINE uint32_t block_index() { return __builtin_amdgcn_workgroup_id_x(); }
XIO_DEVICE_INLINE uint32_t grid_size() { return __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(); }

XIO_DEVICE_INLINE uint64_t ballot(uint64_t, bool predicate) {
#if XIO_WAVE64
  return __builtin_amdgcn_ballot_w64(predicate);
#else
  return __builtin_amdgcn_ballot_w32(predicate);
#endif
}

XIO_DEVICE_INLINE uint64_t active() { return ballot(0, true); }

/// The execution mask is exact.
XIO_DEVICE_INLINE uint64_t together(uint64_t) { return active(); }

/// The group of lanes is the execution mask: see `branches_separate_lanes`.
XIO_DEVICE_INLINE uint64_t alike(uint64_t mask, const void*) { return mask; }

namespace detail {
// clang 19 has no builtin for it.
#if XIO_WAVE64
extern "C" XIO_HOST_DEVICE __attribute__((convergent)) bool inverse_ballot(uint64_t) __asm(
    "llvm.amdgcn.inverse.ballot.i64");
#else
extern "C" XIO_HOST_DEVICE __attribute__((convergent)) bool inverse_ballot(uint32_t) __asm(
    "llvm.amdgcn.inverse.ballot.i32");
#endif
}  // namespace detail

/// The mask becomes the execution mask of a branch.
XIO_DEVICE_INLINE bool is_in(uint64_t mask) {
#if XIO_WAVE64
  return detail::inverse_ballot(mask);
#else
  uint32_t low = __builtin_amdgcn_readfirstlane(static_cast<int>(mask));
#ifdef __OPTIMIZE__
  // In a register of its own: LLVM asserts that the condition of a branch is no half of a pair.
  asm("" : "+s"(low));
#endif
  return detail::inverse_ballot(low);
#endif
}

XIO_DEVICE_INLINE uint32_t rank_in(uint64_t mask) {
  const uint32_t low = __builtin_amdgcn_mbcnt_lo(static_cast<uint32_t>(mask), 0);
  return XIO_WAVE64 ? __builtin_amdgcn_mbcnt_hi(static_cast<uint32_t>(mask >> 32), low) : low;
}

XIO_DEVICE_INLINE constexpr bool seldom(bool condition) {
  if (__builtin_is_constant_evaluated()) return condition;
  return ballot(0, condition) != 0;
}

/// The lanes of a wave run in lockstep: only the compiler must not move accesses across this.
XIO_DEVICE_INLINE void converge(uint64_t) { __builtin_amdgcn_wave_barrier(); }

/// Whether the lanes of a wave execute each instruction together. If not, a lane may run ahead of others that have yet
/// to store, until the next converge() of all of them.
constexpr bool lanes_in_step = true;

template <class T>
XIO_DEVICE_INLINE T shuffle(uint64_t, T value, uint32_t source) {
  static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
  const int where = static_cast<int>(source * 4);
  const uint64_t wide = static_cast<uint64_t>(value);
  const uint32_t low = __builtin_amdgcn_ds_bpermute(where, static_cast<int>(wide));
  if (sizeof(T) <= 4) return static_cast<T>(low);
  const uint32_t high = __builtin_amdgcn_ds_bpermute(where, static_cast<int>(wide >> 32));
  return static_cast<T>(static_cast<uint64_t>(high) << 32 | low);
}

template <class T>
XIO_DEVICE_INLINE T broadcast(uint64_t, T value, uint32_t source) {
  static_assert(sizeof(T) <= 8, "a scalar register pair holds 8 bytes");
  const int from = __builtin_amdgcn_readfirstlane(static_cast<int>(source));
  const uint64_t wide = (uint64_t)value;
  const uint32_t low = __builtin_amdgcn_readlane(static_cast<int>(wide), from);
  if (sizeof(T) <= 4) return (T)(uint64_t)low;
  const uint32_t high = __builtin_amdgcn_readlane(static_cast<int>(wide >> 32), from);
  return (T)(static_cast<uint64_t>(high) << 32 | low);
}

/// One round for each value, by all lanes: none of them leaves the loop before the others. Of many values lanes part by
/// 12 bits; a round is left for each value that has met another one's bits.
XIO_DEVICE_INLINE uint64_t match(uint64_t, uint64_t value) {
  uint64_t mine = 0, left = active();
  const auto take_first = [&]() XIO_INLINE_LAMBDA {
    const bool same = value == broadcast(left, value, static_cast<uint32_t>(__builtin_ctzll(left)));
    const uint64_t lanes = ballot(0, same);
    mine = same ? lanes : mine;
    left &= ~lanes;
  };
  take_first();
  if (left != 0) take_first();
  if (left == 0) return mine;
  const auto low = static_cast<uint32_t>(value), bits = low ^ low >> 12 ^ low >> 24;
  uint32_t others[2] = {};
  for (uint32_t bit = 0; bit < 12; ++bit) {
    auto set = static_cast<uint32_t>(static_cast<int32_t>(bits << (31 - bit)) >> 31);
    asm("" : "+v"(set));  // compares what it has extracted: else the compiler extracts it again
    const uint64_t lanes = ballot(0, set != 0);
    others[0] |= set ^ static_cast<uint32_t>(lanes);
    if (XIO_WAVE64) others[1] |= set ^ static_cast<uint32_t>(lanes >> 32);
  }
  const uint64_t peers = left & ~(uint64_t{others[1]} << 32 | others[0]);
  const bool same = value == shuffle(0, value, static_cast<uint32_t>(__builtin_ctzll(peers)));
  const uint64_t lanes = ballot(0, same);
  mine = mine == 0 && same ? peers & lanes : mine;
  left &= ~lanes;
  while (left != 0) take_first();
  return mine;
}

template <uint32_t Bit>
XIO_DEVICE_INLINE uint32_t quad_exchange(uint64_t, uint32_t value, bool = true) {
  constexpr int quad_perm = Bit == 1 ? 0xb1 : 0x4e;  // lanes 1,0,3,2 and 2,3,0,1
  return __builtin_amdgcn_mov_dpp(static_cast<int>(value), quad_perm, 0xf, 0xf, true);
}

template <uint32_t Bit>
XIO_DEVICE_INLINE void quad_transpose(uint64_t mask, uint32_t& low, uint32_t& high, bool = true) {
  const uint32_t from_low = quad_exchange<Bit>(mask, low);
  const uint32_t from_high = quad_exchange<Bit>(mask, high);
  const bool upper = (lane() & Bit) != 0;
  low = upper ? from_high : low;
  high = upper ? high : from_low;
}

template <uint32_t Lane>
XIO_DEVICE_INLINE uint32_t quad_broadcast(uint64_t, uint32_t value) {
  return __builtin_amdgcn_mov_dpp(static_cast<int>(value), Lane * 0x55, 0xf, 0xf, true);
}

template <class T>
XIO_DEVICE_INLINE T uniform(T value) {
  static_assert(sizeof(T) <= 8, "a scalar register pair holds 8 bytes");
  const uint64_t wide = (uint64_t)value;
  const uint32_t low = __builtin_amdgcn_readfirstlane(static_cast<int>(wide));
  if (sizeof(T) <= 4) return (T)(uint64_t)low;
  const uint32_t high = __builtin_amdgcn_readfirstlane(static_cast<int>(wide >> 32));
  return (T)(static_cast<uint64_t>(high) << 32 | low);
}

namespace detail {
/// A value that is assigned later: registers need no value before.
template <class T>
union Later {
  XIO_DEVICE_INLINE Later() {}
  T value;
};
}  // namespace detail

template <class Act>
XIO_DEVICE_ALWAYS_INLINE auto apart(const void* pointer, Act act) {
  detail::Later<decltype(act())> result;
  for (bool waiting = true; waiting;) {
    if (pointer == uniform(pointer)) {
      result.value = act();
      // False; but if the compiler knew, it might move `act` behind the loop, where all lanes have met again.
      uint32_t again = 0;
#ifdef __OPTIMIZE__
      asm volatile("" : "+s"(again));
#endif
      waiting = again != 0;
    }
  }
  return result.value;
}

/// Returns the value in vector registers: arithmetic that ends in a store then needs no moves from scalar registers.
template <class T>
XIO_DEVICE_INLINE T per_lane(T value) {
  asm("" : "+v"(value));
  return value;
}

/// Memory that may have been written is not loaded through the scalar cache.
XIO_DEVICE_INLINE void prefer_vector_loads() { asm volatile("" ::: "memory"); }

/// store_mmio() by every active lane, one after the other: the hardware merges register stores of one step.
XIO_DEVICE_INLINE void store_mmio_each_lane(uint32_t* to, uint32_t value) {
  // Each under an execution mask of one lane, set by hand: a loop over lanes around an ordinary store makes every
  // branch of the caller divergent, and the compiler folds away a loop that uses readfirstlane. The mask is saved here
  // as well: a mask passed in by the compiler may be the mask register itself.
#if XIO_WAVE64
  uint64_t all, todo;
#else
  uint32_t all, todo;
#endif
  int chosen;
  asm volatile(
#if XIO_WAVE64
      "s_mov_b64 %0, exec\n\ts_mov_b64 %1, exec\n"
      "1:\ts_ff1_i32_b64 %2, %1\n\ts_bfm_b64 exec, 1, %2\n\t"
#else
      "s_mov_b32 %0, exec_lo\n\ts_mov_b32 %1, exec_lo\n"
      "1:\ts_ff1_i32_b32 %2, %1\n\ts_bfm_b32 exec_lo, 1, %2\n\t"
#endif
#if defined(__GFX12__)
      "global_store_b32 %3, %4, off scope:SCOPE_SYS\n\t"
#elif defined(__GFX11__)
      "global_store_b32 %3, %4, off\n\t"
#elif XIO_GFX940
      "global_store_dword %3, %4, off sc0 sc1\n\t"
#else
      "global_store_dword %3, %4, off\n\t"
#endif
#if XIO_WAVE64
      "s_andn2_b64 %1, %1, exec\n\ts_cbranch_scc1 1b\n\ts_mov_b64 exec, %0"
#else
      "s_andn2_b32 %1, %1, exec_lo\n\ts_cbranch_scc1 1b\n\ts_mov_b32 exec_lo, %0"
#endif
      : "=&s"(all), "=&s"(todo), "=&s"(chosen)
      : "v"(to), "v"(value)
      : "memory", "scc");
}

/// store_mmio_each_lane() of 8 bytes.
XIO_DEVICE_INLINE void store_mmio_each_lane(uint64_t* to, uint64_t value) {
#if XIO_WAVE64
  uint64_t all, todo;
#else
  uint32_t all, todo;
#endif
  int chosen;
  asm volatile(
#if XIO_WAVE64
      "s_mov_b64 %0, exec\n\ts_mov_b64 %1, exec\n"
      "1:\ts_ff1_i32_b64 %2, %1\n\ts_bfm_b64 exec, 1, %2\n\t"
#else
      "s_mov_b32 %0, exec_lo\n\ts_mov_b32 %1, exec_lo\n"
      "1:\ts_ff1_i32_b32 %2, %1\n\ts_bfm_b32 exec_lo, 1, %2\n\t"
#endif
#if defined(__GFX12__)
      "global_store_b64 %3, %4, off scope:SCOPE_SYS\n\t"
#elif defined(__GFX11__)
      "global_store_b64 %3, %4, off\n\t"
#elif XIO_GFX940
      "global_store_dwordx2 %3, %4, off sc0 sc1\n\t"
#else
      "global_store_dwordx2 %3, %4, off\n\t"
#endif
#if XIO_WAVE64
      "s_andn2_b64 %1, %1, exec\n\ts_cbranch_scc1 1b\n\ts_mov_b64 exec, %0"
#else
      "s_andn2_b32 %1, %1, exec_lo\n\ts_cbranch_scc1 1b\n\ts_mov_b32 exec_lo, %0"
#endif
      : "=&s"(all), "=&s"(todo), "=&s"(chosen)
      : "v"(to), "v"(value)
      : "memory", "scc");
}

XIO_DEVICE_INLINE void block_barrier() {
  // order: stores before barrier. A release of this scope waits for no store on some targets; but one wave may ring for
  // what others stored.
  wait_stores();
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

XIO_DEVICE_INLINE uint64_t clock() { return __builtin_readsteadycounter(); }

XIO_DEVICE_INLINE uint64_t fenced_clock() {
  full_fence_system();
  uint64_t now = clock();
  // The counter value arrives at its first use, which this places before later accesses.
  asm volatile("" : "+s"(now)::"memory");
  return now;
}

constexpr uint64_t clock_hz = 100000000;

XIO_DEVICE_INLINE void pause(uint32_t round) {
  if (round < 8) {
    __builtin_amdgcn_s_sleep(1);
  } else {
    __builtin_amdgcn_s_sleep(8);
  }
}

}  // namespace arch

XIO_NAMESPACE_END
