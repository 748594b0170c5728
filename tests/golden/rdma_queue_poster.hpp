// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Replay of RDMA files: rdma::QueuePair and rdma::ReceiveQueue of one vendor, with their memory on a Stage.

#include <algorithm>
#include <memory>
#include <vector>

#include <xio/device/rdma/queue_pair.hpp>
#include <xio/device/rdma/receive.hpp>
#include <xio/host/rdma/queue_states.hpp>
#include <xio/host/rdma/receive_slots.hpp>
#include <xio/host/simt/simt.hpp>

#include "rdma_shapes.hpp"
#include "rdma_stage.hpp"

namespace golden::rdma {

/// Where a queue stands. Counters as the library counts, since the queue's creation.
struct Standing {
  uint64_t next = 0;       ///< of the next unit
  uint64_t in_flight = 0;  ///< units posted and not ended
  uint32_t depth = 0;      ///< most units in flight
};

/// A queue pair of the library, in the state that a case says. The vendor's own class sets it up.
template <class V>
class LibraryPoster : public QueuePoster {
 public:
  /// Sends of one call: one by one and announced at once; of several requests, all announced together at the end.
  Posted post(const std::vector<Request>& requests) override {
    if (use_ == Use::shared) return send_with<xio::Sharing::grid, xio::Policy<>>(requests);
    if (requests.size() == 1) return send_with<xio::Sharing::thread, xio::Policy<>>(requests);
    return send_with<xio::Sharing::thread, xio::Policy<xio::Deferred<most_requests>>>(requests);
  }

  /// Receives of one call: one by a thread, several by the lanes of a wave together.
  Posted receive(const std::vector<Request>& requests) override {
    Posted posted = start(ring_bytes(receives_.shape.entries, receives_.shape.entry_shift),
                          states_.receive()->queue.reserved, receives_.shape.entries, receives_.shape.entry_shift);
    std::vector<xio::Token> tokens(requests.size());
    {
      const Stage::Watch watch(stage_);
      if (use_ == Use::shared) {
        tokens[0] = post_receive<xio::Sharing::grid>(requests[0]);
      } else if (requests.size() == 1) {
        tokens[0] = post_receive<xio::Sharing::thread>(requests[0]);
      } else {
        xio::simt::launch({1, widest_wave, widest_wave}, [&] {
          if (xio::arch::lane() < requests.size()) {
            const uint64_t lanes = ~uint64_t{0} >> (widest_wave - requests.size());
            tokens[xio::arch::lane()] = post_receive<xio::Sharing::wave>(requests[xio::arch::lane()], lanes);
          }
        });
      }
    }
    for (const xio::Token& token : tokens) {
      posted.status = token.status;
      if (!token.status.is_ok()) break;
      ++posted.accepted;
    }
    // The lanes of a wave do not stop at the one that is refused.
    if (!posted.status.is_ok() && requests.size() > 1) throw EncodersAlone{"refused_receive_in_a_batch"};
    finish(posted, states_.receive()->queue.reserved, receives_.shape.entry_shift);
    return posted;
  }

  bool takes(const std::vector<Request>& requests) const override { return use_ == Use::alone || requests.size() == 1; }

 protected:
  static constexpr uint32_t most_requests = 1u << 20;
  static constexpr uint32_t widest_wave = 64;

  LibraryPoster(Use use, const Shapes& shapes)
      : use_(use),
        memory_(xio::host::RdmaQueueStates::bytes(shapes.send.entries, shapes.receive.entries) / sizeof(Line) + 1),
        states_(memory_.data(), shapes.send.entries, shapes.receive.entries) {
    sends_.state = states_.send();
    sends_.send = states_.more();
    sends_.shape = shapes.send;
    receives_.state = states_.receive();
    receives_.shape = shapes.receive;
    receives_.slots = states_.slots();
    stage_.add_state(memory_.data(), memory_.size() * sizeof(Line));
    stage_.add("sq", ring_bytes(shapes.send.entries, V::unit_shift(shapes.send)));
    stage_.add("rq", ring_bytes(shapes.receive.entries, shapes.receive.entry_shift));
    sends_.sq = stage_.at<void>("sq");
    receives_.rq = stage_.at<void>("rq");
  }

