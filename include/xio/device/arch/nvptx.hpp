// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief NVIDIA GPUs from sm_70, in PTX: no CUDA header is needed, so NVRTC compiles it as it is.

#include <xio/device/arch.hpp>

XIO_NAMESPACE_BEGIN

namespace arch {

namespace detail {

#define XIO_PTX_SCOPED(S, format_workgroup, format_agent, format_system, ...) \
  do {                                                                        \
    if (S == Scope::system) {                                                 \
      asm volatile(format_system __VA_ARGS__);                                \
    } else if (S == Scope::agent) {                                           \
      asm volatile(format_agent __VA_ARGS__);                                 \
    } else {                                                                  \
      asm volatile(format_workgroup __VA_ARGS__);                             \
    }                                                                         \
  } while (0)
#define XIO_PTX(S, head, tail, ...) XIO_PTX_SCOPED(S, head "cta" tail, head "gpu" tail, head "sys" tail, __VA_ARGS__)

template <Scope S>
__device__ inline uint32_t load_bits(const uint32_t* from) {
  uint32_t value;
  XIO_PTX(S, "ld.relaxed.", ".u32 %0, [%1];", : "=r"(value) : "l"(from) : "memory");
  return value;
}
template <Scope S>
__device__ inline uint64_t load_bits(const uint64_t* from) {
  uint64_t value;
  XIO_PTX(S, "ld.relaxed.", ".u64 %0, [%1];", : "=l"(value) : "l"(from) : "memory");
  return value;
}
template <Scope S>
__device__ inline uint32_t observe_bits(const uint32_t* from) {
  uint32_t value;
  XIO_PTX(S, "ld.acquire.", ".u32 %0, [%1];", : "=r"(value) : "l"(from) : "memory");
  return value;
}
template <Scope S>
__device__ inline uint64_t observe_bits(const uint64_t* from) {
  uint64_t value;
  XIO_PTX(S, "ld.acquire.", ".u64 %0, [%1];", : "=l"(value) : "l"(from) : "memory");
  return value;
}
template <Scope S>
__device__ inline void store_bits(uint32_t* to, uint32_t value) {
  XIO_PTX(S, "st.relaxed.", ".u32 [%0], %1;", : : "l"(to), "r"(value) : "memory");
}
template <Scope S>
__device__ inline void store_bits(uint64_t* to, uint64_t value) {
  XIO_PTX(S, "st.relaxed.", ".u64 [%0], %1;", : : "l"(to), "l"(value) : "memory");
}
template <Scope S>
__device__ inline void publish_bits(uint32_t* to, uint32_t value) {
  XIO_PTX(S, "st.release.", ".u32 [%0], %1;", : : "l"(to), "r"(value) : "memory");
}
template <Scope S>
__device__ inline void publish_bits(uint64_t* to, uint64_t value) {
  XIO_PTX(S, "st.release.", ".u64 [%0], %1;", : : "l"(to), "l"(value) : "memory");
}
template <Scope S>
__device__ inline uint32_t add_bits(uint32_t* to, uint32_t value) {
  uint32_t old;
  XIO_PTX(S, "atom.relaxed.", ".add.u32 %0, [%1], %2;", : "=r"(old) : "l"(to), "r"(value) : "memory");
  return old;
}
template <Scope S>
__device__ inline uint64_t add_bits(uint64_t* to, uint64_t value) {
  uint64_t old;
  XIO_PTX(S, "atom.relaxed.", ".add.u64 %0, [%1], %2;", : "=l"(old) : "l"(to), "l"(value) : "memory");
  return old;
}
template <Scope S>
__device__ inline uint32_t exchange_bits(uint32_t* to, uint32_t value) {
  uint32_t old;
  XIO_PTX(S, "atom.relaxed.", ".exch.b32 %0, [%1], %2;", : "=r"(old) : "l"(to), "r"(value) : "memory");
  return old;
}
template <Scope S>
__device__ inline uint64_t exchange_bits(uint64_t* to, uint64_t value) {
  uint64_t old;
  XIO_PTX(S, "atom.relaxed.", ".exch.b64 %0, [%1], %2;", : "=l"(old) : "l"(to), "l"(value) : "memory");
  return old;
}
template <Scope S>
__device__ inline uint32_t swap_bits(uint32_t* to, uint32_t expected, uint32_t desired) {
  uint32_t old;
  XIO_PTX(S, "atom.relaxed.", ".cas.b32 %0, [%1], %2, %3;", : "=r"(old) : "l"(to), "r"(expected), "r"(desired) : "memory");
  return old;
}
template <Scope S>
__device__ inline uint64_t swap_bits(uint64_t* to, uint64_t expected, uint64_t desired) {
  uint64_t old;
  XIO_PTX(S, "atom.relaxed.", ".cas.b64 %0, [%1], %2, %3;", : "=l"(old) : "l"(to), "l"(expected), "l"(desired) : "memory");
  return old;
}

#undef XIO_PTX
#undef XIO_PTX_SCOPED

template <unsigned Bytes>
struct Bits;
template <>
struct Bits<4> {
  using type = uint32_t;
};
template <>
struct Bits<8> {
  using type = uint64_t;
};
template <class T>
using bits_of = typename Bits<sizeof(T)>::type;

}  // namespace detail

template <Scope S, class T>
XIO_DEVICE_INLINE T load(const T* from) {
  return (T)detail::load_bits<S>((const detail::bits_of<T>*)from);
}

template <Scope S, class T>
XIO_DEVICE_INLINE T observe(const T* from) {
  return (T)detail::observe_bits<S>((const detail::bits_of<T>*)from);
}

template <Scope S, class T>
XIO_DEVICE_INLINE void store(T* to, T value) {
  detail::store_bits<S>((detail::bits_of<T>*)to, (detail::bits_of<T>)value);
}

template <Scope S, class T>
XIO_DEVICE_INLINE void publish(T* to, T value) {
  detail::publish_bits<S>((detail::bits_of<T>*)to, (detail::bits_of<T>)value);
}

template <Scope S, class T>
XIO_DEVICE_INLINE T fetch_add(T* to, T value) {
  return (T)detail::add_bits<S>((detail::bits_of<T>*)to, (detail::bits_of<T>)value);
}

template <Scope S, class T>
XIO_DEVICE_INLINE T exchange(T* to, T value) {
  return (T)detail::exchange_bits<S>((detail::bits_of<T>*)to, (detail::bits_of<T>)value);
}

template <Scope S, class T>
XIO_DEVICE_INLINE bool compare_exchange(T* to, T& expected, T desired) {
  const T found = (T)detail::swap_bits<S>((detail::bits_of<T>*)to, (detail::bits_of<T>)expected, (detail::bits_of<T>)desired);
  const bool swapped = found == expected;
  expected = found;
  return swapped;
}

XIO_DEVICE_INLINE void release_system() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }
XIO_DEVICE_INLINE void wait_stores() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }
XIO_DEVICE_INLINE void acquire_system() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }
XIO_DEVICE_INLINE void full_fence_system() { asm volatile("fence.sc.sys;" ::: "memory"); }

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
XIO_DEVICE_INLINE void store_entry_through(Vec16* to, const Vec16& value) {
  asm volatile("st.wt.v4.u32 [%0], {%1, %2, %3, %4};"
               :
               : "l"(to), "r"(value.word[0]), "r"(value.word[1]), "r"(value.word[2]), "r"(value.word[3])
               : "memory");
}

