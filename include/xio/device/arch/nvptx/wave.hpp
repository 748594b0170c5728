// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief NVIDIA GPUs: lanes, collectives, clock.

#include <xio/device/arch/nvptx/memory.hpp>

XIO_NAMESPACE_BEGIN

namespace arch {

XIO_DEVICE_INLINE uint32_t lane() {
  uint32_t value;
  asm("mov.u32 %0, %%laneid;" : "=r"(value));
  return value;
}
XIO_DEVICE_INLINE constexpr uint32_t wave_size() { return 32; }
XIO_DEVICE_INLINE uint32_t thread_index() {
  uint32_t value;
  asm("mov.u32 %0, %%tid.x;" : "=r"(value));
  return value;
}
XIO_DEVICE_INLINE uint32_t block_size() {
  uint32_t value;
  asm("mov.u32 %0, %%ntid.x;" : "=r"(value));
  return value;
}
XIO_DEVICE_INLINE uint32_t block_index() {
  uint32_t value;
  asm("mov.u32 %0, %%ctaid.x;" : "=r"(value));
  return value;
}
XIO_DEVICE_INLINE uint32_t grid_size() {
  uint32_t value;
  asm("mov.u32 %0, %%nctaid.x;" : "=r"(value));
  return value;
}

XIO_DEVICE_INLINE uint64_t active() {
  uint32_t lanes;
  asm volatile("activemask.b32 %0;" : "=r"(lanes));
  return lanes;
}

XIO_DEVICE_INLINE void converge(uint64_t mask) {
  asm volatile("bar.warp.sync %0;" : : "r"(static_cast<uint32_t>(mask)) : "memory");
}

/// Whether the lanes of a wave execute each instruction together. If not, a lane may run ahead of others that have yet
/// to store, until the next converge() of all of them.
constexpr bool lanes_in_step = false;

/// The named lanes. active() may return a subset of the lanes that will arrive, so lanes that must act together are
/// named. They wait for each other, so that effects of their earlier calls are known to all of them. Nobody waits for
/// lanes that have ended or never were; a mask that is a constant saves a match, a reduction and a vote before each
/// later collective.
XIO_DEVICE_INLINE uint64_t together(uint64_t lanes) {
  const uint32_t all = lanes != 0 ? static_cast<uint32_t>(lanes) : ~0u;
  converge(all);
  return all;
}
XIO_DEVICE_INLINE uint64_t ballot(uint64_t mask, bool predicate) {
  uint32_t lanes;
  asm volatile("{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, %2; }"
               : "=r"(lanes)
               : "r"(static_cast<uint32_t>(predicate)), "r"(static_cast<uint32_t>(mask)));
  return lanes;
}

XIO_DEVICE_INLINE bool any(uint64_t mask, bool predicate) {
  uint32_t result;
  asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %1, 0; vote.sync.any.pred q, p, %2; selp.u32 %0, 1, 0, q; }"
               : "=r"(result)
               : "r"(static_cast<uint32_t>(predicate)), "r"(static_cast<uint32_t>(mask)));
  return result != 0;
}

/// The lanes of `mask` that pass the same value as the caller. Lanes that have ended are not among them.
XIO_DEVICE_INLINE uint64_t match(uint64_t mask, uint64_t value) {
  uint32_t lanes;
  asm volatile("match.any.sync.b64 %0, %1, %2;" : "=r"(lanes) : "l"(value), "r"(static_cast<uint32_t>(mask)));
  return lanes;
}

/// The lanes of `mask` that pass the same pointer as the caller: groups that may act independently of each other. Lanes
/// that have ended are not among them.
XIO_DEVICE_INLINE uint64_t alike(uint64_t mask, const void* value) {
  return match(mask, reinterpret_cast<uint64_t>(value));
}

namespace detail {
XIO_DEVICE_INLINE uint32_t shuffle_word(uint64_t mask, uint32_t value, uint32_t source) {
  uint32_t result;
  asm volatile("shfl.sync.idx.b32 %0, %1, %2, 31, %3;"
               : "=r"(result)
               : "r"(value), "r"(source), "r"(static_cast<uint32_t>(mask)));
  return result;
}
}  // namespace detail

template <class T>
XIO_DEVICE_INLINE T shuffle(uint64_t mask, T value, uint32_t source) {
  static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
  const uint64_t wide = (uint64_t)value;
  const uint32_t low = detail::shuffle_word(mask, static_cast<uint32_t>(wide), source);
  if (sizeof(T) <= 4) return (T)(uint64_t)low;
  const uint32_t high = detail::shuffle_word(mask, static_cast<uint32_t>(wide >> 32), source);
  return (T)(static_cast<uint64_t>(high) << 32 | low);
}

template <class T>
XIO_DEVICE_INLINE T broadcast(uint64_t mask, T value, uint32_t source) {
  return shuffle(mask, value, source);
}

XIO_DEVICE_INLINE void block_barrier() { asm volatile("bar.sync 0;" : : : "memory"); }

XIO_DEVICE_INLINE uint64_t clock() {
  uint64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

XIO_DEVICE_INLINE uint64_t fenced_clock() {
  full_fence_system();
  const uint64_t now = clock();
  full_fence_system();
  return now;
}

constexpr uint64_t clock_hz = 1000000000;

XIO_DEVICE_INLINE void pause(uint32_t round) {
  asm volatile("nanosleep.u32 %0;" : : "r"(round < 8 ? 20u : 200u) : "memory");
}

}  // namespace arch

XIO_NAMESPACE_END
