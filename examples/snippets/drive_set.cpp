// SPDX-License-Identifier: MIT

/// @file
/// @brief Snippets of the reference: several drives as one address space.

#include <memory>
#include <vector>

#include <xio/device/nvme/drive_set.hpp>

#include "drive.hpp"

using namespace xio;

namespace snippets::drive_set_calls {

constexpr uint32_t drive_count = 3;
constexpr uint32_t stripe_shift = 3;

XIO_KERNEL void submit(nvme::DriveSetHandle set, Status* status, const uint64_t* buses, uint64_t first) {
  const uint32_t i = mine().i;
  const uint64_t block = first + i;
  const uint64_t offset = uint64_t{i} * block_bytes;
  //! [submit]
  nvme::DriveSet<> drives(set, i / arch::wave_size());
  const Deadline until = deadline(5_s);
  // Each drive has its own bus address for the same memory.
  const nvme::ContiguousPages pages{buses[set.locate(block).drive] + offset};
  const nvme::DriveToken token = drives.submit(nvme::read(block, 1), pages, until);
  status[i] = drives.wait(token, until);
  //! [submit]
}

void all() {
  std::vector<std::unique_ptr<host::NvmeController>> controllers;
  std::vector<emulation::NvmeController*> models;
  for (uint32_t i = 0; i < drive_count; ++i) {
    auto drive = std::make_unique<emulation::NvmeController>();
    models.push_back(drive.get());
    controllers.push_back(std::make_unique<host::NvmeController>(std::move(drive)));
  }
  const host::Executor executor = host::default_executor();
  host::NvmeController& one = *controllers[0];
  const host::DmaBuffer data = executor.share(one.allocate(size_t{64} * block_bytes));
  const host::DmaBuffer status = executor.share(one.allocate(64 * sizeof(Status)));
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
  const auto* const list = executor.address(handles.as<const nvme::QueueHandle>());
  //! [DriveSetHandle]
  nvme::DriveSetHandle set;
  set.queues = list;  // the handles of drive_count drives with a queue each, in memory that the kernel reads
  set.drives = drive_count;
  set.queues_per_drive = 1;
  set.stripe_shift = stripe_shift;  // 3: stripes of 8 blocks
  //! [DriveSetHandle]
  uint64_t block = 9;
  //! [locate]
  const nvme::DriveAddress where = set.locate(block);  // block where.lba of drive where.drive
  const bool together = set.in_one_stripe(block, 8);   // false: one command cannot read these 8 blocks
  //! [locate]
  check("locate", where.drive == 1 && where.lba == 1 && !together);

  const uint64_t first = 1000;
  for (uint64_t i = 0; i < 64; ++i) {
    block = first + i;
    uint64_t words[block_words];
    fill(words, block_words, i * block_words);
    models[block / 8 % drive_count]->write_blocks(1, block / 8 / drive_count * 8 + block % 8, 1, words);
  }
  for (auto& result : status.span<Status>()) result = Status::not_ready;
  host::launch(executor, {1, 64}, submit, set, executor.address(status.as<Status>()),
               executor.address(buses.as<const uint64_t>()), first);
  bool good = true;
  for (uint32_t i = 0; i < 64; ++i) good = good && status.as<Status>()[i].is_ok();
  check("submit", good && holds(data.as<uint64_t>(), 64 * block_words, 0));
}

const Program program("drive_set", all);

}  // namespace snippets::drive_set_calls
