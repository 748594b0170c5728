// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What `xio-tester rdma-ep` was asked to do.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <xio/host/gpu/runtime.hpp>

#include "tester/launch/gpu/executor.hpp"
#include "tester/nvme/options.hpp"
#include "tester/rdma/phase.hpp"

namespace tester {

constexpr uint32_t rdma_most_depth = 16384;  ///< of a send queue; vendors' indices have 16 bits

constexpr const char* rdma_emulated = "emulated";  ///< --device
constexpr uint16_t rdma_port = 18520;

enum class RdmaRole : uint32_t { alone, server, client };

struct RdmaOptions {
  std::string provider;  ///< empty: the device's, or mlx5
  std::string device = rdma_emulated;
  bool device_given = false;
  bool loopback = true;         ///< each queue pair is connected to itself; else two are connected to each other
  bool loopback_given = false;  ///< either way
  RdmaVerb verb = RdmaVerb::write;
  bool write_imm = false;
  std::vector<uint64_t> transfer_sizes;  ///< bytes; empty: those of the published tables
  uint64_t iterations = 1000;
  uint32_t runs = 1;
  bool infinite = false;
  double duration = 0;  ///< seconds; 0: no limit

  uint32_t num_queues = 1;
  uint32_t batch_size = 1;
  uint32_t depth = 0;     ///< 0: chosen by the plan
  uint32_t sq_depth = 0;  ///< 0: chosen by the plan
  uint32_t cq_depth = 0;  ///< 0: chosen by the plan
  uint32_t inline_threshold = 0;
  bool vram = false;
  uint32_t memory_mode = 0;
  std::shared_ptr<xio::host::GpuRuntime> gpu;  ///< for `memory_mode`, once it was looked for; else null
  std::shared_ptr<GpuExecutor> executes;       ///< runs the kernels, once it was chosen; null: the CPU

  bool verify = false;
  uint64_t seed = 1;
  std::optional<uint32_t> lfsr_seed;

  bool server = false;
  bool client = false;
  std::string server_host;          ///< empty: 127.0.0.1
  std::vector<std::string> listen;  ///< where the server listens; empty: for its own machine alone
  uint16_t port = rdma_port;
  uint32_t connect_ms = 30000;
  RdmaRole role = RdmaRole::alone;  ///< what is done, by flags or by a launcher: see resolve_role()
  bool launched = false;            ///< a launcher gave the role

  uint32_t waves = 1;  ///< that share a queue pair
  uint32_t wave_size = 1;
  Executor executor = Executor::automatic;
  uint32_t gpu_number = 0;
  uint32_t deadline_ms = 30000;
  bool less_timing = false;
  bool substep_timing = false;
  bool histogram = false;
  std::string json;
  bool progress = false;
};

/// Whether operations take receives, which arrive in the queue pair's order whoever posted them.
inline bool takes_receives(const RdmaOptions& o) { return o.write_imm || o.verb == RdmaVerb::send; }

const char* name_of(RdmaVerb verb);
const char* name_of(RdmaRole role);

/// Adds the sub-command `rdma-ep`; its flags are stored in `options`, which outlives the parse.
CLI::App* add_rdma_command(CLI::App& app, RdmaOptions& options);

/// Throws BadInput or CannotRun for what is wrong whatever the provider can do.
void check(const RdmaOptions& options);

}  // namespace tester
