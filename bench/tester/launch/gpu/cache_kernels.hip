// SPDX-License-Identifier: MIT

/// @file
/// @brief GPU entry point of cache-ep's kernel. A block is one wave, or one lane.

#include "tester/cache/workload.hpp"
#include "tester/launch/gpu/one_wave.hpp"

extern "C" {
ONE_WAVE __global__ void cache_grid(tester::CachePhase phase) { tester::cache_workload(phase); }
}  // extern "C"
