// SPDX-License-Identifier: MIT

/// @file
/// @brief Where a drive set for a GPU keeps what kernels read.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <xio/host/memory/executor.hpp>
#include <xio/host/nvme/drive_set.hpp>
#include <xio/host/nvme/open.hpp>

#include "catch.hpp"
#include "unit/fake_gpu/support.hpp"

using namespace xio::host;

TEST_CASE("a drive set for a GPU has its handles and bus addresses in the GPU's memory", "[gpu]") {
  const fake_gpu::Machine machine;
  machine->distance = 1 << 24;  // of the host's memory alone
  {
    const std::vector<OpenedNvme> drives = open_nvme_drives({"emulated", "emulated"});
    DriveSetOptions options;
    options.queues_per_drive = 2;
    const NvmeDriveSet set =
        make_drive_set({drives[0].controller.get(), drives[1].controller.get()}, Executor(machine.hip()), options);
    REQUIRE(set.queues().size() == 4);
    for (size_t i = 0; i < 4; ++i) {
      INFO(i);
      CHECK(set.handle().queues[i].sq == set.queues()[i].handle().sq);
      CHECK(set.handle().queues[i].state == set.queues()[i].handle().state);
    }
    const DriveBuffer data = set.allocate(8192);
    for (uint32_t drive = 0; drive < 2; ++drive) CHECK(data.region().bases[drive] == data.region(drive).base);
  }
  CHECK(machine->alive == 0);
}
