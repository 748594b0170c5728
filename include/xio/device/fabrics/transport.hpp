// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief NVMe over RDMA as a transport of nvme::Queue (NVM Express RDMA Transport Specification 1.0).
///
/// An entry of the submission ring is a command capsule of 64 bytes, which a SEND takes to the target; a response of 16
/// bytes arrives in a receive. Whoever stores a capsule stores its SEND too, in the same place of the send ring, and
/// whoever rings announces both: claims, links and the tail are those of any queue, and the ringing bit orders the
/// doorbells of the send queue as those of a submission queue.
///
/// The device still reads a SEND after its response has arrived, until the network has confirmed it. A response is
/// therefore taken only once the places that it frees are those of SENDs that have ended, as far as their completions
/// were taken, of which there is one for many.

#include <xio/device/fabrics/handle.hpp>
#include <xio/device/nvme/transport.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup kernel_nvme
/// @{

namespace detail {

/// What a doorbell of a queue points to.
XIO_DEVICE_INLINE FabricLink& fabric_link(uint32_t* doorbell) {
  return *arch::in_global(reinterpret_cast<FabricLink*>(doorbell));
}

/// Source of protocol::drain(): completions of receives, and the responses that these have filled.
template <class Vendor, Sharing S, class Policy, class Telemetry>
class ResponseReader {
 public:
  static constexpr bool translates = true;
  uint32_t mask;

  /// @param limit the responses before it may be taken
  XIO_DEVICE_INLINE ResponseReader(const QueueHandle& q, QueueState& state, uint64_t limit, Telemetry& telemetry)
      : mask(q.cq_mask),
        link_(fabric_link(q.cq_doorbell)),
        completions_(link_.receive.cq),
        responses_(q.cq),
        state_(state),
        limit_(limit),
        telemetry_(telemetry) {}

  XIO_DEVICE_INLINE uint64_t look(uint64_t index) const { return completions_.look(index); }
  XIO_DEVICE_INLINE uint64_t observe(uint64_t index) const { return completions_.observe(index); }
  XIO_DEVICE_INLINE bool is_new(uint64_t word, uint64_t head, uint32_t position) const {
    const bool there = position <= mask && completions_.is_new(word, head, position);
    return there && head + position < limit_;  // bound: responses to SENDs that have ended
  }

  /// Makes the upper word of the response from that of its completion. Returns false if there is no response.
  XIO_DEVICE_INLINE bool translate(uint64_t& word, uint64_t index) const {
    const rdma::WorkCompletion completion = completions_.template read<true>(word, index);
    bool ours = completion.kind == rdma::CompletionKind::receive;
    if constexpr (Policy::completion_checks) {
      ours = ours && completions_.is_about(link_.receive.shape.qpn, completion, word, index);
    }
    const bool whole = completion.bytes == sizeof(Cqe);
    word = CompletionFormat::look(response(index));
    if (XIO_LIKELY(ours && whole && completion.status.is_ok())) return true;
    note(!completion.status.is_ok() ? completion.status : Status(ours ? Status::length_error : Status::broken));
    return false;
  }
  XIO_DEVICE_INLINE uint64_t result(uint64_t index) const { return CompletionFormat::result(response(index)); }

  /// Posts the receives of the responses that were taken again.
  XIO_DEVICE_INLINE void acknowledge(Group<S> group, uint64_t head) const {
    const uint64_t started = Telemetry::start();
    const uint64_t before = protocol::read<S>(state_.acknowledged);
    completions_.template acknowledge<S>(group, head);
    const rdma::ReceiveRow<Vendor, S, Policy, sizeof(Cqe)> receives(link_.receive);
    receives.post(group, link_.responses, before + mask, head + mask);
    telemetry_.stop(telemetry::Step::cq_doorbell, started);
  }

 private:
  XIO_DEVICE_INLINE const Cqe* response(uint64_t index) const {
    return arch::as_base(&ring::element(responses_, mask, index));
  }
  /// Keeps the cause of the first failure; others are its consequence.
  XIO_COLD XIO_DEVICE void note(Status status) const {
    uint32_t none = 0;
    arch::compare_exchange<arch::Scope::system>(&link_.cause, none, protocol::pack(status));
  }

  FabricLink& link_;
  rdma::CompletionReader<Vendor> completions_;
  const Cqe* responses_;
  QueueState& state_;
  uint64_t limit_;
  Telemetry& telemetry_;
};

}  // namespace detail

