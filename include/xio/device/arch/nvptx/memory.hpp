// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief NVIDIA GPUs from sm_70, in PTX: common to nvcc, NVRTC and clang; no CUDA header is needed.
///
/// All words are in global memory: an atomic of 8 bytes that may be to shared memory becomes two and a loop.

#include <xio/device/arch/arch.hpp>

XIO_NAMESPACE_BEGIN

namespace arch {

namespace detail {

/// Whether T is moved by 4-byte accesses; else by 8-byte ones.
template <class T>
XIO_DEVICE_INLINE constexpr bool is_narrow() {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "words must have 4 or 8 bytes");
  return sizeof(T) == 4;
}

/// fence.acq_rel at a scope.
template <Scope S>
XIO_DEVICE_INLINE void fence() {
  XIO_AT_SCOPE(S, asm volatile, "fence.acq_rel", ";", : : : "memory");
}

}  // namespace detail

/// The bytes of a word in reverse order; nvcc makes six instructions of the shifts.
XIO_DEVICE_INLINE uint32_t reverse_bytes(uint32_t value) {
  uint32_t reversed;
  asm("prmt.b32 %0, %1, 0, 0x0123;" : "=r"(reversed) : "r"(value));
  return reversed;
}

template <Scope S, class T>
XIO_DEVICE_INLINE T load(const T* from) {
  if constexpr (detail::is_narrow<T>()) {
    uint32_t value;
    XIO_AT_SCOPE(S, asm volatile, "ld.relaxed", ".global.b32 %0, [%1];", : "=r"(value) : "l"(from) : "memory");
    return (T)value;
  } else {
    uint64_t value;
    XIO_AT_SCOPE(S, asm volatile, "ld.relaxed", ".global.b64 %0, [%1];", : "=l"(value) : "l"(from) : "memory");
    return (T)value;
  }
}

template <Scope S, class T>
XIO_DEVICE_INLINE T observe(const T* from) {
  if constexpr (detail::is_narrow<T>()) {
    uint32_t value;
    XIO_AT_SCOPE(S, asm volatile, "ld.acquire", ".global.b32 %0, [%1];", : "=r"(value) : "l"(from) : "memory");
    return (T)value;
  } else {
    uint64_t value;
    XIO_AT_SCOPE(S, asm volatile, "ld.acquire", ".global.b64 %0, [%1];", : "=l"(value) : "l"(from) : "memory");
    return (T)value;
  }
}

namespace detail {
/// nvcc makes two instructions of each half.
XIO_DEVICE_INLINE Halves halves(uint64_t word) {
  Halves of;
  asm("mov.b64 {%0, %1}, %2;" : "=r"(of.low), "=r"(of.high) : "l"(word));
  return of;
}
}  // namespace detail

XIO_DEVICE_INLINE uint64_t join(uint32_t low, uint32_t high) {
  uint64_t word;
  asm("mov.b64 %0, {%1, %2};" : "=l"(word) : "r"(low), "r"(high));
  return word;
}

template <Scope S, uint32_t Next = 0, uint32_t Count>
XIO_DEVICE_INLINE void look_at_words(const uint64_t* from, Halves (&words)[Count]) {
  uint64_t word;
  XIO_AT_SCOPE(S, asm volatile, "ld.acquire", ".global.b64 %0, [%1+%2];", : "=l"(word) : "l"(from),
               "n"(8 * Next) : "memory");
  words[Next] = detail::halves(word);
  if constexpr (Next + 1 < Count) look_at_words<S, Next + 1>(from, words);
}

template <Scope S>
XIO_DEVICE_INLINE void order_loads() {
  detail::fence<S>();
}

template <Scope S, class T>
XIO_DEVICE_INLINE void store(T* to, T value) {
  if constexpr (detail::is_narrow<T>()) {
    XIO_AT_SCOPE(S, asm volatile, "st.relaxed", ".global.b32 [%0], %1;", : : "l"(to), "r"((uint32_t)value) : "memory");
  } else {
    XIO_AT_SCOPE(S, asm volatile, "st.relaxed", ".global.b64 [%0], %1;", : : "l"(to), "l"((uint64_t)value) : "memory");
  }
}

