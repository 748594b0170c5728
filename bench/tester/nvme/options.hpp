// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Options of `xio-tester nvme-ep`.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tester {

enum class Executor { automatic, host, gpu };
enum class DoorbellKind { mmio, shadow };

struct NvmeOptions {
  std::vector<std::string> controllers;  ///< empty: the nearest one; several: stripes over them
  uint32_t nsid = 0;                     ///< 0: the namespace in the controller's path, else 1
  uint64_t read_io = 0;
  uint64_t write_io = 0;
  uint32_t batch_size = 1;
  uint32_t queue_length = 0;  ///< 0: chosen by the plan
  uint32_t depth = 0;         ///< 0: chosen by the plan
  uint32_t num_queues = 1;
  uint32_t queue_id = 0;  ///< 0: chosen by the controller
  uint32_t memory_mode = 0;
  bool random = false;
  uint32_t lbas_per_io = 1;
  uint64_t base_lba = 0;
  uint32_t stripe_blocks = 0;  ///< of several controllers; 0: chosen by the plan
  uint64_t span_blocks = 0;    ///< blocks from there on that operations access; 0: to the end of the namespace
  uint64_t seed = 1;
  std::optional<uint32_t> lfsr_seed;
  bool verify = false;
  uint64_t written = 0;  ///< operations whose blocks an earlier run wrote
  bool infinite = false;
  double duration = 0;  ///< seconds; 0: no limit
  bool less_timing = false;
  bool substep_timing = false;
  bool histogram = false;
  bool smart = false;             ///< compare with the drive's own count of commands
  uint64_t data_buffer_size = 0;  ///< bytes; 0: chosen by the plan
  bool pci_mmio_bridge = false;
  uint32_t deadline_ms = 30000;
  Executor executor = Executor::automatic;
  uint32_t gpu = 0;  ///< number in HIP or CUDA
  uint32_t waves = 1;
  uint32_t wave_size = 0;  ///< 0: one lane on the CPU, the GPU's wave size on a GPU
  DoorbellKind doorbell = DoorbellKind::mmio;
  std::string json;
  bool progress = false;
};

/// Adds the sub-command `nvme-ep`; its flags are stored in `options`, which must outlive the parse.
CLI::App* add_nvme_command(CLI::App& app, NvmeOptions& options);

/// Throws BadInput or CannotRun for options that are invalid for any controller.
void check(const NvmeOptions& options);

}  // namespace tester
