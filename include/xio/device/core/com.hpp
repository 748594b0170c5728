// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The three primitives under all queue code: XioComEnqueue, XioComDequeue, XioComDoorbell.
///
/// Each moves one queue entry or one doorbell value and knows nothing of rings. All of them work in constant
/// evaluation, on plain objects.
/// @snippet com.cpp constexpr

#include <xio/device/arch/arch.hpp>

XIO_NAMESPACE_BEGIN
/// @addtogroup kernel_core
/// @{

/// Store instructions that XioComEnqueue uses.
namespace store {
/// @addtogroup kernel_core
/// @{
struct Stream {};   ///< 16 bytes per store; visible to the device with the release that precedes the doorbell
struct Through {};  ///< 16 bytes per store, written through to system scope; expensive where each lane has its own ring
struct Narrow {};   ///< 8 bytes per store, for memory that supports no wider access
/// @}
}  // namespace store

/// Whether XioComDoorbell itself makes earlier stores visible.
namespace order {
/// @addtogroup kernel_core
/// @{
struct Release {};  ///< releases earlier stores, cached ones included, before the doorbell
struct Stored {};   ///< earlier stores were written through; waits for them and for loads, and writes nothing back
struct Relaxed {};  ///< the caller has already released
/// @}
}  // namespace order

namespace detail {

template <class Entry>
struct Chunks {
  static_assert(sizeof(Entry) % 16 == 0, "the entry size must be a multiple of 16 bytes");
  static constexpr uint32_t count = sizeof(Entry) / 16;
  arch::Vec16 chunk[count];
};

// A base shared by many lanes plus a 32-bit offset is a single addressing mode of the hardware.
XIO_DEVICE_INLINE arch::Vec16* chunk_at(arch::Vec16* ring, uint32_t offset) {
  return reinterpret_cast<arch::Vec16*>(reinterpret_cast<char*>(ring) + offset);
}

// `Part`: an additional constant offset in bytes.
template <uint32_t Part = 0>
XIO_DEVICE_INLINE void store_chunk(store::Stream, arch::Vec16* ring, uint32_t offset, const arch::Vec16& value) {
  arch::store_entry(chunk_at(ring, offset + Part), value);
}
template <uint32_t Part = 0>
XIO_DEVICE_INLINE void store_chunk(store::Through, arch::Vec16* ring, uint32_t offset, const arch::Vec16& value) {
  arch::store_entry_through<Part>(ring, offset, value);
}
template <uint32_t Part = 0>
XIO_DEVICE_INLINE void store_chunk(store::Narrow, arch::Vec16* ring, uint32_t offset, const arch::Vec16& value) {
  auto* const words = reinterpret_cast<uint64_t*>(chunk_at(ring, offset + Part));
  arch::store_entry8(words, static_cast<uint64_t>(value.word[1]) << 32 | value.word[0]);
  arch::store_entry8(words + 1, static_cast<uint64_t>(value.word[3]) << 32 | value.word[2]);
}

template <class How, uint32_t First = 0, uint32_t Count>
XIO_DEVICE_INLINE void store_chunks(arch::Vec16* ring, uint32_t offset, const arch::Vec16 (&chunk)[Count]) {
  if constexpr (First < Count) {
    store_chunk<First* static_cast<uint32_t>(sizeof(arch::Vec16))>(How{}, ring, offset, chunk[First]);
    store_chunks<How, First + 1>(ring, offset, chunk);
  }
}

}  // namespace detail

/// Stores one queue entry in a slot of its ring. The device sees it after the next XioComDoorbell of this wave.
///
/// @tparam How store::Stream, store::Through or store::Narrow, as the ring's memory requires.
///
/// @snippet com.cpp XioComEnqueue
template <class How = store::Stream, class Entry>
XIO_DEVICE_INLINE constexpr void XioComEnqueue(const Entry& entry, Entry* ring, uint32_t slot) {
  if (__builtin_is_constant_evaluated()) {
    ring[slot] = entry;
  } else if constexpr (arch::has_whole_entry_store && !IsSame<How, store::Narrow>::value) {
    arch::store_whole_entry(ring + slot, entry);
  } else {
    const auto chunks = __builtin_bit_cast(detail::Chunks<Entry>, entry);
    auto* const to = reinterpret_cast<arch::Vec16*>(ring);
    detail::store_chunks<How>(to, slot * static_cast<uint32_t>(sizeof(Entry)), chunks.chunk);
  }
}

/// Stores one queue entry at the address of its slot.
/// @snippet com.cpp enqueue_address
template <class How = store::Stream, class Entry>
XIO_DEVICE_INLINE constexpr void XioComEnqueue(const Entry& entry, Entry* where) {
  XioComEnqueue<How>(entry, where, 0);
}

/// Stores `Size` raw bytes as a queue entry and, if `Fence`, makes them visible to the device. Both addresses and
/// `Size` are multiples of 16.
/// @snippet com.cpp enqueue_bytes
template <uint32_t Size, bool Fence = false>
XIO_DEVICE_INLINE void XioComEnqueue(const void* entry, void* where) {
  static_assert(Size % 16 == 0, "the entry size must be a multiple of 16 bytes");
  const auto* const from = static_cast<const arch::Vec16*>(entry);
  auto* const to = static_cast<arch::Vec16*>(where);
  for (uint32_t i = 0; i < Size / 16; ++i) arch::store_entry(to + i, from[i]);
  if (Fence) arch::release_system();
}

