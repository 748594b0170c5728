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

XIO_DEVICE_INLINE void acquire_system() { __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, ""); }

XIO_DEVICE_INLINE void full_fence_system() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "");
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

#if defined(__GFX9__) && !defined(__gfx940__) && !defined(__gfx941__) && !defined(__gfx942__) && !defined(__gfx950__)
/// Whether store_entry_through() exists; where not, the Release policy is the only one.
constexpr bool has_write_through = false;
XIO_DEVICE_INLINE void store_entry_through(Vec16* to, const Vec16& value) { store_entry(to, value); }
#else
constexpr bool has_write_through = true;
#endif

XIO_DEVICE_INLINE uint32_t lane() {
#if __AMDGCN_WAVEFRONT_SIZE == 64
  return __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
#else
  return __builtin_amdgcn_mbcnt_lo(~0u, 0);
#endif
}

XIO_DEVICE_INLINE constexpr uint32_t wave_size() { return __AMDGCN_WAVEFRONT_SIZE; }

XIO_DEVICE_INLINE uint32_t thread_index() { return __builtin_amdgcn_workitem_id_x(); }
XIO_DEVICE_INLINE uint32_t block_size() { return __builtin_amdgcn_workgroup_size_x(); }
XIO_DEVICE_INLINE uint32_t block_index() { return __builtin_amdgcn_workgroup_id_x(); }
XIO_DEVICE_INLINE uint32_t grid_size() { return __builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x(); }

XIO_DEVICE_INLINE uint64_t ballot(uint64_t, bool predicate) {
#if __AMDGCN_WAVEFRONT_SIZE == 64
  return __builtin_amdgcn_ballot_w64(predicate);
#else
  return __builtin_amdgcn_ballot_w32(predicate);
#endif
}

XIO_DEVICE_INLINE uint64_t active() { return ballot(0, true); }

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

#if !(defined(__GFX9__) && !defined(__gfx940__) && !defined(__gfx941__) && !defined(__gfx942__) && !defined(__gfx950__))
XIO_DEVICE_INLINE void store_entry_through(Vec16* to, const Vec16& value) {
#if defined(__GFX12__)
  constexpr int coherence = 0x18;  // SCOPE_SYS
  constexpr int word3 = 0x31014000;
#elif defined(__GFX11__) || defined(__GFX10__)
  constexpr int coherence = 0x5;  // glc dlc
  constexpr int word3 = 0x31014000;
#else
  constexpr int coherence = 0x11;  // sc0 sc1
  constexpr int word3 = 0x00027000;
#endif
  // The base is uniform by contract; the distance of this lane's slot from it is not.
  Vec16* const base = uniform(to);
  const auto distance = static_cast<int>(reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(base));
  const auto resource = __builtin_amdgcn_make_buffer_rsrc(base, 0, -1, word3);
  __builtin_amdgcn_raw_buffer_store_b128(detail::vector(value), resource, distance, 0, coherence);
}
#endif

/// The same value in vector registers: arithmetic that ends in a store then needs no moves from scalar ones.
template <class T>
XIO_DEVICE_INLINE T per_lane(T value) {
  asm("" : "+v"(value));
  return value;
}

/// store_mmio() by every active lane, one after the other: register stores of one step are merged by the hardware.
XIO_DEVICE_INLINE void store_mmio_each_lane(uint32_t* to, uint32_t value) {
  // Each under an execution mask of one lane, set by hand: a loop over lanes around an ordinary store makes every branch of
  // the caller divergent, and one that is written with readfirstlane is folded away by the compiler.
#if __AMDGCN_WAVEFRONT_SIZE == 64
#define XIO_MASK "b64"
#define XIO_EXEC "exec"
  const uint64_t all = __builtin_amdgcn_ballot_w64(true);
  uint64_t todo = all;
#else
#define XIO_MASK "b32"
#define XIO_EXEC "exec_lo"
  const uint32_t all = __builtin_amdgcn_ballot_w32(true);
  uint32_t todo = all;
#endif
#if defined(__GFX12__)
#define XIO_STORE "global_store_b32 %2, %3, off scope:SCOPE_SYS"
#elif defined(__GFX11__)
#define XIO_STORE "global_store_b32 %2, %3, off"
#elif defined(__gfx940__) || defined(__gfx941__) || defined(__gfx942__) || defined(__gfx950__)
#define XIO_STORE "global_store_dword %2, %3, off sc0 sc1"
#else
#define XIO_STORE "global_store_dword %2, %3, off"
#endif
  int chosen;
  asm volatile("1:\n\ts_ff1_i32_" XIO_MASK " %0, %1\n\t"
               "s_bfm_" XIO_MASK " " XIO_EXEC ", 1, %0\n\t" XIO_STORE "\n\t"
               "s_andn2_" XIO_MASK " %1, %1, " XIO_EXEC "\n\t"
               "s_cbranch_scc1 1b\n\t"
               "s_mov_" XIO_MASK " " XIO_EXEC ", %4"
               : "=&s"(chosen), "+&s"(todo)
               : "v"(to), "v"(value), "s"(all)
               : "memory", "scc");
#undef XIO_MASK
#undef XIO_EXEC
#undef XIO_STORE
}

XIO_DEVICE_INLINE void block_barrier() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

XIO_DEVICE_INLINE uint64_t clock() { return __builtin_readsteadycounter(); }

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
