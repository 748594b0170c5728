// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Figures common to all rows of xio: latencies and CPU time.

#include "tester/cli/usage.hpp"
#include "tester/measure/summary.hpp"
#include "tester/report/data.hpp"

namespace tester {

/// Sets the latencies that Figures::operations, which must be set, suffice for.
inline void set_latency(Figures& figures, const Summary& latency) {
  figures.min = latency.least() / 1e3;
  figures.mean = latency.mean() / 1e3;
  figures.std = latency.deviation() / 1e3;
  figures.max = latency.most() / 1e3;
  figures.p50 = latency.percentile(0.5) / 1e3;
  figures.p90 = latency.percentile(0.9) / 1e3;
  figures.p99 = latency.percentile(0.99) / 1e3;
  figures.p999 = latency.percentile(0.999) / 1e3;
  figures.p9999 = latency.percentile(0.9999) / 1e3;
  figures.drop_uncertain_percentiles();
}

/// Sets the CPU percentages from Figures::seconds, which must be set.
inline void set_usage(Figures& figures, const Usage& usage) {
  if (figures.seconds <= 0) return;
  figures.cpu_user = 100 * usage.user / figures.seconds;
  figures.cpu_system = 100 * usage.system / figures.seconds;
}

}  // namespace tester
