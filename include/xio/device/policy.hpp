// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What a queue type fixes at compile time: who shares it, when it rings, how entries become visible, what is
/// checked.

#include <xio/device/arch.hpp>

XIO_NAMESPACE_BEGIN

/// Who may use one queue pair at the same time.
enum class Sharing {
  thread,  ///< one thread; other threads of the wave may use queues of their own
  wave,    ///< the active lanes of one wave together
  block,   ///< all waves of one workgroup
  grid     ///< all waves of the GPU
};

template <Sharing S>
constexpr bool is_shared = S == Sharing::block || S == Sharing::grid;

/// Scope at which the queue's state words are coherent.
template <Sharing S>
constexpr arch::Scope state_scope = S == Sharing::block ? arch::Scope::workgroup : arch::Scope::agent;

/// When a published entry is announced to the device.
enum class Ringing {
  immediate,  ///< at once; while a doorbell is under way, those that come meanwhile together by the next one
  deferred    ///< when `ring_every` entries wait, on flush(), and before any wait of the library
};

/// How entries become visible to the device.
enum class Publication {
  release,       ///< stored like data; one cache write-back before the doorbell covers them and the caller's payload
  write_through  ///< stored through the caches; no write-back: the caller's payload needs publish_payload()
};

/// A compile-time bundle of choices. Derive from one and hide a member to change it.
struct Throughput {
  static constexpr Ringing ringing = Ringing::immediate;
  static constexpr Publication publication = Publication::release;
  static constexpr bool argument_checks = true;    ///< refuse, and split, before anything reaches the device
  static constexpr bool slot_checks = true;        ///< do not reuse a command identifier that is still in flight
  static constexpr bool completion_checks = true;  ///< a completion of another queue pair breaks the queue (RDMA)
  static constexpr bool notifications = false;     ///< submissions may name a Notification
  static constexpr bool narrow_slots = false;      ///< queue memory takes at most 8 bytes an access
  static constexpr bool inbound_in_order = true;   ///< data is visible once its completion is; else waits flush inbound
  static constexpr bool keeps_receives = true;     ///< nothing is posted over what arrived and nobody has asked for
  static constexpr uint32_t ring_every = 16;       ///< with Ringing::deferred: most entries that wait unannounced
  static constexpr uint32_t most_doorbells = 8;    ///< in a row that one call stores; then others may take that over
};

/// As Throughput: shared queues ring at once in both.
struct Latency : Throughput {};

/// As Latency, but the caller vouches for the arguments: nothing is refused, and nothing is split.
struct Trusting : Latency {
  static constexpr bool argument_checks = false;
};

/// As Trusting, but the caller also vouches that no operation stays in flight while the ring goes round once, and that
/// a completion queue has completions of its own queue pair alone.
struct Unchecked : Trusting {
  static constexpr bool slot_checks = false;
  static constexpr bool completion_checks = false;
};

/// Announces on flush(), every `Entries` entries, and before waits.
template <uint32_t Entries, class Base = Throughput>
struct Deferred : Base {
  static_assert(Entries >= 1, "ring after at least one entry");
  static constexpr Ringing ringing = Ringing::deferred;
  static constexpr uint32_t ring_every = Entries;
};

/// Entries are stored through the caches. The ring must lie in uncached or fine-grained memory.
template <class Base = Throughput>
struct WriteThrough : Base {
  static constexpr Publication publication = Publication::write_through;
};

/// Submissions may name a Notification that counts their completions.
template <class Base = Throughput>
struct Notifying : Base {
  static constexpr bool notifications = true;
};

/// The submission ring takes at most 8 bytes an access.
template <class Base = Throughput>
struct NarrowSlots : Base {
  static constexpr bool narrow_slots = true;
};

/// Receives are posted again whether anybody has asked what arrived or not: for those who learn of messages otherwise.
/// A token that is asked later than that is answered with Status::expired. For all users of a receive queue or for
/// none.
template <class Base = Throughput>
struct Unasked : Base {
  static constexpr bool keeps_receives = false;
};

/// Where a queue's completions and its data lie.
enum class Memory { host, device };

/// States where completions and data lie. PCIe does not order a completion in host memory after data in device memory,
/// so that pairing makes every wait flush inbound writes.
template <Memory Completions, Memory Data, class Base = Throughput>
struct Placed : Base {
  static constexpr bool inbound_in_order = Completions == Data || Data == Memory::host;
};

XIO_NAMESPACE_END
