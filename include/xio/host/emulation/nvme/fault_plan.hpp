// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Fault injection for the in-process NVMe controller.

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
/// @addtogroup emulation_nvme
/// @{

/// Selects the commands that a rule of a FaultPlan acts on. Conditions are combined by AND; unset ones match every
/// command.
struct Match {
  std::optional<uint16_t> qid;  ///< submission queue, 0: the admin queue; not set: every I/O queue
  std::optional<uint8_t> opcode;
  std::optional<uint32_t> nsid;
  std::optional<uint16_t> cid;
  uint64_t first_lba = 0;            ///< commands that address a block in [first_lba, last_lba]
  uint64_t last_lba = ~uint64_t{0};  ///< commands without an LBA match only if the range is unrestricted
  uint64_t skip = 0;                 ///< number of matching commands, in fetch order, to leave alone first,
  uint64_t every = 1;                ///< then act on every `every`-th,
  uint64_t times = ~uint64_t{0};     ///< and stop after acting this many times

  Match& on_queue(uint16_t value) { return qid = value, *this; }
  Match& with_opcode(uint8_t value) { return opcode = value, *this; }
  Match& with_nsid(uint32_t value) { return nsid = value, *this; }
  Match& with_cid(uint16_t value) { return cid = value, *this; }
  Match& with_lba(uint64_t first, uint64_t last) { return first_lba = first, last_lba = last, *this; }
  /// Acts on the k-th matching command only, counted from 0.
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
  uint64_t least = 0;                 // status, smallest delay, bytes, blocks or answer
  uint64_t most = 0;                  // largest delay
  std::atomic<uint64_t> seen{0};      // written by the controller
  std::atomic<uint64_t> hits{0};      // written by the controller
  std::atomic<bool> ended{false};     // acts no more; held commands continue
  std::atomic<bool> released{false};  // dropped completions are to be posted

  /// Counts a matching command. Returns whether the rule acts on it.
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

/// Handle to one rule of a FaultPlan, to query or end it. Copies refer to the same rule.
class FaultRule {
 public:
  FaultRule() = default;
  /// Commands fetched so far that matched.
  uint64_t seen() const { return rule_ ? rule_->seen.load(std::memory_order_relaxed) : 0; }
  /// Commands that the rule acted on.
  uint64_t hits() const { return rule_ ? rule_->hits.load(std::memory_order_relaxed) : 0; }

 private:
  friend class FaultPlan;
  explicit FaultRule(std::shared_ptr<detail::Rule> rule) : rule_(std::move(rule)) {}
  std::shared_ptr<detail::Rule> rule_;
};

/// Faults of one controller. Thread-safe. The controller applies a change in its next pass or when it sees a new tail,
/// so a rule covers every command that is submitted after the rule was added.
///
/// Every rule is matched against every command at its fetch, and all matching rules act: a command can be held, then
/// delayed, then reordered, then fail. Data is moved and PRP lists are read just before the completion is posted, which
/// exposes a buffer or list that is reused too early. Rules stay until remove() or clear() and survive a controller
/// reset; the reset discards held, delayed and dropped commands.
/// @snippet emulation.cpp faults
class FaultPlan {
 public:
  FaultPlan() = default;
  FaultPlan(const FaultPlan&) = delete;
  FaultPlan& operator=(const FaultPlan&) = delete;

  /// Fails a command with this status; no data is transferred.
  /// @param status  status field without the phase bit: SC in 7:0, SCT in 10:8, CRD 12:11, more 13, do not retry 14
  FaultRule fail(const Match& match, uint16_t status) { return add(match, detail::Rule::fail, status & 0x7fffu); }

  /// Delays each command by a number of controller passes (step() calls, if stepped), drawn uniformly from [least,
  /// most].
  FaultRule delay_steps(const Match& match, uint64_t least, uint64_t most) {
    return add(match, detail::Rule::delay_steps, least, most);
  }
  /// Delays each command by microseconds of CLOCK_MONOTONIC, drawn uniformly from [least, most].
  FaultRule delay_us(const Match& match, uint64_t least, uint64_t most) {
    return add(match, detail::Rule::delay_time, least, most);
  }

  /// Holds a command until resume() or remove(); later commands overtake it.
  FaultRule hold(const Match& match) { return add(match, detail::Rule::hold); }
  /// Executes a command but withholds its completion until release().
  FaultRule drop(const Match& match) { return add(match, detail::Rule::drop); }
  /// Posts the completion twice in succession.
  FaultRule duplicate(const Match& match) { return add(match, detail::Rule::duplicate); }
  /// Fails the controller when it fetches the command: CSTS.CFS = 1 and no progress until the host resets it.
  FaultRule fatal(const Match& match) { return add(match, detail::Rule::fatal); }

  /// Makes a Write report success without storing anything.
  FaultRule lose_data(const Match& match) { return add(match, detail::Rule::lose_data); }
  /// Makes a Write report success but store only its first `bytes` bytes.
  FaultRule tear_data(const Match& match, uint64_t bytes) { return add(match, detail::Rule::tear_data, bytes); }
  /// Shifts the LBA of a Read or Write up by `blocks`, modulo the capacity.
  FaultRule misdirect(const Match& match, uint64_t blocks) { return add(match, detail::Rule::misdirect, blocks); }

  /// Sets dword 0 of the completion to `value`: the command-specific result, which most commands do not use.
  FaultRule answer(const Match& match, uint32_t value) { return add(match, detail::Rule::answer, value); }

  /// Ignores the next `count` changes of a queue's SQ tail doorbell. A later change covers them.
  FaultRule ignore_doorbells(uint16_t qid, uint64_t count) {
    Match match;
    match.on_queue(qid).times = count;
    return add(match, detail::Rule::ignore_doorbell);
  }

  /// Completes I/O commands in random order, drawn from `window` ready commands, or from fewer when no new ones arrive.
  /// 0 or 1: in order.
  void reorder(uint32_t window) {
    change([&] { window_ = window; });
  }
  /// Seeds the random numbers for reordering and delays.
  void seed(uint64_t value) {
    change([&] { seed_ = value, ++seeds_; });
  }

  /// Posts no CQE to this completion queue while `stalled`.
  void stall_cq(uint16_t qid, bool stalled) {
    change([&] {
      stalled_.erase(std::remove(stalled_.begin(), stalled_.end(), qid), stalled_.end());
      if (stalled) stalled_.push_back(qid);
    });
  }

  /// Delays CSTS.RDY = 1 after CC.EN = 1 by this many microseconds; ~0: the controller never becomes ready.
  void slow_enable_us(uint64_t duration) {
    change([&] { enable_us_ = duration; });
  }

  /// Fails the controller, if enabled: CSTS.CFS = 1.
  void fail_controller() {
    change([&] { ++failures_; });
  }
  /// Removes the controller permanently: registers read as all ones, and all processing stops.
  void remove_controller() {
    removed_.store(true);
    change([] {});
  }
  bool controller_removed() const { return removed_.load(std::memory_order_acquire); }

  /// Ends a hold rule and lets its held commands continue.
  void resume(const FaultRule& rule) { remove(rule); }
  /// Ends a drop rule and posts the completions that it withheld.
  void release(const FaultRule& rule) {
    if (rule.rule_) rule.rule_->released.store(true);
    remove(rule);
  }
  /// Ends a rule. Held commands continue; dropped completions are not posted.
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

  /// Updates the controller's copy. Returns whether anything changed.
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
    if (delays && least > most) throw host::Error("FaultPlan: the minimum delay is above the maximum");
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

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
