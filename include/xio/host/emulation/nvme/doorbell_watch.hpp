// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Doorbell polling of the in-process NVMe controller: doorbell registers, and shadow doorbells with EventIdx
/// (NVM Express Base Specification 2.0, sections 3.1.3.7, 5.8 and B.5).

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include <xio/config.hpp>
#include <xio/host/emulation/nvme/core.hpp>
#include <xio/host/emulation/nvme/events.hpp>
#include <xio/host/emulation/nvme/fault_plan.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {

/// Polls doorbells and validates their values. Holds the fatal state, which invalid shadow doorbells cause.
class DoorbellWatch {
 public:
  DoorbellWatch(ControllerCore& core, AsyncEvents& events, FaultPlan& plan, FaultPlan::Orders& orders)
      : core_(core), events_(events), plan_(plan), orders_(orders) {}

  /// Returns whether the controller has failed and needs a reset.
  bool failed() const { return failed_; }
  void fail() {
    if (!failed_) core_.counters.fatal_errors.add();
    failed_ = true;
  }
  void reset() { failed_ = false; }

  /// Number of doorbell changes seen since the last call.
  size_t take_changes() { return std::exchange(changes_, 0); }

  void look_at_tail(SubmissionQueue& sq) {
    uint32_t value = 0;
    if (sq.doorbell.poll(value)) {
      ++changes_;
      core_.counters.queue(sq.id).sq_doorbells.add();
      if (sq.doorbell.shadow != 0) sq.doorbell.rearm();
      plan_.refresh(orders_);
      if (ignored(sq.id)) return;
      if (sq.doorbell.shadow == 0) {
        take_tail(sq, value);
      } else {
        sq.doorbell.awake = true;
      }
    }
    if (!sq.doorbell.awake) return;
    // With a shadow, the register write only wakes the controller; the tail is in memory.
    uint32_t* const shadow = word(sq.doorbell.shadow);
    uint32_t* const event = word(sq.doorbell.event_index);
    if (!shadow || !event) return lose_shadow(sq.id);
    take_tail(sq, __atomic_load_n(shadow, __ATOMIC_ACQUIRE));
    if (sq.head != sq.tail) return;
    // Idle: store EventIdx, then reread the shadow. The host stores the shadow, then reads EventIdx: one side sees the
    // other's store.
    __atomic_exchange_n(event, sq.tail, __ATOMIC_SEQ_CST);
    const uint32_t again = __atomic_load_n(shadow, __ATOMIC_SEQ_CST);
    sq.doorbell.awake = again != sq.tail;
    if (sq.doorbell.awake) take_tail(sq, again);
    if (sq.head == sq.tail) sq.doorbell.awake = false;
  }

  void look_at_head(CompletionQueue& cq) {
    uint32_t value = 0;
    if (!cq.doorbell.poll(value)) return;
    ++changes_;
    core_.counters.queue(cq.id).cq_doorbells.add();
    if (cq.doorbell.shadow == 0) return take_head(cq, value);
    cq.doorbell.rearm();
    cq.doorbell.awake = true;
  }

  /// Returns whether no entry can be posted: the queue is full or stalled by the plan.
  bool blocked(CompletionQueue& cq) {
    if (!orders_.stalled.empty() &&
        std::find(orders_.stalled.begin(), orders_.stalled.end(), cq.id) != orders_.stalled.end())
      return true;
    if (XIO_LIKELY(!cq.full())) {
      cq.full_noted = false;
      return false;
    }
    look_at_head(cq);
    if (cq.doorbell.shadow != 0 && cq.doorbell.awake) look_at_shadow_head(cq);
    if (!cq.full()) return false;
    if (!cq.full_noted) core_.counters.queue(cq.id).cq_full_stalls.add();
    cq.full_noted = true;
    return true;
  }

  /// Polls the doorbells of queues that do not exist.
  void look_for_strays() {
    uint32_t value = 0;
    for (uint32_t qid = 1; qid <= core_.config.queues; ++qid) {
      Doorbell& tail = core_.sqs[qid].doorbell;
      Doorbell& head = core_.cqs[qid].doorbell;
      for (const bool completion : {false, true}) {
        if (completion ? core_.cqs[qid].exists : core_.sqs[qid].exists) continue;
        Doorbell& doorbell = completion ? head : tail;
        if (!doorbell.poll(value)) continue;
        ++changes_;
        doorbell.rearm();
        stray();
      }
    }
  }
  void stray() {
    core_.counters.stray_doorbells.add();
    core_.violations.add(NvmeViolation::doorbell, 0, "a doorbell of a queue that does not exist");
    raise(spec::event_invalid_doorbell_register);
  }

