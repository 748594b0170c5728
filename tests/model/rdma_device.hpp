// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A tiny RDMA queue pair for the explorer: rings in plain memory, and a NIC that is one more actor. It reads
/// and writes them in the format of each vendor, executes and completes in order, and fails the execution when an
/// entry, a table, a doorbell or a ring is not as it must be.

#include <cstring>
#include <string>

#include <xio/device/rdma/queue_pair.hpp>
#include <xio/device/rdma/receive.hpp>
#include <xio/host/emulation/rdma/kits.hpp>

#include "model/actor_steps.hpp"
#include "model/explorer.hpp"

namespace model {

using xio::QueueState;
using xio::Region;
using xio::Status;
using xio::Token;
using xio::emulation::doorbell_taken;
using xio::emulation::RdmaOutcome;
using xio::emulation::RdmaQueueConfig;
using xio::emulation::RdmaQueueMemory;
using xio::emulation::RdmaReceive;
using xio::emulation::RdmaReceiveCompletion;
using xio::emulation::RdmaWords;
using xio::emulation::RdmaWork;
using xio::rdma::QueuePairHandle;
using xio::rdma::ReceiveQueueHandle;
using xio::rdma::ReceiveSlot;
using xio::rdma::ReceiveState;
using xio::rdma::RemoteMemory;
using xio::rdma::SendState;

struct RdmaSizes {
  uint32_t sq = 4;
  uint32_t cq = 8;
  uint32_t depth = 2;
  uint32_t rq = 4;
};

/// What the NIC knows, and what is counted for the checks.
struct NicState {
  uint64_t announced, executed, completed;  ///< units of the send ring
  uint64_t entries[4];                      ///< digests of those that have not ended, by their first units
  uint64_t messages, reported;              ///< operations executed, and completed
  uint64_t cq_index, cq_consumer;
  uint64_t rq_announced, rq_consumed, receive_cq_consumer;
  uint64_t accepted;  ///< units that the waves were given tickets for
  uint64_t posted;    ///< receives, likewise
  uint64_t seen;      ///< operations executed, one bit each
  uint64_t lost;      ///< 0: the peer is there; 1: it is not, and the next completion says so; 2: all is flushed
  uint32_t psn;
  uint32_t ended_runs;  ///< of wave()
};

/// Everything that waves and NIC share; all of it is part of the explorer's state. What takes most space comes last,
/// and counts as far as it is used.
/// @tparam More  what else a program has; a multiple of 8 bytes
template <class Kit, class More>
struct RdmaMemory {
  static constexpr uint32_t most_units = 4;
  static constexpr uint32_t most_completions = 8;
  static constexpr uint32_t cqe_bytes = Kit::Wire::cqe_bytes;

  QueueState state;
  uint64_t links[2 * most_units];
  SendState send;
  ReceiveState receives;
  uint64_t receive_links[most_units];
  ReceiveSlot slots[most_units];
  uint64_t doorbells[4];
  uint64_t side[2 * most_units];
  NicState nic;
  More more;
  uint32_t words[RdmaWords::count];
  alignas(64) uint8_t cq[most_completions * cqe_bytes];
  alignas(64) uint8_t receive_cq[most_completions * cqe_bytes];
  alignas(64) uint8_t rq[most_units * 128];
  alignas(64) uint8_t sq[most_units * 512];
};

/// A program of waves with one queue pair, and a NIC as its last actor.
template <class Kit, class More = uint64_t>
class RdmaProgram : public Program {
 public:
  using Vendor = typename Kit::Vendor;
  using Wire = typename Kit::Wire;
  using Memory = RdmaMemory<Kit, More>;

  RdmaProgram(Explorer& explorer, const RdmaSizes& sizes, uint32_t waves)
      : explorer_(explorer), sizes_(sizes), waves_(waves), config_(Kit::config()) {
    config_.sq_units = config_.side_entries = sizes.sq;
    config_.cq_entries = config_.receive_cq_entries = sizes.cq;
    config_.rq_entries = sizes.rq;
    explorer.require(sizes.sq <= Memory::most_units && sizes.rq <= Memory::most_units &&
                         sizes.cq <= Memory::most_completions && config_.sq_unit_shift <= 9,
                     "the program is too large");
    std::memset(static_cast<void*>(&memory_), 0, sizeof memory_);
    std::memset(memory_.doorbells, 0xff, sizeof memory_.doorbells);
    std::memset(memory_.side, 0xa5, sizeof memory_.side);
    std::memset(memory_.cq, Wire::cq_initial_byte, sizeof memory_.cq);
    std::memset(memory_.receive_cq, Wire::cq_initial_byte, sizeof memory_.receive_cq);
    std::memset(memory_.rq, 0xa5, sizeof memory_.rq);
    std::memset(memory_.sq, 0xa5, sizeof memory_.sq);
    nic_.psn = config_.first_psn;
    xio::rdma::begin_at(memory_.state, memory_.send, 0, config_.first_psn);
  }

