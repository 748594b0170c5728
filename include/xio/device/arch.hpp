// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The one door to the architecture: scopes, fences, atomics, stores to queues, wave operations, clock.
///
/// Every builtin and every piece of inline assembly of the library lies in the three back ends that this header
/// chooses from. All of them offer the same functions in namespace xio::arch; `docs/memory-model.md` states what each
/// emits. In short:
///
/// | function                        | what it promises                                                             |
/// |---------------------------------|------------------------------------------------------------------------------|
/// | `load<S>`, `store<S>`           | relaxed and coherent at scope S, 4 or 8 bytes                                |
/// | `fetch_add<S>`, `exchange<S>`, `compare_exchange<S>` | relaxed read-modify-write, coherent at scope S           |
/// | `publish<S>(word, v)`           | as `store<S>`, after every earlier coherent store of this wave is performed  |
/// | `observe<S>(word)`              | as `load<S>`; coherent loads that follow are not performed before it         |
/// | `release_system()`              | every earlier store of this wave, cached ones too, has reached system scope  |
/// | `wait_stores()`                 | every earlier store of this wave is performed; caches are not written back   |
/// | `acquire_system()`              | later loads see what any agent of the system released before                 |
/// | `full_fence_system()`           | orders earlier stores before later loads (the shadow doorbell needs it)      |
/// | `store_mmio(reg, v)`            | one store of exactly this width to a device register                         |
/// | `store_entry(slot, v)`          | 16 bytes of a queue entry; ordered by the release that precedes the doorbell |
/// | `store_entry_through(slot, v)`  | as above, written through to system scope; the slot is uniform in the wave   |
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
#include <xio/device/arch/amdgcn.hpp>
#elif XIO_ARCH_NVPTX
#include <xio/device/arch/nvptx.hpp>
#else
#include <xio/device/arch/host.hpp>
#endif

XIO_NAMESPACE_BEGIN

namespace arch {

/// Number of lanes in a mask.
XIO_DEVICE constexpr uint32_t count_lanes(uint64_t mask) { return static_cast<uint32_t>(__builtin_popcountll(mask)); }

/// Lowest lane of a mask that is not empty.
XIO_DEVICE constexpr uint32_t first_lane(uint64_t mask) { return static_cast<uint32_t>(__builtin_ctzll(mask)); }

/// Position of the calling lane among the lanes of `mask`, counted from 0.
XIO_DEVICE uint32_t rank_in(uint64_t mask) { return count_lanes(mask & ((uint64_t{1} << lane()) - 1)); }

/// Whether the calling lane is the lowest of `mask`.
XIO_DEVICE bool is_first(uint64_t mask) { return first_lane(mask) == lane(); }

}  // namespace arch

XIO_NAMESPACE_END
