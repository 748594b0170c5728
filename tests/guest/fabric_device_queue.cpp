// SPDX-License-Identifier: MIT

/// @file
/// @brief host::FabricDeviceQueue: kernels on the CPU against the kernel's own target, by soft-RoCE. Runs in the guest
/// of scripts/guest, where nvmet.sh makes the targets; elsewhere it is skipped.

#include "catch.hpp"
#include "skip.hpp"

#if __has_include(<infiniband/verbs.h>) && __has_include(<rdma/rdma_cma.h>)

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <xio/host/nvme/cache.hpp>
#include <xio/host/nvme/fabric_device_queue.hpp>
#include <xio/host/simt/simt.hpp>

#include "cache/kernels.hpp"
#include "unit/host_support.hpp"

using namespace xio;
using namespace xio::literals;
using host::FabricController;
using host::FabricDeviceQueue;
using host::FabricOptions;
using host_tests::contains;
using host_tests::error_of;

namespace {

using Queue = nvme::Queue<Sharing::grid, Policy<RingBy<FabricDeviceQueue::Transport>>>;

const std::string nvmet = "/sys/kernel/config/nvmet";

Deadline soon() { return deadline(120_s); }

/// Whether the targets are here; else the test is skipped.
bool here() {
  if (::access((nvmet + "/ports/1/subsystems/xio").c_str(), F_OK) == 0) return true;
  xio_tests::skip("no target of nvmet.sh");
  return false;
}

FabricOptions to(const std::string& subsystem, const std::string& service = {}) {
  FabricOptions options;
  options.service = service;
  options.address = "10.9.0.1";
  options.subsystem = subsystem;
  return options;
}

unsigned char value(uint64_t at, uint64_t seed) { return static_cast<unsigned char>(at * 7 + (at >> 8) + seed * 31); }

void expect_ok(Status status, const char* call) {
  if (!status.is_ok())
    throw std::runtime_error(std::string(call) + ": " + xio::name(status.code) + ", " + std::to_string(status.vendor));
}

/// Each lane writes `bytes` bytes of its own, and reads them back; then the target's file is compared, too.
void write_and_read(FabricController& controller, uint32_t entries, uint32_t waves, uint32_t lanes, uint32_t bytes,
                    uint32_t rounds) {
  CAPTURE(entries, waves, lanes, bytes);
  const uint32_t threads = waves * lanes;
  const uint64_t total = uint64_t{threads} * bytes;
  FabricDeviceQueue queue(controller, {entries, 1, total});
  CHECK(queue.plan().depth == entries - 1);
  const nvme::QueueHandle handle = queue.handle();
  const Region data = queue.data();
  auto* const memory = reinterpret_cast<unsigned char*>(data.base);
  const uint32_t blocks = bytes >> handle.block_shift;
  const auto kernel = [&] {
    Queue user(handle);
    const uint32_t me = arch::block_index() * lanes + arch::thread_index();
    unsigned char* const mine = memory + uint64_t{me} * bytes;
    const RegionSpan piece = data.at(uint64_t{me} * bytes, bytes);
    for (uint32_t round = 0; round < rounds; ++round) {
      for (uint32_t i = 0; i < bytes; ++i) mine[i] = value(i, me + round * 1000 + entries);
      expect_ok(user.wait(user.write(uint64_t{me} * blocks, piece, soon()), soon()), "write");
      std::memset(mine, 0, bytes);
      expect_ok(user.wait(user.read(uint64_t{me} * blocks, piece, soon()), soon()), "read");
      for (uint32_t i = 0; i < bytes; ++i)
        if (mine[i] != value(i, me + round * 1000 + entries)) throw std::runtime_error("data differs");
    }
  };
  const auto begin = std::chrono::steady_clock::now();
  REQUIRE_NOTHROW(simt::launch(simt::Grid::of_waves(waves, 1, lanes), kernel));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("  queue of %u, %u waves of %u lanes, %u bytes: %u commands in %.2f s\n", entries, waves, lanes, bytes,
              2 * threads * rounds, took.count());
  CHECK(queue.lost().empty());
  CHECK(queue.cause().is_ok());
  std::vector<char> kept(total);
  std::ifstream("/run/" + controller.options().subsystem + ".img", std::ios::binary)
      .read(kept.data(), static_cast<std::streamsize>(total));
  CHECK(std::memcmp(kept.data(), memory, total) == 0);
}

}  // namespace

TEST_CASE("one wave writes 4 KiB with each lane and reads it back", "[guest]") {
  if (!here()) return;
  FabricController controller(to("xio"));
  write_and_read(controller, 32, 1, 64, 4096, 2);
}

