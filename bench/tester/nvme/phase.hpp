// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Input and output of the workload kernel: plain structs in memory that host and kernel can access.

#include <xio/device/core/token.hpp>
#include <xio/device/nvme/handle.hpp>

#include "tester/cli/stop_request.hpp"
#include "tester/measure/lane_record.hpp"
#include "tester/measure/latency.hpp"
#include "tester/nvme/access_pattern.hpp"
#include "tester/nvme/block_content.hpp"

namespace tester {

enum class Direction : uint32_t { read, write };

struct Stripes;

/// Place of one operation in a lane's window.
struct alignas(64) Slot {
  xio::Notification ended;  ///< completed commands of the operation, if the lane does not query its token
  xio::Token token;
  uint64_t started;  ///< tick before the submission, initially 0; after completion the latency, or 0
  uint64_t lba;      ///< first block of the operation
  uint64_t buffer;   ///< offset of the buffer in use; a place alternates between its buffers
  uint32_t next;     ///< next slot of the slot's list
};

constexpr uint32_t no_place = ~0u;

/// A block with wrong contents.
struct WrongBlock {
  uint64_t lba;
  uint64_t found[2];  ///< its first 16 bytes
  uint32_t offset;    ///< first byte that differs
  uint32_t reserved;
};

/// One lane of a wave that does I/O: its record, and what the host sets.
struct alignas(64) Lane : LaneRecord {
  uint64_t sq_rings;  ///< SQ doorbells stored; counted on the CPU, by the first lane of a wave
  uint64_t cq_rings;

  alignas(64) Slot* slots = nullptr;  ///< `window` of them
  uint64_t first_slot = 0;            ///< index of the first slot among the slots of all lanes; determines the buffers
  // Lanes with their own queue: places by command identifier, initially no_place, and a ring of free places whose size
  // is the window rounded up to a power of two.
  uint32_t* place_of = nullptr;
  uint32_t* free_places = nullptr;
  uint64_t number = 0;            ///< index among the lanes that have a window; determines the operations
  Latency* latency = nullptr;     ///< for each drive
  uint64_t* failed_on = nullptr;  ///< several drives: failed operations of each
  WrongBlock* wrong = nullptr;
  uint32_t wrong_room = 0;       ///< of the blocks that differed, the first ones are in `wrong`
  uint32_t window = 0;           ///< most operations in flight; 0: the lane only takes part in the wave's operations
  uint64_t* progress = nullptr;  ///< completed operations, updated periodically and read concurrently by the host
};

/// Parameters of a phase of reads or of writes.
struct Phase {
  const xio::nvme::QueueHandle* queues = nullptr;
  Lane* lanes = nullptr;  ///< `lanes_per_queue` per queue
  uint32_t lanes_per_queue = 1;
  Direction direction = Direction::read;

  AccessPattern pattern;
  uint64_t operations = 0;      ///< of all lanes together; with `repeat`, they are repeated
  uint64_t stride = 1;          ///< number of lanes that have a window
  uint64_t duration_ticks = 0;  ///< submissions stop after this time; 0: no limit
  uint64_t deadline_ticks = 0;  ///< of one operation
  uint32_t batch = 1;           ///< entries per doorbell of a wave; 0: as many as fit
  bool repeat = false;
  bool coarse_timing = false;  ///< one clock reading per batch instead of one per operation
  bool fill = false;           ///< writes: build the content of the blocks
  bool check = false;          ///< reads: compare it
  bool flush = false;          ///< reads: completions may precede their data; make the controller flush it
  BlockContent content;

  uint8_t* data = nullptr;
  uint64_t data_bus = 0;
  uint64_t buffer_bytes = 0;  ///< distance of consecutive buffers
  uint32_t buffers_per_slot = 1;
  const uint32_t* stop = nullptr;    ///< a StopRequest, or 0
  const Stripes* stripes = nullptr;  ///< null: one drive
};

}  // namespace tester