  uint32_t actors() const final { return waves_ + 1; }
  void* memory() final { return &memory_; }
  size_t memory_bytes() const final {
    return offsetof(Memory, sq) + (size_t{config_.sq_units} << config_.sq_unit_shift);
  }
  void run(uint32_t actor) final {
    if (actor == waves_) return nic();
    wave(actor);
    ++nic_.ended_runs;
  }
  std::string judge() override {
    if (memory_.state.broken != 0 || memory_.receives.queue.broken != 0) return "a queue is broken";
    if (((memory_.state.retired | memory_.receives.queue.retired) & xio::protocol::draining_bit) != 0)
      return "a drain was not given back";
    if (claimed() != nic_.accepted || memory_.receives.queue.reserved != nic_.posted)
      return "tickets were taken that nobody has, or lost";
    if (memory_.state.reservation != 0 || memory_.receives.queue.reservation != 0)
      return "a reservation was not taken back";
    if (nic_.executed != nic_.accepted || nic_.completed != nic_.accepted) return "an entry was lost";
    if (memory_.state.retired > nic_.completed) return "a completion was taken twice";
    if (memory_.state.error_count != 0) return "errors were counted";
    return verdict();
  }

 protected:
  /// What wave `number` does.
  virtual void wave(uint32_t number) = 0;
  /// How often wave() is called: once for each lane.
  virtual uint32_t runs() const { return waves_; }
  /// More to look at in the end.
  virtual std::string verdict() { return {}; }
  /// Executes an entry, which no other one may be like.
  virtual void execute(const RdmaWork& work) {
    const uint64_t operation = (work.remote - first_remote) / 8;
    explorer_.require(operation < 64 && (nic_.seen >> operation & 1) == 0, "an entry was announced twice, or is old");
    nic_.seen |= uint64_t{1} << operation;
  }
  /// How many messages the peer may send next; any of them arrives.
  virtual uint32_t messages() const { return 1; }
  /// Fills a receive with one of them; returns its length.
  virtual uint32_t arrive(const RdmaReceive& receive, uint32_t) {
    explorer_.require(receive.pieces[0].address == 0x2000, "a receive was announced that is not there");
    return static_cast<uint32_t>(nic_.rq_consumed + 1);
  }
  /// Whether each message must find a receive: then the NIC asks for those that were posted when it arrives.
  virtual bool finds_receive() const { return false; }
  /// Whether the peer may be lost, at any time. For NICs that report each entry that is flushed.
  virtual bool may_lose_peer() const { return false; }

  QueuePairHandle handle() {
    const RdmaQueueMemory m = rings();
    QueuePairHandle h{};
    h.state = &memory_.state;
    h.send = &memory_.send;
    h.sq = m.sq;
    h.sq_record = m.sq_record;
    h.sq_doorbell = m.sq_doorbell;
    h.side_table = m.side_table;
    h.shape.qpn = number();
    h.shape.entries = config_.sq_units;
    h.shape.entry_shift = config_.sq_unit_shift;
    h.shape.max_sges = config_.max_sges;
    h.shape.max_inline = config_.max_inline;
    h.shape.mtu_shift = config_.mtu_shift;
    h.depth = sizes_.depth;
    h.side_entries = config_.side_entries;
    h.signal_every = 1;
    h.cq = {m.cq, m.cq_producer, m.cq_record, m.cq_doorbell, config_.cq_entries, config_.cqn, config_.cookie};
    return h;
  }
  ReceiveQueueHandle receive_handle() {
    const RdmaQueueMemory m = rings();
    ReceiveQueueHandle h{};
    h.state = &memory_.receives;
    h.rq = m.rq;
    h.record = m.rq_record;
    h.doorbell = m.rq_doorbell;
    h.slots = memory_.slots;
    h.shape = {number(), config_.rq_entries, config_.rq_entry_shift, config_.max_sges};
    h.depth = sizes_.depth;
    h.cq = {m.receive_cq,          m.receive_cq_producer,      m.receive_cq_record,
            m.receive_cq_doorbell, config_.receive_cq_entries, config_.receive_cqn,
            config_.cookie};
    return h;
  }