TEST_CASE("waves share a queue", "[guest]") {
  if (!here()) return;
  FabricController controller(to("xio"));
  write_and_read(controller, 128, 8, 64, 4096, 1);
  CHECK(contains(error_of([&] { FabricDeviceQueue queue(controller, {1, 1, 4096}); }), "a queue of 1 entries"));
  CHECK(contains(error_of([&] { FabricDeviceQueue queue(controller, {32, 9, 4096}); }), "xio has no namespace 9"));
}

/// Whether there is a target with blocks of 512 bytes; else the test is skipped.
bool small_blocks_here() {
  if (::access((nvmet + "/ports/4/subsystems/xio-512").c_str(), F_OK) == 0) return true;
  xio_tests::skip("no target of nvmet.sh on a loop device");
  return false;
}

TEST_CASE("commands of 512 bytes to 64 KiB, of 1, 4 and 8 waves, in queues of 2, 32 and 128 entries", "[guest]") {
  if (!small_blocks_here()) return;
  FabricController controller(to("xio-512", "4432"));
  REQUIRE(controller.identify_namespace(1).block_bytes == 512);
  for (const uint32_t entries : {2u, 32u, 128u})
    for (const uint32_t waves : {1u, 4u, 8u})
      for (const uint32_t bytes : {512u, 4096u, 65536u})
        write_and_read(controller, entries, waves, bytes == 65536 ? 1 : 8, bytes, 1);
}

TEST_CASE("targets that take 0, 4 KiB and 16 KiB of data in capsules", "[guest]") {
  if (!small_blocks_here()) return;
  const std::pair<const char*, uint32_t> ports[] = {{"4431", 0}, {"4432", 4096}, {"4433", 16384}};
  for (const auto& [service, in_capsule] : ports) {
    FabricController controller(to("xio-512", service));
    // Words of 16 bytes: a command, and what may follow it.
    CHECK(nvme::fabrics::IdentifyFabrics{controller.info().page.data()}.ioccsz() == (64 + in_capsule) / 16);
    for (const uint32_t bytes : {512u, 4096u, 16384u, 32768u}) write_and_read(controller, 32, 2, 8, bytes, 1);
  }
}

TEST_CASE("several queues of one memory", "[guest]") {
  if (!here()) return;
  FabricController controller(to("xio"));
  struct alignas(4096) Page {
    unsigned char bytes[4096];
  };
  std::vector<Page> pages(2);
  const size_t all = pages.size() * sizeof(Page);
  FabricDeviceQueue first(controller, {32, 1, all, pages.data()});
  FabricDeviceQueue second(controller, {32, 1, all, pages.data()});
  // The pages of a source have no key: each queue's own is sent.
  for (FabricDeviceQueue* const queue : {&first, &second}) {
    // Users of a queue choose how they ring, whatever Connect did.
    nvme::Queue<Sharing::grid, Policy<Deferred<64>, RingBy<FabricDeviceQueue::Transport>>> user(queue->handle());
    const nvme::ContiguousPages source{reinterpret_cast<uintptr_t>(pages[1].bytes)};
    for (uint32_t i = 0; i < 4096; ++i) pages[1].bytes[i] = value(i, queue->qid());
    expect_ok(user.wait(user.submit(nvme::write(queue->qid(), 1), source, soon()), soon()), "write");
    std::memset(pages[1].bytes, 0, 4096);
    expect_ok(user.wait(user.submit(nvme::read(queue->qid(), 1), source, soon()), soon()), "read");
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < 4096; ++i) wrong += pages[1].bytes[i] != value(i, queue->qid());
    CHECK(wrong == 0);
  }
  CHECK(contains(error_of([&] { FabricDeviceQueue queue(controller, {32, 1, 512, pages.data()}); }),
                 "data_bytes is 512; use at least 1024"));
}