XIO_DEVICE_INLINE void store_entry8(uint64_t* to, uint64_t value) { store<Scope::system>(to, value); }

XIO_DEVICE_INLINE uint32_t lane() {
  uint32_t value;
  asm("mov.u32 %0, %%laneid;" : "=r"(value));
  return value;
}
XIO_DEVICE_INLINE constexpr uint32_t wave_size() { return 32; }
XIO_DEVICE_INLINE uint32_t thread_index() { return threadIdx.x; }
XIO_DEVICE_INLINE uint32_t block_size() { return blockDim.x; }
XIO_DEVICE_INLINE uint32_t block_index() { return blockIdx.x; }
XIO_DEVICE_INLINE uint32_t grid_size() { return gridDim.x; }

XIO_DEVICE_INLINE uint64_t active() { return __activemask(); }
XIO_DEVICE_INLINE uint64_t ballot(uint64_t mask, bool predicate) {
  return __ballot_sync(static_cast<uint32_t>(mask), predicate);
}

XIO_DEVICE_INLINE void converge(uint64_t mask) { __syncwarp(static_cast<uint32_t>(mask)); }

template <class T>
XIO_DEVICE_INLINE T shuffle(uint64_t mask, T value, uint32_t source) {
  static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
  const uint64_t wide = (uint64_t)value;
  const uint32_t low = __shfl_sync(static_cast<uint32_t>(mask), static_cast<uint32_t>(wide), source);
  if (sizeof(T) <= 4) return (T)(uint64_t)low;
  const uint32_t high = __shfl_sync(static_cast<uint32_t>(mask), static_cast<uint32_t>(wide >> 32), source);
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
XIO_DEVICE_INLINE void store_mmio_each_lane(uint32_t* to, uint32_t value) { store_mmio(to, value); }

/// The same value; on AMD GPUs in vector registers.
template <class T>
XIO_DEVICE_INLINE T per_lane(T value) {
  return value;
}

XIO_DEVICE_INLINE void block_barrier() { __syncthreads(); }

XIO_DEVICE_INLINE uint64_t clock() {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

constexpr uint64_t clock_hz = 1000000000;

XIO_DEVICE_INLINE void pause(uint32_t round) { __nanosleep(round < 8 ? 20 : 200); }

constexpr uint32_t looks_per_clock = 16;

}  // namespace arch

XIO_NAMESPACE_END
