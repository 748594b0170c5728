// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief AMD GPUs, gfx9 (CDNA), gfx10, gfx11 and gfx12 (RDNA): accesses, fences, stores to devices.

#include <xio/device/arch/arch.hpp>

XIO_NAMESPACE_BEGIN

namespace arch {

namespace detail {

template <Scope S>
struct HipScope {
  static constexpr int value = S == Scope::system  ? __HIP_MEMORY_SCOPE_SYSTEM
                               : S == Scope::agent ? __HIP_MEMORY_SCOPE_AGENT
                                                   : __HIP_MEMORY_SCOPE_WORKGROUP;
};

#if defined(__GFX9__)
constexpr bool is_gfx9 = true;
#else
constexpr bool is_gfx9 = false;
#endif
#if defined(__GFX12__)
constexpr bool is_gfx12 = true;
#else
constexpr bool is_gfx12 = false;
#endif
constexpr bool is_gfx940 = XIO_GFX940;

typedef uint32_t Vector4 __attribute__((ext_vector_type(4)));
typedef __attribute__((address_space(1))) Vector4 GlobalVector4;

// A ring lies in global memory: the address space keeps flat instructions out of the data path.
template <class T>
XIO_DEVICE_INLINE __attribute__((address_space(1))) T* global(T* pointer) {
  return (__attribute__((address_space(1))) T*)pointer;
}

XIO_DEVICE_INLINE Vector4 vector(const Vec16& value) {
  return Vector4{value.word[0], value.word[1], value.word[2], value.word[3]};
}

}  // namespace detail

/// detail::global() for plain accesses. Converts through an integer: a cast there and back would be dropped.
template <class T>
XIO_DEVICE_INLINE T* in_global(T* pointer) {
  return (T*)(__attribute__((address_space(1))) T*)reinterpret_cast<uintptr_t>(pointer);
}

/// A number alone would be an address of any memory, and be loaded from by each lane.
template <class T>
XIO_DEVICE_INLINE const T* unchanging(uint64_t address) {
  return (const T*)(const __attribute__((address_space(4))) T*)address;
}

template <Scope S, class T>
XIO_DEVICE_INLINE T load(const T* from) {
  return __hip_atomic_load(detail::global(from), __ATOMIC_RELAXED, detail::HipScope<S>::value);
}

template <Scope S, class T>
XIO_DEVICE_INLINE void store(T* to, T value) {
  __hip_atomic_store(detail::global(to), value, __ATOMIC_RELAXED, detail::HipScope<S>::value);
}

template <Scope S, class T>
XIO_DEVICE_INLINE T fetch_add(T* to, T value) {
  return __hip_atomic_fetch_add(detail::global(to), value, __ATOMIC_RELAXED, detail::HipScope<S>::value);
}

template <Scope S, class T>
XIO_DEVICE_INLINE T exchange(T* to, T value) {
  return __hip_atomic_exchange(detail::global(to), value, __ATOMIC_RELAXED, detail::HipScope<S>::value);
}

template <Scope S, class T>
XIO_DEVICE_INLINE bool compare_exchange(T* to, T& expected, T desired) {
  return __hip_atomic_compare_exchange_strong(detail::global(to), &expected, desired, __ATOMIC_RELAXED,
                                              __ATOMIC_RELAXED, detail::HipScope<S>::value);
}

/// A compare-exchange whose result is branched on has returned before the next access is issued.
template <Scope S, class T>
XIO_DEVICE_INLINE bool compare_exchange_acquire(T* to, T& expected, T desired) {
  const bool done = compare_exchange<S>(to, expected, desired);
  asm volatile("" : : "v"(expected) : "memory");
  return done;
}

/// What other waves released is already in the memory that the device reads: nothing has to be passed on.
template <Scope S, class T>
XIO_DEVICE_INLINE bool compare_exchange_ordered(T* to, T& expected, T desired) {
  return compare_exchange_acquire<S>(to, expected, desired);
}

template <bool InGpuMemory = false>
XIO_DEVICE_INLINE void wait_stores() {
#if defined(__GFX12__)
  asm volatile("s_wait_storecnt 0x0" ::: "memory");
#elif defined(__GFX10__) || defined(__GFX11__)
  asm volatile("s_waitcnt_vscnt null, 0x0" ::: "memory");
#else
  __builtin_amdgcn_s_waitcnt(0x0f70);  // vmcnt(0); merges with a wait that the compiler places itself
  asm volatile("" ::: "memory");
#endif
}

XIO_DEVICE_INLINE void wait_before_exchange() { wait_stores(); }

template <Scope S, class T>
XIO_DEVICE_INLINE void publish_add(T* to, T value) {
  fetch_add<S>(to, value);
}

template <Scope S, class T>
XIO_DEVICE_INLINE T publish_exchange(T* to, T value) {
  wait_stores();
  return exchange<S>(to, value);
}

/// Loads are performed in any order until they are waited for. A branch on their result is no such wait here: the
/// compiler may issue the next load before the branch.
template <Scope S>
XIO_DEVICE_INLINE void order_loads() {
#if defined(__GFX12__)
  asm volatile("s_wait_loadcnt 0x0" ::: "memory");
#elif defined(__GFX10__) || defined(__GFX11__)
  asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
#else
  __builtin_amdgcn_s_waitcnt(0x0f70);  // vmcnt(0); merges with a wait that the compiler places itself
  asm volatile("" ::: "memory");
#endif
}

/// A device that is told to write the memory of a load in flight could overtake it. On gfx9 one counter is for both.
template <bool InGpuMemory = false>
XIO_DEVICE_INLINE void wait_accesses() {
  if constexpr (!detail::is_gfx9) order_loads<Scope::system>();
  wait_stores();
}

template <Scope S, class T>
XIO_DEVICE_INLINE void publish(T* to, T value) {
  wait_stores();
  store<S>(to, value);
}

template <Scope S, class T>
XIO_DEVICE_INLINE T observe(const T* from) {
  const T value = load<S>(from);
  // A load whose result is branched on has returned before the next one is issued; only the compiler must be held back.
  asm volatile("" : : "v"(value) : "memory");
  return value;
}

/// Exchanges and loads of one scope meet in one cache, where a store that was waited for has arrived.
template <Scope S>
XIO_DEVICE_INLINE uint64_t observe_ordered(uint64_t* word) {
  return observe<S>(word);
}

template <bool InGpuMemory = false>
XIO_DEVICE_INLINE void release_system() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "");
  // order: write-back before the rest. Some LLVM releases drop the wait after the write-back when no other access is
  // outstanding (LLVM PR 178316, 135340).
  wait_stores();
}

