// SPDX-License-Identifier: MIT
// Programs whose results are wrong if LLVM's code lacks one of their orderings. Workgroups run on any unit; at
// workgroup scope, the waves of one workgroup communicate.

#include <hip/hip_runtime.h>

#include <machine/litmus/place.hpp>

namespace {

using machine_tests::Place;
using machine_tests::words_between;

constexpr int group = __HIP_MEMORY_SCOPE_WORKGROUP;
constexpr int agent = __HIP_MEMORY_SCOPE_AGENT;
constexpr int sys = __HIP_MEMORY_SCOPE_SYSTEM;

__device__ uint32_t& data(const Place& p, uint32_t i) { return p.data[i * words_between]; }
__device__ uint32_t* flag(const Place& p, uint32_t i) { return &p.flags[i * words_between]; }

/// Stores to the two words of a side.
__device__ void store_data(const Place& p, uint32_t side, uint32_t value) {
  data(p, 2 * side) = value;
  data(p, 2 * side + 1) = value;
}
__device__ uint32_t wrong_data(const Place& p, uint32_t side, uint32_t value) {
  return (data(p, 2 * side) != value) + (data(p, 2 * side + 1) != value);
}

template <int Scope>
__device__ void await(const uint32_t* word, uint32_t value) {
  while (__hip_atomic_load(word, __ATOMIC_ACQUIRE, Scope) != value) __builtin_amdgcn_s_sleep(1);
}

template <int Scope>
__device__ void fence(int order) {
  if constexpr (Scope == group) {
    order == __ATOMIC_RELEASE ? __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup")
                              : __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  } else if constexpr (Scope == agent) {
    order == __ATOMIC_RELEASE ? __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent")
                              : __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
  } else {
    order == __ATOMIC_RELEASE ? __builtin_amdgcn_fence(__ATOMIC_RELEASE, "")
                              : __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "");
  }
}

/// A release store and an acquire load.
template <int Scope>
struct ByStores {
  static __device__ void tell(uint32_t* word, uint32_t value) {
    __hip_atomic_store(word, value, __ATOMIC_RELEASE, Scope);
  }
  static __device__ void learn(uint32_t* word, uint32_t value) { await<Scope>(word, value); }
};
/// Fences and relaxed accesses.
template <int Scope>
struct ByFences {
  static __device__ void tell(uint32_t* word, uint32_t value) {
    fence<Scope>(__ATOMIC_RELEASE);
    __hip_atomic_store(word, value, __ATOMIC_RELAXED, Scope);
  }
  static __device__ void learn(uint32_t* word, uint32_t value) {
    while (__hip_atomic_load(word, __ATOMIC_RELAXED, Scope) != value) __builtin_amdgcn_s_sleep(1);
    fence<Scope>(__ATOMIC_ACQUIRE);
  }
};
/// Atomic instructions on both sides.
template <int Scope>
struct ByAtomics {
  static __device__ void tell(uint32_t* word, uint32_t value) {
    static_cast<void>(value);
    __hip_atomic_fetch_add(word, 1, __ATOMIC_RELEASE, Scope);
  }
  static __device__ void learn(uint32_t* word, uint32_t value) {
    while (__hip_atomic_fetch_or(word, 0, __ATOMIC_ACQUIRE, Scope) != value) __builtin_amdgcn_s_sleep(1);
  }
};

/// One side stores data, then a flag; the other side responds likewise.
template <class By>
__device__ void pass(const Place& p, uint32_t side) {
  uint32_t bad = 0;
  for (uint32_t k = 1; k <= p.rounds; ++k) {
    if (side == 0) {
      store_data(p, 0, k);
      By::tell(flag(p, 0), k);
      By::learn(flag(p, 1), k);
      bad += wrong_data(p, 1, k);
    } else {
      By::learn(flag(p, 0), k);
      bad += wrong_data(p, 0, k);
      store_data(p, 1, k);
      By::tell(flag(p, 1), k);
    }
  }
  p.bad[side] = bad;
}

