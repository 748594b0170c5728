// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Optional measurement of the steps of an operation: kept in registers, compiled out if unused.

#include <xio/device/arch/arch.hpp>

XIO_NAMESPACE_BEGIN

namespace telemetry {
/// @addtogroup kernel_core
/// @{

/// Steps of an operation that the queue code measures.
enum class Step : uint32_t { build, enqueue, sq_doorbell, cq_poll, cq_doorbell };
constexpr uint32_t step_count = 5;

/// Measures nothing and compiles to nothing.
struct Off {
  static constexpr bool enabled = false;
  XIO_HOST_DEVICE static constexpr uint64_t start() { return 0; }
  XIO_HOST_DEVICE static constexpr void stop(Step, uint64_t) {}
};

/// Accumulates clock ticks and occurrences per step. A local variable of the kernel, stored once at its end.
/// @snippet options.cpp measure
struct Steps {
  static constexpr bool enabled = true;
  uint64_t ticks[step_count] = {};
  uint64_t times[step_count] = {};

  XIO_HOST_DEVICE static uint64_t start() { return arch::clock(); }
  XIO_HOST_DEVICE void stop(Step step, uint64_t started) {
    ticks[static_cast<uint32_t>(step)] += arch::clock() - started;
    ++times[static_cast<uint32_t>(step)];
  }
};

/// @}
}  // namespace telemetry

XIO_NAMESPACE_END
