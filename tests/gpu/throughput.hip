// SPDX-License-Identifier: MIT
// How fast a GPU drives a queue: against the in-process controller, and against a null device in GPU memory.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <gpu/device_queue.hpp>
#include <gpu/fixture.hpp>
#include <gpu/kernels.hpp>

namespace {

using namespace xio;

struct Row {
  const char* device;
  const char* sharing;
  uint32_t depth;
  uint32_t batch;
  uint32_t waves;
  double seconds;
  uint64_t operations;
  bool right;
};

void add(std::vector<Row>& rows, const Row& row) {
  std::printf("| %s | %s | %u | %u | %u | %llu | %.0f | %s |\n", row.device, row.sharing, row.depth, row.batch, row.waves,
              static_cast<unsigned long long>(row.operations), static_cast<double>(row.operations) / row.seconds,
              row.right ? "yes" : "NO");
  std::fflush(stdout);
  rows.push_back(row);
}

/// Pieces of 4 KiB over a small range of blocks; `bus` is never used by the null device.
nvme::Piece* make_pieces(uint32_t count, uint64_t bus) {
  auto* const pieces = static_cast<nvme::Piece*>(gpu::allocate_host(count * sizeof(nvme::Piece)));
  for (uint32_t i = 0; i < count; ++i) pieces[i] = {uint64_t{i % 1024} * 8, bus + uint64_t{i % 64} * 4096, 8};
  return pieces;
}

template <class Launch>
double timed(gpu::Stream& stream, Launch launch) {
  const auto begin = std::chrono::steady_clock::now();
  launch();
  stream.synchronize();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Pinned memory of the host. A runtime may wait for all kernels before it pins or frees memory, and the null device's
/// ends only when it is told to: this memory lives from before its start until after its end.
template <class T>
struct Pinned {
  explicit Pinned(size_t count) : data(static_cast<T*>(gpu::allocate_host(count * sizeof(T)))) {
    for (size_t i = 0; i < count; ++i) data[i] = {};
  }
  ~Pinned() { gpu::free_host(data); }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;
  T* const data;
};

/// One wave with batches in flight, submitted and waited for.
struct Batches {
  Batches(uint32_t batch_, uint64_t bus) : batch(batch_), pieces(make_pieces(batch_, bus)) {}
  ~Batches() { gpu::free_host(pieces); }
  void run(std::vector<Row>& rows, const char* device, const nvme::QueueHandle& handle, gpu::Stream& stream,
           uint32_t rounds) {
    if (batch > handle.depth) return;
    *outcome.data = {};
    const double seconds = timed(stream, [&] {
      gpu::batches<xio::Policy<>><<<1, gpu::wave_size(), 0, stream.get()>>>(handle, pieces, batch, rounds, outcome.data);
    });
    add(rows, {device, "wave, submit and wait", handle.depth, batch, 1, seconds, uint64_t{batch} * rounds,
                    outcome.data->passed == rounds && outcome.data->failed == 0});
  }
  uint32_t batch;
  nvme::Piece* pieces;
  Pinned<gpu::Outcome> outcome{1};
};

/// Waves that share a queue, each with pieces of its own, as many in flight as there is room for.
struct Transfers {
  Transfers(uint32_t waves_, uint32_t per_wave_, uint64_t bus)
      : waves(waves_),
        per_wave(per_wave_),
        pieces(make_pieces(waves_ * per_wave_, bus)),
        words(gpu::allocate_device<Notification>(waves_)) {}
  ~Transfers() {
    gpu::free_host(pieces);
    gpu::free_device(words);
  }
  void run(std::vector<Row>& rows, const char* device, const nvme::QueueHandle& handle, gpu::Stream& stream) {
    *outcome.data = {};
    const double seconds = timed(stream, [&] {
      gpu::transfers<<<waves, gpu::wave_size(), 0, stream.get()>>>(handle, pieces, per_wave, words, outcome.data);
    });
    add(rows, {device, "grid, sliding window", handle.depth, per_wave, waves, seconds, uint64_t{waves} * per_wave,
                    outcome.data->passed == waves && outcome.data->failed == 0});
  }
  uint32_t waves;
  uint32_t per_wave;
  nvme::Piece* pieces;
  Notification* words;  // of one run: they count on
  Pinned<gpu::Outcome> outcome{1};
};

void against_model(std::vector<Row>& rows) {
  emulation::NvmeConfig config;
  config.discard_data = true;
  gpu::ModelController model(config);
  const host::DmaBuffer data = model.controller->allocate(64 * 4096);
  host::QueueOptions options;
  gpu::Stream stream;
  options.depth = 64;
  {
    const host::NvmeQueue queue = model.controller->create_queue(gpu::state_on_gpu(options));
    for (const uint32_t batch : {1u, 16u, 64u})
      Batches(batch, data.bus()).run(rows, "in-process model, not a drive", queue.handle(), stream, 2000);
  }
  options.depth = 256;
  const host::NvmeQueue queue = model.controller->create_queue(gpu::state_on_gpu(options));
  Transfers(4, 50000, data.bus()).run(rows, "in-process model, not a drive", queue.handle(), stream);
}

void against_null_device(std::vector<Row>& rows) {
  const char* const device = "null device in GPU memory";
  for (const uint32_t depth : {64u, 1023u}) {
    const Pinned<uint32_t> stop(1);
    Batches ones(1, 0), some(16, 0), many(64, 0);
    Transfers alone(1, 20000, 0), few(4, 20000, 0), crowd(16, 20000, 0), full(64, 20000, 0);
    const gpu::DeviceQueue queue(depth);
    auto* const null = gpu::allocate_device<gpu::NullQueue>(1);
    gpu::check(XIO_GPU(Memcpy)(null, &queue.null, sizeof(queue.null), XIO_GPU(MemcpyHostToDevice)), "copy");
    gpu::Stream serving;
    gpu::Stream stream;
    gpu::null_device<<<1, gpu::wave_size(), 0, serving.get()>>>(null, stop.data);
    for (Batches* one : {&ones, &some, &many}) one->run(rows, device, queue.handle, stream, 20000);
    for (Transfers* one : {&alone, &few, &crowd, &full}) one->run(rows, device, queue.handle, stream);
    __atomic_store_n(stop.data, 1u, __ATOMIC_RELEASE);
    serving.synchronize();
    gpu::free_device(null);
  }
}

}  // namespace

int main() {
  if (gpu::unavailable()) return 77;
  std::vector<Row> rows;
  std::printf("%s\n| device | how | depth | batch | waves | operations | operations/s | ok |\n", gpu::device_name().c_str());
  std::printf("|---|---|---|---|---|---|---|---|\n");
  against_model(rows);
  against_null_device(rows);
  bool right = true;
  for (const Row& row : rows) right = right && row.right;
  if (const char* path = std::getenv("XIO_FIGURES")) {
    std::ofstream out(path);
    out << "{\"gpu\": \"" << gpu::device_name() << "\", \"rows\": [";
    for (size_t i = 0; i < rows.size(); ++i) {
      out << (i ? ",\n" : "\n") << "{\"device\": \"" << rows[i].device << "\", \"how\": \"" << rows[i].sharing
          << "\", \"depth\": " << rows[i].depth << ", \"batch\": " << rows[i].batch << ", \"waves\": " << rows[i].waves
          << ", \"operations\": " << rows[i].operations << ", \"seconds\": " << rows[i].seconds
          << ", \"right\": " << (rows[i].right ? "true" : "false") << "}";
    }
    out << "]}\n";
  }
  return right ? 0 : 1;
}
