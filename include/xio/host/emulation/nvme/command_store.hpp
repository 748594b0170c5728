// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Commands that the in-process NVMe controller has fetched but not completed, with their injected faults.

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/emulation/nvme/fault_plan.hpp>
#include <xio/host/emulation/nvme/io.hpp>
#include <xio/vendors/nvme/layout.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {

/// Platform-independent random number generator (SplitMix64).
class Random {
 public:
  void seed(uint64_t value) { state_ = value; }
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// Draws uniformly from [least, most].
  uint64_t between(uint64_t least, uint64_t most) {
    const uint64_t width = most - least;
    return width == ~uint64_t{0} ? next() : least + next() % (width + 1);
  }

 private:
  uint64_t state_ = 1;
};

/// A command between fetch and completion.
struct Command {
  nvme::Sqe sqe{};
  uint16_t sqid = 0;
  uint16_t status = 0;
  uint32_t result = 0;
  bool decided = false;  // `status` is final; nothing to execute
  bool fatal = false;
  bool duplicate = false;
  DataFault data;
  uint64_t delay_steps = 0;
  uint64_t delay_ns = 0;
  std::shared_ptr<detail::Rule> holder;   // the rule that holds it
  std::shared_ptr<detail::Rule> dropper;  // the rule that withholds its completion

  uint16_t cid() const { return static_cast<uint16_t>(sqe.cdw0 >> 16); }
};

/// Returns whether a command meets the conditions of a rule, apart from counting.
inline bool meets(const Match& match, uint16_t sqid, const nvme::Sqe& sqe) {
  if (match.qid ? *match.qid != sqid : sqid == 0) return false;
  const auto opcode = static_cast<uint8_t>(sqe.cdw0);
  if (match.opcode && *match.opcode != opcode) return false;
  if (match.nsid && *match.nsid != sqe.nsid) return false;
  if (match.cid && *match.cid != sqe.cdw0 >> 16) return false;
  if (match.first_lba == 0 && match.last_lba == ~uint64_t{0}) return true;
  if (sqid == 0 || !IoCommands::names_blocks(opcode)) return false;
  const uint64_t first = IoCommands::first_lba(sqe);
  const uint64_t last = first + IoCommands::block_count(sqe) - 1;
  return first <= match.last_lba && last >= match.first_lba;
}

/// Applies all rules to a command at its fetch.
inline void judge(const FaultPlan::Orders& orders, Random& random, Command& command) {
  for (const auto& rule : orders.rules) {
    if (rule->action == detail::Rule::ignore_doorbell || !meets(rule->match, command.sqid, command.sqe)) continue;
    if (!rule->count()) continue;
    switch (rule->action) {
      case detail::Rule::fail:
        command.status = static_cast<uint16_t>(rule->least);
        command.decided = true;
        break;
      case detail::Rule::delay_steps: command.delay_steps += random.between(rule->least, rule->most); break;
      case detail::Rule::delay_time: command.delay_ns += 1000 * random.between(rule->least, rule->most); break;
      case detail::Rule::hold: command.holder = rule; break;
      case detail::Rule::drop: command.dropper = rule; break;
      case detail::Rule::duplicate: command.duplicate = true; break;
      case detail::Rule::fatal: command.fatal = true; break;
      case detail::Rule::lose_data: command.data = {DataFault::lose, 0}; break;
      case detail::Rule::tear_data: command.data = {DataFault::tear, rule->least}; break;
      case detail::Rule::misdirect: command.data = {DataFault::misdirect, rule->least}; break;
      case detail::Rule::answer: command.result = static_cast<uint32_t>(rule->least); break;
      case detail::Rule::ignore_doorbell: break;
    }
  }
}

/// Commands ordered by due time, then by arrival.
class DelayQueue {
 public:
  void push(uint64_t when, uint32_t index) {
    heap_.push_back({when, arrivals_++, index});
    std::push_heap(heap_.begin(), heap_.end(), later);
  }
  bool empty() const { return heap_.empty(); }
  /// Takes the earliest due command. Returns false if none is due.
  bool pop(uint64_t now, uint32_t& index) {
    if (heap_.empty() || heap_.front().when > now) return false;
    index = heap_.front().index;
    std::pop_heap(heap_.begin(), heap_.end(), later);
    heap_.pop_back();
    return true;
  }
  template <class Wanted>
  void extract(Wanted wanted, std::vector<uint32_t>& to) {
    size_t kept = 0;
    for (const Due& due : heap_) {
      if (wanted(due.index)) {
        to.push_back(due.index);
      } else {
        heap_[kept++] = due;
      }
    }
    heap_.resize(kept);
    std::make_heap(heap_.begin(), heap_.end(), later);
  }
  void clear() { heap_.clear(); }

 private:
  struct Due {
    uint64_t when;
    uint64_t arrival;
    uint32_t index;
  };
  static bool later(const Due& a, const Due& b) { return a.when != b.when ? a.when > b.when : a.arrival > b.arrival; }

  std::vector<Due> heap_;
  uint64_t arrivals_ = 0;
};

/// Storage of commands, identified by index. Slots are reused, so the steady state allocates nothing.
class CommandStore {
 public:
  uint32_t take() {
    if (free_.empty()) {
      commands_.emplace_back();
      return static_cast<uint32_t>(commands_.size() - 1);
    }
    const uint32_t index = free_.back();
    free_.pop_back();
    return index;
  }
  void give_back(uint32_t index) {
    commands_[index] = Command{};
    free_.push_back(index);
  }
  Command& operator[](uint32_t index) { return commands_[index]; }

  /// Removes the commands for which `wanted` returns true from all lists, and returns their indices.
  template <class Wanted>
  std::vector<uint32_t> extract(Wanted wanted) {
    std::vector<uint32_t> found;
    by_step.extract(wanted, found);
    by_time.extract(wanted, found);
    for (auto* list : {&held, &window, &dropped}) extract_from(*list, wanted, found);
    return found;
  }
  template <class Wanted>
  static void extract_from(std::vector<uint32_t>& list, Wanted wanted, std::vector<uint32_t>& to) {
    size_t kept = 0;
    for (const uint32_t index : list) {
      if (wanted(index)) {
        to.push_back(index);
      } else {
        list[kept++] = index;
      }
    }
    list.resize(kept);
  }
  void clear() {
    commands_.clear();
    free_.clear();
    held.clear();
    window.clear();
    dropped.clear();
    by_step.clear();
    by_time.clear();
  }

  std::vector<uint32_t> held;     // until their rule ends
  DelayQueue by_step;             // by number of the pass
  DelayQueue by_time;             // by CLOCK_MONOTONIC in ns
  std::vector<uint32_t> window;   // until they are drawn
  std::vector<uint32_t> dropped;  // executed; completion withheld

 private:
  std::deque<Command> commands_;  // references stay valid as it grows
  std::vector<uint32_t> free_;
};

}  // namespace emulation

XIO_NAMESPACE_END
