// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The CPU as an execution space: atomics of the compiler, fences, stores to devices.

#include <xio/device/arch/arch.hpp>
#include <xio/device/arch/host/give_way.hpp>
#include <xio/device/arch/host/lanes.hpp>
#include <xio/device/arch/served_doorbells.hpp>

XIO_NAMESPACE_BEGIN

namespace arch {
/// @addtogroup kernel_arch
/// @{

namespace detail {
/// Scheduling point for tests that vary the schedule.
template <class T>
XIO_DEVICE_INLINE void interleave([[maybe_unused]] const T* where) {
#if XIO_INTERLEAVE
  if (current_wave) current_wave->access(where, sizeof(T));
#endif
}

/// Whether the wave takes over this store, to perform it later.
template <class T>
XIO_DEVICE_INLINE bool later([[maybe_unused]] T* to, [[maybe_unused]] const T& value,
                             [[maybe_unused]] bool entry = false) {
#if XIO_INTERLEAVE
  if (current_wave) return current_wave->store_later(to, &value, sizeof(T), entry);
#endif
  return false;
}
XIO_DEVICE_INLINE void perform() {
#if XIO_INTERLEAVE
  if (current_wave) current_wave->perform_stores();
#endif
}

XIO_DEVICE_INLINE void count([[maybe_unused]] uint64_t OperationCounts::* what, [[maybe_unused]] uint64_t number = 1) {
#if XIO_COUNT_OPERATIONS
  operation_counts.*what += number;
#endif
}

template <class T>
void tell_observer(StoreKind kind, const T* to, T value) {
  store_observer->on_store(kind, to, &value, static_cast<uint32_t>(sizeof(T)));
}

template <class T>
XIO_DEVICE_INLINE void show([[maybe_unused]] StoreKind kind, [[maybe_unused]] const T* to,
                            [[maybe_unused]] const T& value) {
#if XIO_COUNT_OPERATIONS > 1
  if (XIO_UNLIKELY(store_observer != nullptr)) tell_observer(kind, to, value);
#endif
}

XIO_DEVICE_INLINE void show([[maybe_unused]] FenceKind kind) {
#if XIO_COUNT_OPERATIONS > 1
  if (store_observer) store_observer->on_fence(kind);
#endif
}
}  // namespace detail

template <Scope S, class T>
XIO_DEVICE_INLINE T load(const T* from) {
  detail::interleave(from);
  return __atomic_load_n(from, __ATOMIC_ACQUIRE);  // order: load before the next
}

template <Scope S, class T>
XIO_DEVICE_INLINE T observe(const T* from) {
  detail::interleave(from);
  return __atomic_load_n(from, __ATOMIC_ACQUIRE);  // order: load before the next
}

template <Scope S>
XIO_DEVICE_INLINE void order_loads() {}

template <Scope S, class T>
XIO_DEVICE_INLINE void store(T* to, T value) {
  detail::interleave(to);
  if constexpr (S == Scope::system) detail::count(&OperationCounts::word_stores);
  detail::show(StoreKind::word, to, value);
  if (detail::later(to, value)) return;
  __atomic_store_n(to, value, __ATOMIC_RELEASE);
}

template <Scope S, class T>
XIO_DEVICE_INLINE void publish(T* to, T value) {
  detail::perform();
  detail::interleave(to);
  detail::count(&OperationCounts::store_waits);
  detail::show(FenceKind::store_wait);
  detail::show(StoreKind::word, to, value);
  if (detail::later(to, value)) return;
  __atomic_store_n(to, value, __ATOMIC_RELEASE);  // order: stores before this one
}

template <Scope S, class T>
XIO_DEVICE_INLINE T fetch_add(T* to, T value) {
  detail::interleave(to);
  detail::count(&OperationCounts::atomics);
  return __atomic_fetch_add(to, value, __ATOMIC_RELAXED);
}

template <Scope S, class T>
XIO_DEVICE_INLINE T exchange(T* to, T value) {
  detail::interleave(to);
  detail::count(&OperationCounts::atomics);
  return __atomic_exchange_n(to, value, __ATOMIC_RELAXED);
}

/// Returns true if `*to` was `expected` and is now `desired`; otherwise `expected` receives the value found.
template <Scope S, class T>
XIO_DEVICE_INLINE bool compare_exchange(T* to, T& expected, T desired) {
  detail::interleave(to);
  detail::count(&OperationCounts::atomics);
  return __atomic_compare_exchange_n(to, &expected, desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

template <Scope S, class T>
XIO_DEVICE_INLINE bool compare_exchange_acquire(T* to, T& expected, T desired) {
  detail::interleave(to);
  detail::count(&OperationCounts::atomics);
  return __atomic_compare_exchange_n(to, &expected, desired, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

/// compare_exchange() that acquires, also on failure, and passes on what was acquired before.
template <Scope S, class T>
XIO_DEVICE_INLINE bool compare_exchange_ordered(T* to, T& expected, T desired) {
  detail::interleave(to);
  detail::count(&OperationCounts::atomics);
  return __atomic_compare_exchange_n(to, &expected, desired, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

template <Scope S>
XIO_DEVICE_INLINE uint64_t observe_ordered(uint64_t* word) {
  detail::interleave(word);
  detail::count(&OperationCounts::atomics);
  return __atomic_fetch_add(word, uint64_t{0}, __ATOMIC_ACQ_REL);
}

template <Scope S, class T>
XIO_DEVICE_INLINE void publish_add(T* to, T value) {
  detail::interleave(to);
  detail::count(&OperationCounts::atomics);
  __atomic_fetch_add(to, value, __ATOMIC_RELEASE);
}

template <Scope S, class T>
XIO_DEVICE_INLINE T publish_exchange(T* to, T value) {
  detail::perform();
  detail::interleave(to);
  detail::count(&OperationCounts::store_waits);
  detail::count(&OperationCounts::atomics);
  detail::show(FenceKind::store_wait);
  return __atomic_exchange_n(to, value, __ATOMIC_RELEASE);
}

template <bool InGpuMemory = false>
XIO_DEVICE_INLINE void release_system() {
  detail::count(&OperationCounts::releases);
  detail::show(FenceKind::release);
  detail::perform();
  __atomic_signal_fence(__ATOMIC_RELEASE);
}

template <bool InGpuMemory = false>
XIO_DEVICE_INLINE void wait_stores() {
  detail::count(&OperationCounts::store_waits);
  detail::show(FenceKind::store_wait);
  detail::perform();
  __atomic_signal_fence(__ATOMIC_RELEASE);
}

/// Loads acquire, so later stores follow them.
template <bool InGpuMemory = false>
XIO_DEVICE_INLINE void wait_accesses() {
  wait_stores();
}

XIO_DEVICE_INLINE void wait_before_exchange() { wait_stores(); }

XIO_DEVICE_INLINE void acquire_system() {
  detail::count(&OperationCounts::acquires);
  __atomic_signal_fence(__ATOMIC_ACQUIRE);
}
template <Scope S, bool Elsewhere = true>
XIO_DEVICE_INLINE void acquire_published() {
  acquire_system();
}

/// Does nothing: doorbells are stored with release order, which covers what was acquired.
template <bool InGpuMemory = false>
XIO_DEVICE_INLINE void pass_on() {}

namespace detail {
XIO_DEVICE_INLINE void full_fence() {
  perform();
#if XIO_TSAN
  // gcc rejects a fence under ThreadSanitizer; a read-modify-write orders the CPU equally.
  static uint32_t anchor = 0;
  __atomic_fetch_add(&anchor, 0u, __ATOMIC_SEQ_CST);
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}
}  // namespace detail

XIO_DEVICE_INLINE void full_fence_system() {
  detail::count(&OperationCounts::full_fences);
  detail::show(FenceKind::full);
  detail::full_fence();
}

/// Orders the wave's coherent stores before its coherent loads of scope S.
template <Scope S>
XIO_DEVICE_INLINE void full_fence() {
  if constexpr (S == Scope::system) {
    full_fence_system();
  } else {
    detail::full_fence();
  }
}

template <class T>
XIO_DEVICE_INLINE void store_mmio(T* to, T value) {
  detail::interleave(to);
  detail::count(&OperationCounts::mmio_bytes, sizeof(T));
  detail::count(&OperationCounts::mmio_stores);
  detail::show(StoreKind::mmio, to, value);
  if (detail::later(to, value)) return;
  __atomic_store_n(to, value, __ATOMIC_RELEASE);  // order: stores before this one
}

/// Call after a store to a doorbell word: calls the word's handler, if any.
XIO_DEVICE_INLINE void serve_doorbell(const void* word) {
  const auto offset = reinterpret_cast<uintptr_t>(word) - reinterpret_cast<uintptr_t>(served_doorbells);
  if (offset >= sizeof served_doorbells) return;
  const ServedDoorbell& doorbell = served_doorbells[offset / sizeof(ServedDoorbell)];
  doorbell.serve(doorbell.context);
}

XIO_DEVICE_INLINE void store_entry(Vec16* to, const Vec16& value) {
  detail::count(&OperationCounts::wide_entry_stores);
  detail::show(StoreKind::entry, to, value);
  if (detail::later(to, value, true)) return;
  // As two words: otherwise the compiler first gathers four in a vector register.
  typedef uint64_t __attribute__((may_alias)) Word;
  auto* const words = reinterpret_cast<volatile Word*>(to);
  words[0] = value.word[0] | static_cast<uint64_t>(value.word[1]) << 32;
  words[1] = value.word[2] | static_cast<uint64_t>(value.word[3]) << 32;
}

/// A whole entry is stored by plain assignment, which the compiler optimises best.
constexpr bool has_whole_entry_store = true;
template <class Entry>
XIO_DEVICE_INLINE void store_whole_entry(Entry* to, const Entry& entry) {
  for (uint32_t i = 0; i < sizeof(Entry) / sizeof(Vec16); ++i) detail::count(&OperationCounts::wide_entry_stores);
  detail::show(StoreKind::entry, to, entry);
  if (detail::later(to, entry, true)) return;
  *to = entry;
}

constexpr bool has_write_through = true;
template <uint32_t Part = 0>
XIO_DEVICE_INLINE void store_entry_through(Vec16* ring, uint32_t offset, const Vec16& value) {
  store_entry(ring + (offset + Part) / sizeof(Vec16), value);
}

/// Stores 8 bytes of an entry, for memory that supports at most 8-byte accesses (some controller memory buffers).
XIO_DEVICE_INLINE void store_entry8(uint64_t* to, uint64_t value) {
  detail::count(&OperationCounts::narrow_entry_stores);
  detail::show(StoreKind::entry, to, value);
  if (detail::later(to, value, true)) return;
  *static_cast<volatile uint64_t*>(to) = value;
}

/// @}
}  // namespace arch

XIO_NAMESPACE_END