  /// To be called once by the vendor's class.
  void stand(const Standing& sends, const Standing& receives) {
    const uint64_t next = laps(sends_.shape.entries) + sends.next;
    lib::begin_at(*states_.send(), send(), next, send().psn, send().msn);
    states_.send()->retired = next - sends.in_flight;
    xio::QueueState& receive_state = states_.receive()->queue;
    xio::protocol::begin_at(receive_state, laps(receives_.shape.entries) + receives.next);
    receive_state.retired -= receives.in_flight;
    xio::host::begin_slots(states_.slots(), receives_.shape.entries, receive_state.reserved);
    sends_.depth = sends.depth;
    receives_.depth = receives.depth;
  }
  /// A queue that has been in use for a while: what ended before the case began has been counted, too.
  static uint64_t laps(uint32_t entries) { return uint64_t{2} * entries << 20; }
  /// Units and receives posted, as the recording counts.
  uint64_t sent() const { return units_posted() - laps(sends_.shape.entries); }
  uint64_t received() const { return states_.receive()->queue.reserved - laps(receives_.shape.entries); }
  lib::SendState& send() { return *states_.more(); }
  const lib::SendState& send() const { return *states_.more(); }
  /// Numbers of the next packet and message.
  uint32_t psn() const { return numbers_are_claimed() ? lib::SequencedTickets::psn(send().claims) : send().psn; }
  uint32_t msn() const { return numbers_are_claimed() ? lib::SequencedTickets::msn(send().claims) : send().msn; }
  /// ConnectX: whether the last entry changed a key.
  void remember_memory_operation() { send().memory_end = units_posted() + 1; }
  bool is_after_memory_operation() const { return send().memory_end == units_posted() + 1; }

  /// A store of the recording to a register, by its place in the order of those.
  static const Json& recorded_register(const Json& call, bool last) {
    const Json* found = nullptr;
    for (const Json& event : member(call, "events")) {
      if (event.value("ev", "") != "mmio_store" || role_of(member(event, "region")) != Role::registers) continue;
      if (!found || last) found = &event;
    }
    if (!found) throw Mismatch("the recorded driver rings no doorbell");
    return *found;
  }
  static Store store_of(const Json& event) {
    return {true,
            member(event, "region").get<std::string>(),
            number_at(event, "off"),
            from_hex(member(event, "hex").get<std::string>()),
            {},
            0};
  }

  Use use_;
  Stage stage_;
  lib::QueuePairHandle sends_{};
  lib::ReceiveQueueHandle receives_{};

 private:
  static size_t ring_bytes(uint32_t entries, uint32_t shift) { return size_t{entries} << shift; }

  /// Units posted since the queue was made.
  uint64_t units_posted() const {
    const xio::QueueState& state = *states_.send();
    return numbers_are_claimed() ? lib::SequencedTickets::ticket(send().claims, state.retired) : state.reserved;
  }
  bool numbers_are_claimed() const { return V::has_side_table && use_ == Use::shared; }

  static Posted start(size_t bytes, uint64_t next, uint32_t entries, uint32_t shift) {
    Posted posted;
    posted.ring_size = bytes;
    posted.ring_start = next % entries << shift;
    posted.ring_bytes = next;  // finish() turns it into bytes
    return posted;
  }
  void finish(Posted& posted, uint64_t next, uint32_t shift) {
    posted.ring_bytes = (next - posted.ring_bytes) << shift;
    stage_.take(posted);
  }

  template <xio::Sharing S, class Policy>
  Posted send_with(const std::vector<Request>& requests) {
    const lib::QueuePairHandle& handle = sends_;
    const uint32_t shift = V::unit_shift(handle.shape);
    Posted posted = start(ring_bytes(handle.shape.entries, shift), units_posted(), handle.shape.entries, shift);
    lib::QueuePair<V, S, Policy> queue(handle);
    {
      const Stage::Watch watch(stage_);
      for (const Request& request : requests) {
        const xio::Token token = post_on<V>(queue, request);
        posted.status = token.status;
        if (!token.status.is_ok()) break;
        ++posted.accepted;
      }
      queue.ring();
    }
    finish(posted, units_posted(), shift);
    return posted;
  }

  template <xio::Sharing S>
  xio::Token post_receive(const Request& request, uint64_t lanes = 0) {
    lib::ReceiveQueue<V, S> queue(receives_, lanes);
    return queue.post(lib::SgeList{request.sges.data(), static_cast<uint32_t>(request.sges.size())}, xio::Now{});
  }

  struct alignas(64) Line {
    uint8_t byte[64];
  };
  std::vector<Line> memory_;
  xio::host::RdmaQueueStates states_;
};

}  // namespace golden::rdma
