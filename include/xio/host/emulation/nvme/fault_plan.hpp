// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What goes wrong on the in-process NVMe controller, and when.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {

/// Which commands a rule of a FaultPlan acts on. All conditions hold together; what is not set holds for every command.
struct Match {
  std::optional<uint16_t> qid;  ///< submission queue, 0: the admin queue; not set: every I/O queue
  std::optional<uint8_t> opcode;
  std::optional<uint32_t> nsid;
  std::optional<uint16_t> cid;
  uint64_t first_lba = 0;            ///< commands that name a block in [first_lba, last_lba]
  uint64_t last_lba = ~uint64_t{0};  ///< commands without LBA match only where the range is everything
  uint64_t skip = 0;              ///< of the commands that match, counted as they are fetched: leave this many alone,
  uint64_t every = 1;             ///< then act on each `every`-th,
  uint64_t times = ~uint64_t{0};  ///< and stop after acting this often (1: one-off)

  Match& on_queue(uint16_t value) { return qid = value, *this; }
  Match& with_opcode(uint8_t value) { return opcode = value, *this; }
  Match& with_nsid(uint32_t value) { return nsid = value, *this; }
  Match& with_cid(uint16_t value) { return cid = value, *this; }
  Match& with_lba(uint64_t first, uint64_t last) { return first_lba = first, last_lba = last, *this; }
  /// Exactly the k-th command that matches, counted from 0.
  Match& at(uint64_t k) { return skip = k, times = 1, *this; }
  Match& each(uint64_t n) { return every = n, *this; }
  Match& once() { return times = 1, *this; }
};

namespace detail {

struct Rule {
  enum Action {
    fail,
    delay_steps,
    delay_time,
    hold,
    drop,
    duplicate,
    fatal,
    lose_data,
    tear_data,
    misdirect,
    answer,
    ignore_doorbell,
  };

  Match match;
  Action action = fail;
  uint64_t least = 0;                 // status, delay, bytes, blocks or answer
  uint64_t most = 0;                  // largest delay
  std::atomic<uint64_t> seen{0};      // of the controller
  std::atomic<uint64_t> hits{0};      // of the controller
  std::atomic<bool> ended{false};     // acts no more, and what it holds goes on
  std::atomic<bool> released{false};  // dropped completions are to be posted

  /// Counts a command that meets the conditions; whether the rule acts on it.
  bool count() {
    const uint64_t number = seen.load(std::memory_order_relaxed);
    seen.store(number + 1, std::memory_order_relaxed);
    const uint64_t done = hits.load(std::memory_order_relaxed);
    if (number < match.skip || (number - match.skip) % match.every != 0 || done >= match.times) return false;
    hits.store(done + 1, std::memory_order_relaxed);
    return true;
  }
};

}  // namespace detail

/// One rule of a FaultPlan, to ask about it or to end it. Copies mean the same rule.
class FaultRule {
 public:
  FaultRule() = default;
  /// Commands fetched so far that met the conditions.
  uint64_t seen() const { return rule_ ? rule_->seen.load(std::memory_order_relaxed) : 0; }
  /// Commands that the rule acted on.
  uint64_t hits() const { return rule_ ? rule_->hits.load(std::memory_order_relaxed) : 0; }

 private:
  friend class FaultPlan;
  explicit FaultRule(std::shared_ptr<detail::Rule> rule) : rule_(std::move(rule)) {}
  std::shared_ptr<detail::Rule> rule_;
};

/// Faults of one controller. Any thread may change it at any time. The controller takes a change up in its next pass,
/// or when it sees a new tail: a rule holds for every command that is submitted after it was made.
///
/// Every rule looks at every command as it is fetched, and all that match act together: a command can be held, then
/// delayed, then reordered, then fail. Data moves, and PRP lists are read, just before the completion is posted, so
/// that a buffer or list that is reused too early shows. Rules stay until remove() or clear(), also over a reset; a
/// reset forgets the commands that are held, delayed or dropped.
class FaultPlan {
 public:
  FaultPlan() = default;
  FaultPlan(const FaultPlan&) = delete;
  FaultPlan& operator=(const FaultPlan&) = delete;

  /// The command ends with this status, and nothing is transferred.
  /// @param status  status field without the phase bit: SC in 7:0, SCT in 10:8, CRD 12:11, more 13, do not retry 14
  FaultRule fail(const Match& match, uint16_t status) { return add(match, detail::Rule::fail, status & 0x7fffu); }

  /// The command waits for a number of passes of the controller (step() calls, where it is stepped), drawn evenly from
  /// [least, most] for each.
  FaultRule delay_steps(const Match& match, uint64_t least, uint64_t most) {
    return add(match, detail::Rule::delay_steps, least, most);
  }
  /// The same in microseconds of the steady clock.
  FaultRule delay_us(const Match& match, uint64_t least, uint64_t most) {
    return add(match, detail::Rule::delay_time, least, most);
  }

  /// The command stays where it is until resume() or remove(); later ones overtake it.
  FaultRule hold(const Match& match) { return add(match, detail::Rule::hold); }
  /// The command is executed, and its completion is not posted until release().
  FaultRule drop(const Match& match) { return add(match, detail::Rule::drop); }
  /// The completion is posted twice in a row.
  FaultRule duplicate(const Match& match) { return add(match, detail::Rule::duplicate); }
  /// The controller fails when it fetches the command: CSTS.CFS = 1, nothing goes on until the host resets it.
  FaultRule fatal(const Match& match) { return add(match, detail::Rule::fatal); }

