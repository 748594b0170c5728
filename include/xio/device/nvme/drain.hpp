// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Taking NVMe completions: the source and the sink of protocol::drain().

#include <xio/device/core/doorbell.hpp>
#include <xio/device/core/notification.hpp>
#include <xio/device/core/telemetry.hpp>
#include <xio/device/nvme/completion_table.hpp>
#include <xio/device/queue/drain.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup kernel_nvme
/// @{

namespace detail {

/// Source of protocol::drain(): a completion ring.
template <class Doorbell, class Telemetry>
struct CompletionReader {
  /// Whether translate() makes the word of an entry from what look() returns.
  static constexpr bool translates = false;

  const Cqe* entries;
  DoorbellTarget target;
  uint32_t mask;
  Telemetry& telemetry;

  XIO_DEVICE_INLINE uint64_t look(uint64_t index) const { return CompletionFormat::look(entry(index)); }
  XIO_DEVICE_INLINE uint64_t observe(uint64_t index) const { return CompletionFormat::observe(entry(index)); }
  XIO_DEVICE_INLINE bool is_new(uint64_t word, uint64_t head, uint32_t position) const {
    return position <= mask && CompletionFormat::valid(word, ring::phase(head + position, mask));
  }
  XIO_DEVICE_INLINE uint64_t result(uint64_t index) const { return CompletionFormat::result(entry(index)); }

  template <Sharing S>
  XIO_DEVICE_INLINE void acknowledge(Group<S> group, uint64_t head) const {
    if (!group.leads()) return;
    const uint64_t started = Telemetry::start();
    if constexpr (S == Sharing::thread) {
      Doorbell::ring_each(target, ring::slot(head, mask));
    } else {
      Doorbell::ring(target, ring::slot(head, mask));
    }
    telemetry.stop(telemetry::Step::cq_doorbell, started);
  }

