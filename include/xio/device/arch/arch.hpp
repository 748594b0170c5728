// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Interface to the architecture: scopes, fences, atomics, stores to queues, wave operations, clock.
///
/// Every builtin and all inline assembly of the library is in one of three back ends, from which this header selects.
/// All of them provide the same functions in namespace xio::arch; `docs/internals/memory-model.md` specifies the code
/// of each. In short:
///
/// | function                      | guarantee                                                                      |
/// |-------------------------------|--------------------------------------------------------------------------------|
/// | `load<S>`, `store<S>`         | relaxed and coherent at scope S, 4 or 8 bytes                                  |
/// | `fetch_add<S>`, `exchange<S>` | relaxed read-modify-write, coherent at scope S                                 |
/// | `compare_exchange<S>`         | relaxed read-modify-write, coherent at scope S                                 |
/// | `compare_exchange_acquire<S>` | on success, later accesses are not performed before it                         |
/// | `compare_exchange_ordered<S>` | acquires on success and failure; and passes on what was acquired before        |
/// | `observe_ordered<S>(word)`    | as `observe<S>`, in one order with the exchanges of the 8 bytes                |
/// | `publish<S>(word, v)`         | as `store<S>`, after earlier coherent stores of this wave are performed        |
/// | `publish_add<S>`              | as `fetch_add<S>`, for those who acquire, after an earlier `wait_stores()`     |
/// | `publish_exchange<S>`         | as `exchange<S>`, ordered like `publish<S>`                                    |
/// | `observe<S>(word)`            | as `load<S>`; later coherent loads are not performed before it                 |
/// | `order_loads<S>()`            | earlier `load<S>`s are performed before later ones                             |
/// | `release_system()`            | all earlier stores of this wave, cached ones included, are at system scope     |
/// | `wait_stores()`               | all earlier stores of this wave are performed; caches are not written back     |
/// | `wait_accesses()`             | all earlier loads and stores of this wave are performed; no write-back         |
/// | `wait_before_exchange()`      | as `wait_stores()`, for those who acquire the next exchange (ordered)          |
/// | `pass_on()`                   | what other waves released to this one precedes its later stores for devices    |
/// | `acquire_system()`            | later loads see what any agent of the system released before                   |
/// | `acquire_published<S>()`      | the same, for what another lane acquired and then published to this one        |
/// | `acquire_published<S, false>()` | the same, if the calling lanes themselves have ordered loads behind it       |
/// | `full_fence_system()`         | orders all earlier accesses before all later ones, cached ones included        |
/// | `full_fence<S>()`             | orders earlier coherent stores before later coherent loads of scope S          |
/// | `fenced_clock()`              | the clock: after all earlier accesses are performed, before any later one      |
/// | `active()`                    | lanes that execute the call together; NVIDIA GPUs may return a subset          |
/// | `together(lanes)`             | lanes that call by contract: `lanes`, or all lanes of the wave if it is 0      |
/// | `alike(mask, p)`              | lanes of `mask` that have not ended and pass the same pointer as the caller    |
/// | `match(mask, v)`              | lanes of `mask`, which are those that call, that pass the same 8 bytes         |
/// | `leads(mask, v)`              | whether the calling lane is the first of these; on AMD GPUs, of those in a row |
/// | `converge(mask)`              | the lanes have converged; their earlier stores precede their later ones        |
/// | `block_barrier()`             | all threads of the block have arrived; their earlier accesses are performed    |
/// | `store_mmio(reg, v)`          | one store of exactly this width to a device register                           |
/// | `serve_doorbell(word)`        | on the CPU calls the handler of a doorbell word; on GPUs does nothing          |
/// | `store_entry(slot, v)`        | 16 bytes of a queue entry; ordered by the release that precedes the doorbell   |
/// | `store_entry_through<Part>(…)` | 16 bytes at `offset + Part` of a ring, written through to system scope        |
///
/// `release_system`, `wait_stores`, `wait_accesses` and `pass_on` take a `bool InGpuMemory`: whether all memory that
/// the device is to see lies in the memory of this GPU (the policy InGpuMemory). NVIDIA GPUs then fence at the scope of
/// the GPU; nothing changes elsewhere.
///
/// The host back end makes loads acquire and stores release. This is free on x86, and lets ThreadSanitizer, which does
/// not model fences, check the protocol.

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace arch {
/// @addtogroup kernel_arch
/// @{

/// Scope at which a coherent access must be visible.
enum class Scope { workgroup, agent, system };

/// 16 bytes of a queue entry, the unit in which entries are stored.
struct alignas(16) Vec16 {
  uint32_t word[4];
};

/// A word of 8 bytes, which one access has read.
struct Halves {
  uint32_t low, high;
};

/// @}
}  // namespace arch

XIO_NAMESPACE_END

#if XIO_ARCH_AMDGCN
#include <xio/device/arch/amdgcn/wave.hpp>
#elif XIO_ARCH_NVPTX
#include <xio/device/arch/nvptx/wave.hpp>
#else
#include <xio/device/arch/host/wave.hpp>
#endif

