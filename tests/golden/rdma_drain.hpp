// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Replay of RDMA files: completions through the library's own queues. Operations are posted to them, the
/// recorded entries are put where the device would, and what each token is told is compared.
///
/// What the library's queues choose otherwise than the recorded drivers:
///
///  - A completion queue belongs to a send queue or to a receive queue.
///  - A caller asks for each operation, where a driver reports those that are signalled or failed, in order.
///  - They tell the device how far they read where the ring's room demands it. Here it has so little that each entry
///  does.

#include <algorithm>
#include <cstring>
#include <vector>

#include <xio/device/rdma/queue_pair.hpp>
#include <xio/device/rdma/receive.hpp>
#include <xio/host/rdma/receive_slots.hpp>

#include "rdma_wc.hpp"

namespace golden::rdma {

/// Where a recorded completion queue stands.
struct CompletionsAt {
  uint64_t head = 0;      ///< first entry that was not read, counted since the queue's creation
  uint32_t number = 0;    ///< that the device knows the queue by
  uint32_t producer = 0;  ///< of those queues that have a producer index
};

/// Memory of a completion queue that the library reads.
class CompletionMemory {
 public:
  CompletionMemory(const CompletionRing& ring, const CompletionsAt& at)
      : lines_(ring.bytes().size() / sizeof(Line) + 1), entries_(ring.entries()), at_(at), producer_(at.producer) {
    if ((entries_ & (entries_ - 1)) != 0) throw EncodersAlone{"completion_ring_not_power_of_two"};
    std::memcpy(lines_.data(), ring.bytes().data(), ring.bytes().size());
  }
  /// Overwrites 8 bytes of an entry.
  void put(uint64_t index, size_t entry_bytes, size_t offset, uint64_t value) {
    std::memcpy(lines_[0].byte + (index & (entries_ - 1)) * entry_bytes + offset, &value, sizeof value);
  }
  lib::CompletionQueueHandle handle() {
    return {lines_.data(), &producer_, &record_, &doorbell_, entries_, at_.number};
  }
  const CompletionsAt& at() const { return at_; }
  uint32_t entries() const { return entries_; }
  /// Most operations in flight: the queue may be exactly full, and every completion must be acknowledged then.
  uint32_t depth() const { return entries_; }
  uint32_t record() const { return record_; }
  uint64_t doorbell() const { return doorbell_; }

 private:
  struct alignas(64) Line {
    uint8_t byte[64];
  };
  std::vector<Line> lines_;
  uint32_t entries_;
  CompletionsAt at_;
  uint32_t producer_;
  uint32_t record_ = ~0u;
  uint64_t doorbell_ = 0;
};

/// What a drain came to.
struct Drained {
  std::vector<Reported> reports;
  uint64_t head;        ///< first entry that was not read
  bool broken = false;  ///< an entry made no sense, and the queue says so
};

/// Compares what was reported, and how far the queue was read.
/// @param head_after the recording's, counted like Drained::head
/// @param broken     whether the driver met an entry that it does not go beyond: the queue must be broken then
inline void expect_drained(const Json& recorded, const Drained& drained, uint64_t head_after, bool broken = false) {
  if (broken != drained.broken) {
    throw Mismatch(broken ? "the queue is not broken by an entry that makes no sense"
                          : "the queue takes an entry for one of no operation in flight");
  }
  if (!poll_fails(recorded)) expect_reports(recorded, drained.reports);
  if (broken) return;
  const bool limited = drained.reports.size() == number_at(recorded, "max_poll");
  // A driver keeps an entry until all that it ends was reported.
  const bool kept = limited && drained.head == head_after + 1;
  if (!kept) expect_number("entries read", head_after, drained.head);
}

/// Whether there is a new entry at `index`, though the driver has reported less than it was asked for: it stops there.
template <class Decoder>
bool stops_at(const Json& recorded, const CompletionRing& ring, uint64_t index, uint64_t producer = 0) {
  return recorded["wc"].size() < number_at(recorded, "max_poll") && ring.look<Decoder>(index, producer).has_value();
}

/// The numbers of the requests that the recorded driver reports, for send queues or for receive queues.
/// @throws EncodersAlone where it reports of both
inline bool reports_receives(const Json& recorded) {
  size_t receives = 0;
  for (const Json& one : member(recorded, "wc")) {
    // Without success the opcode means nothing; the numbers of receives begin with b.
    receives += (number_at(one, "wr_id") & 0xf000) == 0xb000 ? 1 : 0;
  }
  if (receives != 0 && receives != recorded["wc"].size()) throw EncodersAlone{"both_queues"};
  return receives != 0;
}

/// @param first  number that the recording gives to the first entry of the ring
/// @param next   entry of the receive that was posted first
/// @throws EncodersAlone where receives are not reported in the order in which they were posted
inline void expect_receives_in_order(const Json& recorded, uint64_t first, uint64_t entries, uint64_t next) {
  for (const Json& one : member(recorded, "wc")) {
    const uint64_t number = number_at(one, "wr_id") - first;
    if (number >= entries) continue;
    if (number != next++ % entries) throw EncodersAlone{"receives_out_of_order"};
  }
}

/// A send queue with operations in flight.
template <class V>
class SendDrain {
 public:
  /// @param next       producer counter of the first operation
  /// @param operations that ended, as far as the vendor counts them
  SendDrain(const lib::SendShape& shape, uint64_t next, uint64_t operations, CompletionMemory& completions)
      : completions_(completions),
        sq_((size_t{shape.entries} << V::unit_shift(shape)) / sizeof(Line) + 1),
        side_table_(2 * size_t{shape.entries}) {
    const uint64_t laps = uint64_t{2} * shape.entries << 20;
    handle_.state = &state_;
    handle_.send = &send_;
    handle_.sq = sq_.data();
    handle_.sq_record = &record_;
    handle_.sq_doorbell = &doorbell_;
    handle_.side_table = side_table_.data();
    handle_.shape = shape;
    handle_.side_entries = shape.entries;
    handle_.depth = completions.depth();
    handle_.cq = completions.handle();
    lib::begin_at(state_, send_, laps + next);
    state_.acknowledged = send_.cq_head = completions.at().head;
    send_.operations = laps + operations;
  }

