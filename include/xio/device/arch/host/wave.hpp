// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The CPU as an execution space: lanes, collectives, clock; the caller of a kernel provides the waves.
///
/// A plain thread is a wave of one lane. xio/host/simt/simt.hpp runs kernels whose waves have several lanes: it
/// installs a WaveOps for the thread before a lane runs.

#include <time.h>

#include <xio/device/arch/host/memory.hpp>
#include <xio/device/arch/host/time_stamp.hpp>

XIO_NAMESPACE_BEGIN

namespace arch {
/// @addtogroup kernel_arch
/// @{

XIO_DEVICE_INLINE uint32_t lane() { return current_wave ? current_wave->lane : 0; }
XIO_DEVICE_INLINE uint32_t wave_size() { return current_wave ? current_wave->wave_size : 1; }
XIO_DEVICE_INLINE uint32_t thread_index() { return current_wave ? current_wave->thread_index : 0; }
XIO_DEVICE_INLINE uint32_t block_size() { return current_wave ? current_wave->block_size : 1; }
XIO_DEVICE_INLINE uint32_t block_index() { return current_wave ? current_wave->block_index : 0; }
XIO_DEVICE_INLINE uint32_t grid_size() { return current_wave ? current_wave->grid_size : 1; }

namespace detail {
// As on a GPU, the optimiser must neither merge the calls of two branches nor duplicate a call.
__attribute__((noinline))
#if defined(__clang__)
__attribute__((convergent, nomerge))
#endif
inline uint64_t
active_at(const char* file, uint32_t line) {
  return current_wave->active({__builtin_return_address(0), __builtin_frame_address(0), file, line});
}
}  // namespace detail

/// Lanes that execute this call together; the mask that the collectives below take.
XIO_DEVICE_ALWAYS_INLINE uint64_t active(const char* file = __builtin_FILE(), uint32_t line = __builtin_LINE()) {
  return current_wave ? detail::active_at(file, line) : 1;
}

/// The lanes that make a call: `lanes`, or, if it is 0, all lanes of the wave that the kernel was launched with.
XIO_DEVICE_INLINE uint64_t together(uint64_t lanes) {
  if (lanes != 0 || !current_wave) return lanes | !current_wave;
  const uint32_t left = current_wave->block_size - (current_wave->thread_index - current_wave->lane);
  const uint32_t here = left < current_wave->wave_size ? left : current_wave->wave_size;
  return ~uint64_t{0} >> (64 - here);
}

XIO_DEVICE_INLINE uint64_t ballot(uint64_t mask, bool predicate) {
  return current_wave ? current_wave->ballot(mask, predicate) : uint64_t{predicate};
}

/// Waits until all lanes of `mask` have arrived, and orders their earlier stores before later accesses of any of them.
XIO_DEVICE_INLINE void converge(uint64_t mask) {
  if (current_wave) current_wave->ballot(mask, true);
}

/// Whether the lanes of a wave execute each instruction together. If not, a lane may run ahead of others that have yet
/// to store, until the next converge() of all of them.
constexpr bool lanes_in_step = false;

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

/// The lanes of `mask` that pass the same value as the caller. Lanes that have ended are not among them.
XIO_DEVICE_INLINE uint64_t match(uint64_t mask, uint64_t value) {
  return current_wave ? current_wave->alike(mask, value) : mask;
}

/// The lanes of `mask` that pass the same pointer as the caller: groups that may act independently of each other. Lanes
/// that have ended are not among them.
XIO_DEVICE_INLINE uint64_t alike(uint64_t mask, const void* value) {
  return match(mask, reinterpret_cast<uint64_t>(value));
}

template <class T>
XIO_DEVICE_INLINE T* as_base(T* pointer) {
  asm("" : "+r"(pointer));
  return pointer;
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
#if defined(__x86_64__)
  __extension__ using Wide = unsigned __int128;
  if (const uint64_t scale = time_stamp_scale) return static_cast<uint64_t>(Wide{time_stamp()} * scale >> 32);
#endif
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

/// clock() between two barriers. A locked instruction, which is a full fence on x86, does not hold back the counter.
XIO_DEVICE_INLINE uint64_t fenced_clock() {
  full_fence_system();
#if defined(__x86_64__)
  __builtin_ia32_mfence();
  __builtin_ia32_lfence();
#endif
  const uint64_t now = clock();
#if defined(__x86_64__)
  __builtin_ia32_lfence();
#endif
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  return now;
}

/// Ticks per second of clock(), unless the host measured a better value.
constexpr uint64_t clock_hz = 1000000000;

/// Pause hint of a polling loop, for a processor that shares its core.
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

/// Back-off of a polling loop; `round` counts the unsuccessful polls.
XIO_DEVICE_INLINE void pause(uint32_t round) {
  if (current_wave) {
    current_wave->yield(round);
  } else if (round > 16) {
    give_way();
  } else {
    relax();
  }
}

/// @}
}  // namespace arch

XIO_NAMESPACE_END