 private:
  XIO_DEVICE_INLINE const Cqe* entry(uint64_t index) const {
    return arch::as_base(&ring::element(entries, mask, index));
  }
};

/// Replaces Taken if no record of what drain() took is kept.
struct NoRecord {
  static constexpr bool kept = false;
  static constexpr bool awaits = false;
};

/// Record of what the calling lane took in one drain().
struct Taken {
  static constexpr bool kept = true;
  static constexpr bool awaits = false;
  bool hit = false;  ///< whether it took an operation; the other members are set only then
  uint64_t ticket = 0;
  uint64_t status = 0;  ///< status reported by the device
  uint64_t result = 0;
};

/// Counts a failure of one or several lanes in a notification, which keeps the first one's status.
XIO_DEVICE_INLINE void notify_failures(Notification* target, uint32_t failures, uint32_t status) {
  constexpr arch::Scope scope = arch::Scope::system;
  uint32_t before = arch::load<scope>(&target->status);
  if ((before & Notification::device_status) == 0)
    arch::compare_exchange<scope>(&target->status, before, before | status);
  arch::fetch_add<scope>(&target->failed, failures);
  arch::wait_stores();
}

/// Words in which the parts of a split command account for themselves: KeptResult::result, until all have ended.
struct KeptParts {
  uint32_t status;  ///< status reported by the device for the part that failed first; 0: none has
  uint32_t left;    ///< parts in flight, modulo 2^32; less until the last one is posted
};
XIO_DEVICE_INLINE KeptParts* parts_of(uint64_t notified) {
  return reinterpret_cast<KeptParts*>(&reinterpret_cast<KeptResult*>(notified & ~uint64_t{15})->result);
}

/// What the part of a split command notifies, given what the command does.
/// @param parts number of all parts for the last one; 0 for others
XIO_DEVICE_INLINE Notification* of_part(Notification* notified, uint32_t parts) {
  const auto address = reinterpret_cast<uint64_t>(notified);
  if ((address & KeptResult::mark) == 0) return notified;
  if (parts != 0) arch::fetch_add<arch::Scope::system>(&parts_of(address)->left, parts);
  return reinterpret_cast<Notification*>(address | KeptResult::part);
}

/// Accounts for the end of a part. Returns whether it is the last one to end; then `status` is that of the command.
XIO_DEVICE_INLINE bool end_part(uint64_t notified, uint64_t& status) {
  constexpr arch::Scope scope = arch::Scope::system;
  KeptParts* const parts = parts_of(notified);
  uint32_t none = 0;
  if (CompletionFormat::is_error(status))
    arch::compare_exchange<scope>(&parts->status, none, static_cast<uint32_t>(status));
  arch::wait_stores();  // who ends the command finds the failure
  if (arch::fetch_add<scope>(&parts->left, ~0u) != 1) return false;
  arch::order_loads<scope>();
  const uint32_t first = arch::load<scope>(&parts->status);
  if (first != 0) status = first;
  return true;
}

/// Adds one operation, and a failure if `status` is not 0, to each lane's notification, merging lanes with the same
/// target.
template <Sharing S>
XIO_DEVICE_INLINE void notify(Group<S> group, Notification* target, uint32_t status) {
  // order: results before notifications. Once for all counters.
  if (group.any(target != nullptr)) arch::wait_stores();
  while (group.any(target != nullptr)) {
    uint64_t done = 1;
    auto errors = static_cast<uint32_t>(status != 0);
    uint32_t first = status;
    bool chosen = true;
    bool adds = true;
    if constexpr (S != Sharing::thread) {
      const auto mine = reinterpret_cast<uint64_t>(target);
      chosen = mine == group.from_lane(mine, arch::first_lane(group.members(target != nullptr)));
      const uint64_t same = group.members(chosen);
      done = arch::count_lanes(same);
      const uint64_t failing = group.members(chosen && status != 0);
      errors = arch::count_lanes(failing);
      if (errors != 0) first = group.from_lane(status, arch::first_lane(failing));
      adds = chosen && arch::is_first(same);
    }
    if (adds) {
      if (errors != 0) notify_failures(target, errors, first);
      arch::publish_add<arch::Scope::system>(&target->done, done);
    }
    if (chosen) target = nullptr;
  }
}

/// Sink of protocol::drain() that stores results in a completion table.
/// @tparam Record NoRecord, Awaited, or Taken for what the calling lane took, whose errors then count as waited for
template <class Engine, class Record>
class TableSink {
  static constexpr Sharing sharing = Engine::sharing;
  static constexpr arch::Scope scope = state_scope<sharing>;
  using Policy = typename Engine::Policy;

 public:
  /// Whether the entries behind those of a drain are looked at while it waits for the rest of its own.
  static constexpr bool looks_ahead = is_shared<sharing> && arch::loads_ahead && Engine::Transport::looks_ahead;
  static constexpr bool results_ahead = sharing != Sharing::thread || !arch::branches_are_cheap;

  XIO_DEVICE_INLINE TableSink(const Engine& engine, const CompletionTable& table, Record& record,
                              bool may_go_on = false)
      : engine_(engine), table_(table), record_(record), may_go_on_(may_go_on) {}

  template <bool Errors, class Source>
  XIO_DEVICE_INLINE bool judge(const Source& source, Group<sharing> group, uint64_t word, uint64_t index, bool fresh) {
    bool lost = false;  // a message that is no completion
    if constexpr (Source::translates) lost = fresh && !source.translate(word, index);
    key_ = CompletionFormat::key(word);
    if constexpr (Policy::notifications) {
      is_notified_ = (key_ & notified_bit) != 0;
      key_ &= ~notified_bit;
    }
    status_ = CompletionFormat::status(word);
    slot_ = &ring::element(table_.slots, table_.slot_mask, key_);
    // Under way together, and waited for once; a thread of a CPU loads the result where it needs it.
    if constexpr (!results_ahead) index_ = index;
    const uint64_t claims = protocol::read<sharing>(engine_.claims());
    if (sharing == Sharing::thread || fresh) {
      before_ = protocol::read<sharing>(slot_->word);
      if constexpr (results_ahead) result_ = source.result(index);
    }
    if constexpr (looks_ahead) {
      following_ = group.leading(fresh);
      ahead_ = source.observe(index + following_);  // order: valid bit before rest
    }
    // As of protocol::claimed_or_broken().
    const auto reserved = static_cast<int64_t>(is_shared<sharing> ? protocol::tickets(claims) : claims);
    // The slot holds the lap in flight. If there is none, or the key is beyond the slots, the ticket is not claimed
    // yet.
    ticket_ = (before_ >> 16) + key_;
    bool stray = static_cast<int64_t>(ticket_) >= reserved;  // bound: tickets in flight
    // bound: completions to operations in flight. One more is a duplicate.
    if constexpr (sharing != Sharing::thread) stray = (stray || static_cast<int64_t>(index) >= reserved) && fresh;
    if constexpr (Source::translates) stray = stray || lost;
    return stray;
  }

