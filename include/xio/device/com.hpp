// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The three primitives that everything else stands on: XioComEnqueue, XioComDequeue, XioComDoorbell.
///
/// They move one queue entry, or one doorbell value, and know nothing of rings. All of them can be used in constant
/// evaluation, into or from plain objects.

#include <xio/device/arch.hpp>

XIO_NAMESPACE_BEGIN

/// How XioComEnqueue stores.
namespace store {
struct Stream {};   ///< 16 bytes a store; visible to the device with the release that precedes the doorbell
struct Through {};  ///< 16 bytes a store, written through to system scope; the ring is uniform in the wave
struct Narrow {};   ///< 8 bytes a store, for memory that takes no wider access
}  // namespace store

/// Whether XioComDoorbell makes earlier stores visible itself.
namespace order {
struct Release {};  ///< earlier stores, cached ones too, reach the device first
struct Stored {};   ///< earlier stores were written through; only waits for them
struct Relaxed {};  ///< the caller has released already
}  // namespace order

namespace detail {

template <class Entry>
struct Chunks {
  static_assert(sizeof(Entry) % 16 == 0, "queue entries are whole 16-byte chunks");
  static constexpr uint32_t count = sizeof(Entry) / 16;
  arch::Vec16 chunk[count];
};

XIO_DEVICE_INLINE void store_chunk(store::Stream, arch::Vec16* to, const arch::Vec16& value) {
  arch::store_entry(to, value);
}
XIO_DEVICE_INLINE void store_chunk(store::Through, arch::Vec16* to, const arch::Vec16& value) {
  arch::store_entry_through(to, value);
}
XIO_DEVICE_INLINE void store_chunk(store::Narrow, arch::Vec16* to, const arch::Vec16& value) {
  auto* const words = reinterpret_cast<uint64_t*>(to);
  arch::store_entry8(words, static_cast<uint64_t>(value.word[1]) << 32 | value.word[0]);
  arch::store_entry8(words + 1, static_cast<uint64_t>(value.word[3]) << 32 | value.word[2]);
}

}  // namespace detail

/// Stores one queue entry. The device sees it after the next XioComDoorbell of the same wave.
///
/// @tparam How store::Stream, store::Through or store::Narrow, a property of the ring's memory.
template <class How = store::Stream, class Entry>
XIO_DEVICE_INLINE constexpr void XioComEnqueue(const Entry& entry, Entry* where) {
  if (__builtin_is_constant_evaluated()) {
    *where = entry;
  } else {
    const auto chunks = __builtin_bit_cast(detail::Chunks<Entry>, entry);
    auto* const to = reinterpret_cast<arch::Vec16*>(where);
    for (uint32_t i = 0; i < detail::Chunks<Entry>::count; ++i) detail::store_chunk(How{}, to + i, chunks.chunk[i]);
  }
}

/// Stores `Size` raw bytes as a queue entry and, where `Fence` says so, makes them visible to the device.
/// Both addresses are multiples of 16, and so is `Size`.
template <uint32_t Size, bool Fence = false>
XIO_DEVICE_INLINE void XioComEnqueue(const void* entry, void* where) {
  static_assert(Size % 16 == 0, "queue entries are whole 16-byte chunks");
  const auto* const from = static_cast<const arch::Vec16*>(entry);
  auto* const to = static_cast<arch::Vec16*>(where);
  for (uint32_t i = 0; i < Size / 16; ++i) arch::store_entry(to + i, from[i]);
  if (Fence) arch::release_system();
}

/// Loads one queue entry that the device wrote, after its valid bit was seen with arch::observe.
template <class Entry>
XIO_DEVICE_INLINE constexpr Entry XioComDequeue(const Entry* where) {
  static_assert(sizeof(Entry) % 8 == 0, "queue entries are whole 8-byte words");
  if (__builtin_is_constant_evaluated()) {
    return *where;
  } else {
    struct Words {
      uint64_t word[sizeof(Entry) / 8];
    } words;
    const auto* const from = reinterpret_cast<const uint64_t*>(where);
    for (uint32_t i = 0; i < sizeof(Entry) / 8; ++i) words.word[i] = arch::load<arch::Scope::system>(from + i);
    return __builtin_bit_cast(Entry, words);
  }
}