XIO_DEVICE_INLINE void acquire_system() {
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "");
  // order: invalidation before loads. To the compiler a fence does not change memory: without this it may load data
  // that a device wrote through the scalar cache, which the invalidation does not reach.
  asm volatile("" ::: "memory");
}
/// Caches that the other lane invalidated need not be those of this one.
template <Scope S, bool Elsewhere = true>
XIO_DEVICE_INLINE void acquire_published() {
  acquire_system();
}

/// Does nothing: a wave that releases writes back and waits, so its data is already visible to devices.
template <bool InGpuMemory = false>
XIO_DEVICE_INLINE void pass_on() {}

XIO_DEVICE_INLINE void full_fence_system() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "");
  wait_stores();
}

/// Orders the wave's coherent stores before its coherent loads of scope S: stores are performed where the loads read.
template <Scope S>
XIO_DEVICE_INLINE void full_fence() {
  wait_stores();
}

template <class T>
XIO_DEVICE_INLINE void store_mmio(T* to, T value) {
  store<Scope::system>(to, value);
}

XIO_DEVICE_INLINE void store_entry(Vec16* to, const Vec16& value) {
  __builtin_nontemporal_store(detail::vector(value), (detail::GlobalVector4*)to);
}

XIO_DEVICE_INLINE void store_entry8(uint64_t* to, uint64_t value) { store<Scope::system>(to, value); }

/// Whether store_entry_through() writes through; if not, WriteThrough queues release like others.
constexpr bool has_write_through = !detail::is_gfx9 || detail::is_gfx940;

template <uint32_t Part = 0>
XIO_DEVICE_INLINE void store_entry_through(Vec16* ring, uint32_t offset, const Vec16& value) {
#if defined(__GFX12__)
  // The compiler inserts a wait before each system-scope store that it generates. It does not know of these stores, but
  // every release and every wait for stores here has its own wait.
  asm volatile("global_store_b128 %0, %1, off offset:%2 scope:SCOPE_SYS"
               :
               : "v"(detail::global(ring + offset / sizeof(Vec16))), "v"(detail::vector(value)), "n"(Part)
               : "memory");
#else
  if constexpr (detail::is_gfx940) {
    // Of 16-byte stores only buffer stores take cache bits. A ring that is not uniform costs a loop over its values.
    constexpr int coherence = 0x11;    // sc0 sc1
    constexpr int word3 = 0x00027000;  // raw, 32-bit elements, no swizzle
    const auto resource = __builtin_amdgcn_make_buffer_rsrc(ring, 0, -1, word3);
    __builtin_amdgcn_raw_buffer_store_b128(detail::vector(value), resource, static_cast<int>(offset + Part), 0,
                                           coherence);
  } else {
    // gfx10 and gfx11 store to system scope without cache bits; gfx90a releases.
    store_entry(ring + (offset + Part) / sizeof(Vec16), value);
  }
#endif
}

}  // namespace arch

XIO_NAMESPACE_END