 private:
  /// Raises a doorbell error event if a request is outstanding; otherwise the event is discarded.
  void raise(uint32_t event) {
    if (events_.waiting()) events_.raise(event);
  }

  void note(uint32_t qid, const char* doorbell, uint32_t value, const char* what) {
    core_.violations.add(NvmeViolation::doorbell, qid,
                         std::string(doorbell) + " " + std::to_string(value) + " " + what);
  }
  void lose_shadow(uint32_t qid) {
    core_.violations.add(NvmeViolation::memory, qid, "a shadow doorbell is not mapped");
    fail();
  }

  uint32_t* word(uint64_t bus) {
    return bus % 4 == 0 ? reinterpret_cast<uint32_t*>(core_.bus.find_all(bus, 4)) : nullptr;
  }

  bool ignored(uint16_t qid) const {
    for (const auto& rule : orders_.rules) {
      if (rule->action == detail::Rule::ignore_doorbell && rule->match.qid == qid && rule->count()) return true;
    }
    return false;
  }

  void take_tail(SubmissionQueue& sq, uint32_t value) {
    if (value == sq.tail) return;
    // Rules added before these commands were submitted apply to them.
    plan_.refresh(orders_);
    detail::QueueCounters& counters = core_.counters.queue(sq.id);
    if (value >= sq.size) {
      counters.invalid_doorbells.add();
      note(sq.id, "SQ tail", value, "beyond the queue");
      sq.doorbell.rearm();
      return raise(spec::event_invalid_doorbell_value);
    }
    const uint32_t advance = value > sq.tail ? value - sq.tail : value + sq.size - sq.tail;
    const uint32_t plausible = core_.config.plausible_advance;
    if (advance > sq.known_room() || (plausible != 0 && advance > plausible)) {
      counters.suspicious_tails.add();
      note(sq.id, "SQ tail", value, "covers entries that are not free");
    }
    const uint64_t before = sq.in_flight;
    const uint64_t fetched = before - sq.pending();
    sq.tail = value;
    core_.set_in_flight(sq, fetched + sq.pending());
    counters.advance(before, sq.in_flight);
  }

  void take_head(CompletionQueue& cq, uint32_t value) {
    if (value == cq.head) return;
    detail::QueueCounters& counters = core_.counters.queue(cq.id);
    if (value >= cq.size) {
      counters.invalid_doorbells.add();
      note(cq.id, "CQ head", value, "beyond the queue");
      cq.doorbell.rearm();
      return raise(spec::event_invalid_doorbell_value);
    }
    const uint32_t advance = value > cq.head ? value - cq.head : value + cq.size - cq.head;
    if (advance > cq.occupied()) {
      counters.suspicious_heads.add();
      note(cq.id, "CQ head", value, "beyond what was posted");
      cq.doorbell.rearm();
      return raise(spec::event_invalid_doorbell_value);
    }
    cq.head = value;
  }

  /// Updates the head of a full queue. If it stays full, a register write must wake the controller.
  void look_at_shadow_head(CompletionQueue& cq) {
    uint32_t* const shadow = word(cq.doorbell.shadow);
    uint32_t* const event = word(cq.doorbell.event_index);
    if (!shadow || !event) return lose_shadow(cq.id);
    take_head(cq, __atomic_load_n(shadow, __ATOMIC_ACQUIRE));
    if (!cq.full()) return;
    __atomic_exchange_n(event, cq.head, __ATOMIC_SEQ_CST);
    take_head(cq, __atomic_load_n(shadow, __ATOMIC_SEQ_CST));
    if (cq.full()) cq.doorbell.awake = false;
  }

  ControllerCore& core_;
  AsyncEvents& events_;
  FaultPlan& plan_;
  FaultPlan::Orders& orders_;
  size_t changes_ = 0;
  bool failed_ = false;
};

}  // namespace emulation

XIO_NAMESPACE_END