  /// Whether completions at `head` follow the `taken` ones: found on the way.
  template <class Source>
  XIO_DEVICE_INLINE void look_ahead(const Source& source, Group<sharing> group, uint64_t head, uint32_t taken) {
    next_ = head;
    goes_on_ = may_go_on_ && taken == following_ && group.any(group.leads() && source.is_new(ahead_, head, 0));
  }
  XIO_DEVICE_INLINE bool goes_on() const { return goes_on_; }
  /// The entries that follow.
  XIO_DEVICE_INLINE protocol::Found next() const { return {next_, ahead_}; }

  XIO_DEVICE_INLINE bool is_special(bool present) const {
    return present && (CompletionFormat::is_error(status_) || CompletionFormat::is_error(before_ & 0x7fff));
  }

  template <bool Errors, class Source>
  XIO_DEVICE_INLINE void record([[maybe_unused]] const Source& source, Group<sharing> group, bool hit) {
    const bool errors = Errors && is_special(hit);
    bool failed = errors && CompletionFormat::is_error(status_);
    bool leaves = false;
    uint64_t* moved = nullptr;  // new place of the failure that the slot held
    // Counted before they are visible: a waiter that takes note of an error subtracts it from the count.
    if (Errors && XIO_UNLIKELY(group.any(errors))) {
      if (failed && is_own()) {
        // A library's own command is only waited for: however it ended, it has served.
        status_ = 0;
        failed = false;
      }
      if (failed && (Record::kept || is_owned())) status_ |= seen_bit;
      add_errors<sharing>(engine_.state(), group,
                          arch::count_lanes(group.members(failed && (status_ & seen_bit) == 0)));
      group.converge();  // the leader has counted for all lanes
      const bool leaving = errors && CompletionFormat::is_error(before_ & 0x7fff);
      leaves = group.any(leaving);  // check: the slot holds a failure
      if (leaves) {
        // One lane after the other: the log has one writer at a time.
        for (uint64_t lanes = group.members(leaving); lanes != 0; lanes &= lanes - 1) {
          const bool mine = sharing == Sharing::thread || arch::lane() == arch::first_lane(lanes);
          let_act(group, mine, [&](Actors<sharing> one) XIO_INLINE_LAMBDA {
            uint64_t* const kept = keep_failure<sharing>(table_.failures, table_.failure_entries,
                                                         ticket_ - table_.slot_mask - 1, before_, one);
            if (mine) moved = kept;
          });
          group.converge();
        }
      }
    }
    Notification* target = nullptr;
    if (hit) {
      if constexpr (!results_ahead) result_ = source.result(index_);
      if constexpr (Policy::notifications) {
        if (is_notified_) target = tell_kept();
      }
      const uint64_t next = ((before_ >> 16) + table_.slot_mask + 1) << 16 | status_;
      if constexpr (is_shared<sharing>) {
        arch::store<scope>(&slot_->result, result_);  // order: result before end
        if (XIO_UNLIKELY(leaves)) {
          // A waiter may have marked it meanwhile, and another found it in the log.
          const uint64_t last = arch::publish_exchange<scope>(&slot_->word, next);
          const bool was_seen = moved && ((last ^ before_) & seen_bit) != 0;  // check: seen while it moved
          const uint64_t logged = (ticket_ - table_.slot_mask) << 16 | (before_ & 0xffff);
          // check: seen while it moved
          if (was_seen && !mark_seen<sharing>(moved, logged)) arch::fetch_add<scope>(&engine_.state().error_count, 1u);
        } else {
          arch::publish<scope>(&slot_->word, next);
        }
      } else {
        slot_->result = result_;
        slot_->word = next;
      }
      if constexpr (Record::kept) {
        record_.hit = true;
        record_.ticket = ticket_;
        record_.status = status_ & ~seen_bit;
        record_.result = result_;
      }
      if constexpr (Record::awaits) record_.hit = record_.hit || (ticket_ == record_.ticket && status_ == 0);
    }
    if constexpr (Policy::notifications) {
      group.converge();
      notify(group, target, failed ? static_cast<uint32_t>(status_ & Notification::device_status) : 0);
    }
  }

