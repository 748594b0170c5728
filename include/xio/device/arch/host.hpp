// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The CPU as an execution space: atomics of the compiler, waves supplied by whoever runs the kernel.
///
/// A plain thread is a wave of one lane. xio/host/simt.hpp runs kernels whose waves have several lanes: it installs a
/// WaveOps for the thread before a lane runs.

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif
#include <time.h>

#include <xio/device/arch.hpp>
#include <xio/device/arch/give_way.hpp>
#include <xio/device/arch/host_wave.hpp>

XIO_NAMESPACE_BEGIN

namespace arch {

namespace detail {
/// Tests that vary the schedule do it here.
template <class T>
XIO_DEVICE_INLINE void interleave([[maybe_unused]] const T* where) {
#if XIO_INTERLEAVE
  if (current_wave) current_wave->access(where, sizeof(T));
#endif
}

/// Whether somebody else performs this store, some time.
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

inline void count([[maybe_unused]] uint64_t OperationCounts::* what, [[maybe_unused]] uint64_t number = 1) {
#if XIO_COUNT_OPERATIONS
  operation_counts.*what += number;
#endif
}

template <class T>
inline void show([[maybe_unused]] StoreKind kind, [[maybe_unused]] const T* to, [[maybe_unused]] const T& value) {
#if XIO_COUNT_OPERATIONS
  if (XIO_UNLIKELY(store_observer != nullptr)) {
    // A copy: what others may look at is not kept in registers.
    const T shown = value;
    store_observer->on_store(kind, to, &shown, static_cast<uint32_t>(sizeof(T)));
  }
#endif
}

inline void show([[maybe_unused]] FenceKind kind) {
#if XIO_COUNT_OPERATIONS
  if (store_observer) store_observer->on_fence(kind);
#endif
}
}  // namespace detail

template <Scope S, class T>
XIO_DEVICE_INLINE T load(const T* from) {
  detail::interleave(from);
  return __atomic_load_n(from, __ATOMIC_ACQUIRE);
}

template <Scope S, class T>
XIO_DEVICE_INLINE T observe(const T* from) {
  detail::interleave(from);
  return __atomic_load_n(from, __ATOMIC_ACQUIRE);
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
  __atomic_store_n(to, value, __ATOMIC_RELEASE);
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

/// True when `*to` was `expected` and is now `desired`; otherwise `expected` holds what was found.
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

/// compare_exchange() that acquires, also where it fails, and passes on what was acquired before.
template <Scope S, class T>
XIO_DEVICE_INLINE bool compare_exchange_ordered(T* to, T& expected, T desired) {
  detail::interleave(to);
  detail::count(&OperationCounts::atomics);
  return __atomic_compare_exchange_n(to, &expected, desired, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

template <Scope S, class T>
XIO_DEVICE_INLINE void publish_add(T* to, T value) {
  detail::perform();
  detail::interleave(to);
  detail::count(&OperationCounts::store_waits);
  detail::count(&OperationCounts::atomics);
  detail::show(FenceKind::store_wait);
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

XIO_DEVICE_INLINE void release_system() {
  detail::count(&OperationCounts::releases);
  detail::show(FenceKind::release);
  detail::perform();
  __atomic_signal_fence(__ATOMIC_RELEASE);
}

XIO_DEVICE_INLINE void wait_stores() {
  detail::count(&OperationCounts::store_waits);
  detail::show(FenceKind::store_wait);
  detail::perform();
  __atomic_signal_fence(__ATOMIC_RELEASE);
}

XIO_DEVICE_INLINE void acquire_system() {
  detail::count(&OperationCounts::acquires);
  __atomic_signal_fence(__ATOMIC_ACQUIRE);
}

/// Doorbells are stored with release order, which takes along what was acquired.
XIO_DEVICE_INLINE void pass_on() {}

namespace detail {
XIO_DEVICE_INLINE void full_fence() {
  perform();
#if XIO_TSAN
  // gcc rejects a fence under ThreadSanitizer; a read-modify-write orders the CPU just as well.
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
  detail::full_fence();
}

template <class T>
XIO_DEVICE_INLINE void store_mmio(T* to, T value) {
  detail::interleave(to);
  detail::count(&OperationCounts::mmio_bytes, sizeof(T));
  detail::count(&OperationCounts::mmio_stores);
  detail::show(StoreKind::mmio, to, value);
  if (detail::later(to, value)) return;
  __atomic_store_n(to, value, __ATOMIC_RELEASE);
}

XIO_DEVICE_INLINE void store_entry(Vec16* to, const Vec16& value) {
  detail::count(&OperationCounts::entry_stores);
  detail::show(StoreKind::entry, to, value);
  if (detail::later(to, value, true)) return;
  // As two words: left to itself, the compiler gathers four in a vector register first.
  typedef uint64_t __attribute__((may_alias)) Word;
  auto* const words = reinterpret_cast<volatile Word*>(to);
  words[0] = value.word[0] | static_cast<uint64_t>(value.word[1]) << 32;
  words[1] = value.word[2] | static_cast<uint64_t>(value.word[3]) << 32;
}

/// A whole entry, in the way that the compiler likes best.
template <class Entry>
XIO_DEVICE_INLINE void store_whole_entry(Entry* to, const Entry& entry) {
  for (uint32_t i = 0; i < sizeof(Entry) / sizeof(Vec16); ++i) detail::count(&OperationCounts::entry_stores);
  detail::show(StoreKind::entry, to, entry);
  if (detail::later(to, entry, true)) return;
  *to = entry;
}

constexpr bool has_write_through = true;
template <uint32_t Part = 0>
XIO_DEVICE_INLINE void store_entry_through(Vec16* ring, uint32_t offset, const Vec16& value) {
  store_entry(ring + (offset + Part) / sizeof(Vec16), value);
}

/// For memory that takes at most 8 bytes an access (some controller memory buffers).
XIO_DEVICE_INLINE void store_entry8(uint64_t* to, uint64_t value) {
  detail::count(&OperationCounts::entry_stores);
  detail::count(&OperationCounts::narrow_entry_stores);
  detail::show(StoreKind::entry, to, value);
  if (detail::later(to, value, true)) return;
  *static_cast<volatile uint64_t*>(to) = value;
}

XIO_DEVICE_INLINE uint32_t lane() { return current_wave ? current_wave->lane : 0; }
XIO_DEVICE_INLINE uint32_t wave_size() { return current_wave ? current_wave->wave_size : 1; }
XIO_DEVICE_INLINE uint32_t thread_index() { return current_wave ? current_wave->thread_index : 0; }
XIO_DEVICE_INLINE uint32_t block_size() { return current_wave ? current_wave->block_size : 1; }
XIO_DEVICE_INLINE uint32_t block_index() { return current_wave ? current_wave->block_index : 0; }
XIO_DEVICE_INLINE uint32_t grid_size() { return current_wave ? current_wave->grid_size : 1; }

namespace detail {
// As on a GPU, the optimiser may neither merge the calls of two branches nor copy one call into several.
__attribute__((noinline))
#if defined(__clang__)
__attribute__((convergent, nomerge))
#endif
inline uint64_t
active_at(const char* file, uint32_t line) {
  return current_wave->active({__builtin_return_address(0), __builtin_frame_address(0), file, line});
}
}  // namespace detail

/// Lanes that are here together; the mask that the collectives below take.
XIO_DEVICE_ALWAYS_INLINE uint64_t active(const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) {
  return current_wave ? detail::active_at(file, line) : 1;
}

/// The lanes that a call is made by: `lanes`, or all of the wave that the kernel was launched with where that is 0.
XIO_DEVICE_INLINE uint64_t together(uint64_t lanes) {
  if (lanes != 0 || !current_wave) return lanes | !current_wave;
  const uint32_t left = current_wave->block_size - (current_wave->thread_index - current_wave->lane);
  const uint32_t here = left < current_wave->wave_size ? left : current_wave->wave_size;
  return ~uint64_t{0} >> (64 - here);
}

XIO_DEVICE_INLINE uint64_t ballot(uint64_t mask, bool predicate) {
  return current_wave ? current_wave->ballot(mask, predicate) : uint64_t{predicate};
}

/// All lanes of `mask` have come here, and what they stored before is ordered before what any of them does after.
XIO_DEVICE_INLINE void converge(uint64_t mask) {
  if (current_wave) current_wave->ballot(mask, true);
}

template <class T>
XIO_DEVICE_INLINE T shuffle(uint64_t mask, T value, uint32_t source) {
  static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
  return current_wave ? static_cast<T>(current_wave->shuffle(mask, static_cast<uint64_t>(value), source)) : value;
}

/// Value of lane `source`, the same for all callers.
template <class T>
XIO_DEVICE_INLINE T broadcast(uint64_t mask, T value, uint32_t source) {
  return shuffle(mask, value, source);
}

/// Value of the lane whose number differs in bit `Bit`; `mask` holds whole quads.
template <uint32_t Bit>
XIO_DEVICE_INLINE uint32_t quad_exchange(uint64_t mask, uint32_t value) {
  return shuffle(mask, value, lane() ^ Bit);
}

/// Value of lane `Lane` of the caller's quad.
template <uint32_t Lane>
XIO_DEVICE_INLINE uint32_t quad_broadcast(uint64_t mask, uint32_t value) {
  return shuffle(mask, value, (lane() & ~3u) | Lane);
}

/// The value of the first active lane, which the caller knows to be the same in all: lets a GPU keep it in a scalar
/// register.
template <class T>
XIO_DEVICE_INLINE T uniform(T value) {
  return value;
}

/// store_mmio() by every active lane, each to a register of its own.
template <class T>
XIO_DEVICE_INLINE void store_mmio_each_lane(T* to, T value) {
  store_mmio(to, value);
}

template <class T>
XIO_DEVICE_INLINE T* as_base(T* pointer) {
  asm("" : "+r"(pointer));
  return pointer;
}

/// The same value; on AMD GPUs in vector registers.
template <class T>
XIO_DEVICE_INLINE T per_lane(T value) {
  return value;
}

XIO_DEVICE_INLINE void block_barrier() {
  if (current_wave) current_wave->block_barrier();
}

/// Ticks of a clock of constant rate.
XIO_DEVICE_INLINE uint64_t clock() {
#if XIO_INTERLEAVE
  if (current_wave) {
    if (const uint64_t shown = current_wave->now()) return shown;
  }
#endif
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

/// clock() between two barriers. A locked instruction, which a full fence is on x86, does not hold back the counter.
XIO_DEVICE_INLINE uint64_t fenced_clock() {
  full_fence_system();
#if defined(__x86_64__)
  _mm_mfence();
  _mm_lfence();
#endif
  const uint64_t now = clock();
#if defined(__x86_64__)
  _mm_lfence();
#endif
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  return now;
}

/// Ticks per second of clock(), where the host did not measure a better figure.
constexpr uint64_t clock_hz = 1000000000;

/// A moment of a loop that looks again and again, for a processor that shares its core.
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#endif
}

/// Back-off of a polling loop; `round` counts the fruitless looks.
XIO_DEVICE_INLINE void pause(uint32_t round) {
  if (current_wave) {
    current_wave->yield(round);
  } else if (round > 16) {
    give_way();
  } else {
    relax();
  }
}

/// Fruitless looks between two readings of the clock in a polling loop.
#if XIO_INTERLEAVE
constexpr uint32_t looks_per_clock = 1;
#else
constexpr uint32_t looks_per_clock = 64;
#endif

}  // namespace arch

XIO_NAMESPACE_END
