// SPDX-License-Identifier: MIT
#include "tester/measure/result.hpp"

#include <algorithm>

namespace tester {

void Result::add(const StatusCount& one) {
  for (StatusCount& known : statuses) {
    if (known.status != one.status) continue;
    known.count += one.count;
    known.first = std::min(known.first, one.first);
    return;
  }
  statuses.push_back(one);
}

void LaneSum::add(const LaneRecord& lane, const Latency& latency) {
  result_.submitted += lane.submitted;
  result_.completed += lane.completed;
  result_.failed += lane.failed;
  result_.checked += lane.checked;
  result_.wrong_count += lane.wrong_count;
  result_.gave_up = result_.gave_up || lane.gave_up != 0;
  for (uint32_t i = 0; i < lane.statuses_used; ++i) result_.add(lane.statuses[i]);
  result_.latency.add(latency, result_.tick_ns);
  completed_ += lane.completed;
  if (lane.submitted == 0) return;
  began_ = std::min(began_, lane.began);
  ended_ = std::max(ended_, lane.ended);
}

void LaneSum::add_steps(const LaneRecord& lane) {
  for (uint32_t i = 0; i < xio::telemetry::step_count; ++i) {
    result_.steps.ticks[i] += lane.steps.ticks[i];
    result_.steps.times[i] += lane.steps.times[i];
  }
}

double LaneSum::seconds() const {
  return ended_ > began_ ? static_cast<double>(ended_ - began_) * result_.tick_ns * 1e-9 : 0;
}

}  // namespace tester
