// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Input and output of kv-ep's kernel: plain structs in memory that host and kernel can access.

#include <xio/device/core/pattern.hpp>
#include <xio/device/core/region.hpp>
#include <xio/device/core/token.hpp>
#include <xio/device/nvme/handle.hpp>
#include <xio/vendors/nvme/encode_kv.hpp>

#include "tester/cli/stop_request.hpp"
#include "tester/measure/lane_record.hpp"
#include "tester/measure/latency.hpp"

namespace tester {

enum class KvOperation : uint32_t {
  store,
  retrieve,
  exist,
  remove,
  absent,  ///< Exist, for a key that must not exist
};

/// Keys and values of a run: functions of the seed and of the key's number.
struct KvContent {
  uint64_t seed = 1;
  uint32_t key_bytes = 16;
  uint32_t least_bytes = 0;  ///< sizes of values
  uint32_t most_bytes = 0;

  /// The number in as many bytes as the key has; bytes beyond the eighth are a hash.
  XIO_DEVICE xio::nvme::kv::Key key(uint64_t number) const {
    const uint64_t hash = xio::pattern::mix(seed + number);
    const uint32_t more = key_bytes > 8 ? key_bytes - 8 : 0;
    return {number, more == 0 ? 0 : hash >> (64 - 8 * more), key_bytes};
  }
  /// Size of its value.
  XIO_DEVICE uint32_t bytes(uint64_t number) const {
    const uint64_t range = uint64_t{most_bytes} - least_bytes + 1;
    return least_bytes + static_cast<uint32_t>(xio::pattern::mix(~seed + number) % range);
  }
  /// Stores its value, rounded up to 8 bytes.
  XIO_DEVICE void fill(uint64_t* to, uint64_t number) const {
    xio::pattern::fill(to, (uint64_t{bytes(number)} + 7) / 8 * 8, xio::pattern::Block(seed, number));
  }
  /// Offset of the first 8 bytes that differ from its value; ~0: none do.
  XIO_DEVICE uint32_t first_difference(const uint64_t* from, uint64_t number) const {
    const xio::pattern::Block value(seed, number);
    const uint32_t size = bytes(number);
    const xio::pattern::Mismatch found = xio::pattern::verify(from, size, value);
    if (found.any()) return static_cast<uint32_t>(found.index) * 8;
    const uint32_t rest = size % 8;
    if (rest == 0 || ((from[size / 8] ^ value.word(size / 8)) & ((uint64_t{1} << (8 * rest)) - 1)) == 0) return ~0u;
    return size / 8 * 8;
  }
};

/// A value with wrong contents.
struct WrongValue {
  uint64_t number;  ///< of its key
  uint32_t bytes;   ///< size that the device told
  uint32_t offset;  ///< first byte that differs; ~0: only the size does
};

struct alignas(64) KvLane : LaneRecord {
  uint64_t bytes;     ///< of values stored or fetched
  uint64_t sq_rings;  ///< as of nvme-ep's lanes
  uint64_t cq_rings;
  WrongValue wrong;      ///< the first one, if there are any
  xio::KeptResult kept;  ///< of the operation in flight

  alignas(64) uint64_t number = 0;  ///< index among all lanes; determines keys and buffer
  Latency* latency = nullptr;
  uint64_t* progress = nullptr;  ///< completed operations, updated periodically and read concurrently by the host
};

/// Parameters of one phase.
struct KvPhase {
  const xio::nvme::QueueHandle* queues = nullptr;
  KvLane* lanes = nullptr;  ///< `lanes_per_queue` per queue
  uint32_t lanes_per_queue = 1;
  KvOperation operation = KvOperation::store;
  KvContent content;
  uint64_t operations = 0;  ///< of all lanes together: one for each key
  uint64_t stride = 1;      ///< number of lanes
  uint64_t duration_ticks = 0;
  uint64_t deadline_ticks = 0;  ///< of one operation
  bool check = false;           ///< retrieve: compare sizes and values
  xio::Region values{};
  uint8_t* data = nullptr;         ///< the same memory for the kernel
  uint64_t buffer_bytes = 0;       ///< of one lane
  const uint32_t* stop = nullptr;  ///< a StopRequest, or 0
};

}  // namespace tester
