// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Options of `xio-tester kv-ep`.

#include <cstdint>
#include <string>
#include <vector>

#include "tester/kv/phase.hpp"
#include "tester/nvme/options.hpp"

namespace CLI {
class App;
}

namespace tester {

struct KvOptions {
  std::string controller;
  uint32_t nsid = 0;  ///< 0: the namespace in the controller's path, else 1
  std::vector<KvOperation> operations{KvOperation::store, KvOperation::retrieve, KvOperation::remove};
  uint64_t keys = 1000;
  uint32_t key_bytes = 0;  ///< 0: the longest that the namespace has
  uint32_t least_bytes = 4096;
  uint32_t most_bytes = 4096;
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
};

/// Adds the sub-command `kv-ep`; its flags are stored in `options`, which must outlive the parse.
CLI::App* add_kv_command(CLI::App& app, KvOptions& options);

}  // namespace tester
