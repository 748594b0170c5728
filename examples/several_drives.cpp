// SPDX-License-Identifier: MIT

/// @file
/// @brief Several drives as one address space: each thread writes a block of the set and reads it back.
///
/// Usage: several_drives [first block]

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <xio/device/nvme/drive_set.hpp>
#include <xio/host/launch.hpp>
#include <xio/host/nvme/drive_set.hpp>
#include <xio/host/nvme/open.hpp>
#include <xio/nvme.hpp>

using namespace xio;

XIO_KERNEL void write_and_read(nvme::DriveSetHandle set, uint64_t first, nvme::DriveRegion memory, uint64_t* data,
                               Status* status) {
  const uint32_t thread = arch::block_index() * arch::block_size() + arch::thread_index();
  nvme::DriveSet<> drives(set, thread / arch::wave_size());
  const uint64_t block = first + thread;
  const nvme::DriveSpan mine = memory.at(uint64_t{thread} * 512, 512);
  uint64_t* const word = data + uint64_t{thread} * 64;
  const Deadline until = deadline(1_s);
  *word = block;
  status[thread] = drives.wait(drives.write(block, mine, until), until);
  *word = ~uint64_t{0};
  const Status read = drives.wait(drives.read(block, mine, until), until);
  if (status[thread].is_ok()) status[thread] = read;
}

int main(int argc, char** argv) try {
  constexpr uint32_t drive_count = 3;
  constexpr uint32_t threads = 64;
  const host::Executor executor = host::default_executor();
  std::vector<host::OpenedNvme> drives;
  std::vector<host::NvmeController*> controllers;
  for (uint32_t i = 0; i < drive_count; ++i) {
    drives.push_back(host::open_nvme("emulated"));
    controllers.push_back(drives.back().controller.get());
  }
  const host::NvmeDriveSet drive_set = host::make_drive_set(controllers, executor);  // stripes of 8 blocks
  const host::DriveBuffer data = drive_set.allocate(threads * 512);
  const host::DmaBuffer status = executor.share(controllers[0]->allocate(threads * sizeof(Status)));
  const nvme::DriveSetHandle set = drive_set.handle();
  const uint64_t first = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 0;
  host::launch(executor, {1, threads}, write_and_read, set, first, data.region(), executor.address(data.as<uint64_t>()),
               executor.address(status.as<Status>()));
  bool good = true;
  for (uint32_t i = 0; i < threads; ++i) {
    const Status how = status.as<Status>()[i];
    good = good && how.is_ok() && data.as<uint64_t>()[uint64_t{i} * 64] == first + i;
    const nvme::DriveAddress where = set.locate(first + i);
    if (i % 16 == 0)
      std::printf("block %u: block %llu of drive %u: %s\n", i, static_cast<unsigned long long>(where.lba), where.drive,
                  name(how.code));
  }
  return good ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
