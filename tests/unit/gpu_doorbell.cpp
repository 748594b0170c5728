// SPDX-License-Identifier: MIT

/// @file
/// @brief Which way doorbells go: every refusal in turn, what each attempt leaves behind, and what the report says.

#include <memory>
#include <string>
#include <vector>

#include <xio/host/memory/doorbell_mapping.hpp>
#include <xio/host/memory/gpu_reach.hpp>
#include <xio/host/nvme/idle_probe.hpp>
#include <xio/host/nvme/vfio.hpp>

#include "catch.hpp"
#include "unit/fake_gpu/support.hpp"
#include "unit/host_fake_vfio.hpp"

using namespace xio::host;
using host_tests::contains;
using host_tests::error_of;
using host_tests::eventually;

namespace {

/// An idle controller whose registers are mapped through a played vfio.
struct Board {
  Board() {
    VfioOptions options = parse_vfio_spec("vfio:04:00.0");
    options.dma_bytes = 1 << 20;
    nvme = std::make_unique<VfioNvme>(options, std::make_shared<host_tests::FakeVfio>());
    nvme->write32(xio::nvme::reg::aqa, aqa);
  }
  DoorbellMapping::Words words() const { return {0x1000, 64}; }
  uint32_t doorbell(uint32_t index) const { return __atomic_load_n(nvme->doorbell_words() + index, __ATOMIC_ACQUIRE); }

  static constexpr uint32_t aqa = 0x003f003f;
  std::unique_ptr<VfioNvme> nvme;
};

DoorbellMapping::Options soon() {
  DoorbellMapping::Options options;
  options.patience = std::chrono::milliseconds(5);
  return options;
}

std::vector<bool> choices(const DoorbellMapping& mapping) {
  std::vector<bool> chosen;
  for (const DoorbellReport::Attempt& one : mapping.report().attempts) chosen.push_back(one.chosen);
  return chosen;
}

uintptr_t address(const void* data) { return reinterpret_cast<uintptr_t>(data); }

/// A board, a GPU, and what comes of them.
struct Trial {
  explicit Trial(DoorbellMapping::Options options = soon(), bool probed = true) {
    machine->distance = 0x10000;
    machine->pool_distance = 0x10000;
    gpu = machine.hip();
    options_ = std::move(options);
    if (probed) probe.emplace(*board.nvme);
  }
  void choose() {
    mapping.emplace(gpu, board.nvme->registers(), board.words(), probe ? &*probe : nullptr, options_);
    CHECK(board.nvme->read32(xio::nvme::reg::aqa) == Board::aqa);
  }
  std::string outcome(size_t attempt) const { return mapping->report().attempts.at(attempt).outcome; }

  Board board;
  fake_gpu::Machine machine;
  std::shared_ptr<GpuRuntime> gpu;
  std::optional<IdleControllerProbe> probe;
  std::optional<DoorbellMapping> mapping;

 private:
  DoorbellMapping::Options options_;
};

}  // namespace

TEST_CASE("on the CPU doorbells are where they are", "[gpu]") {
  const Board board;
  const DoorbellMapping mapping(nullptr, board.nvme->registers(), board.words(), nullptr);
  CHECK(mapping.path() == DoorbellPath::same_address);
  CHECK(mapping.gpu_words() == board.nvme->doorbell_words());
  CHECK(mapping.cpu_words() == board.nvme->doorbell_words());
  CHECK(mapping.report().text() == "used     the CPU's mapping: kernels run on the CPU\n");
}

TEST_CASE("registers that HIP maps are used once a store has arrived", "[gpu]") {
  Trial trial;
  trial.choose();
  CHECK(trial.mapping->path() == DoorbellPath::host_register);
  CHECK(trial.machine->last_flags == 6);
  CHECK(address(trial.mapping->gpu_words()) == address(trial.board.nvme->doorbell_words()) + 0x10000);
  CHECK(trial.mapping->cpu_words() == trial.board.nvme->doorbell_words());
  CHECK(trial.mapping->report().executor == "HIP 7.2, GPU 0 at 0000:c1:00.0 (fake)");
  CHECK(trial.mapping->report().text() ==
        "used     host register, I/O memory: a store by the GPU arrived at the device\n");
  CHECK(trial.machine.log() == "hipHostRegister hipStreamWriteValue32 ");
  for (uint32_t i = 0; i < 64; ++i) CHECK(trial.board.doorbell(i) == 0);
  trial.mapping.reset();
  CHECK(contains(trial.machine.log(), "hipHostUnregister"));
  CHECK(trial.machine->alive == 0);
}