  /// Posts a write of 8 bytes to a place that no other operation of the execution has.
  template <class Q, class Until>
  Token put(Q& queue, uint32_t operation, Until until) {
    const Token token =
        queue.put(RemoteMemory{first_remote, 512, 0x77}.at(8 * operation, 8), Region{0x1000, 8, 0x55}.at(0, 8), until);
    nic_.accepted += token.count;
    return token;
  }
  /// Posts a receive; the n-th one from 0 gets n + 1 bytes.
  template <class Q, class Until>
  Token receive(Q& queue, Until until) {
    const Token token = queue.post(Region{0x2000, 64, 0x55}.at(0, 64), until);
    nic_.posted += token.count;
    return token;
  }
  static xio::Deadline forever() { return {~uint64_t{0}}; }

  /// Tickets claimed from the send queue.
  uint64_t claimed() const {
    if constexpr (Vendor::has_side_table) {
      return xio::rdma::SequencedTickets::ticket(memory_.send.claims, xio::protocol::retired(memory_.state.retired));
    } else {
      return xio::protocol::tickets(memory_.state.reserved);
    }
  }

  Explorer& explorer_;
  const RdmaSizes sizes_;
  const uint32_t waves_;
  RdmaQueueConfig config_;
  Memory memory_;
  NicState& nic_ = memory_.nic;

 private:
  static constexpr uint64_t first_remote = 0x10000;
  static constexpr uint32_t most_messages = 4;

  uint32_t number() const { return config_.handle != 0 ? config_.handle : config_.qpn; }

  RdmaQueueMemory rings() {
    const auto word = [&](uint32_t base, uint32_t at) {
      return at == RdmaWords::none ? nullptr : memory_.words + base + at;
    };
    RdmaQueueMemory m;
    m.sq = memory_.sq;
    m.sq_record = word(0, Kit::words.sq_record);
    m.sq_doorbell = memory_.doorbells;
    m.side_table = memory_.side;
    m.cq = memory_.cq;
    m.cq_record = word(RdmaWords::cq, Kit::words.cq_record);
    m.cq_producer = word(RdmaWords::cq, Kit::words.cq_producer);
    m.cq_doorbell = memory_.doorbells + 1;
    m.rq = memory_.rq;
    m.rq_record = word(0, Kit::words.rq_record);
    m.rq_doorbell = memory_.doorbells + 2;
    m.receive_cq = memory_.receive_cq;
    m.receive_cq_record = word(RdmaWords::receive_cq, Kit::words.cq_record);
    m.receive_cq_producer = word(RdmaWords::receive_cq, Kit::words.cq_producer);
    m.receive_cq_doorbell = memory_.doorbells + 3;
    return m;
  }

  void nic() {
    enum Step : uint32_t { look, execute_entry, complete, lose, look_at_receives, take_receive };
    for (;;) {
      // All that it knows is in memory.
      explorer_.mark(1);
      explorer_.step();
      uint32_t steps[take_receive + most_messages];
      uint32_t count = 0;
      if (rung(memory_.doorbells[0])) steps[count++] = look;
      if (nic_.executed != nic_.announced) steps[count++] = execute_entry;
      if (nic_.completed != nic_.executed) steps[count++] = complete;
      if (may_lose_peer() && nic_.lost == 0) steps[count++] = lose;
      const uint64_t receives = receives_announced(memory_.doorbells[2]);
      for (uint64_t i = nic_.rq_announced; i < receives; ++i) (void)announced_receive(i);  // it may read them early
      if (!finds_receive() && receives != nic_.rq_announced) steps[count++] = look_at_receives;
      const bool takes =
          finds_receive() ? nic_.lost == 0 || receives != nic_.rq_consumed : nic_.rq_consumed != nic_.rq_announced;
      const uint32_t arriving = nic_.lost != 0 ? 1 : messages();
      for (uint32_t i = 0; takes && i < arriving; ++i) steps[count++] = take_receive + i;
      if (count == 0) {
        if (nic_.ended_runs == runs()) return;
        explorer_.wait(1);
        continue;
      }
      const uint32_t step = steps[explorer_.choose(count)];
      switch (step) {
        case look: announce(); break;
        case execute_entry: execute_next(); break;
        case complete: complete_next(); break;
        case lose: nic_.lost = nic_.executed != nic_.completed ? 1 : 2; break;
        case look_at_receives: look_for_receives(); break;
        default: deliver(step - take_receive); break;
      }
    }
  }

  static uint64_t value_of(uint64_t word) {
    if constexpr (Wire::doorbell_is_wide) return word;
    return static_cast<uint32_t>(word) == static_cast<uint32_t>(doorbell_taken) ? doorbell_taken
                                                                                : static_cast<uint32_t>(word);
  }
  static bool rung(uint64_t word) { return value_of(word) != doorbell_taken; }

  void demand(const std::string& violation) {
    if (!violation.empty()) explorer_.fail(violation);
  }