template <Scope S, class T>
XIO_DEVICE_INLINE void publish(T* to, T value) {
  if constexpr (detail::is_narrow<T>()) {
    XIO_AT_SCOPE(S, asm volatile, "st.release", ".global.b32 [%0], %1;", : : "l"(to), "r"((uint32_t)value) : "memory");
  } else {
    XIO_AT_SCOPE(S, asm volatile, "st.release", ".global.b64 [%0], %1;", : : "l"(to), "l"((uint64_t)value) : "memory");
  }
}

template <Scope S, class T>
XIO_DEVICE_INLINE T fetch_add(T* to, T value) {
  T before;
  if constexpr (detail::is_narrow<T>()) {
    XIO_AT_SCOPE(S, asm volatile, "atom.add.relaxed", ".global.u32 %0, [%1], %2;", : "=r"(before) : "l"(to),
                 "r"(value) : "memory");
  } else {
    XIO_AT_SCOPE(S, asm volatile, "atom.add.relaxed", ".global.u64 %0, [%1], %2;", : "=l"(before) : "l"(to),
                 "l"(value) : "memory");
  }
  return before;
}

/// An addition of 0: only a read-modify-write continues what those before it released.
template <Scope S>
XIO_DEVICE_INLINE uint64_t observe_ordered(uint64_t* word) {
  uint64_t value;
  XIO_AT_SCOPE(S, asm volatile, "atom.add.acq_rel", ".global.u64 %0, [%1], 0;", : "=l"(value) : "l"(word) : "memory");
  return value;
}

template <Scope S, class T>
XIO_DEVICE_INLINE void publish_add(T* to, T value) {
  if constexpr (detail::is_narrow<T>()) {
    XIO_AT_SCOPE(S, asm volatile, "red.add.relaxed", ".global.u32 [%0], %1;", : : "l"(to), "r"(value) : "memory");
  } else {
    XIO_AT_SCOPE(S, asm volatile, "red.add.relaxed", ".global.u64 [%0], %1;", : : "l"(to), "l"(value) : "memory");
  }
}

template <Scope S, class T>
XIO_DEVICE_INLINE T exchange(T* to, T value) {
  T before;
  if constexpr (detail::is_narrow<T>()) {
    XIO_AT_SCOPE(S, asm volatile, "atom.exch.relaxed", ".global.b32 %0, [%1], %2;", : "=r"(before) : "l"(to),
                 "r"(value) : "memory");
  } else {
    XIO_AT_SCOPE(S, asm volatile, "atom.exch.relaxed", ".global.b64 %0, [%1], %2;", : "=l"(before) : "l"(to),
                 "l"(value) : "memory");
  }
  return before;
}

template <Scope S, class T>
XIO_DEVICE_INLINE T publish_exchange(T* to, T value) {
  T before;
  if constexpr (detail::is_narrow<T>()) {
    XIO_AT_SCOPE(S, asm volatile, "atom.exch.release", ".global.b32 %0, [%1], %2;", : "=r"(before) : "l"(to),
                 "r"(value) : "memory");
  } else {
    XIO_AT_SCOPE(S, asm volatile, "atom.exch.release", ".global.b64 %0, [%1], %2;", : "=l"(before) : "l"(to),
                 "l"(value) : "memory");
  }
  return before;
}

template <Scope S, class T>
XIO_DEVICE_INLINE bool compare_exchange(T* to, T& expected, T desired) {
  const T wanted = expected;
  T found;
  if constexpr (detail::is_narrow<T>()) {
    XIO_AT_SCOPE(S, asm volatile, "atom.cas.relaxed", ".global.b32 %0, [%1], %2, %3;", : "=r"(found) : "l"(to),
                 "r"(wanted), "r"(desired) : "memory");
  } else {
    XIO_AT_SCOPE(S, asm volatile, "atom.cas.relaxed", ".global.b64 %0, [%1], %2, %3;", : "=l"(found) : "l"(to),
                 "l"(wanted), "l"(desired) : "memory");
  }
  expected = found;
  return found == wanted;
}