TEST_CASE("where HIP does not map registers, HSA does", "[gpu]") {
  Trial trial;
  trial.machine->register_io_error = 801;
  trial.choose();
  CHECK(trial.mapping->path() == DoorbellPath::lock_to_pool);
  CHECK(choices(*trial.mapping) == std::vector<bool>{false, true});
  CHECK(trial.outcome(0) == "hipHostRegister: some error");
  CHECK(address(trial.mapping->gpu_words()) == address(trial.board.nvme->doorbell_words()) + 0x10000);
  trial.mapping.reset();
  CHECK(contains(trial.machine.log(), "hsa_amd_memory_unlock"));
}

TEST_CASE("stores that are lost leave the proxy, and no mapping", "[gpu]") {
  Trial trial;
  trial.machine->lose_stores = 1;
  trial.choose();
  CHECK(trial.mapping->path() == DoorbellPath::proxy);
  CHECK(choices(*trial.mapping) == std::vector<bool>{false, false, true});
  CHECK(trial.outcome(0) == "mapped, but a store by the GPU did not arrive within 5 ms");
  CHECK(trial.outcome(1) == trial.outcome(0));
  CHECK(trial.machine->alive == 2);  // the proxy's memory, and HSA
  CHECK(contains(trial.mapping->report().text(), "refused  hsa_amd_memory_lock_to_pool: mapped, but a store"));
}

TEST_CASE("what the proxy is given arrives at the registers", "[gpu]") {
  Trial trial;
  trial.machine->register_io_error = 801;
  trial.machine->lock_error = 4096;
  trial.choose();
  REQUIRE(trial.mapping->path() == DoorbellPath::proxy);
  CHECK(trial.outcome(1) == "hsa_amd_memory_lock_to_pool: some status");
  CHECK(address(trial.mapping->gpu_words()) == address(trial.mapping->cpu_words()) + 0x10000);
  CHECK(trial.mapping->cpu_words() != trial.board.nvme->doorbell_words());
  trial.mapping->open(2);
  __atomic_store_n(trial.mapping->cpu_words() + 2, 7u, __ATOMIC_RELEASE);
  CHECK(eventually([&] { return trial.board.doorbell(2) == 7; }));
  trial.mapping->close(2);
  __atomic_store_n(trial.mapping->cpu_words() + 2, 9u, __ATOMIC_RELEASE);
  trial.mapping.reset();
  CHECK(trial.board.doorbell(2) == 7);
  CHECK(trial.board.doorbell(3) == 0);
}

TEST_CASE("a GPU that does not store is refused by its own words", "[gpu]") {
  Trial trial;
  trial.machine->store_error = 1;
  trial.choose();
  CHECK(trial.mapping->path() == DoorbellPath::proxy);
  CHECK(trial.outcome(0) == "mapped, but a store by the GPU failed: hipStreamWriteValue32: some error");
}

TEST_CASE("a program's own kernel may store the probe's word", "[gpu]") {
  uint32_t stores = 0;
  DoorbellMapping::Options options = soon();
  options.store = [&](uint32_t* gpu, uint32_t value) {
    // The GPU would see it there.
    *reinterpret_cast<uint32_t*>(address(gpu) - 0x10000) = value;
    ++stores;
  };
  Trial trial(options);
  trial.machine->store_error = 1;
  trial.choose();
  CHECK(trial.mapping->path() == DoorbellPath::host_register);
  CHECK(stores == 1);
}

TEST_CASE("a store that is late is not taken for the next one's", "[gpu]") {
  // The first mapping's store arrives when the second mapping is tried; the second one's is lost.
  uint32_t* word = nullptr;
  uint32_t late = 0;
  DoorbellMapping::Options options = soon();
  options.store = [&](uint32_t* gpu, uint32_t value) {
    if (word != nullptr) *word = late;
    word = reinterpret_cast<uint32_t*>(address(gpu) - 0x10000);
    late = value;
  };
  Trial trial(options);
  trial.choose();
  CHECK(trial.mapping->path() == DoorbellPath::proxy);
}

TEST_CASE("without a probe nothing but the proxy is used", "[gpu]") {
  Trial trial(soon(), false);
  trial.choose();
  CHECK(trial.mapping->path() == DoorbellPath::proxy);
  CHECK(trial.outcome(0) == "the device has no register that can be written without side effects");
  CHECK_FALSE(contains(trial.machine.log(), "hipHostRegister"));
}

