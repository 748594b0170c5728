// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief AMD GPUs: gfx9 (CDNA), gfx10, gfx11 and gfx12 (RDNA).

#include <xio/device/arch.hpp>

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

// A ring is global memory: saying so keeps flat instructions out of the data path.
template <class T>
XIO_DEVICE_INLINE __attribute__((address_space(1))) T* global(T* pointer) {
  return (__attribute__((address_space(1))) T*)pointer;
}

XIO_DEVICE_INLINE Vector4 vector(const Vec16& value) {
  return Vector4{value.word[0], value.word[1], value.word[2], value.word[3]};
}

}  // namespace detail

/// As detail::global(), for plain accesses. By way of an integer: a cast there and back would be dropped.
template <class T>
XIO_DEVICE_INLINE T* in_global(T* pointer) {
  return (T*)(__attribute__((address_space(1))) T*)reinterpret_cast<uintptr_t>(pointer);
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

/// A compare-exchange that the program branches on has returned before the next access is issued.
template <Scope S, class T>
XIO_DEVICE_INLINE bool compare_exchange_acquire(T* to, T& expected, T desired) {
  const bool done = compare_exchange<S>(to, expected, desired);
  asm volatile("" : : "v"(expected) : "memory");
  return done;
}

/// What others released is in the memory where the device looks: there is nothing to pass on.
template <Scope S, class T>
XIO_DEVICE_INLINE bool compare_exchange_ordered(T* to, T& expected, T desired) {
  return compare_exchange_acquire<S>(to, expected, desired);
}

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

template <Scope S, class T>
XIO_DEVICE_INLINE void publish_add(T* to, T value) {
  wait_stores();
  fetch_add<S>(to, value);
}

template <Scope S, class T>
XIO_DEVICE_INLINE T publish_exchange(T* to, T value) {
  wait_stores();
  return exchange<S>(to, value);
}

/// A load that the program branched on has returned before the next one is issued: only the compiler must be held.
template <Scope S>
XIO_DEVICE_INLINE void order_loads() {
  asm volatile("" ::: "memory");
}

template <Scope S, class T>
XIO_DEVICE_INLINE void publish(T* to, T value) {
  wait_stores();
  store<S>(to, value);
}

template <Scope S, class T>
XIO_DEVICE_INLINE T observe(const T* from) {
  const T value = load<S>(from);
  // A load that the program branches on has returned before the next one is issued; only the compiler must be held.
  asm volatile("" : : "v"(value) : "memory");
  return value;
}

XIO_DEVICE_INLINE void release_system() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "");
  // Some LLVM releases drop the wait after the write-back when no other access is outstanding (LLVM PR 178316, 135340).
  wait_stores();
}

XIO_DEVICE_INLINE void acquire_system() {
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "");
  // The compiler takes no fence for a change of memory: without this it may load data that a device wrote through the
  // scalar cache, which the invalidation does not reach.
  asm volatile("" ::: "memory");
}

/// Who released something has written it back, and waited: it is there for devices already.
XIO_DEVICE_INLINE void pass_on() {}

XIO_DEVICE_INLINE void full_fence_system() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "");
  wait_stores();
}

/// Orders the wave's coherent stores before its coherent loads of scope S: these are performed where those look.
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

/// Whether store_entry_through() keeps its promise; where not, WriteThrough queues release like the others.
constexpr bool has_write_through = !detail::is_gfx9 || detail::is_gfx940;

template <uint32_t Part = 0>
XIO_DEVICE_INLINE void store_entry_through(Vec16* ring, uint32_t offset, const Vec16& value) {
#if defined(__GFX12__)
  // The compiler puts a wait before each store of system scope that it makes itself. It does not know of these, but
  // every release and every wait for stores here has a wait of its own.
  asm volatile("global_store_b128 %0, %1, off offset:%2 scope:SCOPE_SYS"
               :
               : "v"(detail::global(ring + offset / sizeof(Vec16))), "v"(detail::vector(value)), "n"(Part)
               : "memory");
#else
  if constexpr (detail::is_gfx940) {
    // Only buffer stores of 16 bytes take cache bits. A ring that is not uniform costs a loop over its values.
    constexpr int coherence = 0x11;    // sc0 sc1
    constexpr int word3 = 0x00027000;  // raw, 32-bit elements, no swizzle
    const auto resource = __builtin_amdgcn_make_buffer_rsrc(ring, 0, -1, word3);
    __builtin_amdgcn_raw_buffer_store_b128(detail::vector(value), resource, static_cast<int>(offset + Part), 0,
                                           coherence);
  } else {
    // gfx10 and gfx11 store to system scope without any cache bits; gfx90a releases.
    store_entry(ring + (offset + Part) / sizeof(Vec16), value);
  }
#endif
}

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

/// The execution mask says exactly who is here.
XIO_DEVICE_INLINE uint64_t together(uint64_t) { return active(); }

XIO_DEVICE_INLINE uint32_t rank_in(uint64_t mask) {
  const uint32_t low = __builtin_amdgcn_mbcnt_lo(static_cast<uint32_t>(mask), 0);
  return XIO_WAVE64 ? __builtin_amdgcn_mbcnt_hi(static_cast<uint32_t>(mask >> 32), low) : low;
}

XIO_DEVICE_INLINE constexpr bool seldom(bool condition) {
  if (__builtin_is_constant_evaluated()) return condition;
  return ballot(0, condition) != 0;
}

/// The lanes of a wave are in step: only the compiler must not move accesses over this.
XIO_DEVICE_INLINE void converge(uint64_t) { __builtin_amdgcn_wave_barrier(); }

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

template <uint32_t Bit>
XIO_DEVICE_INLINE uint32_t quad_exchange(uint64_t, uint32_t value) {
  constexpr int quad_perm = Bit == 1 ? 0xb1 : 0x4e;  // lanes 1,0,3,2 and 2,3,0,1
  return __builtin_amdgcn_mov_dpp(static_cast<int>(value), quad_perm, 0xf, 0xf, true);
}

template <uint32_t Bit>
XIO_DEVICE_INLINE void quad_transpose(uint64_t mask, uint32_t& low, uint32_t& high) {
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

/// The same value in vector registers: arithmetic that ends in a store then needs no moves from scalar ones.
template <class T>
XIO_DEVICE_INLINE T per_lane(T value) {
  asm("" : "+v"(value));
  return value;
}

/// What may have been stored to is not loaded through the scalar cache.
XIO_DEVICE_INLINE void prefer_vector_loads() { asm volatile("" ::: "memory"); }

/// store_mmio() by every active lane, one after the other: register stores of one step are merged by the hardware.
XIO_DEVICE_INLINE void store_mmio_each_lane(uint32_t* to, uint32_t value) {
  // Each under an execution mask of one lane, set by hand: a loop over lanes around an ordinary store makes every
  // branch of the caller divergent, and one that is written with readfirstlane is folded away by the compiler. The mask
  // is saved here too: one that the compiler passed in may be the mask register itself.
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

/// The same, 8 bytes wide.
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
  // A release of this scope waits for no store on some targets; but one wave may ring for what others stored.
  wait_stores();
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

XIO_DEVICE_INLINE uint64_t clock() { return __builtin_readsteadycounter(); }

XIO_DEVICE_INLINE uint64_t fenced_clock() {
  full_fence_system();
  uint64_t now = clock();
  // The counter arrives when it is used: here, and not after the accesses that follow.
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

constexpr uint32_t looks_per_clock = 16;

}  // namespace arch

XIO_NAMESPACE_END
