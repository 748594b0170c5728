// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Options of `xio-tester rdma-ep`.

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

constexpr uint32_t rdma_most_depth = 16384;  ///< largest send queue; vendors' indices have 16 bits

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
  bool ping_pong = false;
  std::vector<uint64_t> transfer_sizes;  ///< bytes; empty: the sizes of the published tables
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
  std::shared_ptr<xio::host::GpuRuntime> gpu;  ///< for `memory_mode`, after it was looked up; else null
  std::shared_ptr<GpuExecutor> executes;       ///< runs the kernels, after it was chosen; null: the CPU

  bool verify = false;
  uint64_t seed = 1;
  std::optional<uint32_t> lfsr_seed;

  bool server = false;
  bool client = false;
  std::string server_host;          ///< empty: 127.0.0.1
  std::vector<std::string> listen;  ///< addresses on which the server listens; empty: only for its own machine
  uint16_t port = rdma_port;
  uint32_t connect_ms = 30000;
  RdmaRole role = RdmaRole::alone;  ///< role from flags or from a launcher: see resolve_role()
  bool launched = false;            ///< a launcher determined the role

  uint32_t waves = 1;  ///< waves that share a queue pair
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

/// Whether operations consume receives, which complete in the queue pair's order, whichever lane posted them.
inline bool takes_receives(const RdmaOptions& o) { return o.write_imm || o.verb == RdmaVerb::send; }

/// Queue pairs that kernels of this process drive: with ping-pong in one process, also the peers.
inline uint32_t driven_queues(const RdmaOptions& o) {
  return o.num_queues * (o.ping_pong && o.role == RdmaRole::alone ? 2 : 1);
}

const char* name_of(RdmaVerb verb);
const char* name_of(RdmaRole role);

/// Adds the sub-command `rdma-ep`; its flags are stored in `options`, which must outlive the parse.
CLI::App* add_rdma_command(CLI::App& app, RdmaOptions& options);

/// Throws BadInput or CannotRun for options that are invalid for any provider.
void check(const RdmaOptions& options);

}  // namespace tester
