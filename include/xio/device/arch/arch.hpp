// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The one door to the architecture: scopes, fences, atomics, stores to queues, wave operations, clock.
///
/// Every builtin and every piece of inline assembly of the library lies in the three back ends that this header
/// chooses from. All of them offer the same functions in namespace xio::arch; `docs/memory-model.md` states what each
/// emits. In short:
///
/// | function                      | what it promises                                                               |
/// |-------------------------------|--------------------------------------------------------------------------------|
/// | `load<S>`, `store<S>`         | relaxed and coherent at scope S, 4 or 8 bytes                                  |
/// | `fetch_add<S>`, `exchange<S>` | relaxed read-modify-write, coherent at scope S                                 |
/// | `compare_exchange<S>`         | the same                                                                       |
/// | `compare_exchange_acquire<S>` | where it succeeds, accesses that follow are not performed before it            |
/// | `compare_exchange_ordered<S>` | the same, also where it fails; and passes on what was acquired before          |
/// | `publish<S>(word, v)`         | as `store<S>`, after earlier coherent stores of this wave are performed        |
/// | `publish_add<S>`              | as `fetch_add<S>`, as late as `publish<S>`                                     |
/// | `publish_exchange<S>`         | as `exchange<S>`, as late as `publish<S>`                                      |
/// | `observe<S>(word)`            | as `load<S>`; coherent loads that follow are not performed before it           |
/// | `order_loads<S>()`            | `load<S>`s before it are performed before those after it                        |
/// | `release_system()`            | every earlier store of this wave, cached ones too, has reached system scope    |
/// | `wait_stores()`               | every earlier store of this wave is performed; caches are not written back     |
/// | `pass_on()`                   | what other waves released to this one precedes its later stores for devices    |
/// | `acquire_system()`            | later loads see what any agent of the system released before                   |
/// | `full_fence_system()`         | orders earlier stores before later loads (the shadow doorbell needs it)        |
/// | `full_fence<S>()`             | the same between coherent accesses of scope S                                  |
/// | `fenced_clock()`              | the clock: after all earlier accesses are performed, before any later one      |
/// | `active()`                    | lanes that are here at the same time; NVIDIA GPUs may answer with a part       |
/// | `together(lanes)`             | lanes that call by contract: `lanes`, or where it is 0 all of the wave         |
/// | `converge(mask)`              | the lanes have come together; their earlier stores precede their later ones    |
/// | `block_barrier()`             | all threads of the block are here, and their earlier stores are performed      |
/// | `store_mmio(reg, v)`          | one store of exactly this width to a device register                           |
/// | `serve_doorbell(word)`        | on the CPU calls what stands behind a doorbell word; on GPUs nothing           |
/// | `store_entry(slot, v)`        | 16 bytes of a queue entry; ordered by the release that precedes the doorbell   |
/// | `store_entry_through<Part>(…)` | the same, written through to system scope, `offset + Part` bytes into a ring  |
///
/// The host back end makes loads acquire and stores release: free on x86, and ThreadSanitizer, which does not model
/// fences, can then check the protocol.

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace arch {

/// How far a coherent access must be visible.
enum class Scope { workgroup, agent, system };

/// 16 bytes of a queue entry, as it is moved to the ring.
struct alignas(16) Vec16 {
  uint32_t word[4];
};

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

/// Whether two branches that are foreseen cost less than one on both conditions.
constexpr bool branches_are_cheap = XIO_ARCH_HOST;

/// Whether what is seldom needed is better called than kept in its callers, where it takes their registers.
constexpr bool calls_are_cheap = XIO_ARCH_HOST;

/// Whether what several places of a kernel do is better called than repeated in each of them.
constexpr bool calls_save_registers = XIO_ARCH_AMDGCN;

/// Whether serve_doorbell() does something.
constexpr bool doorbells_call = XIO_ARCH_HOST;

/// Number of lanes in a mask.
#if XIO_ARCH_NVPTX
XIO_DEVICE uint32_t count_lanes(uint64_t mask) {
  uint32_t lanes;
  asm("popc.b64 %0, %1;" : "=r"(lanes) : "l"(mask));
  return lanes;
}
#else
XIO_DEVICE constexpr uint32_t count_lanes(uint64_t mask) { return static_cast<uint32_t>(__builtin_popcountll(mask)); }
#endif

/// Lowest lane of a mask that is not empty.
#if XIO_ARCH_NVPTX
XIO_DEVICE uint32_t first_lane(uint64_t mask) { return count_lanes(~mask & (mask - 1)); }
#else
XIO_DEVICE constexpr uint32_t first_lane(uint64_t mask) { return static_cast<uint32_t>(__builtin_ctzll(mask)); }
#endif

/// Whether the calling lane is the lowest of `mask`.
XIO_DEVICE bool is_first(uint64_t mask) { return first_lane(mask) == lane(); }

/// Whether the calling lane is in `mask`.
XIO_DEVICE bool is_in(uint64_t mask) { return (mask >> lane() & 1) != 0; }

#if !XIO_ARCH_HOST
/// Who serves doorbell words finds them changed.
XIO_DEVICE_INLINE void serve_doorbell(const void*) {}

/// Entries are stored 16 bytes at a time.
constexpr bool has_whole_entry_store = false;
template <class Entry>
XIO_DEVICE_INLINE void store_whole_entry(Entry*, const Entry&) = delete;

/// The same pointer. On the host the compiler adds offsets to it, and does not compute each sum from the parts of this
/// one anew.
template <class T>
XIO_DEVICE_INLINE T* as_base(T* pointer) {
  return pointer;
}
#endif

#if !XIO_ARCH_AMDGCN
/// The same pointer, with the promise that it is neither to a thread's own memory nor to a workgroup's.
template <class T>
XIO_DEVICE_INLINE T* in_global(T* pointer) {
  return pointer;
}

/// Position of the calling lane among the lanes of `mask`, counted from 0.
XIO_DEVICE uint32_t rank_in(uint64_t mask) { return count_lanes(mask & ((uint64_t{1} << lane()) - 1)); }

/// `condition`, or whether any lane that runs in step with this one has it: a branch on it before one on `condition`
/// itself lets a wave pass by what is seldom needed.
XIO_DEVICE_INLINE constexpr bool seldom(bool condition) { return condition; }

/// On AMD GPUs, plain loads behind this go to vector registers, even where all lanes load the same: arithmetic that
/// ends in a vector store then needs no moves from scalar ones.
XIO_DEVICE_INLINE void prefer_vector_loads() {}

/// One step of a transposition: lanes whose number has bit `Bit` clear keep `low` and get their neighbour's `low` as
/// `high`; the others keep `high` and get their neighbour's `high` as `low`. `mask` holds whole quads.
template <uint32_t Bit>
XIO_DEVICE_INLINE void quad_transpose(uint64_t mask, uint32_t& low, uint32_t& high) {
  const bool upper = (lane() & Bit) != 0;
  const uint32_t got = quad_exchange<Bit>(mask, upper ? low : high);
  low = upper ? got : low;
  high = upper ? high : got;
}
#endif

}  // namespace arch

XIO_NAMESPACE_END
