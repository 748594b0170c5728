// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Input and output of the RDMA workload kernel: plain structs in memory that host and kernel can access.

#include <xio/device/core/token.hpp>
#include <xio/device/rdma/handle.hpp>
#include <xio/device/rdma/memory.hpp>

#include "tester/measure/lane_record.hpp"
#include "tester/measure/latency.hpp"
#include "tester/nvme/block_content.hpp"

namespace tester {

enum class RdmaVerb : uint32_t { write, read, send, fetch_add };

/// Ends of the queue pairs that a process runs.
enum class RdmaSide : uint32_t {
  both,       ///< both ends are in this process
  requester,  ///< the other end is in another process, which is the responder
  responder
};

/// Place of one operation in a lane's window.
struct alignas(64) RdmaSlot {
  xio::Token token;
  xio::Token receive;  ///< receive posted for it by the receiving side
  xio::Token notice;   ///< message that closed its batch, if it is the batch's last operation and there is a message
  uint64_t started;    ///< tick before the submission
  uint64_t number;     ///< index of the operation among those of all queue pairs
  uint64_t expected;   ///< fetch-add: the expected previous value
  uint64_t batch_end;  ///< index of the lane's first operation after the batch
};

/// Kind of wrong data.
enum class RdmaFaultKind : uint32_t { content, behind, immediate, length, sum };

struct RdmaWrong {
  uint64_t number;    ///< index of the operation
  uint64_t found[2];  ///< content: the first 16 bytes; else the found and the expected value
  RdmaFaultKind kind;
  uint32_t offset;  ///< content: first 8 bytes that differ
};

/// Totals of a queue pair that the requester sends to the responder at the end of a run.
struct RdmaTotals {
  uint64_t completed = 0;  ///< number of operations
  uint64_t failed = 0;     ///< number of operations
  uint64_t sum = 0;        ///< fetch-add: sum of the addends, if nothing failed
};

/// One lane that uses a queue pair: its record, and what the host sets.
struct alignas(64) RdmaLane : LaneRecord {
  uint64_t batches;    ///< batches of the wave, counted by its first lane
  uint64_t received;   ///< completions on the receiving side
  uint64_t sum;        ///< fetch-add: sum of the addends
  uint64_t doorbells;  ///< stores to the send queue's doorbell; counted on the CPU, by the first lane of a wave

  alignas(64) RdmaSlot* slots = nullptr;  ///< as many as operations may be in flight
  uint64_t offset = 0;                    ///< offset of the lane's part of the requesting side's memory
  uint64_t far_offset = 0;                ///< offset of its part of the other side's memory
  uint64_t number = 0;                    ///< index of its first operation
  Latency* latency = nullptr;
  RdmaWrong* wrong = nullptr;
  uint32_t wrong_room = 0;       ///< of the operations with wrong data, the first ones are in `wrong`
  uint64_t* progress = nullptr;  ///< completed operations; updated periodically, read by the host
  uint64_t messages = 0;         ///< two nodes: receives used, or posted, since the queue pair's creation
  uint64_t taken = 0;            ///< number of them that completed at the responder
  // For ping-pong, where `messages` counts the writes in one direction.
  bool responds = false;              ///< the lane answers the other side's writes
  const RdmaLane* partner = nullptr;  ///< lane of the other side, if it is in this process
  uint32_t over = 0;                  ///< not 0: the lane has ended
};

/// Parameters of one run.
struct RdmaPhase {
  const xio::rdma::QueuePairHandle* queues = nullptr;
  const xio::rdma::ReceiveQueueHandle* receivers = nullptr;  ///< receive queues that the queue pairs send to
  RdmaLane* lanes = nullptr;                                 ///< `lanes_per_queue` per queue pair
  uint32_t lanes_per_queue = 1;                              ///< more than 1: only with writes, reads and fetch-add
  RdmaSide side = RdmaSide::both;
  RdmaVerb verb = RdmaVerb::write;
  bool ping_pong = false;       ///< writes go there and back: see ping_pong.hpp
  bool immediate = false;       ///< writes carry immediate data
  bool inline_data = false;     ///< data is stored in the entries
  bool repeat = false;          ///< repeat operations until the time is up or a stop is requested
  bool check = false;           ///< build and compare contents
  bool coarse_timing = false;   ///< the clock is read once per batch instead of once per operation
  bool time_steps = false;      ///< posts, doorbells and polls are timed; only by kernels on the CPU
  bool notices = false;         ///< a message without data closes each batch and carries its number of operations
  uint32_t bytes = 0;           ///< bytes of one operation
  uint32_t batch = 1;           ///< a lane's entries per doorbell; 0: as many as fit
  uint32_t depth = 1;           ///< most operations in flight of a lane
  uint32_t far_places = 1;      ///< places in the other side's memory per lane
  uint32_t receives = 0;        ///< two nodes: receives posted at a time; 0: none
  uint64_t near_credits = 0;    ///< offset of the responder's receive counter in the requester's memory
  uint64_t far_credits = 0;     ///< offset of the counter's source word in the responder's memory
  uint64_t operations = 0;      ///< total of all queue pairs
  uint64_t stride = 1;          ///< number of lanes
  uint64_t place_bytes = 0;     ///< distance of consecutive places; bytes behind the data must not change
  uint64_t duration_ticks = 0;  ///< submissions stop after this time; 0: no limit
  uint64_t deadline_ticks = 0;
  BlockContent content;

  // Memory of the requesting side and of the other side, as addressed by the kernel and by the NIC.
  uint8_t* near = nullptr;
  uint8_t* far = nullptr;
  xio::Region local{};
  xio::rdma::RemoteMemory remote{};
  xio::Region receiving{};              ///< the other side's memory, as registered there
  xio::rdma::RemoteMemory returning{};  ///< one process: the requesting side's memory, for the other side
  const uint32_t* stop = nullptr;       ///< not 0: submit no more
  // For two nodes.
  const uint32_t* peer_done = nullptr;  ///< not 0: the other side's kernel has ended, and `totals` are valid
  const uint32_t* abandoned = nullptr;  ///< not 0: the other side is gone
  const RdmaTotals* totals = nullptr;   ///< one per queue pair
};

constexpr uint32_t ping_pong_places = 3;    ///< two messages that leave, in turn, and one that arrives
constexpr uint64_t rdma_credit_bytes = 64;  ///< distance of the queue pairs' words
constexpr uint8_t rdma_untouched = 0x5a;    ///< value of the bytes behind the data of each place

}  // namespace tester