TEST_CASE("the proxy may be asked for", "[gpu]") {
  DoorbellMapping::Options options = soon();
  options.proxy_only = true;
  Trial wanted(options);
  wanted.choose();
  CHECK(choices(*wanted.mapping) == std::vector<bool>{true});
}

TEST_CASE("on NVIDIA the flag is CUDA's, and HSA is passed over", "[gpu]") {
  Trial trial;
  trial.gpu = trial.machine.cuda();
  trial.choose();
  CHECK(trial.mapping->path() == DoorbellPath::host_register);
  CHECK(trial.machine.log() == "cudaHostRegister cuStreamWriteValue32 ");
  trial.mapping.reset();
  trial.machine->register_io_error = 801;
  trial.choose();
  CHECK(trial.mapping->path() == DoorbellPath::proxy);
  CHECK(contains(trial.outcome(1), "for AMD GPUs only"));
}

TEST_CASE("a controller that works is not probed", "[gpu]") {
  const Board board;
  board.nvme->write32(xio::nvme::reg::cc, 1);
  CHECK(contains(error_of([&] { IdleControllerProbe probe(*board.nvme); }),
                 "doorbells can be probed only while it is disabled"));
  board.nvme->write32(xio::nvme::reg::cc, 0);
  board.nvme->write32(xio::nvme::reg::csts, 1);
  CHECK_FALSE(error_of([&] { IdleControllerProbe probe(*board.nvme); }).empty());
  board.nvme->write32(xio::nvme::reg::csts, ~0u);
  CHECK(contains(error_of([&] { IdleControllerProbe probe(*board.nvme); }), "is gone"));
}

TEST_CASE("values of a probe differ from what was there, and from each other", "[gpu]") {
  const Board board;
  for (uint32_t size = 0; size < 70; ++size) {
    board.nvme->write32(xio::nvme::reg::aqa, size << 16 | size);
    const IdleControllerProbe probe(*board.nvme);
    CHECK(probe.value(0) != (size << 16 | size));
    CHECK(probe.value(1) != (size << 16 | size));
    CHECK(probe.value(0) != probe.value(1));
  }
  board.nvme->write32(xio::nvme::reg::aqa, 0);
}

TEST_CASE("rings and registers of a NIC's queue pairs are mapped for a GPU", "[gpu]") {
  const fake_gpu::Machine machine;
  machine->distance = 0x1000;
  machine->pool_distance = 0x2000;
  alignas(4096) static char pages[8192];
  GpuReach reach(machine.hip());
  std::shared_ptr<void> memory = reach.add_memory(pages, 4096);
  CHECK(address(memory.get()) == address(pages) + 0x1000);
  CHECK(machine->last_flags == 2);
  std::shared_ptr<void> registers = reach.add_registers(pages + 4096, 4096);
  CHECK(address(registers.get()) == address(pages + 4096) + 0x1000);
  CHECK(machine->last_flags == 6);
  const uint64_t word = 0x1234;
  std::shared_ptr<void> copy = reach.copy(&word, sizeof word);
  CHECK(*static_cast<const uint64_t*>(copy.get()) == word);
  memory.reset();
  registers.reset();
  CHECK(machine->alive == 1);
  copy.reset();
  CHECK(machine->alive == 0);
  machine->register_io_error = 801;
  registers = reach.add_registers(pages, 4096);
  CHECK(address(registers.get()) == address(pages) + 0x2000);
  registers.reset();
  CHECK(contains(machine.log(), "hsa_amd_memory_unlock"));
  machine->lock_error = 4096;
  CHECK(contains(error_of([&] { reach.add_registers(pages, 4096); }),
                 "hipHostRegister: some error; hsa_amd_memory_lock_to_pool: some status; let the CPU run the kernels"));
  machine->register_error = 801;
  CHECK(error_of([&] { reach.add_memory(pages, 4096); }) == "hipHostRegister: some error");
}

TEST_CASE("doorbells beyond the registers are refused", "[gpu]") {
  const Board board;
  const Span<unsigned char> registers = board.nvme->registers();
  CHECK(registers.size() == host_tests::FakeVfio::bar_bytes);
  for (const DoorbellMapping::Words words :
       {DoorbellMapping::Words{0x1000, 4096}, DoorbellMapping::Words{0x1002, 4}, DoorbellMapping::Words{0x8000, 0}})
    CHECK(contains(error_of([&] { DoorbellMapping(nullptr, registers, words, nullptr); }),
                   "do not fit into 16384 bytes"));
}
