// SPDX-License-Identifier: MIT

/// @file
/// @brief What is asked of HIP, HSA and CUDA, of old and new versions, and what is made of their refusals.

#include <cstring>
#include <memory>
#include <string>

#include <xio/host/gpu/cuda.hpp>
#include <xio/host/gpu/hip.hpp>

#include "catch.hpp"
#include "unit/fake_gpu/support.hpp"

using namespace xio::host;
using host_tests::contains;
using host_tests::error_of;

TEST_CASE("a missing runtime is an error that says what to install", "[gpu]") {
  HipRuntime::Options options;
  options.hip_files = {"libxio-no-such-hip.so"};
  CHECK(contains(error_of([&] { HipRuntime runtime(options); }), "install the HIP runtime of ROCm 5.2 or later"));
  CudaRuntime::Options cuda;
  cuda.files = {{"libxio-no-such-cudart.so"}, {"libxio-no-such-cuda.so"}};
  CHECK(contains(error_of([&] { CudaRuntime runtime(cuda); }), "install NVIDIA's driver"));
}

TEST_CASE("a runtime without a GPU is an error that says where to look", "[gpu]") {
  const fake_gpu::Machine machine;
  machine->count_error = 100;
  CHECK(contains(error_of([&] { machine.hip(); }), "HIP sees no GPU (is the amdgpu driver loaded"));
  machine->count_error = 0;
  machine->devices = 0;
  CHECK(contains(error_of([&] { machine.hip(); }), "HIP sees no GPU"));
  machine->devices = 2;
  CHECK(contains(error_of([&] { machine.hip(2); }), "HIP has no GPU 2; it has 2"));
  CHECK(contains(error_of([&] { machine.cuda(-1); }), "CUDA has no GPU -1; it has 2"));
  machine->count_error = 3;
  CHECK(error_of([&] { machine.hip(); }) == "hipGetDeviceCount: some error");
}

TEST_CASE("a GPU tells who it is", "[gpu]") {
  const fake_gpu::Machine machine;
  const auto hip = machine.hip();
  CHECK(hip->description() == "HIP 7.2, GPU 0 at 0000:c1:00.0 (fake)");
  CHECK(hip->pci_address() == "0000:c1:00.0");
  CHECK(hip->clock_hz() == 100000000);
  machine->wall_clock = 0;
  CHECK(hip->clock_hz() == 0);
  CHECK(machine.cuda()->description() == "CUDA 13.0, GPU 0 at 0000:c1:00.0");
}

TEST_CASE("each kind of memory is asked for by the flags that make it", "[gpu]") {
  const fake_gpu::Machine machine;
  machine->distance = 1 << 20;
  const auto hip = machine.hip();
  struct Case {
    MemoryKind kind;
    unsigned flags;
  };
  for (const Case one :
       {Case{MemoryKind::host_coherent, 0x40000002}, Case{MemoryKind::host_pinned, 0x80000002},
        Case{MemoryKind::vram_coarse, 0}, Case{MemoryKind::vram_fine, 1}, Case{MemoryKind::vram_uncached, 3}}) {
    CAPTURE(name_of(one.kind));
    const GpuAllocation made = hip->allocate(one.kind, 4096);
    CHECK(machine->last_flags == one.flags);
    const auto cpu = reinterpret_cast<intptr_t>(made.cpu);
    CHECK(reinterpret_cast<intptr_t>(made.gpu) - cpu == (is_vram(one.kind) ? 0 : 1 << 20));
    unsigned char zeros[4096] = {};
    CHECK(std::memcmp(made.cpu, zeros, sizeof zeros) == 0);
    hip->release(one.kind, made);
    CHECK(machine->alive == 0);
  }
  machine->large_bar = 0;
  const auto small = machine.hip();
  const GpuAllocation made = small->allocate(MemoryKind::vram_fine, 4096);
  CHECK(made.cpu == nullptr);
  small->release(MemoryKind::vram_fine, made);
}

