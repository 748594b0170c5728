// SPDX-License-Identifier: MIT

/// @file
/// @brief Batches: a wave reads a list of pieces as one operation, and a list of any length through a full queue.
///
/// Usage: batch [pieces]

#include <cstdio>
#include <cstdlib>
#include <memory>

#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/launch.hpp>
#include <xio/host/nvme/controller.hpp>
#include <xio/nvme.hpp>

using namespace xio;

XIO_KERNEL void read_batch(nvme::QueueHandle handle, const nvme::Piece* pieces, uint32_t count, Status* status) {
  nvme::Queue<Sharing::wave> queue(handle);
  const Deadline until = queue.deadline(1_s);
  const Token batch = queue.submit_batch(nvme::Opcode::read, pieces, count, until);
  *status = queue.wait_batch(batch, until);
}

XIO_KERNEL void read_any(nvme::QueueHandle handle, const nvme::Piece* pieces, uint32_t count, Notification* progress,
                         Status* status) {
  nvme::Queue<Sharing::wave, Policy<Notify>> queue(handle);
  *status = queue.transfer(nvme::Opcode::read, pieces, count, queue.deadline(5_s), *progress);
}

int main(int argc, char** argv) try {
  const auto count = static_cast<uint32_t>(argc > 1 ? std::strtoul(argv[1], nullptr, 0) : 1000);
  host::NvmeController controller(std::make_unique<emulation::NvmeController>());
  const host::Executor executor = host::default_executor();
  const host::NvmeQueue queue = controller.create_queue(on(executor));
  const nvme::QueueHandle handle = queue.handle();
  const host::DmaBuffer data = executor.share(controller.allocate(size_t{count} * 4096));
  const host::DmaBuffer pieces = executor.share(controller.allocate(count * sizeof(nvme::Piece)));
  const host::DmaBuffer progress = executor.share(controller.allocate(sizeof(Notification)));
  const host::DmaBuffer status = executor.share(controller.allocate(sizeof(Status)));
  const uint32_t blocks = 4096u >> handle.block_shift;  // of a piece
  for (uint32_t i = 0; i < count; ++i)
    pieces.as<nvme::Piece>()[i] = {uint64_t{count - 1 - i} * blocks, data.bus() + uint64_t{i} * 4096, blocks};

  const host::LaunchShape one_wave{1, executor.wave_size()};  // more waves cannot use a queue with Sharing::wave
  const uint32_t few = count < handle.depth ? count : handle.depth;
  host::launch(executor, one_wave, read_batch, handle, executor.address(pieces.as<const nvme::Piece>()), few,
               executor.address(status.as<Status>()));
  std::printf("a batch of %u: %s\n", few, name(status.as<Status>()->code));
  bool good = status.as<Status>()->is_ok();
  host::launch(executor, one_wave, read_any, handle, executor.address(pieces.as<const nvme::Piece>()), count,
               executor.address(progress.as<Notification>()), executor.address(status.as<Status>()));
  std::printf("a transfer of %u: %s, %llu ended\n", count, name(status.as<Status>()->code),
              static_cast<unsigned long long>(progress.as<Notification>()->done));
  good = good && status.as<Status>()->is_ok();
  return good ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
