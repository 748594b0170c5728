// SPDX-License-Identifier: MIT

/// @file
/// @brief Writes blocks from a kernel, reads them back and compares them: 2 workgroups of 64 threads.
///
/// Usage: write_verify [qemu[:key=value,...] | emulated[:...]]

#include "kernels/write_verify.hpp"

#include <xio/host/simt/simt.hpp>

#include "common.hpp"

int main(int argc, char** argv) {
  return example::run([&] {
    const xio::host::OpenedNvme drive = xio::host::open_nvme(example::argument(argc, argv, 1, "qemu"));
    xio::host::NvmeController& controller = *drive.controller;
    const xio::host::NvmeQueue queue = controller.create_queue();
    const xio::nvme::QueueHandle handle = queue.handle();

    const xio::simt::Grid grid = xio::simt::Grid::of_waves(/*blocks*/ 2, /*waves*/ 1, /*wave_size*/ 64);
    const uint32_t threads = grid.blocks * grid.threads_per_block;
    const xio::host::DmaBuffer data = controller.allocate(size_t{threads} << handle.block_shift);
    const xio::host::DmaBuffer good = controller.allocate(sizeof(uint64_t));

    // On a GPU: write_verify_kernel<<<2, 64>>>(...), a __global__ function that calls the same code.
    xio::simt::launch(grid, write_verify, handle, data.bus(), data.as<uint8_t>(), good.as<uint64_t>());

    const uint64_t right = *good.as<uint64_t>();
    std::printf("%s: %llu of %u blocks came back as they were written\n", controller.transport().description().c_str(),
                static_cast<unsigned long long>(right), threads);
    return right == threads;
  });
}