TEST_CASE("allocations that fail leave nothing behind", "[gpu]") {
  const fake_gpu::Machine machine;
  const auto hip = machine.hip();
  const auto cuda = machine.cuda();
  machine->malloc_error = 2;
  CHECK(error_of([&] { hip->allocate(MemoryKind::vram_fine, 64); }) == "hipExtMallocWithFlags: out of memory");
  CHECK(error_of([&] { cuda->allocate(MemoryKind::vram_fine, 64); }) == "cudaMalloc: some error");
  machine->malloc_error = 0;
  machine->knows_uncached = 0;
  CHECK(contains(error_of([&] { hip->allocate(MemoryKind::vram_uncached, 64); }),
                 "needs a HIP later than 5.2, fine-grained memory does not"));
  machine->memset_error = 2;
  CHECK(error_of([&] { hip->allocate(MemoryKind::vram_fine, 64); }) == "hipMemset: out of memory");
  CHECK(error_of([&] { cuda->allocate(MemoryKind::host_pinned, 64); }) == "cudaMemset: some error");
  machine->memset_error = 0;
  machine->pointer_error = 2;
  CHECK(error_of([&] { hip->allocate(MemoryKind::host_pinned, 64); }) == "hipHostGetDevicePointer: out of memory");
  CHECK(error_of([&] { cuda->allocate(MemoryKind::host_pinned, 64); }) == "cudaHostGetDevicePointer: some error");
  int page = 0;
  CHECK(contains(error_of([&] { hip->map_memory(&page, 4096); }), "hipHostGetDevicePointer"));
  CHECK(contains(error_of([&] { cuda->map_memory(&page, 4096); }), "cudaHostGetDevicePointer"));
  CHECK(machine->alive == 0);
}

TEST_CASE("registers are mapped by HIP's flag, or by HSA", "[gpu]") {
  const fake_gpu::Machine machine;
  machine->distance = 0x1000;
  machine->pool_distance = 0x2000;
  const auto hip = machine.hip();
  alignas(64) char page[64] = {};
  const auto address = reinterpret_cast<uintptr_t>(&page);
  void* const by_hip = hip->map_registers(RegisterMapping::host_register, page, sizeof page);
  CHECK(reinterpret_cast<uintptr_t>(by_hip) == address + 0x1000);
  CHECK(machine->last_flags == 6);
  void* const by_hsa = hip->map_registers(RegisterMapping::lock_to_pool, page, sizeof page);
  CHECK(reinterpret_cast<uintptr_t>(by_hsa) == address + 0x2000);
  void* const memory = hip->map_memory(page, sizeof page);
  CHECK(reinterpret_cast<uintptr_t>(memory) == address + 0x1000);
  CHECK(machine->last_flags == 2);
  CHECK(machine.log() == "hipHostRegister hsa_amd_memory_lock_to_pool hipHostRegister ");
  hip->unmap_registers(RegisterMapping::host_register, page);
  hip->unmap_registers(RegisterMapping::lock_to_pool, page);
  hip->unmap_memory(page);
  CHECK(contains(machine.log(), "hipHostUnregister hsa_amd_memory_unlock hipHostUnregister "));
  CHECK(machine->alive == 1);  // HSA

  const auto cuda = machine.cuda();
  CHECK(contains(error_of([&] { cuda->map_registers(RegisterMapping::lock_to_pool, page, 64); }), "AMD GPUs only"));
  cuda->map_registers(RegisterMapping::host_register, page, sizeof page);
  CHECK(machine->last_flags == 6);
  cuda->unmap_registers(RegisterMapping::host_register, page);
}

