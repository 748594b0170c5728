// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief NVIDIA GPUs from sm_70, in PTX: the same for nvcc, NVRTC and clang, and no CUDA header is needed.

#include <xio/device/arch.hpp>

XIO_NAMESPACE_BEGIN

namespace arch {

namespace detail {

/// Whether T is moved by 4-byte accesses; else by 8-byte ones.
template <class T>
XIO_DEVICE_INLINE constexpr bool is_narrow() {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "words of 4 or 8 bytes");
  return sizeof(T) == 4;
}

/// fence.acq_rel at a scope.
template <Scope S>
XIO_DEVICE_INLINE void fence() {
  XIO_AT_SCOPE(S, asm volatile, "fence.acq_rel", ";", : : : "memory");
}

}  // namespace detail

template <Scope S, class T>
XIO_DEVICE_INLINE T load(const T* from) {
  if constexpr (detail::is_narrow<T>()) {
    uint32_t value;
    XIO_AT_SCOPE(S, asm volatile, "ld.relaxed", ".b32 %0, [%1];", : "=r"(value) : "l"(from) : "memory");
    return (T)value;
  } else {
    uint64_t value;
    XIO_AT_SCOPE(S, asm volatile, "ld.relaxed", ".b64 %0, [%1];", : "=l"(value) : "l"(from) : "memory");
    return (T)value;
  }
}

template <Scope S, class T>
XIO_DEVICE_INLINE T observe(const T* from) {
  if constexpr (detail::is_narrow<T>()) {
    uint32_t value;
    XIO_AT_SCOPE(S, asm volatile, "ld.acquire", ".b32 %0, [%1];", : "=r"(value) : "l"(from) : "memory");
    return (T)value;
  } else {
    uint64_t value;
    XIO_AT_SCOPE(S, asm volatile, "ld.acquire", ".b64 %0, [%1];", : "=l"(value) : "l"(from) : "memory");
    return (T)value;
  }
}

template <Scope S>
XIO_DEVICE_INLINE void order_loads() {
  detail::fence<S>();
}

template <Scope S, class T>
XIO_DEVICE_INLINE void store(T* to, T value) {
  if constexpr (detail::is_narrow<T>()) {
    XIO_AT_SCOPE(S, asm volatile, "st.relaxed", ".b32 [%0], %1;", : : "l"(to), "r"((uint32_t)value) : "memory");
  } else {
    XIO_AT_SCOPE(S, asm volatile, "st.relaxed", ".b64 [%0], %1;", : : "l"(to), "l"((uint64_t)value) : "memory");
  }
}

template <Scope S, class T>
XIO_DEVICE_INLINE void publish(T* to, T value) {
  if constexpr (detail::is_narrow<T>()) {
    XIO_AT_SCOPE(S, asm volatile, "st.release", ".b32 [%0], %1;", : : "l"(to), "r"((uint32_t)value) : "memory");
  } else {
    XIO_AT_SCOPE(S, asm volatile, "st.release", ".b64 [%0], %1;", : : "l"(to), "l"((uint64_t)value) : "memory");
  }
}

template <Scope S, class T>
XIO_DEVICE_INLINE T fetch_add(T* to, T value) {
  T before;
  if constexpr (detail::is_narrow<T>()) {
    XIO_AT_SCOPE(S, asm volatile, "atom.add.relaxed", ".u32 %0, [%1], %2;", : "=r"(before) : "l"(to),
                 "r"(value) : "memory");
  } else {
    XIO_AT_SCOPE(S, asm volatile, "atom.add.relaxed", ".u64 %0, [%1], %2;", : "=l"(before) : "l"(to),
                 "l"(value) : "memory");
  }
  return before;
}

template <Scope S, class T>
XIO_DEVICE_INLINE void publish_add(T* to, T value) {
  if constexpr (detail::is_narrow<T>()) {
    XIO_AT_SCOPE(S, asm volatile, "red.add.release", ".u32 [%0], %1;", : : "l"(to), "r"(value) : "memory");
  } else {
    XIO_AT_SCOPE(S, asm volatile, "red.add.release", ".u64 [%0], %1;", : : "l"(to), "l"(value) : "memory");
  }
}

template <Scope S, class T>
XIO_DEVICE_INLINE T exchange(T* to, T value) {
  T before;
  if constexpr (detail::is_narrow<T>()) {
    XIO_AT_SCOPE(S, asm volatile, "atom.exch.relaxed", ".b32 %0, [%1], %2;", : "=r"(before) : "l"(to),
                 "r"(value) : "memory");
  } else {
    XIO_AT_SCOPE(S, asm volatile, "atom.exch.relaxed", ".b64 %0, [%1], %2;", : "=l"(before) : "l"(to),
                 "l"(value) : "memory");
  }
  return before;
}

