// SPDX-License-Identifier: MIT
// How the rate of queues changes with their number and that of the waves that share them: each wave submits reads and
// waits for them, in turn, against null devices, waves of the GPU, with all memory the GPU's. The in-process controller,
// one thread of the host with rings in its memory, shows that the same is right against a program.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <vector>

#include <gpu/device_queue.hpp>
#include <gpu/fixture.hpp>
#include <gpu/kernels.hpp>

#include <xio/host/gpu/occupancy.hpp>  // after the runtime

namespace {

using namespace xio;

struct Row {
  const char* device;
  uint32_t queues;
  uint32_t waves;
  uint32_t rows;  ///< operations of each lane with one doorbell
  uint64_t operations;
  double seconds;
  bool right;
};

void add(std::vector<Row>& rows, const Row& row) {
  std::printf("| %s | %u | %u | %u | %llu | %.0f | %s |\n", row.device, row.queues, row.waves, row.rows,
              static_cast<unsigned long long>(row.operations), static_cast<double>(row.operations) / row.seconds,
              row.right ? "yes" : "NO");
  std::fflush(stdout);
  rows.push_back(row);
}

constexpr uint32_t blocks_read = 1024;  // of the drive

/// What the waves against null devices are given, all in GPU memory.
struct NullRun {
  const nvme::QueueHandle* queues;
  const gpu::NullQueue* devices;
  const nvme::Piece* pieces;
  gpu::Outcome* outcome;
  uint32_t* finished;  ///< waves
  uint32_t* stop;
  uint32_t queue_count;
  uint32_t waves;
  uint32_t rounds;
};

/// The first blocks are the devices, one for each queue, until the last of the other waves has ended: one launch, since
/// not every GPU runs two kernels at the same time.
template <Sharing S, uint32_t Rows>
__global__ void null_reads(NullRun run) {
  if (arch::block_index() < run.queue_count) {
    gpu::serve_null_queue(run.devices[arch::block_index()], run.stop);
    return;
  }
  const uint32_t wave = arch::block_index() - run.queue_count;
  const uint32_t lba = (wave * arch::wave_size() + arch::lane()) % blocks_read;
  nvme::Queue<S> queue(run.queues[wave % run.queue_count]);
  uint32_t good = 0;
  for (uint32_t round = 0; round < run.rounds; ++round) {
    const Deadline until = queue.deadline(5_s);
    Status status;
    if constexpr (Rows == 1) {
      const Token token = queue.submit(nvme::read(lba, 1), nvme::ContiguousPages{uint64_t{lba} * 512}, until);
      status = queue.wait(token, until);
    } else {
      const Token token = queue.submit_batch(nvme::Opcode::read, run.pieces, Rows * arch::wave_size(), until);
      status = queue.wait_batch(token, until);
    }
    if (!status.is_ok()) break;
    ++good;
  }
  const uint64_t group = arch::together(0);
  const uint64_t all = arch::ballot(group, good == run.rounds);
  if (arch::lane() != 0) return;
  arch::fetch_add<arch::Scope::system>(&run.outcome->passed, static_cast<unsigned long long>(arch::count_lanes(all)));
  const uint32_t ended = arch::fetch_add<arch::Scope::system>(run.finished, 1u) + 1;
  if (ended == run.waves) arch::store<arch::Scope::system>(run.stop, 1u);
}

template <class T>
T* to_device(const std::vector<T>& values) {
  T* const memory = gpu::allocate_device<T>(values.size());
  gpu::check(XIO_GPU(Memcpy)(memory, values.data(), values.size() * sizeof(T), XIO_GPU(MemcpyHostToDevice)), "copy");
  return memory;
}

template <Sharing S, uint32_t Rows>
void measure_null(std::vector<Row>& rows, uint32_t queue_count, uint32_t waves, uint64_t operations) {
  const uint32_t lanes = gpu::wave_size();
  if (host::resident_blocks(null_reads<S, Rows>, lanes) < waves + queue_count) return;
  std::vector<std::unique_ptr<gpu::DeviceQueue>> queues;
  std::vector<nvme::QueueHandle> handles;
  std::vector<gpu::NullQueue> devices;
  for (uint32_t i = 0; i < queue_count; ++i) {
    queues.push_back(std::make_unique<gpu::DeviceQueue>(1023));
    handles.push_back(queues.back()->handle);
    devices.push_back(queues.back()->null);
  }
  std::vector<nvme::Piece> pieces;
  for (uint32_t i = 0; i < Rows * lanes; ++i) pieces.push_back({i % blocks_read, uint64_t{i % blocks_read} * 512, 1});
  auto* const words = gpu::allocate_device<uint32_t>(64);
  const uint64_t a_round = uint64_t{waves} * lanes * Rows;
  NullRun run{to_device(handles), to_device(devices), to_device(pieces), gpu::allocate_device<gpu::Outcome>(1),
              words,              words + 32,         queue_count,       waves,
              static_cast<uint32_t>(operations / a_round) + 1};
  const auto begin = std::chrono::steady_clock::now();
  null_reads<S, Rows><<<queue_count + waves, lanes>>>(run);
  gpu::synchronize();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  gpu::Outcome outcome{};
  gpu::check(XIO_GPU(Memcpy)(&outcome, run.outcome, sizeof outcome, XIO_GPU(MemcpyDeviceToHost)), "outcome");
  const char* const device = S == Sharing::wave ? "the same, Sharing::wave" : "null devices in GPU memory";
  add(rows, {device, queue_count, waves, Rows, a_round * run.rounds, seconds, outcome.passed == waves * lanes});
  for (const void* memory : {static_cast<const void*>(run.queues), static_cast<const void*>(run.devices),
                             static_cast<const void*>(run.pieces), static_cast<const void*>(run.outcome),
                             static_cast<const void*>(words)})
    gpu::free_device(const_cast<void*>(memory));
}

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
  add(rows, {how, 1, waves, 1, uint64_t{waves} * lanes * rounds, seconds, outcome->passed == waves * lanes});
  gpu::free_device(ended);
  gpu::free_host(outcome);
}

}  // namespace