/// A cycle of three sides: each passes on what it has learnt from the previous one.
template <class By>
__device__ void chain(const Place& p, uint32_t side) {
  uint32_t bad = 0;
  const uint32_t before = (side + 2) % 3;
  for (uint32_t k = 1; k <= p.rounds; ++k) {
    if (side != 0) {
      By::learn(flag(p, before), k);
      for (uint32_t other = 0; other < side; ++other) bad += wrong_data(p, other, k);
    }
    store_data(p, side, k);
    By::tell(flag(p, side), k);
    if (side == 0) {
      By::learn(flag(p, before), k);
      for (uint32_t other = 1; other < 3; ++other) bad += wrong_data(p, other, k);
    }
  }
  p.bad[side] = bad;
}

/// Store buffering: each side stores its own word and loads the other's; at least one must see the other's store.
template <int Scope>
__device__ void buffering(const Place& p, uint32_t side) {
  for (uint32_t k = 1; k <= p.rounds; ++k) {
    __hip_atomic_store(flag(p, side), k, __ATOMIC_SEQ_CST, Scope);
    const uint32_t seen = __hip_atomic_load(flag(p, 1 - side), __ATOMIC_SEQ_CST, Scope);
    p.bad[16 + k * 2 + side] = seen >= k;
  }
}

/// A lock protects a non-atomic word.
template <int Scope>
__device__ void lock(const Place& p) {
  for (uint32_t k = 0; k < p.rounds; ++k) {
    uint32_t open = 0;
    while (!__hip_atomic_compare_exchange_strong(flag(p, 0), &open, 1u, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED, Scope)) {
      open = 0;
      __builtin_amdgcn_s_sleep(1);
    }
    data(p, 0) += 1;
    __hip_atomic_store(flag(p, 0), 0u, __ATOMIC_RELEASE, Scope);
  }
}

/// Relaxed: two sides add, and no addition is lost; the third side polls for the sum, and the word never decreases.
template <int Scope>
__device__ void relaxed(const Place& p, uint32_t side) {
  if (side < 2) {
    for (uint32_t k = 0; k < p.rounds; ++k) __hip_atomic_fetch_add(flag(p, 0), 1u, __ATOMIC_RELAXED, Scope);
    return;
  }
  uint32_t bad = 0;
  for (uint32_t last = 0; last != 2 * p.rounds;) {
    const uint32_t now = __hip_atomic_load(flag(p, 0), __ATOMIC_RELAXED, Scope);
    bad += now < last;
    last = now;
  }
  p.bad[side] = bad;
}

}  // namespace

#define XIO_KERNELS(scope)                                       \
  extern "C" __global__ void pass_stores_##scope(Place p) {      \
    if (threadIdx.x == 0) pass<ByStores<scope>>(p, blockIdx.x);  \
  }                                                              \
  extern "C" __global__ void pass_fences_##scope(Place p) {      \
    if (threadIdx.x == 0) pass<ByFences<scope>>(p, blockIdx.x);  \
  }                                                              \
  extern "C" __global__ void pass_atomics_##scope(Place p) {     \
    if (threadIdx.x == 0) pass<ByAtomics<scope>>(p, blockIdx.x); \
  }                                                              \
  extern "C" __global__ void chain_##scope(Place p) {            \
    if (threadIdx.x == 0) chain<ByStores<scope>>(p, blockIdx.x); \
  }                                                              \
  extern "C" __global__ void buffering_##scope(Place p) {        \
    if (threadIdx.x == 0) buffering<scope>(p, blockIdx.x);       \
  }                                                              \
  extern "C" __global__ void lock_##scope(Place p) {             \
    if (threadIdx.x == 0) lock<scope>(p);                        \
  }                                                              \
  extern "C" __global__ void relaxed_##scope(Place p) {          \
    if (threadIdx.x == 0) relaxed<scope>(p, blockIdx.x);         \
  }
XIO_KERNELS(agent)
XIO_KERNELS(sys)
#undef XIO_KERNELS

extern "C" __global__ void pass_stores_group(Place p) {
  if (threadIdx.x % warpSize == 0) pass<ByStores<group>>(p, threadIdx.x / warpSize);
}
extern "C" __global__ void pass_fences_group(Place p) {
  if (threadIdx.x % warpSize == 0) pass<ByFences<group>>(p, threadIdx.x / warpSize);
}

