// SPDX-License-Identifier: MIT

/// @file
/// @brief Reads blocks from a kernel: 2 workgroups of 32 threads, one command per thread.
///
/// Usage: read_blocks [qemu[:key=value,...] | emulated[:...]] [first LBA]

#include "kernels/read_blocks.hpp"

#include <xio/host/simt/simt.hpp>

#include "common.hpp"

int main(int argc, char** argv) {
  return example::run([&] {
    const xio::host::OpenedNvme drive = xio::host::open_nvme(example::argument(argc, argv, 1, "qemu"));
    xio::host::NvmeController& controller = *drive.controller;
    const uint64_t first_lba = std::stoull(example::argument(argc, argv, 2, "0"));
    const xio::host::NvmeQueue queue = controller.create_queue();
    const xio::nvme::QueueHandle handle = queue.handle();

    const xio::simt::Grid grid = xio::simt::Grid::of_waves(/*blocks*/ 2, /*waves*/ 1, /*wave_size*/ 32);
    const uint32_t threads = grid.blocks * grid.threads_per_block;
    const uint32_t blocks = 8;
    const xio::host::DmaBuffer data = controller.allocate((size_t{threads} * blocks) << handle.block_shift);
    const xio::host::DmaBuffer results = controller.allocate(threads * sizeof(xio::Status));

    // On a GPU: read_blocks_kernel<<<2, 32>>>(...), a __global__ function that calls the same code.
    xio::simt::launch(grid, read_blocks, handle, first_lba, blocks, data.region(), results.as<xio::Status>());

    uint32_t good = 0;
    xio::Status first_error;
    for (const xio::Status status : results.span<xio::Status>()) {
      if (status.is_ok()) ++good;
      if (first_error.is_ok()) first_error = status;
    }
    std::printf("%s: %u of %u reads of %u blocks, %s\n", controller.transport().description().c_str(), good, threads,
                blocks, xio::name(first_error.code));
    return good == threads;
  });
}
