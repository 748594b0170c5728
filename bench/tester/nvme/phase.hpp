// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What the host gives to the workload kernel, and what it gets back: plain structs in memory that both reach.

#include <xio/device/core/status.hpp>
#include <xio/device/core/telemetry.hpp>
#include <xio/device/core/token.hpp>
#include <xio/device/nvme/handle.hpp>

#include "tester/cli/stop_request.hpp"
#include "tester/measure/latency.hpp"
#include "tester/nvme/access_pattern.hpp"
#include "tester/nvme/block_content.hpp"

namespace tester {

enum class Direction : uint32_t { read, write };

/// Place of one operation in a lane's window.
struct alignas(64) Slot {
  xio::Notification ended;  ///< commands of the operation that have ended, where the lane does not ask for its token
  xio::Token token;
  uint64_t started;  ///< tick before the submission, 0 at first; once the operation has ended, its latency or 0
  uint64_t lba;      ///< first block of the operation
  uint64_t buffer;   ///< offset of the buffer in use; a place's buffers take turns
  uint32_t next;     ///< in the list that the slot is in
};

constexpr uint32_t no_place = ~0u;

/// A block that did not hold what it should.
struct WrongBlock {
  uint64_t lba;
  uint64_t found[2];  ///< its first 16 bytes
  uint32_t offset;    ///< first byte that differs
  uint32_t reserved;
};

/// How many operations ended with one status.
struct StatusCount {
  xio::Status status;
  uint64_t count;
  uint64_t first_lba;
};
constexpr uint32_t status_room = 8;  ///< different statuses that a lane tells apart

/// One lane of a wave that does I/O. The upper part is the host's, the lower part is the kernel's, zero at first.
struct alignas(64) Lane {
  Slot* slots = nullptr;    ///< `window` of them
  uint64_t first_slot = 0;  ///< number of the first one among the slots of all lanes; chooses buffers
  // Lanes with a queue of their own: places by command identifier, at first no_place, and a ring of free places, as
  // long as the power of two that holds the window.
  uint32_t* place_of = nullptr;
  uint32_t* free_places = nullptr;
  uint64_t number = 0;  ///< among the lanes that have a window; chooses operations
  Latency* latency = nullptr;
  WrongBlock* wrong = nullptr;
  uint32_t wrong_room = 0;
  uint32_t window = 0;           ///< most operations in flight; 0: the lane only helps the others of its wave
  uint64_t* progress = nullptr;  ///< operations done, from time to time; the host reads it meanwhile

  alignas(64) uint64_t submitted;
  uint64_t completed;    ///< with success
  uint64_t failed;       ///< with another status, timed out ones included
  uint64_t began;        ///< tick
  uint64_t ended;        ///< tick
  uint64_t checked;      ///< blocks compared with what was written
  uint64_t wrong_count;  ///< blocks that differed; the first `wrong_room` are in `wrong`
  uint64_t sq_rings;     ///< SQ doorbells stored; counted on the CPU, by the first lane of a wave
  uint64_t cq_rings;
  uint32_t gave_up;  ///< not 0: operations were left in flight, at their deadline or because the host asked for it
  uint32_t statuses_used;
  StatusCount statuses[status_room];
  xio::telemetry::Steps steps;
};

/// Everything that the kernel must know of a phase of reads or of writes.
struct Phase {
  const xio::nvme::QueueHandle* queues = nullptr;
  Lane* lanes = nullptr;  ///< `lanes_per_queue` for each queue
  uint32_t lanes_per_queue = 1;
  Direction direction = Direction::read;

  AccessPattern pattern;
  uint64_t operations = 0;      ///< all lanes together; with `repeat`, they are done again and again
  uint64_t stride = 1;          ///< number of lanes that have a window
  uint64_t duration_ticks = 0;  ///< no submissions after so long; 0: no such time
  uint64_t deadline_ticks = 0;  ///< of one operation
  uint32_t batch = 1;           ///< entries for one doorbell of a wave; 0: as many as there is room for
  bool repeat = false;
  bool coarse_timing = false;  ///< one clock reading for a batch instead of one for each operation
  bool fill = false;           ///< writes: build the content of the blocks
  bool check = false;          ///< reads: compare it
  bool flush = false;          ///< reads: completions may be seen before their data; make the controller flush it
  BlockContent content;

  uint8_t* data = nullptr;
  uint64_t data_bus = 0;
  uint64_t buffer_bytes = 0;  ///< from one buffer to the next
  uint32_t buffers_per_slot = 1;
  const uint32_t* stop = nullptr;  ///< a StopRequest, or 0
};

}  // namespace tester