  XIO_DEVICE_INLINE void advance(Group<sharing> group, uint64_t head) const {
    if constexpr (is_shared<sharing>) {
      if (group.leads())
        arch::publish<scope>(&engine_.state().retired, goes_on_ ? head | protocol::draining_bit : head);
    } else {
      engine_.state().retired = head;
    }
  }

 private:
  /// What is notified of the operation's end.
  XIO_DEVICE_INLINE uint64_t notified() const {
    return protocol::read<sharing>(reinterpret_cast<const uint64_t&>(table_.notifications[key_]));
  }

  /// Whether the command is the library's own. Without notifications, whoever asks for errors finds out.
  XIO_DEVICE_INLINE bool is_own() const {
    if constexpr (Policy::notifications) return notified() == own_mark(ticket_);
    return false;
  }

  /// Whether the failure is reported by transfer(), and by nobody else.
  XIO_DEVICE_INLINE bool is_owned() const {
    if constexpr (Policy::notifications) {
      const uint64_t address = notified();
      if (!is_notified_ || (address & 3) != 0) return false;
      const auto* const target = reinterpret_cast<const Notification*>(address);
      return (arch::load<arch::Scope::system>(&target->status) & Notification::owned) != 0;
    }
    return false;
  }

  /// Stores the result for an owner that keeps it; returns the notification if there is one instead.
  XIO_DEVICE_INLINE Notification* tell_kept() const {
    const uint64_t address = notified();
    if (XIO_LIKELY((address & 3) == 0)) return reinterpret_cast<Notification*>(address);
    uint64_t status = status_ & ~seen_bit;
    if (XIO_UNLIKELY((address & KeptResult::part) != 0) && !end_part(address, status)) return nullptr;
    auto* const kept = reinterpret_cast<KeptResult*>(address & ~uint64_t{15});
    arch::store<arch::Scope::system>(&kept->result, result_);  // order: kept result before end
    arch::publish<arch::Scope::system>(&kept->ended, KeptResult::has_ended | status);
    return nullptr;
  }

  const Engine& engine_;
  const CompletionTable table_;
  Record& record_;
  CompletionSlot* slot_ = nullptr;
  uint64_t before_ = 0;  ///< the slot's word before the completion
  uint64_t ticket_ = 0;
  uint64_t result_ = 0;
  uint64_t index_ = 0;
  uint64_t status_ = 0;     ///< reported by the device; with seen_bit if it counts as waited for
  uint64_t ahead_ = 0;      ///< the word of an entry behind those of this drain
  uint64_t next_ = 0;       ///< index of the first of those
  uint32_t following_ = 0;  ///< new entries from the head on
  uint32_t key_ = 0;
  bool is_notified_ = false;  ///< the lane's operation has a notification
  bool may_go_on_;            ///< whether they may be, before other groups drain
  bool goes_on_ = false;      ///< whether the entries behind are taken next
};

}  // namespace detail

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
