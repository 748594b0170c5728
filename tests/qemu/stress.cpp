// SPDX-License-Identifier: MIT

/// @file
/// @brief stress [SECONDS]: eight threads as waves share one queue of QEMU's controller, at a depth of 64, with reads
/// and writes of mixed sizes; every block is stamped and checked. XIO_STRESS_SECONDS sets the time, too.

#include <exception>

#include <xio/host/nvme/qemu.hpp>

#include "emulation/stress.hpp"

int main(int argc, char** argv) {
  using namespace stress;
  try {
    xio::host::QemuOptions options;
    if (xio::host::find_program(xio::host::detail::qemu_binary(options)).empty()) {
      std::printf("skipped: %s is not installed (Debian: qemu-system-x86)\n",
                  xio::host::detail::qemu_binary(options).c_str());
      return 77;
    }
    const double seconds = figure(argc, argv, "XIO_STRESS_SECONDS", 5);
    constexpr uint32_t waves = 8;
    options.backend = xio::host::QemuBackend::uring;
    xio::host::NvmeController controller(std::make_unique<xio::host::QemuNvme>(options));
    QueueOptions wanted;
    wanted.depth = 64;
    wanted.completion_slots = 32768;
    wanted.list_bytes = 256;
    const NvmeQueue queue = controller.create_queue(wanted);
    const DmaBuffer data = controller.allocate(waves * lane_bytes);
    Findings findings;
    const uint64_t start = xio::arch::clock();
    const Job job{queue.handle(),
                  static_cast<unsigned char*>(data.data()),
                  data.bus(),
                  5,
                  0,
                  xio::deadline(xio::Duration{static_cast<uint64_t>(seconds * 1e9)}),
                  &findings};
    xio::simt::launch(Grid::of_waves(waves, 1, 1), kernel<Sharing::grid, xio::Policy<>>, job);
    findings.print(controller.transport().description().c_str(), seconds_since(start));
    Queue<Sharing::grid> view(queue.handle());
    const bool quiet = view.quiet(soon()).is_ok();
    if (!quiet) std::printf("the queue is not quiet in the end\n");
    return findings.clean() && quiet ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