/// Stores one doorbell value. One active lane calls: lanes that store doorbells in the same step may be merged.
///
/// @tparam Order order::Release, order::Stored or order::Relaxed.
template <class Order = order::Release, class Word>
XIO_DEVICE_INLINE constexpr void XioComDoorbell(Word* where, Word value) {
  if (__builtin_is_constant_evaluated()) {
    *where = value;
  } else {
    if constexpr (__is_same(Order, order::Release)) {
      arch::release_system();
    } else if constexpr (__is_same(Order, order::Stored)) {
      arch::wait_stores();
    }
    arch::store_mmio(where, value);
  }
}

namespace detail {

// Turns the four chunks of each lane's entry into one chunk of each entry of the quad: afterwards chunk[i] is the part
// of lane i's entry that the calling lane stores.
XIO_DEVICE_INLINE void transpose_quad(uint64_t mask, arch::Vec16 (&chunk)[4]) {
  const bool odd = (arch::lane() & 1) != 0;
  const bool upper = (arch::lane() & 2) != 0;
  for (uint32_t pair = 0; pair < 4; pair += 2) {
    for (uint32_t word = 0; word < 4; ++word) {
      uint32_t& low = chunk[pair].word[word];
      uint32_t& high = chunk[pair + 1].word[word];
      const uint32_t got = arch::quad_exchange<1>(mask, odd ? low : high);
      low = odd ? got : low;
      high = odd ? high : got;
    }
  }
  for (uint32_t pair = 0; pair < 2; ++pair) {
    for (uint32_t word = 0; word < 4; ++word) {
      uint32_t& low = chunk[pair].word[word];
      uint32_t& high = chunk[pair + 2].word[word];
      const uint32_t got = arch::quad_exchange<2>(mask, upper ? low : high);
      low = upper ? got : low;
      high = upper ? high : got;
    }
  }
}

}  // namespace detail

/// Stores the entries of many lanes, one each, so that every store instruction writes whole 64-byte entries.
///
/// All lanes of `group` call together; those in `storing` have an entry. Four neighbouring lanes that all store move
/// their entries together, one 16-byte part each; others store their own.
/// @param slot entry of `ring` for the calling lane's entry.
template <class How = store::Stream, class Entry>
XIO_DEVICE_INLINE void enqueue_wave(uint64_t group, uint64_t storing, const Entry& entry, Entry* ring, uint32_t slot) {
  static_assert(sizeof(Entry) == 64, "the quad transposition moves 64-byte entries");
  if (!(storing >> arch::lane() & 1)) return;
  uint64_t quads = storing & storing >> 1;
  quads &= quads >> 2;
  quads &= 0x1111111111111111u;
  const uint64_t together = quads * 15;
  auto* const chunks = reinterpret_cast<arch::Vec16*>(ring);
  if (together >> arch::lane() & 1) {
    auto parts = __builtin_bit_cast(detail::Chunks<Entry>, entry);
    detail::transpose_quad(together & group, parts.chunk);
    const uint32_t part = arch::lane() & 3;
    const uint32_t slots[4] = {
        arch::quad_broadcast<0>(together, slot), arch::quad_broadcast<1>(together, slot),
        arch::quad_broadcast<2>(together, slot), arch::quad_broadcast<3>(together, slot)};
    for (uint32_t i = 0; i < 4; ++i) detail::store_chunk(How{}, chunks + (slots[i] * 4 + part), parts.chunk[i]);
  } else {
    XioComEnqueue<How>(entry, ring + slot);
  }
}

XIO_NAMESPACE_END
