// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Replay of RDMA files: rdma::QueuePair and rdma::ReceiveQueue of one vendor, with their memory on a Stage.

#include <algorithm>
#include <memory>
#include <vector>

#include <xio/device/rdma.hpp>
#include <xio/device/rdma_receive.hpp>
#include <xio/host/rdma/receive_slots.hpp>
#include <xio/host/simt.hpp>

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
    if (use_ == Use::shared) return send_with<xio::Sharing::grid, xio::Throughput>(requests);
    if (requests.size() == 1) return send_with<xio::Sharing::thread, xio::Latency>(requests);
    state_.rung = state_.reserved;
    return send_with<xio::Sharing::thread, xio::Deferred<most_requests>>(requests);
  }

  /// Receives of one call: one by a thread, several by the lanes of a wave together.
  Posted receive(const std::vector<Request>& requests) override {
    Posted posted = start(ring_bytes(receives_.shape.entries, receives_.shape.entry_shift), receive_state_.reserved,
                          receives_.shape.entries, receives_.shape.entry_shift);
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
    finish(posted, receive_state_.reserved, receives_.shape.entry_shift);
    return posted;
  }

  bool takes(const std::vector<Request>& requests) const override { return use_ == Use::alone || requests.size() == 1; }

 protected:
  static constexpr uint32_t most_requests = 1u << 20;
  static constexpr uint32_t widest_wave = 64;

  LibraryPoster(Use use, const Shapes& shapes) : use_(use), slots_(shapes.receive.entries) {
    sends_.state = &state_;
    sends_.send = &send_;
    sends_.shape = shapes.send;
    receives_.state = &receive_state_;
    receives_.shape = shapes.receive;
    receives_.slots = slots_.data();
    stage_.add_state(&state_, sizeof state_);
    stage_.add_state(&send_, sizeof send_);
    stage_.add_state(&receive_state_, sizeof receive_state_);
    stage_.add("sq", ring_bytes(shapes.send.entries, V::unit_shift(shapes.send)));
    stage_.add("rq", ring_bytes(shapes.receive.entries, shapes.receive.entry_shift));
    sends_.sq = stage_.at<void>("sq");
    receives_.rq = stage_.at<void>("rq");
  }

  /// To be called once by the vendor's class.
  void stand(const Standing& sends, const Standing& receives) {
    stand(state_, laps(sends_.shape.entries), sends);
    stand(receive_state_, laps(receives_.shape.entries), receives);
    xio::host::begin_slots(slots_.data(), receives_.shape.entries, receive_state_.reserved);
    sends_.depth = sends.depth;
    receives_.depth = receives.depth;
  }
  /// A queue that has been in use for a while: what ended before the case began has been counted, too.
  static uint64_t laps(uint32_t entries) { return uint64_t{2} * entries << 20; }
  /// Units and receives posted, as the recording counts.
  uint64_t sent() const { return state_.reserved - laps(sends_.shape.entries); }
  uint64_t received() const { return receive_state_.reserved - laps(receives_.shape.entries); }
  lib::SendState& send() { return send_; }
  const lib::SendState& send() const { return send_; }
  /// ConnectX: whether the last entry changed a key.
  void remember_memory_operation() { send_.memory_end = state_.reserved + 1; }
  bool is_after_memory_operation() const { return send_.memory_end == state_.reserved + 1; }

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

  static void stand(xio::QueueState& state, uint64_t before, const Standing& at) {
    state.reserved = state.published = before + at.next;
    state.retired = state.reserved - at.in_flight;
  }

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
    Posted posted = start(ring_bytes(handle.shape.entries, shift), state_.reserved, handle.shape.entries, shift);
    lib::QueuePair<V, S, Policy> queue(handle);
    {
      const Stage::Watch watch(stage_);
      for (const Request& request : requests) {
        const xio::Token token =
            with_payload(request, [&](const auto& payload) { return queue.submit(request.work, payload); });
        posted.status = token.status;
        if (!token.status.is_ok()) break;
        ++posted.accepted;
      }
      queue.flush();
    }
    finish(posted, state_.reserved, shift);
    return posted;
  }

  template <xio::Sharing S>
  xio::Token post_receive(const Request& request, uint64_t lanes = 0) {
    lib::ReceiveQueue<V, S> queue(receives_, lanes);
    return queue.post(lib::SgeList{request.sges.data(), static_cast<uint32_t>(request.sges.size())});
  }

  xio::QueueState state_{};
  xio::QueueState receive_state_{};
  lib::SendState send_{};
  std::vector<lib::ReceiveSlot> slots_;
};

}  // namespace golden::rdma