  /// A Write reports success and stores nothing.
  FaultRule lose_data(const Match& match) { return add(match, detail::Rule::lose_data); }
  /// A Write reports success and stores only its first `bytes` bytes.
  FaultRule tear_data(const Match& match, uint64_t bytes) { return add(match, detail::Rule::tear_data, bytes); }
  /// A Write goes to the block `blocks` further on, a Read comes from there (modulo the capacity).
  FaultRule misdirect(const Match& match, uint64_t blocks) { return add(match, detail::Rule::misdirect, blocks); }

  /// Dword 0 of the completion is `value`: the command specific result, which most commands do not have.
  FaultRule answer(const Match& match, uint32_t value) { return add(match, detail::Rule::answer, value); }

  /// The next `count` changes of a queue's SQ tail doorbell are not noticed. A later one covers them.
  FaultRule ignore_doorbells(uint16_t qid, uint64_t count) {
    Match match;
    match.on_queue(qid).times = count;
    return add(match, detail::Rule::ignore_doorbell);
  }

  /// I/O commands end in random order: a completion is drawn from among `window` that are ready, or from fewer once
  /// nothing new arrives. 0 or 1: in order.
  void reorder(uint32_t window) {
    change([&] { window_ = window; });
  }
  /// Begins the random numbers for reordering and delays anew.
  void seed(uint64_t value) {
    change([&] { seed_ = value, ++seeds_; });
  }

  /// No CQE is posted to this completion queue while `stalled`.
  void stall_cq(uint16_t qid, bool stalled) {
    change([&] {
      stalled_.erase(std::remove(stalled_.begin(), stalled_.end(), qid), stalled_.end());
      if (stalled) stalled_.push_back(qid);
    });
  }

  /// From CC.EN = 1 to CSTS.RDY = 1 this many microseconds pass; ~0: it never becomes ready.
  void slow_enable_us(uint64_t duration) {
    change([&] { enable_us_ = duration; });
  }

  /// The controller fails now, if it is enabled: CSTS.CFS = 1.
  void fail_controller() {
    change([&] { ++failures_; });
  }
  /// The controller is pulled out: registers read as ones, nothing moves any more. For good.
  void remove_controller() {
    removed_.store(true);
    change([] {});
  }
  bool controller_removed() const { return removed_.load(std::memory_order_acquire); }

  /// What a hold rule holds goes on, and the rule ends.
  void resume(const FaultRule& rule) { remove(rule); }
  /// The completions that a drop rule kept back are posted, and the rule ends.
  void release(const FaultRule& rule) {
    if (rule.rule_) rule.rule_->released.store(true);
    remove(rule);
  }
  /// The rule ends; what it holds goes on, what it dropped stays away.
  void remove(const FaultRule& rule) {
    change([&] {
      if (rule.rule_) rule.rule_->ended.store(true);
      rules_.erase(std::remove(rules_.begin(), rules_.end(), rule.rule_), rules_.end());
    });
  }
  /// Ends all rules, reordering, stalls and slow enabling.
  void clear() {
    change([&] {
      for (const auto& rule : rules_) rule->ended.store(true);
      rules_.clear();
      stalled_.clear();
      window_ = 0;
      enable_us_ = 0;
    });
  }

  /// The controller's copy of the plan.
  struct Orders {
    uint64_t version = ~uint64_t{0};
    std::vector<std::shared_ptr<detail::Rule>> rules;
    std::vector<uint16_t> stalled;
    uint32_t window = 0;
    uint64_t seed = 1;
    uint64_t seeds = 0;
    uint64_t enable_us = 0;
    uint64_t failures = 0;
    bool removed = false;
  };

  /// Brings the controller's copy up to date; whether anything changed.
  bool refresh(Orders& orders) {
    if (version_.load(std::memory_order_acquire) == orders.version) return false;
    const std::lock_guard<std::mutex> lock(mutex_);
    orders.version = version_.load();
    orders.rules = rules_;
    orders.stalled = stalled_;
    orders.window = window_;
    orders.seed = seed_;
    orders.seeds = seeds_;
    orders.enable_us = enable_us_;
    orders.failures = failures_;
    orders.removed = removed_.load();
    return true;
  }

 private:
  FaultRule add(const Match& match, detail::Rule::Action action, uint64_t least = 0, uint64_t most = 0) {
    if (match.every == 0) throw host::Error("FaultPlan: Match::every must be at least 1");
    const bool delays = action == detail::Rule::delay_steps || action == detail::Rule::delay_time;
    if (delays && least > most) throw host::Error("FaultPlan: the least delay is above the most");
    auto rule = std::make_shared<detail::Rule>();
    rule->match = match;
    rule->action = action;
    rule->least = least;
    rule->most = most;
    change([&] { rules_.push_back(rule); });
    return FaultRule(std::move(rule));
  }

  template <class Change>
  void change(Change apply) {
    const std::lock_guard<std::mutex> lock(mutex_);
    apply();
    version_.fetch_add(1);
  }

  std::mutex mutex_;
  std::atomic<uint64_t> version_{0};
  std::atomic<bool> removed_{false};
  std::vector<std::shared_ptr<detail::Rule>> rules_;
  std::vector<uint16_t> stalled_;
  uint32_t window_ = 0;
  uint64_t seed_ = 1;
  uint64_t seeds_ = 0;
  uint64_t enable_us_ = 0;
  uint64_t failures_ = 0;
};

}  // namespace emulation

XIO_NAMESPACE_END
