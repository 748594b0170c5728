// SPDX-License-Identifier: MIT

/// @file
/// @brief Several drives as one address space: each thread writes a block of the set and reads it back.
///
/// Usage: several_drives [first block]

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include <xio/device/nvme/drive_set.hpp>
#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/launch.hpp>
#include <xio/host/nvme/controller.hpp>
#include <xio/nvme.hpp>

using namespace xio;

XIO_KERNEL void write_and_read(nvme::DriveSetHandle set, uint64_t first, const uint64_t* buses, uint64_t* data,
                               Status* status) {
  const uint32_t thread = arch::block_index() * arch::block_size() + arch::thread_index();
  nvme::DriveSet<> drives(set, thread / arch::wave_size());
  const uint64_t block = first + thread;
  // The bus address of the same memory may differ from drive to drive.
  const nvme::ContiguousPages pages{buses[set.locate(block).drive] + uint64_t{thread} * 512};
  uint64_t* const word = data + uint64_t{thread} * 64;
  const Deadline until = deadline(1_s);
  *word = block;
  status[thread] = drives.wait(drives.submit(nvme::write(block, 1), pages, until), until);
  *word = ~uint64_t{0};
  const Status read = drives.wait(drives.submit(nvme::read(block, 1), pages, until), until);
  if (status[thread].is_ok()) status[thread] = read;
}

int main(int argc, char** argv) try {
  constexpr uint32_t drive_count = 3;
  constexpr uint32_t threads = 64;
  const host::Executor executor = host::default_executor();
  std::vector<std::unique_ptr<host::NvmeController>> controllers;
  for (uint32_t i = 0; i < drive_count; ++i)
    controllers.push_back(std::make_unique<host::NvmeController>(std::make_unique<emulation::NvmeController>()));
  host::NvmeController& one = *controllers[0];
  const host::DmaBuffer data = executor.share(one.allocate(threads * 512));
  const host::DmaBuffer status = executor.share(one.allocate(threads * sizeof(Status)));
  const host::DmaBuffer buses = executor.share(one.allocate(drive_count * sizeof(uint64_t)));
  const host::DmaBuffer handles = executor.share(one.allocate(drive_count * sizeof(nvme::QueueHandle)));
  std::vector<host::NvmeQueue> queues;
  std::vector<host::DmaBuffer> mapped;
  for (uint32_t i = 0; i < drive_count; ++i) {
    queues.push_back(controllers[i]->create_queue(on(executor)));
    handles.as<nvme::QueueHandle>()[i] = queues[i].handle();
    if (i != 0) mapped.push_back(controllers[i]->transport().map_memory(data.data(), data.size(), nullptr));
    buses.as<uint64_t>()[i] = i == 0 ? data.bus() : mapped.back().bus();
  }
  const nvme::DriveSetHandle set{executor.address(handles.as<const nvme::QueueHandle>()), drive_count,
                                 /*queues_per_drive*/ 1, /*stripe_shift*/ 3};
  const uint64_t first = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 0;
  host::launch(executor, {1, threads}, write_and_read, set, first, executor.address(buses.as<const uint64_t>()),
               executor.address(data.as<uint64_t>()), executor.address(status.as<Status>()));
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