XIO_NAMESPACE_BEGIN

namespace arch {
/// @addtogroup kernel_arch
/// @{

/// Unsuccessful polls between two readings of the clock in a polling loop. On the CPU not more than pause() makes
/// without giving way, so that a wait whose deadline has passed returns before other threads run.
constexpr uint32_t looks_per_clock = XIO_INTERLEAVE ? 1 : 16;

/// Whether two predictable branches cost less than one on the combined condition.
constexpr bool branches_are_cheap = XIO_ARCH_HOST;

/// Whether code used at several places of a kernel should be called instead of repeated at each.
constexpr bool calls_save_registers = !XIO_ARCH_HOST;

/// Whether observe() takes no longer than load(), and a fence after it much longer: each look of a lane then acquires.
constexpr bool looks_acquire = XIO_ARCH_NVPTX;

/// Whether loads that may be in vain are worth the time that they save, and the registers that they take.
constexpr bool loads_ahead = !XIO_ARCH_AMDGCN;

/// How often a wait looks for completions before it lets others do so: with a ring in host memory a few microseconds.
constexpr uint32_t looks_per_drain = XIO_ARCH_NVPTX ? 4 : 1;

/// Whether lanes that act on their own should stay with the others. Where PTX's assembler cannot see that lanes are
/// together, it makes a second copy of each collective, out of line; after a loop on memory, or a wait, in a branch of
/// some lanes it never sees that again.
constexpr bool lanes_stay_together = XIO_ARCH_NVPTX;

/// Whether lanes act apart from others only where a branch separates them; else a mask is enough (alike()).
constexpr bool branches_separate_lanes = XIO_ARCH_AMDGCN;

/// Whether serve_doorbell() has an effect.
constexpr bool doorbells_call = XIO_ARCH_HOST;

/// A mask of lanes. On NVIDIA GPUs the lower half is all of it, which a compiler does not always know.
#if XIO_ARCH_NVPTX
using LaneMask = uint32_t;
#else
using LaneMask = uint64_t;
#endif

/// Number of lanes in a mask.
#if XIO_ARCH_NVPTX
XIO_DEVICE uint32_t count_lanes(uint64_t mask) {
  uint32_t lanes;
  asm("popc.b32 %0, %1;" : "=r"(lanes) : "r"(static_cast<uint32_t>(mask)));
  return lanes;
}
#else
XIO_DEVICE constexpr uint32_t count_lanes(uint64_t mask) { return static_cast<uint32_t>(__builtin_popcountll(mask)); }
#endif

/// Lowest lane of a non-empty mask.
#if XIO_ARCH_NVPTX
XIO_DEVICE uint32_t first_lane(uint64_t mask) { return count_lanes(~mask & (mask - 1)); }
#else
XIO_DEVICE constexpr uint32_t first_lane(uint64_t mask) { return static_cast<uint32_t>(__builtin_ctzll(mask)); }
#endif

/// Highest lane of a non-empty mask.
#if XIO_ARCH_NVPTX
XIO_DEVICE uint32_t last_lane(uint64_t mask) {
  uint32_t zeros;
  asm("clz.b32 %0, %1;" : "=r"(zeros) : "r"(static_cast<uint32_t>(mask)));
  return 31 - zeros;
}
#else
XIO_DEVICE constexpr uint32_t last_lane(uint64_t mask) { return 63 - static_cast<uint32_t>(__builtin_clzll(mask)); }
#endif

/// Whether the calling lane is the lowest of `mask`.
XIO_DEVICE bool is_first(uint64_t mask) { return first_lane(mask) == lane(); }

/// Whether the calling lane is the first of those that pass its value: on AMD GPUs of those in a row, as a match() of
/// many values takes long there. All lanes of `mask` call, and no others.
#if XIO_ARCH_AMDGCN
XIO_DEVICE bool leads(uint64_t mask, uint64_t value) {
  const uint32_t here = lane();
  const bool same = shuffle(mask, value, here - 1) == value;
  return !same || (mask << 1 >> here & 1) == 0;
}
#else
XIO_DEVICE bool leads(uint64_t mask, uint64_t value) { return is_first(match(mask, value)); }
#endif

#if !XIO_ARCH_NVPTX
/// Whether any lane of `mask` has `predicate`.
XIO_DEVICE_INLINE bool any(uint64_t mask, bool predicate) { return ballot(mask, predicate) != 0; }

/// The bytes of a word in reverse order.
XIO_DEVICE_INLINE uint32_t reverse_bytes(uint32_t value) { return __builtin_bswap32(value); }

/// The word of two halves.
XIO_HOST_DEVICE constexpr uint64_t join(uint32_t low, uint32_t high) { return uint64_t{high} << 32 | low; }

/// Loads words that are on their way together. Coherent loads of the scope follow once order_loads() was called, which
/// is not needed where looks_acquire.
template <Scope S, uint32_t Count>
XIO_DEVICE_INLINE void look_at_words(const uint64_t* from, Halves (&words)[Count]) {
  for (uint32_t i = 0; i < Count; ++i) {
    const uint64_t word = load<S>(from + i);
    words[i] = {static_cast<uint32_t>(word), static_cast<uint32_t>(word >> 32)};
  }
}
#endif

#if !XIO_ARCH_HOST
/// Does nothing: servers of doorbell words poll them.
XIO_DEVICE_INLINE void serve_doorbell(const void*) {}

/// Entries are stored 16 bytes at a time.
constexpr bool has_whole_entry_store = false;
template <class Entry>
XIO_DEVICE_INLINE void store_whole_entry(Entry*, const Entry&) = delete;

/// Returns the pointer unchanged. On the host the compiler then adds offsets to it instead of recomputing each sum from
/// its parts.
template <class T>
XIO_DEVICE_INLINE T* as_base(T* pointer) {
  return pointer;
}
#endif

#if !XIO_ARCH_AMDGCN
/// Value of the lane whose number differs in bit `Bit`. `mask`: the lanes that call; `whole`: whether all lanes of the
/// caller's quad do, else it gets its own value.
template <uint32_t Bit>
XIO_DEVICE_INLINE uint32_t quad_exchange(uint64_t mask, uint32_t value, bool whole = true) {
  return shuffle(mask, value, lane() ^ (whole ? Bit : 0));
}

/// Value of lane `Lane` of the caller's quad.
template <uint32_t Lane>
XIO_DEVICE_INLINE uint32_t quad_broadcast(uint64_t mask, uint32_t value) {
  return shuffle(mask, value, (lane() & ~3u) | Lane);
}

/// The value of the first active lane, which the caller guarantees to be uniform: a GPU can keep it in a scalar
/// register.
template <class T>
XIO_DEVICE_INLINE T uniform(T value) {
  return value;
}

/// store_mmio() by every active lane, each to its own register.
template <class T>
XIO_DEVICE_INLINE void store_mmio_each_lane(T* to, T value) {
  store_mmio(to, value);
}

/// Returns the value; on AMD GPUs in vector registers.
template <class T>
XIO_DEVICE_INLINE T per_lane(T value) {
  return value;
}

/// Returns the pointer unchanged, as one that points neither to private nor to workgroup memory.
template <class T>
XIO_DEVICE_INLINE T* in_global(T* pointer) {
  return pointer;
}

/// What lies at an address in global memory, and is not written as long as the kernel runs: an AMD GPU loads it into
/// scalar registers where all lanes name the same address.
template <class T>
XIO_DEVICE_INLINE const T* unchanging(uint64_t address) {
  return reinterpret_cast<const T*>(address);
}

/// Whether the calling lane is in `mask`, which is the same in all lanes.
XIO_DEVICE bool is_in(uint64_t mask) { return (static_cast<LaneMask>(mask) >> lane() & 1) != 0; }

/// Position of the calling lane among the lanes of `mask`, counted from 0.
XIO_DEVICE uint32_t rank_in(uint64_t mask) {
  return count_lanes(static_cast<LaneMask>(mask) & ((LaneMask{1} << lane()) - 1));
}

/// Returns `condition`, or whether any lane in lockstep with this one has it: a branch on it before a branch on
/// `condition` lets a wave skip a rarely taken path.
XIO_DEVICE_INLINE constexpr bool seldom(bool condition) { return condition; }

/// Returns `act()` of each calling lane. On AMD GPUs lanes that pass different pointers act one after the other, so
/// that `active()` are the lanes that pass the same one; elsewhere alike() names these.
template <class Act>
XIO_DEVICE_ALWAYS_INLINE auto apart(const void*, Act act) {
  return act();
}

/// On AMD GPUs, makes later plain loads use vector registers even if all lanes load the same address: arithmetic that
/// ends in a vector store then needs no moves from scalar registers.
XIO_DEVICE_INLINE void prefer_vector_loads() {}

/// One step of a transposition: lanes whose number has bit `Bit` clear keep `low` and get their neighbour's `low` as
/// `high`; the others keep `high` and get their neighbour's `high` as `low`. Parameters as of quad_exchange().
template <uint32_t Bit>
XIO_DEVICE_INLINE void quad_transpose(uint64_t mask, uint32_t& low, uint32_t& high, bool whole = true) {
  const bool upper = (lane() & Bit) != 0;
  const uint32_t got = quad_exchange<Bit>(mask, upper ? low : high, whole);
  low = upper ? got : low;
  high = upper ? high : got;
}
#endif

/// Value of the lowest lane of `mask`, which are the lanes that call.
template <class T>
XIO_DEVICE_INLINE T from_first(uint64_t mask, T value) {
  if constexpr (branches_separate_lanes) {
    return uniform(value);
  } else {
    return broadcast(mask, value, first_lane(mask));
  }
}

/// @}
}  // namespace arch

XIO_NAMESPACE_END