template <Scope S, class T>
XIO_DEVICE_INLINE T publish_exchange(T* to, T value) {
  T before;
  if constexpr (detail::is_narrow<T>()) {
    XIO_AT_SCOPE(S, asm volatile, "atom.exch.release", ".b32 %0, [%1], %2;", : "=r"(before) : "l"(to),
                 "r"(value) : "memory");
  } else {
    XIO_AT_SCOPE(S, asm volatile, "atom.exch.release", ".b64 %0, [%1], %2;", : "=l"(before) : "l"(to),
                 "l"(value) : "memory");
  }
  return before;
}

template <Scope S, class T>
XIO_DEVICE_INLINE bool compare_exchange(T* to, T& expected, T desired) {
  const T wanted = expected;
  T found;
  if constexpr (detail::is_narrow<T>()) {
    XIO_AT_SCOPE(S, asm volatile, "atom.cas.relaxed", ".b32 %0, [%1], %2, %3;", : "=r"(found) : "l"(to), "r"(wanted),
                 "r"(desired) : "memory");
  } else {
    XIO_AT_SCOPE(S, asm volatile, "atom.cas.relaxed", ".b64 %0, [%1], %2, %3;", : "=l"(found) : "l"(to), "l"(wanted),
                 "l"(desired) : "memory");
  }
  expected = found;
  return found == wanted;
}

template <Scope S, class T>
XIO_DEVICE_INLINE bool compare_exchange_acquire(T* to, T& expected, T desired) {
  const T wanted = expected;
  T found;
  if constexpr (detail::is_narrow<T>()) {
    XIO_AT_SCOPE(S, asm volatile, "atom.cas.acquire", ".b32 %0, [%1], %2, %3;", : "=r"(found) : "l"(to), "r"(wanted),
                 "r"(desired) : "memory");
  } else {
    XIO_AT_SCOPE(S, asm volatile, "atom.cas.acquire", ".b64 %0, [%1], %2, %3;", : "=l"(found) : "l"(to), "l"(wanted),
                 "l"(desired) : "memory");
  }
  expected = found;
  return found == wanted;
}

template <Scope S, class T>
XIO_DEVICE_INLINE bool compare_exchange_ordered(T* to, T& expected, T desired) {
  const T wanted = expected;
  T found;
  if constexpr (detail::is_narrow<T>()) {
    XIO_AT_SCOPE(S, asm volatile, "atom.cas.acq_rel", ".b32 %0, [%1], %2, %3;", : "=r"(found) : "l"(to), "r"(wanted),
                 "r"(desired) : "memory");
  } else {
    XIO_AT_SCOPE(S, asm volatile, "atom.cas.acq_rel", ".b64 %0, [%1], %2, %3;", : "=l"(found) : "l"(to), "l"(wanted),
                 "l"(desired) : "memory");
  }
  expected = found;
  if (found == wanted) return true;
  detail::fence<S>();
  return false;
}

XIO_DEVICE_INLINE void release_system() { detail::fence<Scope::system>(); }
XIO_DEVICE_INLINE void acquire_system() { detail::fence<Scope::system>(); }
XIO_DEVICE_INLINE void full_fence_system() { asm volatile("fence.sc.sys;" : : : "memory"); }

template <Scope S>
XIO_DEVICE_INLINE void full_fence() {
  XIO_AT_SCOPE(S, asm volatile, "fence.sc", ";", : : : "memory");
}

/// Fences are cumulative: this one takes along what was acquired before it, which a relaxed store does not.
XIO_DEVICE_INLINE void pass_on() { release_system(); }

/// There is no wait that is less than a fence.
XIO_DEVICE_INLINE void wait_stores() { release_system(); }

template <class T>
XIO_DEVICE_INLINE void store_mmio(T* to, T value) {
  store<Scope::system>(to, value);
}

XIO_DEVICE_INLINE void store_entry(Vec16* to, const Vec16& value) {
  asm volatile("st.cg.v4.u32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(to), "r"(value.word[0]), "r"(value.word[1]), "r"(value.word[2]), "r"(value.word[3])
               : "memory");
}

constexpr bool has_write_through = true;
template <uint32_t Part = 0>
XIO_DEVICE_INLINE void store_entry_through(Vec16* ring, uint32_t offset, const Vec16& value) {
  asm volatile("st.wt.v4.u32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(ring + (offset + Part) / sizeof(Vec16)), "r"(value.word[0]), "r"(value.word[1]),
                 "r"(value.word[2]), "r"(value.word[3])
               : "memory");
}

XIO_DEVICE_INLINE void store_entry8(uint64_t* to, uint64_t value) { store<Scope::system>(to, value); }

