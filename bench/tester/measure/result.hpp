// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Results of a workload, summed over all lanes: what nvme-ep and rdma-ep have in common.

#include <xio/device/arch/arch.hpp>
#include <xio/device/core/telemetry.hpp>

#include <cstdint>
#include <vector>

#include "tester/cli/usage.hpp"
#include "tester/measure/lane_record.hpp"
#include "tester/measure/summary.hpp"

namespace tester {

struct Result {
  bool repeated = false;  ///< operations were repeated until the time was up or a stop was requested
  uint64_t submitted = 0;
  uint64_t completed = 0;  ///< with success
  uint64_t failed = 0;
  uint64_t checked = 0;
  uint64_t wrong_count = 0;
  double seconds = 0;  ///< from the first submission to the last completion
  Summary latency;
  xio::telemetry::Steps steps;  ///< in ticks of the executor's clock
  double tick_ns = 1;           ///< length of a tick
  xio::arch::OperationCounts counts;
  bool counted = true;  ///< whether stores, fences and atomics were counted: on a GPU they are not
  Usage usage;
  std::vector<StatusCount> statuses;
  bool gave_up = false;

  /// `what` per operation; 0 if there was none.
  double per_operation(uint64_t what) const { return share(static_cast<double>(what), completed + failed); }
  /// Nanoseconds of a step per operation.
  double step_ns(xio::telemetry::Step step) const {
    return per_operation(steps.ticks[static_cast<uint32_t>(step)]) * tick_ns;
  }
  /// CPU time of this process per successful operation, in microseconds; 0 if there was none.
  double cpu_us() const { return share((usage.user + usage.system) * 1e6, completed); }

  /// Adds operations that ended with one status.
  void add(const StatusCount& one);

 protected:
  static double share(double what, uint64_t of) { return of == 0 ? 0 : what / static_cast<double>(of); }
};

/// Adds the records of the lanes of one run to a result.
class LaneSum {
 public:
  /// @param tick_ns  length of a tick in nanoseconds
  LaneSum(Result& result, double tick_ns) : result_(result) { result.tick_ns = tick_ns; }

  void add(const LaneRecord& lane, const Latency& latency);
  void add_steps(const LaneRecord& lane);
  /// Successful operations of this run.
  uint64_t completed() const { return completed_; }
  /// From the first submission to the last completion of this run.
  double seconds() const;

 private:
  Result& result_;
  uint64_t completed_ = 0;
  uint64_t began_ = ~uint64_t{0};
  uint64_t ended_ = 0;
};

}  // namespace tester