  /// Posts an operation; returns the producer counter after it.
  uint64_t post(const Request& request) {
    Queue queue(handle_);
    const xio::Token token = post_on<V>(queue, request);
    if (!token.status.is_ok()) throw Mismatch(std::string("not posted: ") + xio::name(token.status.code));
    posted_.push_back({request, token});
    return token.last + 1;
  }

  /// Asks for one operation after the other, until one has not ended or `limit` were reported.
  Drained drain(uint64_t limit) {
    Queue queue(handle_);
    Drained drained;
    for (const Posted& one : posted_) {
      if (drained.reports.size() == limit) break;
      xio::Status status = queue.test(one.token);
      const auto goes_on = [&] { return status == xio::Status::pending && state_.broken == 0; };
      for (uint64_t read = ~uint64_t{0}; goes_on() && read != send_.cq_head;) {
        read = send_.cq_head;
        status = queue.test(one.token);
      }
      if (status == xio::Status::pending || status == xio::Status::broken) break;
      if (status.is_ok() && !one.request.work.has(lib::work_flag::signaled)) continue;
      drained.reports.push_back({one.request.wr_id, false, status, {}, false});
    }
    // Entries that say nothing are taken, too.
    while (drained.reports.size() < limit && state_.broken == 0 && queue.drain() != 0) {
    }
    drained.broken = state_.broken != 0;
    drained.head = send_.cq_head;
    return drained;
  }

 private:
  using Queue = lib::QueuePair<V, xio::Sharing::thread, xio::Policy<>>;
  struct alignas(64) Line {
    uint8_t byte[64];
  };
  struct Posted {
    Request request;
    xio::Token token;
  };

  CompletionMemory& completions_;
  std::vector<Line> sq_;
  std::vector<uint64_t> side_table_;
  uint32_t record_ = 0;
  uint64_t doorbell_ = 0;
  xio::QueueState state_{};
  lib::SendState send_{};
  lib::QueuePairHandle handle_{};
  std::vector<Posted> posted_;
};

/// A receive queue with receives posted.
template <class V>
class ReceiveDrain {
 public:
  /// @param next producer counter of the first receive
  ReceiveDrain(const lib::ReceiveShape& shape, uint64_t next, CompletionMemory& completions)
      : rq_((size_t{shape.entries} << shape.entry_shift) / sizeof(Line) + 1), slots_(shape.entries), next_(next) {
    // The library's queue counts receives and completions alike: the recorded number of a receive is told by the
    // caller.
    const uint64_t head = completions.at().head;
    handle_.state = &receive_;
    handle_.rq = rq_.data();
    handle_.record = &record_;
    handle_.doorbell = &doorbell_;
    handle_.slots = slots_.data();
    handle_.shape = shape;
    handle_.depth = completions.depth();
    handle_.cq = completions.handle();
    xio::protocol::begin_at(state_, head);
    state_.acknowledged = head;
    xio::host::begin_slots(slots_.data(), shape.entries, head);
  }

  /// Posts `number` receives, and asks for one after the other.
  Drained drain(uint64_t number, uint64_t first_wr_id, uint64_t limit) {
    Queue queue(handle_);
    std::vector<xio::Token> tokens;
    for (uint64_t i = 0; i < number; ++i) {
      tokens.push_back(queue.post(lib::NoPayload{}, xio::Now{}));
      if (!tokens.back().status.is_ok()) throw Mismatch("a receive was not posted");
    }
    Drained drained;
    for (uint64_t i = 0; i < number && drained.reports.size() < limit; ++i) {
      lib::Received received = queue.test(tokens[i]);
      for (uint64_t read = ~uint64_t{0}; received.status == xio::Status::pending && read != state_.acknowledged;) {
        read = state_.acknowledged;
        received = queue.test(tokens[i]);
      }
      if (received.status == xio::Status::pending || received.status == xio::Status::broken) break;
      lib::WorkCompletion completion;
      completion.bytes = received.bytes;
      completion.flags = static_cast<uint8_t>(received.flags);
      completion.immediate = received.immediate;
      completion.source_qpn = received.source_qpn;
      drained.reports.push_back({first_wr_id + (next_ + i) % slots_.size(), true, received.status, completion, false});
    }
    drained.broken = state_.broken != 0;
    drained.head = state_.acknowledged;
    return drained;
  }

 private:
  using Queue = lib::ReceiveQueue<V, xio::Sharing::thread, xio::Policy<>>;
  struct alignas(64) Line {
    uint8_t byte[64];
  };

  std::vector<Line> rq_;
  std::vector<lib::ReceiveSlot> slots_;
  uint64_t next_;
  uint32_t record_ = 0;
  uint64_t doorbell_ = 0;
  lib::ReceiveState receive_{};
  xio::QueueState& state_ = receive_.queue;
  lib::ReceiveQueueHandle handle_{};
};

/// The last recorded store to a register; none where there is none.
inline std::optional<uint64_t> recorded_doorbell(const Json& recorded) {
  std::optional<uint64_t> value;
  for (const Json& event : member(recorded, "events")) {
    if (event.value("ev", "") != "mmio_store") continue;
    const Bytes bytes = from_hex(member(event, "hex").get<std::string>());
    value = little_endian(bytes, 0, bytes.size());
  }
  return value;
}

}  // namespace golden::rdma
