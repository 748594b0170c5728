// SPDX-License-Identifier: MIT

/// @file
/// @brief Many waves: a grid reads a drive over several queues, with four commands in flight for each thread.
///
/// Usage: many_waves [blocks]

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/launch.hpp>
#include <xio/host/nvme/controller.hpp>
#include <xio/nvme.hpp>

using namespace xio;

constexpr uint32_t in_flight = 4;  // commands of a thread

// Blocks have at most 64 threads: for as many the compiler may put the tokens into LDS.
XIO_BOUNDED_KERNEL(64)
void read_all(const nvme::QueueHandle* queues, uint32_t count, uint64_t blocks, Region data, uint64_t* failed) {
  const uint32_t thread = arch::block_index() * arch::block_size() + arch::thread_index();
  const uint32_t threads = arch::grid_size() * arch::block_size();
  nvme::Queue<Sharing::grid> queue(queues[thread / arch::wave_size() % count]);  // one queue for all lanes of a wave
  const uint32_t bytes = 1u << queue.handle().block_shift;
  for (uint64_t first = thread; first < blocks; first += uint64_t{threads} * in_flight) {
    const Deadline until = queue.deadline(5_s);
    Token tokens[in_flight];
    for (uint32_t i = 0; i < in_flight; ++i) {
      const uint64_t lba = first + uint64_t{i} * threads;
      const uint64_t place = (uint64_t{thread} * in_flight + i) * bytes;
      if (lba < blocks) tokens[i] = queue.read(lba, data.at(place, bytes), until);
    }
    // Here the blocks would be used.
    if (!queue.wait_all(tokens, in_flight, until).is_ok()) arch::fetch_add<arch::Scope::system>(failed, uint64_t{1});
  }
}

int main(int argc, char** argv) try {
  constexpr uint32_t queue_count = 4;
  constexpr host::LaunchShape shape{16, 64};
  host::NvmeController controller(std::make_unique<emulation::NvmeController>());
  const host::Executor executor = host::default_executor();
  std::vector<host::NvmeQueue> queues;
  const host::DmaBuffer handles = executor.share(controller.allocate(queue_count * sizeof(nvme::QueueHandle)));
  for (uint32_t i = 0; i < queue_count; ++i) {
    queues.push_back(controller.create_queue(on(executor)));
    handles.as<nvme::QueueHandle>()[i] = queues.back().handle();
  }
  const size_t bytes = size_t{shape.blocks} * shape.threads * in_flight << queues[0].handle().block_shift;
  const host::DmaBuffer data = executor.share(controller.allocate(bytes));
  const host::DmaBuffer failed = executor.share(controller.allocate(sizeof(uint64_t)));
  const uint64_t blocks = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 16384;
  host::launch(executor, shape, read_all, executor.address(handles.as<const nvme::QueueHandle>()), queue_count, blocks,
               data.region(), executor.address(failed.as<uint64_t>()));
  std::printf("%llu blocks over %u queues, %llu failures\n", static_cast<unsigned long long>(blocks), queue_count,
              static_cast<unsigned long long>(*failed.as<uint64_t>()));
  return *failed.as<uint64_t>() == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
