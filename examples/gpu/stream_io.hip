// SPDX-License-Identifier: MIT

/// @file
/// @brief Compute, write, read, compute: four kernels in one stream of a GPU. The I/O kernels use a fixed number of
/// waves; the rest of the GPU stays free. The controller is emulated in this process; rings, doorbells and data lie in
/// host memory that both can access. Exit status 77 without a GPU.
///
/// clang++ -x hip (or nvcc -x cu) -std=c++17 --offload-arch=... stream_io.hip -lpthread
///
/// Usage: stream_io [emulated[:...]] [blocks]

#if defined(__HIP__)
#include <hip/hip_runtime.h>
#else
#include <cuda_runtime.h>
#endif

#include <map>
#include <mutex>

#include <xio/host/emulation/nvme/emulated_spec.hpp>
#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/gpu/find.hpp>
#include <xio/host/gpu/stream.hpp>
#include <xio/host/memory/allocator.hpp>
#include <xio/host/nvme/controller.hpp>

#include "../kernels/stream_io.hpp"

namespace {

__global__ void io(xio::nvme::QueueHandle handle, StreamJob job) { stream_io(handle, job); }
__global__ void produce(uint64_t* words, uint64_t count) { stream_produce(words, count); }
__global__ void consume(const uint64_t* words, uint64_t count, uint64_t* right) { stream_consume(words, count, right); }

#if defined(__HIP__)
hipStream_t make_stream() {
  hipStream_t stream = nullptr;
  return hipStreamCreate(&stream) == hipSuccess ? stream : nullptr;
}
bool finish(hipStream_t stream) { return hipStreamSynchronize(stream) == hipSuccess; }
#else
cudaStream_t make_stream() {
  cudaStream_t stream = nullptr;
  return cudaStreamCreate(&stream) == cudaSuccess ? stream : nullptr;
}
bool finish(cudaStream_t stream) { return cudaStreamSynchronize(stream) == cudaSuccess; }
#endif

/// Host memory that the GPU can also access, for the emulated controller.
struct SharedMemory {
  explicit SharedMemory(std::shared_ptr<xio::host::GpuRuntime> gpu) : allocator(std::move(gpu)) {}
  xio::emulation::MemorySource source() {
    xio::emulation::MemorySource made;
    made.allocate = [this](size_t bytes, size_t alignment) {
      const xio::host::MemoryBuffer buffer =
          allocator.allocate(xio::host::MemoryKind::host_coherent, bytes, alignment);
      const std::lock_guard<std::mutex> lock(mutex);
      addresses.add(buffer);
      buffers[buffer.cpu()] = buffer;
      return buffer.cpu();
    };
    made.release = [this](void* memory) {
      const std::lock_guard<std::mutex> lock(mutex);
      addresses.remove(memory);
      buffers.erase(memory);
    };
    return made;
  }
  template <class T>
  T* for_gpu(T* cpu) const {
    return static_cast<T*>(addresses(cpu));
  }

  xio::host::MemoryAllocator allocator;
  xio::host::ExecutorAddresses addresses;
  std::mutex mutex;
  std::map<void*, xio::host::MemoryBuffer> buffers;
};

bool run(const std::shared_ptr<xio::host::GpuRuntime>& gpu, const std::string& spec, uint32_t blocks) {
  SharedMemory memory(gpu);
  xio::emulation::NvmeConfig config = xio::emulation::parse_emulated_spec(spec).config;
  config.memory = memory.source();
  xio::host::NvmeController controller(std::make_unique<xio::emulation::NvmeController>(config));
  xio::host::QueueOptions options;
  options.clock_hz = gpu->clock_hz();
  options.executor_address = [&memory](void* cpu) { return memory.addresses(cpu); };
  const xio::host::NvmeQueue queue = controller.create_queue(options);
  const xio::nvme::QueueHandle handle = queue.handle();
  const size_t bytes = size_t{blocks} << handle.block_shift;
  const uint64_t words = bytes / sizeof(uint64_t);
  const xio::host::DmaBuffer out = controller.allocate(bytes);
  const xio::host::DmaBuffer in = controller.allocate(bytes);
  const xio::host::DmaBuffer counts = controller.allocate(3 * sizeof(uint64_t));
  uint64_t* const count = memory.for_gpu(counts.as<uint64_t>());

  const xio::host::WaveBudget few{/*waves*/ 4, /*waves_per_block*/ 1, /*lds*/ 0};
  const xio::host::GpuStream stream = make_stream();
  produce<<<64, 256, 0, stream>>>(memory.for_gpu(out.as<uint64_t>()), words);
  launch_io(stream, few, io, handle, StreamJob{true, 0, blocks, out.bus(), count});
  launch_io(stream, few, io, handle, StreamJob{false, 0, blocks, in.bus(), count + 1});
  consume<<<64, 256, 0, stream>>>(memory.for_gpu(in.as<uint64_t>()), words, count + 2);
  if (!finish(stream)) return false;

  const auto* const seen = counts.as<uint64_t>();
  std::printf("%s: %llu blocks written, %llu read, %llu of %llu words right\n", gpu->description().c_str(),
              static_cast<unsigned long long>(seen[0]), static_cast<unsigned long long>(seen[1]),
              static_cast<unsigned long long>(seen[2]), static_cast<unsigned long long>(words));
  return seen[0] == blocks && seen[1] == blocks && seen[2] == words;
}

}  // namespace

int main(int argc, char** argv) try {
  const xio::host::FoundGpu gpu = xio::host::find_gpu();
  if (!gpu.runtime) {
    std::printf("skipped: no GPU here (%s)\n", gpu.why_none.c_str());
    return 77;
  }
  const auto blocks = static_cast<uint32_t>(argc > 2 ? std::stoul(argv[2]) : 256);
  if (run(gpu.runtime, argc > 1 ? argv[1] : "emulated", blocks)) return 0;
  std::fputs("something went wrong\n", stderr);
  return 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
