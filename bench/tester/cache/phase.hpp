// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Input and output of cache-ep's kernel: plain structs in memory that host and kernel can access.

#include <xio/device/cache/handle.hpp>
#include <xio/device/core/pattern.hpp>

#include "tester/measure/lane_record.hpp"
#include "tester/measure/latency.hpp"

namespace tester {

enum class CacheOperation : uint32_t { put, flush, get };

/// The array of a run: elements of 8 bytes, whose values are a function of the seed and of their index.
struct CacheContent {
  uint64_t seed = 1;
  uint64_t elements = 0;
  bool random = true;  ///< whether gets are in random order

  XIO_DEVICE uint64_t value(uint64_t index) const { return xio::pattern::mix(seed + index); }
  /// Index of the element that the n-th get is of.
  XIO_DEVICE uint64_t wanted(uint64_t n) const { return (random ? xio::pattern::mix(~seed + n) : n) % elements; }
};

struct alignas(64) CacheLane : LaneRecord {
  uint64_t sq_rings;  ///< as of nvme-ep's lanes
  uint64_t cq_rings;
  uint64_t wrong;  ///< index of the first element with another value, if `wrong_count` is not 0

  alignas(64) uint64_t number = 0;  ///< index among all lanes
  Latency* latency = nullptr;
  uint64_t* progress = nullptr;  ///< completed operations, updated periodically and read concurrently by the host
};

/// Parameters of one phase.
struct CachePhase {
  xio::CacheHandle cache{};
  CacheLane* lanes = nullptr;
  uint32_t wave_size = 1;
  CacheOperation operation = CacheOperation::get;
  CacheContent content;
  uint64_t operations = 0;  ///< of all lanes together
  uint64_t stride = 1;      ///< number of lanes
  uint64_t duration_ticks = 0;
  uint64_t deadline_ticks = 0;     ///< of one operation
  bool check = false;              ///< get: compare values
  const uint32_t* stop = nullptr;  ///< a StopRequest, or 0
};

}  // namespace tester
