// SPDX-License-Identifier: MIT

/// @file
/// @brief Notifications: waves that read go on without waiting, and another wave is told when all reads have ended.
///
/// Usage: notifications [first LBA]

#include <cstdio>
#include <cstdlib>
#include <memory>

#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/launch.hpp>
#include <xio/host/nvme/controller.hpp>
#include <xio/nvme.hpp>

using namespace xio;

XIO_KERNEL void produce_and_consume(nvme::QueueHandle handle, uint64_t first, Region data, Notification* ended,
                                    Status* status) {
  nvme::Queue<Sharing::grid, Policy<Notify>> queue(handle);
  const Deadline until = queue.deadline(1_s);
  const uint32_t readers = (arch::grid_size() - 1) * arch::block_size();
  const uint32_t thread = arch::block_index() * arch::block_size() + arch::thread_index();
  if (thread < readers) {  // all blocks but the last: each thread's read counts in `ended`, and nobody keeps its token
    const uint32_t bytes = 1u << handle.block_shift;
    const Token token =
        queue.read(first + thread, data.at(uint64_t{thread} * bytes, bytes), until, Options().notify(*ended));
    if (!token.submitted()) *status = token.status;
  } else {  // the last one takes completions until all have ended
    const Status waited = queue.wait_count(*ended, readers, until);  // then the data of the reads is visible
    if (!waited.is_ok()) *status = waited;
  }
}

int main(int argc, char** argv) try {
  constexpr uint32_t readers = 3 * 64;
  host::NvmeController controller(std::make_unique<emulation::NvmeController>());
  const host::Executor executor = host::default_executor();
  const host::NvmeQueue queue = controller.create_queue(on(executor));
  const host::DmaBuffer data = executor.share(controller.allocate(size_t{readers} << queue.handle().block_shift));
  const host::DmaBuffer ended = executor.share(controller.allocate(sizeof(Notification)));
  const host::DmaBuffer status = executor.share(controller.allocate(sizeof(Status)));
  const uint64_t first = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 0;
  host::launch(executor, {4, 64}, produce_and_consume, queue.handle(), first, data.region(),
               executor.address(ended.as<Notification>()), executor.address(status.as<Status>()));
  const Notification& counted = *ended.as<Notification>();
  std::printf("%s: %llu reads ended, %llu of them with an error\n", name(status.as<Status>()->code),
              static_cast<unsigned long long>(counted.done), static_cast<unsigned long long>(counted.failed));
  return status.as<Status>()->is_ok() && counted.failed == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