/// Loads one queue entry that the device wrote. The caller has seen its valid bit with arch::observe.
/// @snippet com.cpp XioComDequeue
template <class Entry>
XIO_DEVICE_INLINE constexpr Entry XioComDequeue(const Entry* where) {
  static_assert(sizeof(Entry) % 8 == 0, "the entry size must be a multiple of 8 bytes");
  if (__builtin_is_constant_evaluated()) {
    return *where;
  } else {
    struct Words {
      uint64_t word[sizeof(Entry) / 8];
    } words{};
    const auto* const from = reinterpret_cast<const uint64_t*>(where);
    for (uint32_t i = 0; i < sizeof(Entry) / 8; ++i) words.word[i] = arch::load<arch::Scope::system>(from + i);
    return __builtin_bit_cast(Entry, words);
  }
}

/// Stores one doorbell value. Exactly one active lane calls: doorbell stores of several lanes in one step may be
/// merged.
///
/// @tparam Order order::Release, order::Stored or order::Relaxed.
///
/// @snippet com.cpp XioComEnqueue
template <class Order = order::Release, class Word>
XIO_DEVICE_INLINE constexpr void XioComDoorbell(Word* where, Word value) {
  if (__builtin_is_constant_evaluated()) {
    *where = value;
  } else {
    if constexpr (IsSame<Order, order::Release>::value) {
      arch::release_system();
    } else if constexpr (IsSame<Order, order::Stored>::value) {
      // Without write-through stores, entries may still be in the cache.
      if constexpr (arch::has_write_through) {
        arch::wait_accesses();
      } else {
        arch::release_system();
      }
    }
    arch::store_mmio(where, value);
  }
}

namespace detail {

// Transposes the entries of a quad: afterwards chunk[i] is the part of lane i's entry that the calling lane stores.
// Nothing happens to a quad that is not `whole`.
XIO_DEVICE_INLINE void transpose_quad(uint64_t mask, arch::Vec16 (&chunk)[4], bool whole) {
  for (uint32_t pair = 0; pair < 4; pair += 2) {
    for (uint32_t word = 0; word < 4; ++word) {
      arch::quad_transpose<1>(mask, chunk[pair].word[word], chunk[pair + 1].word[word], whole);
    }
  }
  for (uint32_t pair = 0; pair < 2; ++pair) {
    for (uint32_t word = 0; word < 4; ++word) {
      arch::quad_transpose<2>(mask, chunk[pair].word[word], chunk[pair + 2].word[word], whole);
    }
  }
}

}  // namespace detail

/// Stores one entry per lane so that every store instruction writes whole 64-byte entries.
///
/// All lanes of `group` call together; lanes in `storing` have an entry. Aligned groups of four lanes that all store
/// write their entries together, one 16-byte part per lane; other lanes store their own entry.
/// @param slot index in `ring` of the calling lane's entry.
///
/// @snippet com.cpp enqueue_wave
template <class How = store::Stream, class Entry>
XIO_DEVICE_INLINE void enqueue_wave(uint64_t group, uint64_t storing, const Entry& entry, Entry* ring, uint32_t slot) {
  static_assert(sizeof(Entry) == 64, "the quad transposition moves 64-byte entries");
  uint64_t quads = storing & storing >> 1;
  quads &= quads >> 2;
  quads &= 0x1111111111111111u;
  const uint64_t together = quads * 15;
  ring = arch::uniform(ring);
  if constexpr (arch::lanes_stay_together) {
    auto* const to = reinterpret_cast<arch::Vec16*>(ring);
    const uint32_t own = slot * static_cast<uint32_t>(sizeof(Entry));
    const uint32_t part = (arch::lane() & 3) * static_cast<uint32_t>(sizeof(arch::Vec16));
    const bool whole = arch::is_in(together);
    // All lanes shuffle, and the four stores are those of all lanes.
    auto parts = __builtin_bit_cast(detail::Chunks<Entry>, entry);
    uint32_t offsets[4] = {own, own + 16, own + 32, own + 48};
    if (together != 0) {
      detail::transpose_quad(group, parts.chunk, whole);
      for (uint32_t i = 0; i < 4; ++i) {
        const uint32_t base = arch::shuffle(group, own, whole ? (arch::lane() & ~3u) | i : arch::lane());
        if (whole) offsets[i] = base | part;
      }
    }
    if (arch::is_in(storing)) {
      for (uint32_t i = 0; i < 4; ++i) detail::store_chunk(How{}, to, offsets[i], parts.chunk[i]);
    }
  } else {
    if (arch::is_in(together)) {
      auto parts = __builtin_bit_cast(detail::Chunks<Entry>, entry);
      detail::transpose_quad(together & group, parts.chunk, true);
      auto* const to = reinterpret_cast<arch::Vec16*>(ring);
      const uint32_t own = slot * static_cast<uint32_t>(sizeof(Entry));
      const uint32_t part = (arch::lane() & 3) * static_cast<uint32_t>(sizeof(arch::Vec16));
      const uint32_t offsets[4] = {
          arch::quad_broadcast<0>(together, own) | part, arch::quad_broadcast<1>(together, own) | part,
          arch::quad_broadcast<2>(together, own) | part, arch::quad_broadcast<3>(together, own) | part};
      for (uint32_t i = 0; i < 4; ++i) detail::store_chunk(How{}, to, offsets[i], parts.chunk[i]);
    }
    const uint64_t alone = storing & ~together;
    if (XIO_UNLIKELY(alone != 0)) {
      if (arch::is_in(alone)) XioComEnqueue<How>(entry, ring, slot);
    }
  }
}

/// @}
XIO_NAMESPACE_END
