// SPDX-License-Identifier: MIT
// Each thread of a kernel reads one block of a drive; the host prints the first bytes of the blocks. The same source
// runs on the CPU and on GPUs.
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/launch.hpp>
#include <xio/host/nvme/controller.hpp>
#include <xio/nvme.hpp>

using namespace xio;

XIO_KERNEL void read_blocks(nvme::QueueHandle handle, uint64_t first, Region data, Status* status) {
  nvme::Queue<Sharing::grid> queue(handle);  // all threads share it
  const uint32_t i = arch::block_index() * arch::block_size() + arch::thread_index();
  const uint32_t bytes = 1u << handle.block_shift;
  const Deadline until = queue.deadline(1_s);
  const Token token = queue.read(first + i, data.at(uint64_t{i} * bytes, bytes), until);
  status[i] = queue.wait(token, until);  // ok, or the error
}

int main(int argc, char** argv) try {
  auto drive = std::make_unique<emulation::NvmeController>();  // or host::QemuNvme, host::VfioNvme
  host::NvmeController controller(std::move(drive));
  const host::Executor executor = host::default_executor();  // the CPU, or a GPU if compiled for one
  const host::NvmeQueue queue = controller.create_queue(on(executor));
  const host::DmaBuffer data = executor.share(controller.allocate(64 * 4096));
  const host::DmaBuffer status = executor.share(controller.allocate(64 * sizeof(Status)));
  const uint64_t first = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 0;
  host::launch(executor, {2, 32}, read_blocks, queue.handle(), first, data.region(),
               executor.address(status.as<Status>()));
  bool good = true;
  for (uint32_t i = 0; i < 64; ++i) {
    const Status how = status.span<Status>()[i];
    good = good && how.is_ok();
    const auto* const block = data.as<unsigned char>(size_t{i} << queue.handle().block_shift);
    if (i % 16 == 0) std::printf("block %u: %s, %02x %02x ...\n", i, name(how.code), block[0], block[1]);
  }
  if (!good) throw host::Error("some blocks could not be read");
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
