// SPDX-License-Identifier: MIT

/// @file
/// @brief One kernel reads blocks from a drive and writes them to a peer, once per NIC vendor. The NICs are emulated.
///
/// Usage: nvme_to_rdma [qemu[:key=value,...] | emulated[:...]] [blocks for each thread]

#include "kernels/nvme_to_rdma.hpp"

#include <cstring>
#include <xio/host/simt/simt.hpp>

#include "common.hpp"
#include "peers.hpp"

namespace {

template <class Kit>
bool copy_with(xio::host::NvmeController& controller, uint32_t blocks) {
  const xio::simt::Grid grid = xio::simt::Grid::of_waves(/*blocks*/ 2, /*waves*/ 1, /*wave_size*/ 8);
  const uint32_t threads = grid.blocks * grid.threads_per_block;
  const xio::host::NvmeQueue queue = controller.create_queue();
  const xio::nvme::QueueHandle drive = queue.handle();
  const size_t bytes = (size_t{threads} * blocks) << drive.block_shift;
  const xio::host::DmaBuffer data = controller.allocate(bytes);
  auto* const memory = static_cast<unsigned char*>(data.data());

  // Contents of the drive: each block has its own pattern.
  for (size_t i = 0; i < bytes; ++i) memory[i] = static_cast<unsigned char>((i >> 9) * 31 + i);
  xio::nvme::Queue<xio::Sharing::thread> writer(drive);
  const auto until = xio::deadline(xio::Duration{2000000000});
  const xio::Token filled =
      writer.submit(xio::nvme::write(0, threads * blocks), xio::nvme::ContiguousPages{data.bus()}, until);
  if (!writer.wait(filled, until).is_ok()) return false;
  const std::vector<unsigned char> expected(memory, memory + bytes);
  std::memset(memory, 0, bytes);

  example::Peers<Kit> peers(bytes, memory);
  const xio::host::NvmeQueue shared = controller.create_queue();
  std::vector<xio::Status> results(threads);
  xio::simt::launch(grid, nvme_to_rdma<typename Kit::Vendor>, shared.handle(), peers.queue.handle(), data.bus(),
                    peers.local(), peers.remote(), blocks, results.data());

  uint32_t good = 0;
  for (const xio::Status status : results) good += status.is_ok() ? 1 : 0;
  const bool same = peers.far == expected;
  std::printf("%-6s %u of %u threads, %s\n", Kit::Vendor::name, good, threads,
              same ? "all arrived" : "something is missing");
  return good == threads && same;
}

}  // namespace

int main(int argc, char** argv) {
  return example::run([&] {
    const xio::host::OpenedNvme drive = xio::host::open_nvme(example::argument(argc, argv, 1, "qemu"));
    xio::host::NvmeController& controller = *drive.controller;
    const auto blocks = static_cast<uint32_t>(std::stoul(example::argument(argc, argv, 2, "8")));
    return xio::emulation::all_kits([&](auto kit) { return copy_with<decltype(kit)>(controller, blocks); });
  });
}
