// SPDX-License-Identifier: MIT

/// @file
/// @brief Buffers of every kind with and without a GPU, their addresses and page maps, the GPU's BARs, and placements.

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <xio/host/gpu/bus.hpp>
#include <xio/host/memory/allocator.hpp>
#include <xio/host/memory/executor.hpp>
#include <xio/host/memory/placement.hpp>

#include "catch.hpp"
#include "unit/fake_gpu/support.hpp"

using namespace xio::host;
using host_tests::contains;
using host_tests::error_of;

namespace {

namespace fs = std::filesystem;

uintptr_t number(const void* address) { return reinterpret_cast<uintptr_t>(address); }

/// A folder that goes with the test.
struct Scratch {
  Scratch() {
    char name[] = "/tmp/xio-test-XXXXXX";
    REQUIRE(::mkdtemp(name) != nullptr);
    path = name;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { fs::remove_all(path); }
  std::string path;
};

PciFunction gpu_with(const Scratch& sysfs, const std::string& resource) {
  const std::string address = "0000:c1:00.0";
  fs::create_directories(sysfs.path + "/bus/pci/devices/" + address);
  std::ofstream(sysfs.path + "/bus/pci/devices/" + address + "/resource") << resource;
  return {address, sysfs.path};
}

constexpr const char* resource_text =
    "0x0000002000000000 0x00000023ffffffff 0x000000000014220c\n"
    "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
    "0x0000002400000000 0x00000024001fffff 0x000000000014220c\n"
    "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
    "0x0000000000003000 0x00000000000030ff 0x0000000000040101\n"
    "0x00000000fd000000 0x00000000fd07ffff 0x0000000000040200\n"
    "0x00000000fd080000 0x00000000fd09ffff 0x0000000000046200\n";

}  // namespace

TEST_CASE("without a GPU host memory stands in for every kind, and says so", "[gpu]") {
  const MemoryAllocator allocator;
  CHECK_FALSE(allocator.has_gpu());
  CHECK(contains(allocator.description(), "host memory stands in"));
  for (const MemoryKind kind : memory_kinds) {
    const MemoryBuffer buffer = allocator.allocate(kind, 5000, 65536);
    CHECK(buffer.kind() == kind);
    CHECK_FALSE(buffer.genuine());
    CHECK(buffer.size() == 8192);
    CHECK(buffer.cpu() == buffer.gpu());
    CHECK(number(buffer.cpu()) % 65536 == 0);
    CHECK(static_cast<unsigned char*>(buffer.cpu())[4999] == 0);
    CHECK(contains(error_of([&] { buffer.export_dma_buf(); }), "host memory in place of it"));
  }
  CHECK(contains(error_of([&] { allocator.allocate(MemoryKind::host_pinned, 0); }), "a size of at least 1"));
  CHECK(contains(error_of([&] { allocator.allocate(MemoryKind::host_pinned, 1, 3); }), "a power of two"));
}

TEST_CASE("with a GPU buffers know their addresses on both sides, and end once", "[gpu]") {
  const fake_gpu::Machine machine;
  machine->distance = 1 << 24;
  MemoryBuffer kept;
  {
    const MemoryAllocator allocator(machine.hip());
    CHECK(allocator.description() == "HIP 7.2, GPU 0 at 0000:c1:00.0 (fake)");
    const MemoryBuffer host = allocator.allocate(MemoryKind::host_coherent, 100);
    CHECK(host.genuine());
    CHECK(number(host.gpu()) == number(host.cpu()) + (1 << 24));
    CHECK(contains(error_of([&] { host.export_dma_buf(); }), "this is coherent host memory"));
    kept = allocator.allocate(MemoryKind::vram_fine, 8192);
    const MemoryBuffer copy = kept;
    CHECK(kept.export_dma_buf().bytes == 8192);
    CHECK(machine->alive == 2);
  }
  // The buffer keeps the runtime.
  CHECK(machine->alive == 1);
  kept = MemoryBuffer();
  CHECK(machine->alive == 0);
}

TEST_CASE("pieces that a runtime aligns to less than a page are aligned", "[gpu]") {
  const fake_gpu::Machine machine;
  machine->misalignment = 512;
  const MemoryAllocator allocator(machine.cuda());
  const MemoryBuffer buffer = allocator.allocate(MemoryKind::vram_coarse, 100);
  CHECK(number(buffer.gpu()) % 4096 == 0);
  CHECK(buffer.cpu() == nullptr);
  CHECK(machine->alive == 1);
  const MemoryBuffer host = allocator.allocate(MemoryKind::host_pinned, 100, 16384);
  CHECK(number(host.gpu()) % 16384 == 0);
  CHECK(number(host.cpu()) == number(host.gpu()));
  // Whole pages of it are ours.
  for (size_t i = 0; i < host.size(); ++i) static_cast<unsigned char*>(host.cpu())[i] = 1;
}

TEST_CASE("kernels' addresses are found from the CPU's", "[gpu]") {
  const fake_gpu::Machine machine;
  machine->distance = 1 << 24;
  const MemoryAllocator allocator(machine.hip());
  ExecutorAddresses addresses;
  std::vector<MemoryBuffer> buffers;
  for (int i = 0; i < 3; ++i) buffers.push_back(allocator.allocate(MemoryKind::host_pinned, 4096));
  addresses.add(buffers[0]);
  addresses.add(buffers[1]);
  const auto inside = [](const MemoryBuffer& buffer, size_t offset) {
    return static_cast<unsigned char*>(buffer.cpu()) + offset;
  };
  CHECK(number(addresses(inside(buffers[0], 0))) == number(buffers[0].gpu()));
  CHECK(number(addresses(inside(buffers[1], 4095))) == number(buffers[1].gpu()) + 4095);
  CHECK(addresses(inside(buffers[2], 8)) == inside(buffers[2], 8));
  CHECK(addresses(nullptr) == nullptr);
  addresses.remove(buffers[0].cpu());
  CHECK(addresses(inside(buffers[0], 0)) == buffers[0].cpu());
}

TEST_CASE("doorbells are translated until their last holder ends", "[gpu]") {
  constexpr uintptr_t distance = 1 << 24;
  const fake_gpu::Machine machine;
  machine->distance = distance;
  const Executor executor(machine.hip());
  alignas(4096) static unsigned char words[8192];
  std::shared_ptr<void> first = executor.share_doorbells(words, 64, false);
  std::shared_ptr<void> second = executor.share_doorbells(words, 8192, false);
  CHECK(number(executor.address(words + 8191)) == number(words) + 8191 + distance);
  second.reset();
  CHECK(number(executor.address(words)) == number(words) + distance);
  first.reset();
  // Other memory may lie there from now on.
  CHECK(executor.address(words) == words);
  CHECK(machine->alive == 0);
}

TEST_CASE("executors of one GPU register the doorbells of a drive once", "[gpu]") {
  constexpr uintptr_t distance = 1 << 24;
  const fake_gpu::Machine machine;
  machine->distance = distance;
  alignas(4096) static unsigned char words[8192];
  std::shared_ptr<void> kept;
  {
    const Executor first(machine.hip());
    const Executor second(machine.hip());
    const std::shared_ptr<void> shared = first.share_doorbells(words, 64, false);
    kept = second.share_doorbells(words, 64, false);
    CHECK(number(first.address(words)) == number(words) + distance);
    CHECK(number(second.address(words)) == number(words) + distance);
    CHECK(machine.log() == "hipHostRegister ");
  }
  CHECK(machine->alive == 1);
  kept.reset();
  CHECK(machine->alive == 0);
}

TEST_CASE("page maps say where each byte lies", "[gpu]") {
  const PageMap line = PageMap::contiguous(0x10000, 10000);
  CHECK(line.pages() == std::vector<uint64_t>{0x10000, 0x11000, 0x12000});
  CHECK(line.is_contiguous());
  CHECK(line.bus(0x1234) == 0x11234);
  CHECK(line.view().bus(0x2001) == 0x12001);
  CHECK(contains(error_of([&] { line.bus(0x3000); }), "beyond the buffer"));
  CHECK_FALSE(PageMap().is_contiguous());
}

TEST_CASE("a page map of the process is read from the kernel's", "[gpu]") {
  const Scratch scratch;
  const std::string file = scratch.path + "/pagemap";
  const auto write = [&](std::vector<uint64_t> entries) {
    std::ofstream out(file, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(entries.data()),
              static_cast<std::streamsize>(entries.size() * sizeof entries[0]));
  };
  auto* const data = reinterpret_cast<void*>(uintptr_t{2} * 4096);
  const uint64_t present = uint64_t{1} << 63;
  // Other bits are flags of the page.
  write({0, 0, present | 0x123 | uint64_t{1} << 55, present | 0x77});
  const PageMap map = PageMap::of_process(data, 4097, file);
  CHECK(map.pages() == std::vector<uint64_t>{0x123000, 0x77000});
  CHECK_FALSE(map.is_contiguous());
  write({0, 0, present | 0x123, 0x77});
  CHECK(contains(error_of([&] { PageMap::of_process(data, 8192, file); }), "lock it"));
  write({0, 0, present | 0x123, present});
  CHECK(contains(error_of([&] { PageMap::of_process(data, 8192, file); }), "need root"));
  CHECK(contains(error_of([&] { PageMap::of_process(data, 12288, file); }), "does not cover 0x2000"));
  CHECK(contains(error_of([&] { PageMap::of_process(static_cast<char*>(data) + 1, 1, file); }), "page-aligned"));
  CHECK(contains(error_of([&] { PageMap::of_process(data, 1, scratch.path + "/none"); }), "cannot open"));
}

TEST_CASE("pages of GPU memory are the GPU's, or a device's that the kernel does not show", "[gpu]") {
  const Scratch sysfs;
  const PciFunction gpu = gpu_with(sysfs, resource_text);
  const std::string file = sysfs.path + "/pagemap";
  const auto write = [&](uint64_t second) {
    const uint64_t entries[] = {uint64_t{1} << 63 | 0x2000000, second};
    std::ofstream(file, std::ios::binary | std::ios::trunc)
        .write(reinterpret_cast<const char*>(entries), sizeof entries);
  };
  const auto check = [&] { return check_gpu_memory(gpu, nullptr, 8192, file); };
  write(uint64_t{1} << 63 | 0x2000001);
  CHECK(check() == GpuMemoryKnowledge::in_bar);
  write(0);
  CHECK(check() == GpuMemoryKnowledge::device_mapping);
  write(uint64_t{1} << 63 | 0x12345);
  CHECK(contains(error_of(check), "bus address 0x12345000 is not in memory of GPU 0000:c1:00.0"));
  write(uint64_t{1} << 63);
  CHECK(contains(error_of(check), "need root"));
}

TEST_CASE("the kernel's own map of a locked page", "[gpu]") {
  alignas(4096) static char page[4096];
  page[0] = 1;
  REQUIRE(::mlock(page, sizeof page) == 0);
  const std::string failure = error_of([&] {
    const PageMap map = PageMap::of_process(page, sizeof page);
    CHECK(map.pages().size() == 1);
    CHECK(map.bus(17) % 4096 == 17);
  });
  ::munlock(page, sizeof page);
  // Containers take the right from root, too.
  CHECK((failure.empty() || contains(failure, "need root")));
}

TEST_CASE("bus addresses of GPU memory are those of its BARs", "[gpu]") {
  const Scratch sysfs;
  const PciFunction gpu = gpu_with(sysfs, resource_text);
  const std::vector<PciBar> bars = gpu.bars();
  REQUIRE(bars.size() == 4);
  CHECK(bars[0].number == 0);
  CHECK(bars[0].bytes() == uint64_t{16} << 30);
  CHECK(bars[0].is_memory());
  CHECK(bars[0].is_prefetchable());
  CHECK(bars[1].number == 2);
  CHECK_FALSE(bars[2].is_memory());
  CHECK(bars[3].number == 5);
  CHECK_FALSE(bars[3].is_prefetchable());

  require_gpu_memory(gpu, PageMap::contiguous(0x2000000000, 8192));
  require_gpu_memory(gpu, PageMap::contiguous(0x23fffff000, 4096));
  require_gpu_memory(gpu, PageMap::contiguous(0x23fffff000, 8192));  // the second page is in BAR 2
  CHECK(contains(error_of([&] { require_gpu_memory(gpu, PageMap::contiguous(0x7f000000, 4096)); }),
                 "bus address 0x7f000000 is not in memory of GPU 0000:c1:00.0 (0x2000000000 to 0x23ffffffff, "));
  // Ports are no memory, and an expansion ROM is none of the GPU's.
  CHECK_FALSE(error_of([&] { require_gpu_memory(gpu, PageMap::contiguous(0x3000, 4096)); }).empty());
  CHECK_FALSE(error_of([&] { require_gpu_memory(gpu, PageMap::contiguous(0xfd080000, 4096)); }).empty());
  CHECK(contains(error_of([&] { require_gpu_memory(gpu, PageMap()); }), "no bus addresses"));
  CHECK(contains(error_of([&] { require_gpu_memory(gpu.sibling("0000:00:00.0"), PageMap::contiguous(0, 1)); }),
                 "has no BAR in sysfs"));
}

TEST_CASE("memory modes are placements", "[gpu]") {
  using xio::Memory;
  using Mixed = xio::PlacementOf<9>;
  STATIC_REQUIRE(std::is_same_v<Mixed, xio::Placement<Memory::device, Memory::host, Memory::host, Memory::device>>);
  STATIC_REQUIRE(Mixed::mode == 9);
  STATIC_REQUIRE_FALSE(xio::Policy<Mixed::Tag>::inbound_in_order);
  STATIC_REQUIRE(xio::Policy<xio::PlacementOf<11>::Tag>::inbound_in_order);
  STATIC_REQUIRE(xio::Policy<xio::PlacementOf<0>::Tag>::ringing == xio::Ringing::immediate);
  STATIC_REQUIRE(xio::PlacementOf<6>::doorbell_record == Memory::device);
  for (uint32_t mode = 0; mode < 16; ++mode) CHECK(xio::needs_inbound_flush(mode) == ((mode & 10) == 8));

  CHECK(placement_text(0) == "SQ, CQ, doorbell record and data in host memory");
  CHECK(placement_text(1) == "SQ in GPU memory, CQ, doorbell record and data in host memory");
  CHECK(placement_text(10) == "CQ and data in GPU memory, SQ and doorbell record in host memory");
  CHECK(placement_text(15) == "SQ, CQ, doorbell record and data in GPU memory");
  CHECK(kind_for(xio::memory_mode::sq, 8) == MemoryKind::host_coherent);
  CHECK(kind_for(xio::memory_mode::data, 7) == MemoryKind::host_pinned);
  CHECK(kind_for(xio::memory_mode::cq, 2) == MemoryKind::vram_uncached);
  CHECK(kind_for(xio::memory_mode::data, 8) == MemoryKind::vram_fine);
}

TEST_CASE("rings are uncached, or fine-grained where the runtime knows no better", "[gpu]") {
  const fake_gpu::Machine machine;
  const MemoryAllocator allocator(machine.hip());
  CHECK(allocate_for(allocator, xio::memory_mode::sq, 3, 64).kind() == MemoryKind::vram_uncached);
  machine->knows_uncached = 0;
  CHECK(allocate_for(allocator, xio::memory_mode::sq, 3, 64).kind() == MemoryKind::vram_fine);
  CHECK(allocate_for(allocator, xio::memory_mode::data, 3, 64).kind() == MemoryKind::host_pinned);
  machine->malloc_error = 2;
  CHECK(error_of([&] { allocate_for(allocator, xio::memory_mode::sq, 3, 64); }) ==
        "hipExtMallocWithFlags: out of memory");
}