XIO_DEVICE_INLINE uint32_t lane() {
  uint32_t value;
  asm("mov.u32 %0, %%laneid;" : "=r"(value));
  return value;
}
XIO_DEVICE_INLINE constexpr uint32_t wave_size() { return 32; }
XIO_DEVICE_INLINE uint32_t thread_index() {
  uint32_t value;
  asm("mov.u32 %0, %%tid.x;" : "=r"(value));
  return value;
}
XIO_DEVICE_INLINE uint32_t block_size() {
  uint32_t value;
  asm("mov.u32 %0, %%ntid.x;" : "=r"(value));
  return value;
}
XIO_DEVICE_INLINE uint32_t block_index() {
  uint32_t value;
  asm("mov.u32 %0, %%ctaid.x;" : "=r"(value));
  return value;
}
XIO_DEVICE_INLINE uint32_t grid_size() {
  uint32_t value;
  asm("mov.u32 %0, %%nctaid.x;" : "=r"(value));
  return value;
}

XIO_DEVICE_INLINE uint64_t active() {
  uint32_t lanes;
  asm volatile("activemask.b32 %0;" : "=r"(lanes));
  return lanes;
}

XIO_DEVICE_INLINE void converge(uint64_t mask) {
  asm volatile("bar.warp.sync %0;" : : "r"(static_cast<uint32_t>(mask)) : "memory");
}

/// active() may answer with a part of those that will come here: who must act together names them.
/// They wait for each other, so that what some of them did in earlier calls is known to all.
XIO_DEVICE_INLINE uint64_t together(uint64_t lanes) {
  auto all = static_cast<uint32_t>(lanes);
  if (all == 0) {
    uint32_t y, z, rows, planes;
    asm("mov.u32 %0, %%tid.y; mov.u32 %1, %%tid.z;" : "=r"(y), "=r"(z));
    asm("mov.u32 %0, %%ntid.y; mov.u32 %1, %%ntid.z;" : "=r"(rows), "=r"(planes));
    const uint32_t own = thread_index() + block_size() * (y + rows * z);
    const uint32_t left = block_size() * rows * planes - (own & ~31u);
    all = left < 32 ? (1u << left) - 1 : ~0u;
  }
  converge(all);
  return all;
}
XIO_DEVICE_INLINE uint64_t ballot(uint64_t mask, bool predicate) {
  uint32_t lanes;
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, %2; }"
               : "=r"(lanes)
               : "r"(static_cast<uint32_t>(predicate)), "r"(static_cast<uint32_t>(mask)));
  return lanes;
}

namespace detail {
XIO_DEVICE_INLINE uint32_t shuffle_word(uint64_t mask, uint32_t value, uint32_t source) {
  uint32_t result;
  asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, %3;"
               : "=r"(result)
               : "r"(value), "r"(source), "r"(static_cast<uint32_t>(mask)));
  return result;
}
}  // namespace detail

template <class T>
XIO_DEVICE_INLINE T shuffle(uint64_t mask, T value, uint32_t source) {
  static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
  const uint64_t wide = (uint64_t)value;
  const uint32_t low = detail::shuffle_word(mask, static_cast<uint32_t>(wide), source);
  if (sizeof(T) <= 4) return (T)(uint64_t)low;
  const uint32_t high = detail::shuffle_word(mask, static_cast<uint32_t>(wide >> 32), source);
  return (T)(static_cast<uint64_t>(high) << 32 | low);
}

template <class T>
XIO_DEVICE_INLINE T broadcast(uint64_t mask, T value, uint32_t source) {
  return shuffle(mask, value, source);
}

template <uint32_t Bit>
XIO_DEVICE_INLINE uint32_t quad_exchange(uint64_t mask, uint32_t value) {
  return shuffle(mask, value, lane() ^ Bit);
}

template <uint32_t Lane>
XIO_DEVICE_INLINE uint32_t quad_broadcast(uint64_t mask, uint32_t value) {
  return shuffle(mask, value, (lane() & ~3u) | Lane);
}

template <class T>
XIO_DEVICE_INLINE T uniform(T value) {
  return value;
}

/// store_mmio() by every active lane, each to a register of its own.
template <class T>
XIO_DEVICE_INLINE void store_mmio_each_lane(T* to, T value) {
  store_mmio(to, value);
}

/// The same value; on AMD GPUs in vector registers.
template <class T>
XIO_DEVICE_INLINE T per_lane(T value) {
  return value;
}

XIO_DEVICE_INLINE void block_barrier() { asm volatile("bar.sync 0;" : : : "memory"); }

XIO_DEVICE_INLINE uint64_t clock() {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

XIO_DEVICE_INLINE uint64_t fenced_clock() {
  full_fence_system();
  const uint64_t now = clock();
  full_fence_system();
  return now;
}

constexpr uint64_t clock_hz = 1000000000;

XIO_DEVICE_INLINE void pause(uint32_t round) {
  asm volatile("nanosleep.u32 %0;" : : "r"(round < 8 ? 20u : 200u) : "memory");
}

constexpr uint32_t looks_per_clock = 16;

}  // namespace arch

XIO_NAMESPACE_END
