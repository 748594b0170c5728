// SPDX-License-Identifier: MIT

/// @file
/// @brief A batch that the 64 lanes of a wave submit and complete together.
///
/// Usage: wave_batch [qemu[:key=value,...] | emulated[:...]] [pieces]

#include "kernels/wave_batch.hpp"

#include <xio/host/simt/simt.hpp>

#include "common.hpp"

int main(int argc, char** argv) {
  return example::run([&] {
    const xio::host::OpenedNvme drive = xio::host::open_nvme(example::argument(argc, argv, 1, "qemu"));
    xio::host::NvmeController& controller = *drive.controller;
    const auto count = static_cast<uint32_t>(std::stoul(example::argument(argc, argv, 2, "200")));
    xio::host::QueueOptions options;
    options.depth = 256;  // the longest batch
    const xio::host::NvmeQueue queue = controller.create_queue(options);

    const xio::host::DmaBuffer data = controller.allocate(size_t{count} * 4096);
    const xio::host::DmaBuffer pieces = controller.allocate(count * sizeof(xio::nvme::Piece));
    const xio::host::DmaBuffer result = controller.allocate(sizeof(xio::Status));

    // On a GPU: wave_batch_kernel<<<1, 64>>>(...), a __global__ function that calls the same code.
    xio::simt::launch(xio::simt::Grid::of_waves(/*blocks*/ 1, /*waves*/ 1, /*wave_size*/ 64), wave_batch,
                      queue.handle(), pieces.as<xio::nvme::Piece>(), count, data.bus(), result.as<xio::Status>());

    const xio::Status status = *result.as<xio::Status>();
    std::printf("%s: a batch of %u pieces: %s\n", controller.transport().description().c_str(), count,
                xio::name(status.code));
    return status.is_ok();
  });
}
