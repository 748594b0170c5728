// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief NVIDIA GPUs from sm_70: builtins of nvcc and NVRTC 12.8 or later, which need no CUDA header.

#include <xio/device/arch.hpp>

XIO_NAMESPACE_BEGIN

namespace arch {

namespace detail {

// The builtins want order and scope as literals: one set for each scope.
template <Scope S>
struct At;

template <>
struct At<Scope::workgroup> {
  template <class T>
  XIO_DEVICE_INLINE static T load(T* from) {
    return __nv_atomic_load_n(from, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_BLOCK);
  }
  template <class T>
  XIO_DEVICE_INLINE static T observe(T* from) {
    return __nv_atomic_load_n(from, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_BLOCK);
  }
  template <class T>
  XIO_DEVICE_INLINE static void store(T* to, T value) {
    __nv_atomic_store_n(to, value, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_BLOCK);
  }
  template <class T>
  XIO_DEVICE_INLINE static void publish(T* to, T value) {
    __nv_atomic_store_n(to, value, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_BLOCK);
  }
  template <class T>
  XIO_DEVICE_INLINE static T fetch_add(T* to, T value) {
    return __nv_atomic_fetch_add(to, value, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_BLOCK);
  }
  template <class T>
  XIO_DEVICE_INLINE static T publish_add(T* to, T value) {
    return __nv_atomic_fetch_add(to, value, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_BLOCK);
  }
  template <class T>
  XIO_DEVICE_INLINE static T exchange(T* to, T value) {
    return __nv_atomic_exchange_n(to, value, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_BLOCK);
  }
  template <class T>
  XIO_DEVICE_INLINE static T publish_exchange(T* to, T value) {
    return __nv_atomic_exchange_n(to, value, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_BLOCK);
  }
  template <class T>
  XIO_DEVICE_INLINE static bool compare_exchange(T* to, T& expected, T desired) {
    return __nv_atomic_compare_exchange_n(to, &expected, desired, false, __NV_ATOMIC_RELAXED, __NV_ATOMIC_RELAXED,
                                          __NV_THREAD_SCOPE_BLOCK);
  }
  template <class T>
  XIO_DEVICE_INLINE static bool compare_exchange_acquire(T* to, T& expected, T desired) {
    return __nv_atomic_compare_exchange_n(to, &expected, desired, false, __NV_ATOMIC_ACQUIRE, __NV_ATOMIC_RELAXED,
                                          __NV_THREAD_SCOPE_BLOCK);
  }
  XIO_DEVICE_INLINE static void fence() { __nv_atomic_thread_fence(__NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_BLOCK); }
};

template <>
struct At<Scope::agent> {
  template <class T>
  XIO_DEVICE_INLINE static T load(T* from) {
    return __nv_atomic_load_n(from, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
  }
  template <class T>
  XIO_DEVICE_INLINE static T observe(T* from) {
    return __nv_atomic_load_n(from, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE);
  }
  template <class T>
  XIO_DEVICE_INLINE static void store(T* to, T value) {
    __nv_atomic_store_n(to, value, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
  }
  template <class T>
  XIO_DEVICE_INLINE static void publish(T* to, T value) {
    __nv_atomic_store_n(to, value, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE);
  }
  template <class T>
  XIO_DEVICE_INLINE static T fetch_add(T* to, T value) {
    return __nv_atomic_fetch_add(to, value, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
  }
  template <class T>
  XIO_DEVICE_INLINE static T publish_add(T* to, T value) {
    return __nv_atomic_fetch_add(to, value, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE);
  }
  template <class T>
  XIO_DEVICE_INLINE static T exchange(T* to, T value) {
    return __nv_atomic_exchange_n(to, value, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
  }
  template <class T>
  XIO_DEVICE_INLINE static T publish_exchange(T* to, T value) {
    return __nv_atomic_exchange_n(to, value, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE);
  }
  template <class T>
  XIO_DEVICE_INLINE static bool compare_exchange(T* to, T& expected, T desired) {
    return __nv_atomic_compare_exchange_n(to, &expected, desired, false, __NV_ATOMIC_RELAXED, __NV_ATOMIC_RELAXED,
                                          __NV_THREAD_SCOPE_DEVICE);
  }
  template <class T>
  XIO_DEVICE_INLINE static bool compare_exchange_acquire(T* to, T& expected, T desired) {
    return __nv_atomic_compare_exchange_n(to, &expected, desired, false, __NV_ATOMIC_ACQUIRE, __NV_ATOMIC_RELAXED,
                                          __NV_THREAD_SCOPE_DEVICE);
  }
  XIO_DEVICE_INLINE static void fence() { __nv_atomic_thread_fence(__NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_DEVICE); }
};

template <>
struct At<Scope::system> {
  template <class T>
  XIO_DEVICE_INLINE static T load(T* from) {
    return __nv_atomic_load_n(from, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_SYSTEM);
  }
  template <class T>
  XIO_DEVICE_INLINE static T observe(T* from) {
    return __nv_atomic_load_n(from, __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_SYSTEM);
  }
  template <class T>
  XIO_DEVICE_INLINE static void store(T* to, T value) {
    __nv_atomic_store_n(to, value, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_SYSTEM);
  }
  template <class T>
  XIO_DEVICE_INLINE static void publish(T* to, T value) {
    __nv_atomic_store_n(to, value, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_SYSTEM);
  }
  template <class T>
  XIO_DEVICE_INLINE static T fetch_add(T* to, T value) {
    return __nv_atomic_fetch_add(to, value, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_SYSTEM);
  }
  template <class T>
  XIO_DEVICE_INLINE static T publish_add(T* to, T value) {
    return __nv_atomic_fetch_add(to, value, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_SYSTEM);
  }
  template <class T>
  XIO_DEVICE_INLINE static T exchange(T* to, T value) {
    return __nv_atomic_exchange_n(to, value, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_SYSTEM);
  }
  template <class T>
  XIO_DEVICE_INLINE static T publish_exchange(T* to, T value) {
    return __nv_atomic_exchange_n(to, value, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_SYSTEM);
  }
  template <class T>
  XIO_DEVICE_INLINE static bool compare_exchange(T* to, T& expected, T desired) {
    return __nv_atomic_compare_exchange_n(to, &expected, desired, false, __NV_ATOMIC_RELAXED, __NV_ATOMIC_RELAXED,
                                          __NV_THREAD_SCOPE_SYSTEM);
  }
  template <class T>
  XIO_DEVICE_INLINE static bool compare_exchange_acquire(T* to, T& expected, T desired) {
    return __nv_atomic_compare_exchange_n(to, &expected, desired, false, __NV_ATOMIC_ACQUIRE, __NV_ATOMIC_RELAXED,
                                          __NV_THREAD_SCOPE_SYSTEM);
  }
  XIO_DEVICE_INLINE static void fence() { __nv_atomic_thread_fence(__NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_SYSTEM); }
};

}  // namespace detail

template <Scope S, class T>
XIO_DEVICE_INLINE T load(const T* from) {
  return detail::At<S>::load(const_cast<T*>(from));
}

template <Scope S, class T>
XIO_DEVICE_INLINE T observe(const T* from) {
  return detail::At<S>::observe(const_cast<T*>(from));
}

template <Scope S>
XIO_DEVICE_INLINE void order_loads() {
  detail::At<S>::fence();
}

template <Scope S, class T>
XIO_DEVICE_INLINE void store(T* to, T value) {
  detail::At<S>::store(to, value);
}

template <Scope S, class T>
XIO_DEVICE_INLINE void publish(T* to, T value) {
  detail::At<S>::publish(to, value);
}

template <Scope S, class T>
XIO_DEVICE_INLINE T fetch_add(T* to, T value) {
  return detail::At<S>::fetch_add(to, value);
}

template <Scope S, class T>
XIO_DEVICE_INLINE T exchange(T* to, T value) {
  return detail::At<S>::exchange(to, value);
}

template <Scope S, class T>
XIO_DEVICE_INLINE bool compare_exchange(T* to, T& expected, T desired) {
  return detail::At<S>::compare_exchange(to, expected, desired);
}

template <Scope S, class T>
XIO_DEVICE_INLINE bool compare_exchange_acquire(T* to, T& expected, T desired) {
  return detail::At<S>::compare_exchange_acquire(to, expected, desired);
}

template <Scope S, class T>
XIO_DEVICE_INLINE void publish_add(T* to, T value) {
  detail::At<S>::publish_add(to, value);
}

template <Scope S, class T>
XIO_DEVICE_INLINE T publish_exchange(T* to, T value) {
  return detail::At<S>::publish_exchange(to, value);
}

XIO_DEVICE_INLINE void release_system() { detail::At<Scope::system>::fence(); }
XIO_DEVICE_INLINE void acquire_system() { detail::At<Scope::system>::fence(); }
XIO_DEVICE_INLINE void full_fence_system() { __nv_atomic_thread_fence(__NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_SYSTEM); }

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
XIO_DEVICE_INLINE uint32_t thread_index() { return threadIdx.x; }
XIO_DEVICE_INLINE uint32_t block_size() { return blockDim.x; }
XIO_DEVICE_INLINE uint32_t block_index() { return blockIdx.x; }
XIO_DEVICE_INLINE uint32_t grid_size() { return gridDim.x; }

XIO_DEVICE_INLINE uint64_t active() { return __activemask(); }

/// __activemask() may answer with a part of those that will come here: who must act together names them.
/// They wait for each other, so that what some of them did in earlier calls is known to all.
XIO_DEVICE_INLINE uint64_t together(uint64_t lanes) {
  auto all = static_cast<uint32_t>(lanes);
  if (all == 0) {
    const uint32_t threads = blockDim.x * blockDim.y * blockDim.z;
    const uint32_t own = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const uint32_t left = threads - (own & ~31u);
    all = left < 32 ? (1u << left) - 1 : ~0u;
  }
  __syncwarp(all);
  return all;
}
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
template <class T>
XIO_DEVICE_INLINE void store_mmio_each_lane(T* to, T value) {
  store_mmio(to, value);
}

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

XIO_DEVICE_INLINE uint64_t fenced_clock() {
  full_fence_system();
  const uint64_t now = clock();
  full_fence_system();
  return now;
}

constexpr uint64_t clock_hz = 1000000000;

XIO_DEVICE_INLINE void pause(uint32_t round) { __nanosleep(round < 8 ? 20 : 200); }

constexpr uint32_t looks_per_clock = 16;

}  // namespace arch

XIO_NAMESPACE_END