  void announce() {
    const uint64_t value = value_of(memory_.doorbells[0]);
    memory_.doorbells[0] = doorbell_taken;
    std::string violation;
    const uint64_t end = Wire::producer(config_, rings(), value, nic_.announced, violation);
    demand(violation);
    explorer_.require(end - nic_.completed <= Wire::capacity(config_), "the doorbell is beyond the ring");
    nic_.announced = end;
  }

  void execute_next() {
    const RdmaWork work = Wire::read_work(config_, rings(), nic_.executed);
    demand(work.fault);
    explorer_.require(work.units <= nic_.announced - nic_.executed, "half an entry was announced");
    if constexpr (Wire::has_side_table) demand(Wire::check_side_table(config_, rings(), work, nic_.messages, nic_.psn));
    if (nic_.lost == 0) execute(work);
    nic_.executed += work.units;
    ++nic_.messages;
    explorer_.require(nic_.executed - xio::protocol::retired(memory_.state.retired) <= sizes_.depth,
                      "more in flight than the depth");
    Wire::consumed(config_, rings(), nic_.executed);
    nic_.entries[work.index % config_.sq_units] = digest_of(work.index, work.units);
  }

  /// Digest of an entry, which the NIC may read until its operation has ended.
  uint64_t digest_of(uint64_t first, uint32_t units) const {
    uint64_t digest = 0;
    for (uint64_t unit = first; unit != first + units; ++unit) {
      const uint64_t at = unit % config_.sq_units << config_.sq_unit_shift;
      for (uint64_t byte = 0; byte < uint64_t{1} << config_.sq_unit_shift; byte += 8)
        digest = mix(digest, xio::emulation::peek<uint64_t>(memory_.sq + at + byte));
    }
    return digest;
  }

  void complete_next() {
    xio::emulation::RdmaSendCompletion completion;
    completion.work = Wire::read_work(config_, rings(), nic_.completed);
    explorer_.require(
        digest_of(nic_.completed, completion.work.units) == nic_.entries[nic_.completed % config_.sq_units],
        "an entry was overwritten before its operation had ended");
    completion.messages = ++nic_.reported;
    nic_.completed += completion.work.units;
    if (nic_.lost != 0) {
      completion.outcome = nic_.lost == 1 ? RdmaOutcome::retry_exceeded : RdmaOutcome::flushed;
      nic_.lost = 2;
    } else if (!completion.work.signaled) {
      return;
    }
    const RdmaQueueMemory m = rings();
    nic_.cq_consumer = Wire::consumer(config_.cq_entries, m.cq_record, m.cq_doorbell, nic_.cq_consumer);
    explorer_.require(nic_.cq_index - nic_.cq_consumer < Wire::cq_capacity(config_.cq_entries),
                      "the completion ring is full");
    Wire::write_completion(config_, m.cq, m.cq_producer, nic_.cq_index++, completion);
  }

  uint64_t receives_announced(uint64_t doorbell) {
    return Wire::receive_producer(config_, rings(), value_of(doorbell), nic_.rq_announced);
  }

  /// An announced entry of the receive ring.
  RdmaReceive announced_receive(uint64_t index) {
    RdmaReceive found = Wire::read_receive(config_, rings(), index);
    demand(found.fault);
    explorer_.require(found.pieces.size() == 1, "a receive was announced that is not there");
    return found;
  }

  void look_for_receives() {
    nic_.rq_announced = receives_announced(memory_.doorbells[2]);
    memory_.doorbells[2] = doorbell_taken;
  }

  void deliver(uint32_t which) {
    if (finds_receive()) look_for_receives();
    explorer_.require(nic_.rq_consumed != nic_.rq_announced, "a message finds no receive");
    RdmaReceiveCompletion completion;
    completion.receive = announced_receive(nic_.rq_consumed);
    // Its place is empty until it is posted again.
    const uint64_t place = nic_.rq_consumed % config_.rq_entries << config_.rq_entry_shift;
    std::memset(memory_.rq + place, 0xa5, size_t{1} << config_.rq_entry_shift);
    if (nic_.lost == 0) {
      completion.bytes = arrive(completion.receive, which);
    } else {
      completion.outcome = RdmaOutcome::flushed;
    }
    Wire::receive_consumed(config_, rings(), ++nic_.rq_consumed);
    const RdmaQueueMemory m = rings();
    nic_.receive_cq_consumer = Wire::consumer(config_.receive_cq_entries, m.receive_cq_record, m.receive_cq_doorbell,
                                              nic_.receive_cq_consumer);
    explorer_.require(nic_.rq_consumed - 1 - nic_.receive_cq_consumer < Wire::cq_capacity(config_.receive_cq_entries),
                      "the receives' completion ring is full");
    Wire::write_receive_completion(config_, m.receive_cq, m.receive_cq_producer, nic_.rq_consumed - 1, completion);
  }
};

}  // namespace model