/// The other side is a device: it sees memory, but none of the GPU's caches.
template <class By>
__device__ void pass_device(const Place& p) {
  uint32_t bad = 0;
  for (uint32_t k = 1; k <= p.rounds; ++k) {
    store_data(p, 0, k);
    By::tell(flag(p, 0), k);
    By::learn(flag(p, 1), k);
    bad += wrong_data(p, 0, k + 1000);
  }
  p.bad[0] = bad;
}
extern "C" __global__ void pass_device_stores(Place p) {
  if (threadIdx.x == 0) pass_device<ByStores<sys>>(p);
}
extern "C" __global__ void pass_device_fences(Place p) {
  if (threadIdx.x == 0) pass_device<ByFences<sys>>(p);
}
/// LLVM 19 omits the wait between a write-back and the following store if the wave has nothing else in flight.
struct ByStoresAndWait : ByStores<sys> {
  static __device__ void tell(uint32_t* word, uint32_t value) {
    fence<sys>(__ATOMIC_RELEASE);
#if defined(__GFX9__)
    asm volatile("s_waitcnt vmcnt(0)" ::: "memory");
#elif defined(__GFX12__)
    asm volatile("s_wait_storecnt 0x0" ::: "memory");
#endif
    __hip_atomic_store(word, value, __ATOMIC_RELAXED, sys);
  }
};

/// One workgroup stores the data and another notifies the device. `Looks`: the other one also loads the data.
template <class By, bool Looks>
__device__ void chain_device(const Place& p) {
  uint32_t bad = 0;
  for (uint32_t k = 1; k <= p.rounds; ++k) {
    if (blockIdx.x == 0) {
      store_data(p, 0, k);
      ByStores<agent>::tell(flag(p, 2), k);
      ByStores<agent>::learn(flag(p, 3), k);
      bad += wrong_data(p, 0, k + 1000);
    } else {
      ByStores<agent>::learn(flag(p, 2), k);
      if (Looks) bad += wrong_data(p, 0, k);
      By::tell(flag(p, 0), k);
      By::learn(flag(p, 1), k);
      if (Looks) bad += wrong_data(p, 0, k + 1000);
      ByStores<agent>::tell(flag(p, 3), k);
    }
  }
  p.bad[blockIdx.x] = bad;
}
extern "C" __global__ void chain_device_stores(Place p) {
  if (threadIdx.x == 0) chain_device<ByStores<sys>, false>(p);
}
extern "C" __global__ void chain_device_waits(Place p) {
  if (threadIdx.x == 0) chain_device<ByStoresAndWait, true>(p);
}

/// One wave stores the data; another tells the device after a barrier of the workgroup.
__device__ void barrier_with_device(const Place& p) {
  const uint32_t wave = threadIdx.x / warpSize;
  const bool leads = threadIdx.x % warpSize == 0;
  uint32_t bad = 0;
  for (uint32_t k = 1; k <= p.rounds; ++k) {
    if (leads && wave == 0) store_data(p, 0, k);
    __syncthreads();
    if (leads && wave == 1) {
      ByStoresAndWait::tell(flag(p, 0), k);
      ByStoresAndWait::learn(flag(p, 1), k);
    }
    __syncthreads();
    if (leads && wave == 0) bad += wrong_data(p, 0, k + 1000);
  }
  if (leads) p.bad[wave] = bad;
}
extern "C" __global__ void barrier_device(Place p) { barrier_with_device(p); }
#if defined(__GFX9__)
extern "C" __global__ __attribute__((target("tgsplit"))) void barrier_device_split(Place p) { barrier_with_device(p); }
#endif

/// Data through LDS and through global memory, with one barrier per round.
extern "C" __global__ void barrier(Place p) {
  __shared__ uint32_t shared[4];
  const uint32_t wave = threadIdx.x / warpSize;
  const bool leads = threadIdx.x % warpSize == 0;
  uint32_t bad = 0;
  for (uint32_t k = 1; k <= p.rounds; ++k) {
    const uint32_t half = (k & 1) * 2;
    if (leads) {
      shared[half + wave] = k * 8 + wave;
      data(p, half + wave) = k * 8 + wave;
    }
    __syncthreads();
    if (leads) {
      bad += shared[half + 1 - wave] != k * 8 + 1 - wave;
      bad += data(p, half + 1 - wave) != k * 8 + 1 - wave;
    }
  }
  if (leads) p.bad[wave] = bad;
}
