// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What the host gives to the RDMA workload kernel, and what it gets back: plain structs in memory that both
/// reach.

#include <xio/device/core/status.hpp>
#include <xio/device/core/telemetry.hpp>
#include <xio/device/core/token.hpp>
#include <xio/device/rdma/handle.hpp>
#include <xio/device/rdma/memory.hpp>

#include "tester/measure/latency.hpp"
#include "tester/nvme/block_content.hpp"

namespace tester {

enum class RdmaVerb : uint32_t { write, read, send, fetch_add };

/// Which ends of the queue pairs a process plays.
enum class RdmaSide : uint32_t {
  both,       ///< they end in this process
  requester,  ///< the other end is in another process, which is the responder
  responder
};

/// Place of one operation in a lane's window.
struct alignas(64) RdmaSlot {
  xio::Token token;
  xio::Token receive;  ///< what the receiving side posted for it
  xio::Token notice;   ///< of the message that closed its batch, where it is the batch's last and there is one
  uint64_t started;    ///< tick before the submission
  uint64_t number;     ///< of the operation, among those of all queue pairs
  uint64_t expected;   ///< fetch-add: what must have been there
  uint64_t batch_end;  ///< of the lane's operations, the first one behind the batch
};

/// What was not as it should be.
enum class RdmaFaultKind : uint32_t { content, behind, immediate, length, sum };

struct RdmaWrong {
  uint64_t number;    ///< of the operation
  uint64_t found[2];  ///< content: the first 16 bytes; else what was found and what it should be
  RdmaFaultKind kind;
  uint32_t offset;  ///< content: first 8 bytes that differ
};

/// How many operations ended with one status.
struct RdmaStatusCount {
  xio::Status status;
  uint64_t count;
  uint64_t first;  ///< number of the first of them
};
constexpr uint32_t rdma_status_room = 8;  ///< different statuses that a lane tells apart

/// What the requester tells the responder of a queue pair at the end of a run.
struct RdmaTotals {
  uint64_t completed = 0;  ///< operations
  uint64_t failed = 0;     ///< operations
  uint64_t sum = 0;        ///< fetch-add: of what was added, where nothing failed
};

/// One lane that uses a queue pair. The upper part is the host's, the lower part is the kernel's, zero at first.
struct alignas(64) RdmaLane {
  RdmaSlot* slots = nullptr;  ///< as many as operations may be in flight
  uint64_t offset = 0;        ///< of the lane's part of the requesting side's memory
  uint64_t far_offset = 0;    ///< of its part of the other side's
  uint64_t number = 0;        ///< of its first operation
  Latency* latency = nullptr;
  RdmaWrong* wrong = nullptr;
  uint32_t wrong_room = 0;
  uint64_t* progress = nullptr;  ///< operations done, from time to time; the host reads it meanwhile
  uint64_t messages = 0;         ///< two nodes: receives used, or posted, since the queue pair was made
  uint64_t taken = 0;            ///< of them, those that have ended at the responder

  alignas(64) uint64_t submitted;
  uint64_t completed;  ///< with success, on both sides
  uint64_t failed;
  uint64_t batches;   ///< of the wave, counted by its first lane
  uint64_t received;  ///< completions of the receiving side
  uint64_t checked;
  uint64_t wrong_count;  ///< the first `wrong_room` are in `wrong`
  uint64_t sum;          ///< fetch-add: of what was added
  uint64_t doorbells;    ///< stores to the send queue's doorbell; counted on the CPU, by the first lane of a wave
  uint64_t began;        ///< tick
  uint64_t ended;        ///< tick
  uint32_t gave_up;      ///< not 0: operations were left in flight when their deadline had passed
  uint32_t statuses_used;
  RdmaStatusCount statuses[rdma_status_room];
  xio::telemetry::Steps steps;  ///< zero unless RdmaPhase::time_steps
};

/// Everything that the kernel must know of one run.
struct RdmaPhase {
  const xio::rdma::QueuePairHandle* queues = nullptr;
  const xio::rdma::ReceiveQueueHandle* receivers = nullptr;  ///< those that the queue pairs send to
  RdmaLane* lanes = nullptr;                                 ///< `lanes_per_queue` for each queue pair
  uint32_t lanes_per_queue = 1;                              ///< more than 1: with writes, reads and fetch-add alone
  RdmaSide side = RdmaSide::both;
  RdmaVerb verb = RdmaVerb::write;
  bool immediate = false;       ///< writes carry immediate data
  bool inline_data = false;     ///< data travels in the entries
  bool repeat = false;          ///< more and more operations, until the time is up or the user says so
  bool check = false;           ///< build and compare contents
  bool coarse_timing = false;   ///< the clock is read for each batch instead of for each operation
  bool time_steps = false;      ///< posts, doorbells and looks are timed; by kernels on the CPU alone
  bool notices = false;         ///< a message without data closes each batch and says how many operations it held
  uint32_t bytes = 0;           ///< of one operation
  uint32_t batch = 1;           ///< a lane's entries for one doorbell; 0: as many as there is room for
  uint32_t depth = 1;           ///< most operations of a lane in flight
  uint32_t far_places = 1;      ///< of the other side's memory, for each lane
  uint32_t receives = 0;        ///< two nodes: posted at a time; 0: nothing is received
  uint64_t near_credits = 0;    ///< where the requester's memory has the word in which the responder counts receives
  uint64_t far_credits = 0;     ///< where the responder's memory has the one from which it sends it
  uint64_t operations = 0;      ///< of all queue pairs together
  uint64_t stride = 1;          ///< number of lanes
  uint64_t place_bytes = 0;     ///< from one place to the next; what is behind the data must not change
  uint64_t duration_ticks = 0;  ///< no submissions after so long; 0: no such time
  uint64_t deadline_ticks = 0;
  BlockContent content;

  // The requesting side's memory and the other side's, as the kernel and as the NIC reach them.
  uint8_t* near = nullptr;
  uint8_t* far = nullptr;
  xio::Region local{};
  xio::rdma::RemoteMemory remote{};
  xio::Region receiving{};         ///< the other side's, as it names it itself
  const uint32_t* stop = nullptr;  ///< not 0: submit no more
  // Two nodes.
  const uint32_t* peer_done = nullptr;  ///< not 0: the other side's kernel has ended, and `totals` are there
  const uint32_t* abandoned = nullptr;  ///< not 0: the other side is gone
  const RdmaTotals* totals = nullptr;   ///< one for each queue pair
};

constexpr uint64_t rdma_credit_bytes = 64;  ///< from one queue pair's word to the next one's
constexpr uint8_t rdma_untouched = 0x5a;    ///< what lies behind the data of each place

}  // namespace tester
