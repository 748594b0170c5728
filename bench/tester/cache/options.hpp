// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Options of `xio-tester cache-ep`.

#include <cstdint>
#include <string>
#include <vector>

#include "tester/cache/phase.hpp"
#include "tester/nvme/options.hpp"

namespace CLI {
class App;
}

namespace tester {

struct TesterCacheOptions {
  std::vector<std::string> controllers;
  std::vector<CacheOperation> operations{CacheOperation::get};
  uint64_t gets = 10000;
  uint64_t range_bytes = 0;  ///< of the array; 0: four times the cache, or what the drives hold
  bool random = true;
  uint64_t page_bytes = 4096;
  uint64_t cache_bytes = 1u << 20;
  uint32_t ways = 8;
  uint64_t seed = 1;
  bool verify = false;
  uint32_t num_queues = 1;
  uint32_t queue_length = 64;
  uint32_t waves = 1;
  uint32_t wave_size = 0;  ///< 0: one lane on the CPU, the GPU's wave size on a GPU
  uint32_t deadline_ms = 30000;
  Executor executor = Executor::automatic;
  uint32_t gpu = 0;  ///< number in HIP or CUDA
  bool histogram = false;
  bool progress = false;
  std::string json;

  bool has(CacheOperation operation) const;
};

/// Adds the sub-command `cache-ep`; its flags are stored in `options`, which must outlive the parse.
CLI::App* add_cache_command(CLI::App& app, TesterCacheOptions& options);

}  // namespace tester
