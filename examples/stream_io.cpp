// SPDX-License-Identifier: MIT

/// @file
/// @brief Compute, write, read, compute: four kernels in one stream; stream order is the only synchronisation. The I/O
/// kernels use a fixed number of waves. gpu/stream_io.hip is the same program on a GPU.
///
/// Usage: stream_io [qemu[:key=value,...] | emulated[:...]] [blocks]

#include "kernels/stream_io.hpp"

#include <xio/host/simt/host_stream.hpp>

#include "common.hpp"

namespace {

void io(const xio::nvme::QueueHandle& handle, StreamJob job) { stream_io(handle, job); }
void produce(uint64_t* words, uint64_t count) { stream_produce(words, count); }
void consume(const uint64_t* words, uint64_t count, uint64_t* right) { stream_consume(words, count, right); }

}  // namespace

int main(int argc, char** argv) {
  return example::run([&] {
    const xio::host::OpenedNvme drive = xio::host::open_nvme(example::argument(argc, argv, 1, "qemu"));
    xio::host::NvmeController& controller = *drive.controller;
    const auto blocks = static_cast<uint32_t>(std::stoul(example::argument(argc, argv, 2, "256")));
    const xio::host::NvmeQueue queue = controller.create_queue();
    const xio::nvme::QueueHandle handle = queue.handle();
    const size_t bytes = size_t{blocks} << handle.block_shift;
    const uint64_t words = bytes / sizeof(uint64_t);
    const xio::host::DmaBuffer out = controller.allocate(bytes);
    const xio::host::DmaBuffer in = controller.allocate(bytes);
    const xio::host::DmaBuffer counts = controller.allocate(3 * sizeof(uint64_t));
    auto* const count = counts.as<uint64_t>();

    const xio::host::WaveBudget few{/*waves*/ 2, /*waves_per_block*/ 1, /*lds*/ 0};
    xio::host::HostStream stream(/*wave_size*/ 8);
    launch_io(stream, few, produce, out.as<uint64_t>(), words);
    launch_io(stream, few, io, handle, StreamJob{true, 0, blocks, out.bus(), count});
    launch_io(stream, few, io, handle, StreamJob{false, 0, blocks, in.bus(), count + 1});
    launch_io(stream, few, consume, in.as<uint64_t>(), words, count + 2);
    stream.synchronize();

    std::printf("%s: %llu blocks written, %llu read, %llu of %llu words right\n",
                controller.transport().description().c_str(), static_cast<unsigned long long>(count[0]),
                static_cast<unsigned long long>(count[1]), static_cast<unsigned long long>(count[2]),
                static_cast<unsigned long long>(words));
    return count[0] == blocks && count[1] == blocks && count[2] == words;
  });
}
