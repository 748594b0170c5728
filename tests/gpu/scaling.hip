// SPDX-License-Identifier: MIT
// How the rate of one queue changes with the number of waves that share it: each thread submits reads and waits for them, in turn,
// against the in-process controller.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <vector>

#include <gpu/fixture.hpp>
#include <gpu/kernels.hpp>

#include <xio/host/gpu/occupancy.hpp>  // after the runtime

namespace {

using namespace xio;

struct Row {
  const char* how;
  uint32_t waves;
  uint32_t threads;
  uint64_t operations;
  double seconds;
  bool right;
};

/// @tparam Notified whether each operation adds to a Notification of its thread's
template <bool Notified>
__global__ void reads(nvme::QueueHandle handle, uint64_t bus, uint32_t rounds, Notification* ended, gpu::Outcome* outcome) {
  using Kind = xio::Policy<xio::Policy<>, Notify>;
  nvme::Queue<Sharing::grid, Kind> queue(handle);
  const uint32_t self = gpu::lane_number();
  uint32_t good = 0;
  for (uint32_t round = 0; round < rounds; ++round) {
    const Deadline until = queue.deadline(5_s);
    const auto options = Options().notify(Notified ? ended + self : nullptr);
    const Token token = queue.submit(nvme::read(self % 1024, 1), nvme::ContiguousPages{bus + self % 1024 * 512}, until, options);
    if (!queue.wait(token, until).is_ok()) break;
    ++good;
  }
  const uint64_t all = arch::ballot(arch::together(0), good == rounds);
  if (arch::lane() == 0) arch::fetch_add<arch::Scope::system>(&outcome->passed, static_cast<unsigned long long>(arch::count_lanes(all)));
}

template <bool Notified>
void measure(std::vector<Row>& rows, const char* how, bool on_gpu, uint32_t waves, uint64_t operations) {
  const uint32_t lanes = gpu::wave_size();
  if (host::resident_blocks(reads<Notified>, lanes) < waves) return;
  emulation::NvmeConfig config;
  config.discard_data = true;
  gpu::ModelController model(config);
  host::QueueOptions options;
  options.depth = 1023;
  const host::NvmeQueue queue = model.controller->create_queue(on_gpu ? gpu::state_on_gpu(options) : options);
  const host::DmaBuffer data = model.controller->allocate(1024 * 512);
  auto* const ended = gpu::allocate_device<Notification>(size_t{waves} * lanes);
  auto* const outcome = static_cast<gpu::Outcome*>(gpu::allocate_host(sizeof(gpu::Outcome)));
  *outcome = {};
  const uint32_t rounds = static_cast<uint32_t>(operations / (waves * lanes)) + 1;
  const auto begin = std::chrono::steady_clock::now();
  reads<Notified><<<waves, lanes>>>(queue.handle(), data.bus(), rounds, ended, outcome);
  gpu::synchronize();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  rows.push_back({how, waves, waves * lanes, uint64_t{waves} * lanes * rounds, seconds, outcome->passed == waves * lanes});
  const Row& row = rows.back();
  std::printf("| %s | %u | %u | %llu | %.0f | %s |\n", row.how, row.waves, row.threads,
              static_cast<unsigned long long>(row.operations), static_cast<double>(row.operations) / row.seconds,
              row.right ? "yes" : "NO");
  std::fflush(stdout);
  gpu::free_device(ended);
  gpu::free_host(outcome);
}

}  // namespace

int main() {
  if (gpu::unavailable()) return 77;
  std::vector<Row> rows;
  std::printf("%s: one queue of depth 1023, each thread waits for each of its reads; the in-process controller, not a drive\n"
              "| queue | waves | threads | operations | operations/s | ok |\n|---|---|---|---|---|---|\n",
              gpu::device_name().c_str());
  const uint64_t operations = gpu::share_of(16384);
  for (const uint32_t waves : {1u, 4u, 16u, 64u, 256u, 1024u, 2048u}) {
    measure<false>(rows, "its state in GPU memory", true, waves, operations);
    measure<true>(rows, "the same, with notifications", true, waves, operations);
  }
  for (const uint32_t waves : {1u, 16u, 64u}) measure<false>(rows, "its state in host memory", false, waves, operations);
  bool right = true;
  for (const Row& row : rows) right = right && row.right;
  if (const char* path = std::getenv("XIO_FIGURES")) {
    std::ofstream out(path);
    out << "{\"gpu\": \"" << gpu::device_name() << "\", \"rows\": [";
    for (size_t i = 0; i < rows.size(); ++i)
      out << (i ? ",\n" : "\n") << "{\"queue\": \"" << rows[i].how << "\", \"waves\": " << rows[i].waves
          << ", \"operations\": " << rows[i].operations << ", \"seconds\": " << rows[i].seconds
          << ", \"right\": " << (rows[i].right ? "true" : "false") << "}";
    out << "]}\n";
  }
  return right ? 0 : 1;
}