/// NVMe over RDMA, through a network card with the formats of `Vendor`: `Policy<RingBy<nvme::OverRdma<Vendor>>>`. The
/// handle's doorbells point to a FabricLink. Regions and data have the remote key by which the target accesses them.
/// Refused with Status::unsupported: data of one command that is not contiguous, and separate metadata.
template <class Vendor>
struct OverRdma {
  static constexpr uint32_t kind = 3;
  // An index of new entries says nothing of one behind them.
  static constexpr bool looks_ahead = !Vendor::Completions::by_index;

  XIO_HOST_DEVICE static constexpr bool admits(const Command& command) { return command.mptr == 0; }
  /// A command without data has a descriptor of no bytes.
  XIO_HOST_DEVICE static constexpr DataPointer no_data() { return sgl_keyed_data_block(0, 0, 0); }
  XIO_DEVICE_INLINE static detail::KeyedData short_list(const QueueHandle& q) {
    return {detail::fabric_link(q.sq_doorbell).data_key};
  }
  XIO_DEVICE_INLINE static detail::KeyedData rehearsed(const QueueHandle&, uint32_t) { return {0}; }
  template <bool Fits, class Engine>
  XIO_DEVICE_INLINE static detail::KeyedData list(const Engine& engine, uint64_t, bool) {
    return short_list(engine.handle());
  }

  /// Stores the SENDs of the lanes `storing`.
  template <class Engine, Sharing S>
  XIO_DEVICE_INLINE static void store(const Engine& engine, Group<S>, uint64_t storing, uint64_t ticket) {
    const FabricLink& link = detail::fabric_link(engine.handle().sq_doorbell);
    if (Group<S>::has(storing)) Row<Engine>(link.send, engine.claims()).store(link.capsules, ticket);
  }

  template <Sharing S, class Bell>
  XIO_DEVICE_INLINE static void ring(const Bell& bell, uint64_t end) {
    const FabricLink& link = detail::fabric_link(bell.target.word);
    Row<Bell>(link.send, bell.state->reserved).ring(link.capsules, end);
  }

  /// Takes completions of SENDs when half of the room beyond the depth is left.
  template <class Engine, Sharing S>
  XIO_DEVICE_INLINE static void prepare(const Engine& engine, Group<S> group) {
    FabricLink& link = detail::fabric_link(engine.handle().cq_doorbell);
    const uint64_t half = (link.send.depth / Row<Engine>::units - engine.depth()) / 2;
    const auto left = static_cast<int64_t>(limit(engine, link) - engine.cq_head());
    if (XIO_LIKELY(!group.any(left <= static_cast<int64_t>(half)))) return;
    bool failed = false;
    if constexpr (is_shared<S>) {
      failed = end_sends<Row<Engine>>(&link, &engine.claims(), 0, group.mask());
    } else {
      // Not the state itself, which a session keeps in registers.
      failed = end_sends<Row<Engine>>(&link, nullptr, engine.claims(), group.mask());
    }
    if (XIO_UNLIKELY(group.any(failed))) protocol::break_queue(engine, group);
  }

  template <class Engine, Sharing S, class Telemetry>
  XIO_DEVICE_INLINE static auto source(const Engine& engine, Group<S>, Telemetry& telemetry) {
    const QueueHandle& q = engine.handle();
    const uint64_t before = limit(engine, detail::fabric_link(q.cq_doorbell));
    return detail::ResponseReader<Vendor, S, typename Engine::Policy, Telemetry>(q, engine.state(), before, telemetry);
  }

 private:
  template <class User>
  using Row = rdma::SendRow<Vendor, User::sharing, typename User::Policy, sizeof(Sqe)>;

  /// Number of responses that may be taken.
  template <class Engine>
  XIO_DEVICE_INLINE static uint64_t limit(const Engine& engine, const FabricLink& link) {
    return Row<Engine>(link.send, engine.claims()).limit() - engine.depth();
  }

  /// Takes completions of SENDs; one copy per kernel. Returns whether the queue pair has failed.
  /// @param claims, claimed the count of claims of a shared queue, or its value
  template <class Row>
  XIO_LEAF XIO_DEVICE static bool end_sends(const FabricLink* link, uint64_t* claims, uint64_t claimed,
                                            uint64_t lanes) {
    const Group<Row::sharing> group(arch::branches_separate_lanes ? arch::active() : lanes);
    const Row row(link->send, is_shared<Row::sharing> ? *claims : claimed);
    row.drain(group);
    return row.is_dead() || protocol::read<Row::sharing>(row.send().failed_end) != 0;
  }
};

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