template <Scope S, class T>
XIO_DEVICE_INLINE bool compare_exchange_acquire(T* to, T& expected, T desired) {
  const T wanted = expected;
  T found;
  if constexpr (detail::is_narrow<T>()) {
    XIO_AT_SCOPE(S, asm volatile, "atom.cas.acquire", ".global.b32 %0, [%1], %2, %3;", : "=r"(found) : "l"(to),
                 "r"(wanted), "r"(desired) : "memory");
  } else {
    XIO_AT_SCOPE(S, asm volatile, "atom.cas.acquire", ".global.b64 %0, [%1], %2, %3;", : "=l"(found) : "l"(to),
                 "l"(wanted), "l"(desired) : "memory");
  }
  expected = found;
  return found == wanted;
}

template <Scope S, class T>
XIO_DEVICE_INLINE bool compare_exchange_ordered(T* to, T& expected, T desired) {
  const T wanted = expected;
  T found;
  if constexpr (detail::is_narrow<T>()) {
    XIO_AT_SCOPE(S, asm volatile, "atom.cas.acq_rel", ".global.b32 %0, [%1], %2, %3;", : "=r"(found) : "l"(to),
                 "r"(wanted), "r"(desired) : "memory");
  } else {
    XIO_AT_SCOPE(S, asm volatile, "atom.cas.acq_rel", ".global.b64 %0, [%1], %2, %3;", : "=l"(found) : "l"(to),
                 "l"(wanted), "l"(desired) : "memory");
  }
  expected = found;
  if (found == wanted) return true;
  detail::fence<S>();
  return false;
}

/// The L2 is the one place of the GPU's memory, for the GPU and for devices: what a release of its scope has performed
/// there is what devices read.
template <bool InGpuMemory = false>
XIO_DEVICE_INLINE void release_system() {
  detail::fence<InGpuMemory ? Scope::agent : Scope::system>();
}
XIO_DEVICE_INLINE void acquire_system() { detail::fence<Scope::system>(); }
/// Causality is transitive: the scope of the publication is enough, and lanes that have ordered loads have acquired.
template <Scope S, bool Elsewhere = true>
XIO_DEVICE_INLINE void acquire_published() {
  if constexpr (Elsewhere) detail::fence<S>();
}
XIO_DEVICE_INLINE void full_fence_system() { asm volatile("fence.sc.sys;" : : : "memory"); }

template <Scope S>
XIO_DEVICE_INLINE void full_fence() {
  XIO_AT_SCOPE(S, asm volatile, "fence.sc", ";", : : : "memory");
}

/// Fences are cumulative: this one also covers what was acquired before it, unlike a relaxed store.
template <bool InGpuMemory = false>
XIO_DEVICE_INLINE void pass_on() {
  release_system<InGpuMemory>();
}

/// PTX has no weaker wait than a fence.
template <bool InGpuMemory = false>
XIO_DEVICE_INLINE void wait_stores() {
  release_system<InGpuMemory>();
}
/// A fence orders loads as well.
template <bool InGpuMemory = false>
XIO_DEVICE_INLINE void wait_accesses() {
  release_system<InGpuMemory>();
}
/// The exchange itself releases.
XIO_DEVICE_INLINE void wait_before_exchange() {}

template <class T>
XIO_DEVICE_INLINE void store_mmio(T* to, T value) {
  store<Scope::system>(to, value);
}

XIO_DEVICE_INLINE void store_entry(Vec16* to, const Vec16& value) {
  asm volatile("st.global.cg.v4.u32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(to), "r"(value.word[0]), "r"(value.word[1]), "r"(value.word[2]), "r"(value.word[3])
               : "memory");
}

constexpr bool has_write_through = true;
template <uint32_t Part = 0>
XIO_DEVICE_INLINE void store_entry_through(Vec16* ring, uint32_t offset, const Vec16& value) {
  asm volatile("st.global.wt.v4.u32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(ring + (offset + Part) / sizeof(Vec16)), "r"(value.word[0]), "r"(value.word[1]),
                 "r"(value.word[2]), "r"(value.word[3])
               : "memory");
}

XIO_DEVICE_INLINE void store_entry8(uint64_t* to, uint64_t value) { store<Scope::system>(to, value); }

}  // namespace arch

XIO_NAMESPACE_END
