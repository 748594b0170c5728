// SPDX-License-Identifier: MIT

/// @file
/// @brief GPU entry point of kv-ep's kernel. A block is one wave, or one lane.

#include "tester/kv/workload.hpp"
#include "tester/launch/gpu/one_wave.hpp"

extern "C" {
ONE_WAVE __global__ void kv_grid(tester::KvPhase phase) { tester::kv_workload(phase); }
}  // extern "C"
