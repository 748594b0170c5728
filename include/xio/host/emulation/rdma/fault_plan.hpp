// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Fault injection for emulated RDMA NICs.

#include <cstdint>
#include <map>
#include <mutex>

#include <xio/config.hpp>
#include <xio/host/emulation/rdma/types.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_rdma
/// @{

/// Faults of one emulated queue pair, to be set before the operations that they concern. Thread-safe.
class RdmaFaultPlan {
 public:
  /// Ends the `number`-th operation (from 0) with `outcome` without executing it.
  void fail(uint64_t number, RdmaOutcome outcome) {
    const std::lock_guard<std::mutex> lock(mutex_);
    failures_[number] = outcome;
  }
  /// Delays completions by a number of NIC passes after the execution of their operations.
  void delay(uint32_t passes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    delay_ = passes;
  }
  /// While set, limits each NIC pass to one completion.
  void one_a_pass(bool single) {
    const std::lock_guard<std::mutex> lock(mutex_);
    single_ = single;
  }
  /// Writes the completion of the `number`-th operation twice.
  void duplicate(uint64_t number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    duplicates_[number] = true;
  }
  /// Drops the completion of the `number`-th operation.
  void drop(uint64_t number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    drops_[number] = true;
  }
  /// Makes the completion of the `number`-th operation name another queue pair.
  void misname(uint64_t number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    misnamed_[number] = true;
  }
  /// Makes the `number`-th completion of the receive queue (from 0) name another queue pair.
  void misname_receive(uint64_t number) {
    const std::lock_guard<std::mutex> lock(mutex_);
    misnamed_receives_[number] = true;
  }
  /// While set, the NIC executes no operations and writes no send completions.
  void hold(bool held) {
    const std::lock_guard<std::mutex> lock(mutex_);
    held_ = held;
  }
  /// While set, delays the results of gets and atomics until the device next reads local memory. Their completions are
  /// not delayed, as for a completion queue in other memory than the data.
  void hold_inbound(bool held) {
    const std::lock_guard<std::mutex> lock(mutex_);
    inbound_held_ = held;
  }
  /// Lets a message fail that has found no receive in this many passes. Without it, messages wait indefinitely.
  void wait_for_receives(uint64_t passes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    receive_passes_ = passes;
  }
  /// Removes all faults.
  void clear() {
    const std::lock_guard<std::mutex> lock(mutex_);
    failures_.clear();
    duplicates_.clear();
    drops_.clear();
    misnamed_.clear();
    misnamed_receives_.clear();
    delay_ = 0;
    receive_passes_ = indefinitely;
    held_ = inbound_held_ = single_ = false;
  }

  RdmaOutcome outcome(uint64_t number) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = failures_.find(number);
    return found == failures_.end() ? RdmaOutcome::ok : found->second;
  }
  uint32_t delay_passes() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return delay_;
  }
  uint64_t receive_passes() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return receive_passes_;
  }
  bool is_one_a_pass() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return single_;
  }
  bool duplicated(uint64_t number) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return duplicates_.count(number) != 0;
  }
  bool dropped(uint64_t number) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return drops_.count(number) != 0;
  }
  bool misnamed(uint64_t number) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return misnamed_.count(number) != 0;
  }
  bool misnamed_receive(uint64_t number) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return misnamed_receives_.count(number) != 0;
  }
  bool held() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return held_;
  }
  bool inbound_held() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return inbound_held_;
  }

 private:
  static constexpr uint64_t indefinitely = ~uint64_t{0};

  mutable std::mutex mutex_;
  std::map<uint64_t, RdmaOutcome> failures_;
  std::map<uint64_t, bool> duplicates_;
  std::map<uint64_t, bool> drops_;
  std::map<uint64_t, bool> misnamed_;
  std::map<uint64_t, bool> misnamed_receives_;
  uint32_t delay_ = 0;
  uint64_t receive_passes_ = indefinitely;
  bool held_ = false;
  bool inbound_held_ = false;
  bool single_ = false;
};

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