TEST_CASE("HSA that does not know the GPU, or has no memory for it, is refused", "[gpu]") {
  const fake_gpu::Machine machine;
  const auto hip = machine.hip();
  const auto lock = [&] { hip->map_registers(RegisterMapping::lock_to_pool, &*machine, 64); };
  machine->init_error = 4096;
  CHECK(error_of(lock) == "hsa_init: some status");
  machine->init_error = 0;
  machine->bdf = 0xc200;
  CHECK(error_of(lock) == "HSA found no GPU at 0000:c1:00.0");
  machine->bdf = 0xc100;
  machine->gpu_agents = 0;
  CHECK(error_of(lock) == "HSA found no GPU at 0000:c1:00.0");
  machine->gpu_agents = 1;
  machine->fine_grained_pools = 0;
  CHECK(error_of(lock) == "HSA reports no fine-grained host memory");
  CHECK(machine->alive == 0);
  machine->fine_grained_pools = 1;
  machine->lock_error = 4096;
  CHECK(error_of(lock) == "hsa_amd_memory_lock_to_pool: some status");
}

TEST_CASE("a GPU of another PCI domain is found", "[gpu]") {
  const fake_gpu::Machine machine;
  machine->domain = 0x10;
  machine->bdf = 0x3f << 8 | 0x1f << 3 | 7;
  const auto hip = machine.hip();
  CHECK(hip->pci_address() == "0010:3f:1f.7");
  hip->map_registers(RegisterMapping::lock_to_pool, &*machine, 64);
  hip->unmap_registers(RegisterMapping::lock_to_pool, &*machine);
}

TEST_CASE("the GPU stores a word", "[gpu]") {
  const fake_gpu::Machine machine;
  machine->distance = 0x3000;
  uint32_t word = 0;
  auto* const seen = reinterpret_cast<uint32_t*>(reinterpret_cast<uintptr_t>(&word) + 0x3000);
  machine.hip()->store(seen, 5);
  CHECK(word == 5);
  machine.cuda()->store(seen, 6);
  CHECK(word == 6);
  machine->store_error = 1;
  CHECK(error_of([&] { machine.hip()->store(seen, 7); }) == "hipStreamWriteValue32: some error");
  CHECK(error_of([&] { machine.cuda()->store(seen, 7); }) == "cuStreamWriteValue32: some driver error");
  CHECK(word == 6);
}

TEST_CASE("dma-bufs come from HIP where it has them, else from HSA", "[gpu]") {
  alignas(4096) static char memory[4096];
  {
    const fake_gpu::Machine machine;
    const DmaBufExport made = machine.hip()->export_dma_buf(memory, 4096);
    CHECK(made.fd);
    CHECK(made.offset == 0);
    CHECK(made.bytes == 4096);
    CHECK(machine.log() == "hipMemGetHandleForAddressRange ");
    CHECK(machine.cuda()->export_dma_buf(memory, 4096).fd);
    machine->export_error = 801;
    CHECK(contains(error_of([&] { machine.hip()->export_dma_buf(memory, 4096); }), "hipMemGetHandleForAddressRange"));
    CHECK(contains(error_of([&] { machine.cuda()->export_dma_buf(memory, 4096); }), "open kernel modules"));
  }
  const fake_gpu::Machine old(true);
  CHECK(contains(error_of([&] { old.hip()->export_dma_buf(memory, 4096); }),
                 "has no hsa_amd_portable_export_dmabuf; install a newer ROCm"));
  CHECK(contains(error_of([&] { old.cuda()->export_dma_buf(memory, 4096); }), "install one for CUDA 11.7 or later"));
  uint32_t word = 0;
  CHECK(contains(error_of([&] { old.cuda()->store(&word, 1); }), "has no cuStreamWriteValue32"));
}

TEST_CASE("an old HIP beside a new HSA exports through HSA", "[gpu]") {
  const fake_gpu::Machine hip_of(true);
  const fake_gpu::Machine hsa_of;
  HipRuntime::Options options;
  options.hip_files = {XIO_FAKE_GPU_OLD};
  options.hsa_files = {XIO_FAKE_GPU};
  HipRuntime runtime(options);
  char memory[64];
  const DmaBufExport made = runtime.export_dma_buf(memory, 64);
  CHECK(made.fd);
  CHECK(made.offset == 256);
  hsa_of->export_error = 4096;
  CHECK(error_of([&] { runtime.export_dma_buf(memory, 64); }) == "hsa_amd_portable_export_dmabuf: some status");
}
