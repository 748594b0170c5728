// SPDX-License-Identifier: MIT

/// @file
/// @brief Checksums a file directly from the SSD by a grid of waves; the CPU checksums its own copy for comparison.
///
/// Usage: checksum_file [qemu | emulated] [file] [damage]     the file is copied, never written to

#include "kernels/checksum_file.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include <xio/host/simt/simt.hpp>

#include "common.hpp"

struct TemporaryFile {
  std::filesystem::path path;
  ~TemporaryFile() { std::filesystem::remove(path); }
};

int main(int argc, char** argv) {
  return example::run([&] {
    const std::string kind = example::argument(argc, argv, 1, "qemu");
    const std::filesystem::path file = example::argument(argc, argv, 2, "/proc/self/exe");
    std::ifstream stream(file, std::ios::binary);
    std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
    if (!stream.is_open() || bytes.empty()) throw xio::host::Error("cannot read " + file.string());
    const uint64_t pages = (bytes.size() + 4095) / 4096;
    bytes.resize(pages * 4096);  // zeros fill the last page
    const uint64_t wanted = checksum(reinterpret_cast<const uint64_t*>(bytes.data()), 0, bytes.size() / 8);

    // The drive gets a copy; with "damage", one bit of it is inverted.
    if (example::argument(argc, argv, 3, "") == "damage") bytes[bytes.size() / 2] ^= 1;
    const TemporaryFile image{std::filesystem::temp_directory_path() / ("checksum_file." + std::to_string(::getpid()))};
    std::ofstream(image.path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    const xio::host::OpenedNvme drive =
        xio::host::open_nvme(kind + (kind == "emulated" ? ":size=1G" : ":image=" + image.path.string()));
    if (drive.emulated != nullptr) drive.emulated->write_blocks(1, 0, bytes.size() / 512, bytes.data());

    xio::host::NvmeController& controller = *drive.controller;
    const xio::host::NvmeQueue queue = controller.create_queue();
    const xio::simt::Grid grid = xio::simt::Grid::of_waves(/*blocks*/ 2, /*waves*/ 2, /*wave_size*/ 32);
    const xio::host::DmaBuffer data = controller.allocate(size_t{grid.blocks} * grid.threads_per_block * 4096);
    const xio::host::DmaBuffer sums = controller.allocate(2 * sizeof(uint64_t));
    // On a GPU: checksum_pages_kernel<<<2, 64>>>(...), a __global__ function that calls the same code.
    xio::simt::launch(grid, checksum_pages, queue.handle(), pages, data.bus(), data.as<uint8_t>(), sums.as<uint64_t>(),
                      sums.as<uint64_t>(8));

    const uint64_t found = *sums.as<uint64_t>();
    std::printf("%s: %016llx from the drive, %016llx from the file, %llu pages\n",
                controller.transport().description().c_str(), static_cast<unsigned long long>(found),
                static_cast<unsigned long long>(wanted), static_cast<unsigned long long>(pages));
    return found == wanted && *sums.as<uint64_t>(8) == 0;
  });
}
