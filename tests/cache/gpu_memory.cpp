// SPDX-License-Identifier: MIT

/// @file
/// @brief Frames in the memory of a GPU that the test plays: mapped for each drive, or refused.

#include <map>
#include <utility>

#include "cache/rig.hpp"
#include "catch.hpp"
#include "unit/fake_gpu/support.hpp"
#include "unit/host_fake_controller.hpp"

using namespace cache_tests;

namespace {

/// A GPU, and drives whose memory is the GPU's.
struct Played {
  /// @param distance  from an address of host memory on the CPU to the GPU's; the GPU's own memory has one address
  explicit Played(ptrdiff_t distance = 0) {
    machine->distance = distance;
    source.allocate = [this](size_t bytes, size_t alignment) {
      using xio::host::MemoryKind;
      auto made = xio::host::MemoryAllocator(executor.gpu()).allocate(MemoryKind::vram_fine, bytes, alignment);
      void* const at = made.cpu();
      pieces.emplace(at, std::move(made));
      return at;
    };
    source.release = [this](void* at) { pieces.erase(at); };
    source.memory = xio::Memory::device;
  }

  fake_gpu::Machine machine;
  xio::host::Executor executor{machine.hip()};
  std::map<void*, xio::host::MemoryBuffer> pieces;  // of the GPU's memory
  xio::emulation::MemorySource source;
};

Shape two_drives(bool gpu_memory = false) {
  Shape shape;
  shape.drives = 2;
  shape.frames = 8;
  shape.pages = 32;
  shape.gpu_memory = gpu_memory;
  return shape;
}

void check_contents(Rig& rig) {
  CHECK(rig.run(128, read_only, Work::random, 64).right == 128 * 64);
  const auto steps = static_cast<uint32_t>(rig.elements() / 128);
  CHECK(rig.run(128, write_back, Work::put_get, steps, 1).right == rig.elements());
  CHECK(rig.flush_all().failed == 0);
  CHECK(rig.differing(1) == 0);
  CHECK(rig.cache->counts().misses >= 32);
  rig.fill(2);
  rig.cache->forget();
  CHECK(rig.run(128, read_only, Work::random, 64, 2).right == 128 * 64);
}

/// The drives find a frame where kernels do: host memory has two addresses, the GPU's one.
void check_addresses(const Rig& rig) {
  const CacheHandle handle = rig.cache->handle();
  CHECK(handle.memory.memory == xio::Memory::device);
  for (uint32_t drive = 0; drive < 2; ++drive)
    CHECK(handle.memory.bases[drive] ==
          reinterpret_cast<uintptr_t>(handle.data) + rig.models[drive]->config().bus_offset);
}

/// Pieces of the GPU's memory that were taken so far.
size_t pieces_taken(const Played& played) {
  const std::string log = played.machine.log();
  const std::string call = "hipExtMallocWithFlags ";
  size_t count = 0;
  for (size_t at = log.find(call); at != std::string::npos; at = log.find(call, at + 1)) ++count;
  return count;
}

/// Why a cache in the GPU's memory is refused.
std::string refusal(const xio::host::Executor& executor, std::vector<xio::host::NvmeController*> controllers) {
  xio::host::CacheOptions options;
  options.gpu_memory = true;
  return host_tests::error_of([&] { (void)xio::host::make_cache(executor, std::move(controllers), options); });
}

}  // namespace

TEST_CASE("Frames in the GPU's memory, mapped for two drives, hold what kernels get and put") {
  const Played played;
  Rig rig(two_drives(), played.executor, played.source);
  check_contents(rig);
}

TEST_CASE("Frames and completion rings that gpu_memory moves to the GPU's memory hold what kernels get and put") {
  const Played played;
  Rig rig(two_drives(true), played.executor);
  check_contents(rig);
}

TEST_CASE("gpu_memory puts the frames and each completion ring into the GPU's memory, as long as the cache lives") {
  const Played played(1 << 24);
  (void)Rig(two_drives(), played.executor);
  const size_t without = pieces_taken(played);
  const int alive = played.machine->alive;
  played.machine.clear_log();
  {
    const Rig rig(two_drives(true), played.executor);
    CHECK(pieces_taken(played) == without + 3);
    check_addresses(rig);
    for (const xio::host::NvmeQueue& queue : rig.cache->drives().queues())
      CHECK((queue.handle().gpu_memory & (xio::memory_mode::cq | xio::memory_mode::sq)) == xio::memory_mode::cq);
  }
  CHECK(played.machine->alive == alive);
}

TEST_CASE("Kernels and drives find frames in the GPU's memory at the address that they have there") {
  const Played played(1 << 24);
  const Rig rig(two_drives(), played.executor, played.source);
  const CacheHandle handle = rig.cache->handle();
  REQUIRE(played.pieces.count(handle.data) == 1);
  CHECK(played.pieces.at(handle.data).size() >= 8 * 4096);
  check_addresses(rig);
}

TEST_CASE("A drive that cannot reach the GPU's memory is named, and takes nothing with it") {
  const Played played;
  Rig rig(two_drives(), played.executor, played.source);
  const size_t before = played.pieces.size();
  const auto world = std::make_shared<host_tests::FakeWorld>();
  world->block_shift = 9;
  xio::host::NvmeController other(std::make_unique<host_tests::FakeNvme>(world));
  const std::string error =
      host_tests::error_of([&] { (void)xio::host::make_cache(played.executor, {rig.controllers[0].get(), &other}); });
  CHECK_THAT(error, Catch::Matchers::Contains(other.transport().description()) &&
                        Catch::Matchers::Contains("GPU memory is not supported"));
  CHECK(played.pieces.size() == before);
}

TEST_CASE("gpu_memory is refused by name: no GPU, no way for the CPU, no way for a drive") {
  using Catch::Matchers::Contains;
  const Played played;
  Rig rig(two_drives(), played.executor);
  xio::host::NvmeController* const one = rig.controllers[0].get();
  const int alive = played.machine->alive;
  CHECK_THAT(refusal({}, {one}), Contains("pass an Executor of a GPU"));
  const auto world = std::make_shared<host_tests::FakeWorld>();
  world->block_shift = 9;
  xio::host::NvmeController other(std::make_unique<host_tests::FakeNvme>(world));
  CHECK_THAT(refusal(played.executor, {one, &other}),
             Contains(other.transport().description()) && Contains("GPU memory is not supported"));
  played.machine->large_bar = 0;
  CHECK_THAT(refusal(xio::host::Executor(played.machine.hip()), {one}),
             Contains("the CPU cannot access this GPU's memory"));
  CHECK(played.machine->alive == alive);
}
