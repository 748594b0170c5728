// SPDX-License-Identifier: MIT
// The queue protocol as real kernels, against the in-process controller: rings, doorbells and data in pinned host memory.

#define CATCH_CONFIG_RUNNER
#include <catch.hpp>

#include <algorithm>
#include <vector>

#include <gpu/fixture.hpp>
#include <gpu/kernels.hpp>

#include <xio/host/gpu/occupancy.hpp>  // after the runtime

namespace {

using namespace xio;

/// Memory of the GPU for one Outcome: not every bus has atomics.
struct Result {
  Result() : outcome(gpu::allocate_device<gpu::Outcome>(1)) {}
  ~Result() { gpu::free_device(outcome); }
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;
  gpu::Outcome get() const {
    gpu::Outcome all{};
    gpu::check(XIO_GPU(Memcpy)(&all, outcome, sizeof all, XIO_GPU(MemcpyDeviceToHost)), "outcome");
    return all;
  }
  gpu::Outcome* outcome;
};

template <Sharing S, class Policy>
void write_read_compare(uint32_t blocks, uint32_t threads, uint32_t lanes, uint32_t depth, uint32_t bytes = 4096,
                        uint32_t rounds = gpu::share_of(20)) {
  gpu::ModelController model;
  host::QueueOptions options;
  options.depth = depth;
  host::NvmeQueue queue = model.controller->create_queue(gpu::state_on_gpu(options));
  host::DmaBuffer data = model.controller->allocate(size_t{lanes} * 2 * bytes);
  Result result;
  gpu::write_read_compare<S, Policy><<<blocks, threads>>>(queue.handle(), data.bus(), data.as<uint64_t>(), bytes, lanes,
                                                         rounds, result.outcome);
  gpu::synchronize();
  CHECK(result.get().first_status == 0);
  CHECK(result.get().failed == 0);
  CHECK(result.get().passed == uint64_t{lanes} * rounds);
}

}  // namespace

TEST_CASE("one thread owns the queue") {
  write_read_compare<Sharing::thread, xio::Policy<>>(1, 1, 1, 8);
  write_read_compare<Sharing::thread, Policy<Deferred<4>>>(1, 1, 1, 8);
}

TEST_CASE("one wave owns the queue") {
  const uint32_t wave = gpu::wave_size();
  write_read_compare<Sharing::wave, xio::Policy<>>(1, wave, wave, 64);
  write_read_compare<Sharing::wave, xio::Policy<>>(1, wave, wave, 5);
  write_read_compare<Sharing::wave, xio::Policy<>>(1, wave, wave / 2 + 1, 64);
}

TEST_CASE("the waves of a workgroup share the queue") { write_read_compare<Sharing::block, xio::Policy<>>(1, 256, 256, 64); }

TEST_CASE("all waves share the queue") {
  write_read_compare<Sharing::grid, xio::Policy<>>(4, 128, 512, 64);
  write_read_compare<Sharing::grid, Policy<Deferred<8>>>(4, 128, 512, 16);
  write_read_compare<Sharing::grid, Policy<WriteThrough>>(4, 128, 512, 64);
}

TEST_CASE("every thread that the GPU runs at the same time shares one queue") {
  constexpr uint32_t threads = 128;
  constexpr uint32_t most = 131072;  // blocks of the model
  const auto kernel = gpu::write_read_compare<Sharing::grid, xio::Policy<>>;
  const uint32_t blocks = std::min(gpu::share_of(host::resident_blocks(kernel, threads)), most / threads);
  INFO(blocks * threads << " threads");
  write_read_compare<Sharing::grid, xio::Policy<>>(blocks, threads, blocks * threads, 1023, 512, 2);
  write_read_compare<Sharing::grid, Policy<Deferred<8>>>(blocks, threads, blocks * threads, 64, 512, 1);
}

TEST_CASE("errors reach every lane") {
  gpu::ModelController model;
  host::NvmeQueue queue = model.controller->create_queue(gpu::state_on_gpu());
  host::DmaBuffer data = model.controller->allocate(4096);
  Result result;
  gpu::refused<Sharing::grid><<<2, 64>>>(queue.handle(), data.bus(), 128, result.outcome);
  gpu::synchronize();
  CHECK(result.get().failed == 0);
  CHECK(result.get().passed == 128);
}

TEST_CASE("a wave submits batches") {
  gpu::ModelController model;
  host::NvmeQueue queue = model.controller->create_queue(gpu::state_on_gpu());
  host::DmaBuffer data = model.controller->allocate(64 * 4096);
  host::DmaBuffer list = model.controller->allocate(64 * sizeof(nvme::Piece));
  auto* const pieces = list.as<nvme::Piece>();
  for (uint32_t i = 0; i < 64; ++i) pieces[i] = {uint64_t{i} * 8, data.bus() + i * 4096, 8};
  Result result;
  const uint32_t rounds = gpu::share_of(100);
  gpu::batches<xio::Policy<>><<<1, gpu::wave_size()>>>(queue.handle(), pieces, 64, rounds, result.outcome);
  gpu::synchronize();
  CHECK(result.get().first_status == 0);
  CHECK(result.get().passed == rounds);
}

TEST_CASE("waves transfer more pieces than the queue holds") {
  gpu::ModelController model;
  host::NvmeQueue queue = model.controller->create_queue(gpu::state_on_gpu());
  constexpr uint32_t waves = 4;
  const uint32_t per_wave = gpu::share_of(500);
  host::DmaBuffer data = model.controller->allocate(4096);
  host::DmaBuffer list = model.controller->allocate(waves * per_wave * sizeof(nvme::Piece));
  host::DmaBuffer words = model.controller->allocate(waves * sizeof(Notification));
  auto* const pieces = list.as<nvme::Piece>();
  for (uint32_t i = 0; i < waves * per_wave; ++i) pieces[i] = {uint64_t{i}, data.bus(), 1};
  Result result;
  REQUIRE(host::resident_blocks(gpu::transfers, gpu::wave_size()) >= waves);
  gpu::transfers<<<waves, gpu::wave_size()>>>(queue.handle(), pieces, per_wave, words.as<Notification>(), result.outcome);
  gpu::synchronize();
  CHECK(result.get().first_status == 0);
  CHECK(result.get().passed == waves);
  for (uint32_t i = 0; i < waves; ++i) CHECK(words.as<Notification>()[i].done == per_wave);
}

TEST_CASE("a block that never fits is refused, not launched", "[H14]") {
  CHECK_THROWS_AS(host::resident_blocks(gpu::transfers, gpu::wave_size(), size_t{1} << 30), host::Error);
}

int main(int argc, char** argv) {
  if (gpu::unavailable()) return 77;
  return Catch::Session().run(argc, argv);
}