int main() {
  if (gpu::unavailable()) return 77;
  std::vector<Row> rows;
  std::printf(
      "%s: queues of depth 1023, a wave in each block, reads of 512 bytes that are waited for; rows: reads of each lane "
      "with one doorbell\n| device | queues | waves | rows | operations | operations/s | ok |\n"
      "|---|---|---|---|---|---|---|\n",
      gpu::device_name().c_str());
  // So many that a launch takes little of the time. A model of a GPU does few, with few waves.
  const uint64_t operations = gpu::share_of(1 << 17);
  const uint32_t most = gpu::share_of(2048);
  for (const uint32_t waves : {1u, 4u, 16u, 64u, 256u, 1024u, 2048u})
    if (waves <= most) measure_null<Sharing::grid, 1>(rows, 1, waves, operations);
  for (const uint32_t queues : {1u, 4u, 16u}) {
    for (const uint32_t waves : {1u, 4u, 16u, 64u}) {
      if (waves < queues || waves > most) continue;
      if (queues > 1) measure_null<Sharing::grid, 1>(rows, queues, waves, operations);
      measure_null<Sharing::grid, 8>(rows, queues, waves, operations);
      if (waves > queues) continue;
      measure_null<Sharing::wave, 1>(rows, queues, waves, operations);
      measure_null<Sharing::wave, 8>(rows, queues, waves, operations);
    }
  }
  const uint64_t few = gpu::share_of(16384);
  for (const uint32_t waves : {1u, 16u}) {
    measure<false>(rows, "the in-process controller, state in GPU memory", true, waves, few);
    measure<true>(rows, "the same, with notifications", true, waves, few);
  }
  measure<false>(rows, "the in-process controller, state in host memory", false, 16, few);
  bool right = true;
  for (const Row& row : rows) right = right && row.right;
  if (const char* path = std::getenv("XIO_FIGURES")) {
    std::ofstream out(path);
    out << "{\"gpu\": \"" << gpu::device_name() << "\", \"rows\": [";
    for (size_t i = 0; i < rows.size(); ++i)
      out << (i ? ",\n" : "\n") << "{\"device\": \"" << rows[i].device << "\", \"queues\": " << rows[i].queues
          << ", \"waves\": " << rows[i].waves << ", \"rows\": " << rows[i].rows
          << ", \"operations\": " << rows[i].operations << ", \"seconds\": " << rows[i].seconds
          << ", \"right\": " << (rows[i].right ? "true" : "false") << "}";
    out << "]}\n";
  }
  return right ? 0 : 1;
}