TEST_CASE("a page cache over two targets", "[guest]") {
  if (!here()) return;
  struct Options : WriteBack {
    using QueuePolicy = Policy<Notify, RingBy<FabricDeviceQueue::Transport>>;
  };
  struct alignas(4096) Page {
    uint64_t words[512];
  };
  constexpr uint32_t pages = 64, waves = 4, lanes = 8, threads = waves * lanes;
  constexpr uint64_t elements = uint64_t{pages} * 512;
  const std::string names[] = {"xio", "xio-few"};
  FabricController first(to(names[0])), second(to(names[1]));
  std::vector<Page> frames(8);
  const host::FabricQueueOptions with{32, 1, frames.size() * sizeof(Page), frames.data()};
  FabricDeviceQueue queues[] = {FabricDeviceQueue(first, with), FabricDeviceQueue(second, with)};
  host::CacheOptions options;
  options.bytes = with.data_bytes;
  options.ways = 4;
  const host::NvmeCache cache = host::make_cache({queues[0].handle(), queues[1].handle()}, frames.data(), options);
  const auto run = [&](cache_tests::Work work, uint32_t steps) {
    cache_tests::Result result{};
    REQUIRE_NOTHROW(simt::launch(simt::Grid::of_waves(waves, 1, lanes), [&] {
      cache_tests::work<Options>(cache.handle(), cache_tests::Job{elements, 1, steps, work, 120_s}, &result);
      if (work == cache_tests::Work::put) expect_ok(Cache<Options>(cache.handle(), 0).flush(soon()), "flush");
    }));
    CHECK(result.right == uint64_t{steps} * threads);
  };
  run(cache_tests::Work::put, elements / threads);
  run(cache_tests::Work::random, 50);
  CHECK(cache.counts().evictions > pages);
  uint32_t wrong = 0;
  for (uint32_t drive = 0; drive < 2; ++drive) {
    std::vector<uint64_t> kept(elements / 2);
    std::ifstream("/run/" + names[drive] + ".img", std::ios::binary)
        .read(reinterpret_cast<char*>(kept.data()), static_cast<std::streamsize>(elements / 2 * 8));
    for (uint64_t i = 0; i < elements / 2; ++i)
      wrong += kept[i] != cache_tests::content((i / 512 * 2 + drive) * 512 + i % 512, 1);
    CHECK(queues[drive].cause().is_ok());
  }
  CHECK(wrong == 0);
}

TEST_CASE("a child that ends its copies leaves the parent's queues alone", "[guest]") {
  if (!here()) return;
  std::optional<FabricController> controller(to("xio"));
  std::optional<FabricDeviceQueue> queue(std::in_place, *controller);
  std::shared_ptr<host::FabricQueue> by_cpu = controller->create_queue();
  const pid_t child = ::fork();
  if (child == 0) {
    queue.reset();
    by_cpu.reset();
    controller.reset();
    ::_exit(0);
  }
  int status = -1;
  CHECK(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  Queue user(queue->handle());
  CHECK(user.wait(user.read(5, queue->data().at(0, 4096), soon()), soon()).is_ok());
  CHECK(queue->lost().empty());
  std::vector<unsigned char> data(4096);
  const auto limit = std::chrono::milliseconds(30000);
  CHECK(by_cpu->run(nvme::read(5, 1).nsid(1), {data.data(), data.size()}, limit).status.is_ok());
  CHECK(controller->active_namespaces() == std::vector<uint32_t>{1});
}

TEST_CASE("the target goes away while a kernel waits", "[guest]") {
  if (!here()) return;
  FabricController controller(to("xio"));
  FabricDeviceQueue queue(controller);
  const Region data = queue.data();
  std::atomic<uint32_t> failed{0};
  std::atomic<bool> ended{false};
  const auto kernel = [&] {
    Queue user(queue.handle());
    const RegionSpan piece = data.at(uint64_t{arch::lane()} * 4096, 4096);
    const Deadline until = soon();
    Status status;
    while (status.is_ok()) status = user.wait(user.read(arch::lane(), piece, until), until);
    if (status == Status::broken || status == Status::flushed) failed.fetch_add(1);
  };
  const auto begin = std::chrono::steady_clock::now();
  std::thread waves([&] {
    simt::launch(simt::Grid::of_waves(1, 1, 64), kernel);
    ended.store(true);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const std::string offered = nvmet + "/ports/1/subsystems/xio";
  CHECK(::unlink(offered.c_str()) == 0);
  std::string why;
  while (!ended.load()) {
    if (why.empty()) why = queue.lost();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  waves.join();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("  after %.2f s: %s\n", took.count(), why.c_str());
  CHECK(failed.load() == 64);
  CHECK(contains(why, "10.9.0.1 port 4420"));
  CHECK(took.count() < 20);
  CHECK_FALSE(queue.cause().is_ok());
  CHECK(::symlink((nvmet + "/subsystems/xio").c_str(), offered.c_str()) == 0);
}

#else

TEST_CASE("a queue over RDMA for kernels", "[guest]") {
  xio_tests::skip("no infiniband/verbs.h or rdma/rdma_cma.h (Debian: libibverbs-dev, librdmacm-dev)");
}

#endif
