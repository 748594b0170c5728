// SPDX-License-Identifier: MIT

/// @file
/// @brief Snippets of the reference: several drives as one address space.

#include <cstring>
#include <vector>

#include <xio/device/nvme/drive_set.hpp>
#include <xio/host/nvme/drive_set.hpp>
#include <xio/host/nvme/open.hpp>

#include "drive.hpp"

using namespace xio;

namespace snippets::drive_set_calls {

constexpr uint32_t drive_count = 3;
constexpr uint32_t stripe_shift = 3;

XIO_KERNEL void submit(nvme::DriveSetHandle set, Status* status, nvme::DriveRegion data, uint64_t first) {
  const uint32_t i = mine().i;
  const uint64_t block = first + i;
  const uint64_t offset = uint64_t{i} * block_bytes;
  //! [submit]
  nvme::DriveSet<> drives(set, i / arch::wave_size());
  const Deadline until = deadline(5_s);
  // Each drive has its own bus address for the same memory.
  const nvme::DriveToken token = drives.submit(nvme::read(block, 1), data.at(offset, block_bytes), until);
  status[i] = drives.wait(token, until);
  //! [submit]
}

XIO_KERNEL void read(nvme::DriveSetHandle set, Status* status, nvme::DriveRegion data, uint64_t first) {
  const uint32_t i = mine().i;
  const uint64_t block = first + i;
  const uint64_t offset = uint64_t{i} * block_bytes;
  const Deadline until = deadline(5_s);
  nvme::DriveSet<> drives(set, i / arch::wave_size());
  //! [DriveRegion]
  const nvme::DriveSpan to = data.at(offset, block_bytes);
  const nvme::DriveToken token = drives.read(block, to, until);
  //! [DriveRegion]
  status[i] = drives.wait(token, until);
}

XIO_KERNEL void test(nvme::DriveSetHandle set, Status* status, nvme::DriveRegion data, uint64_t first) {
  const uint32_t i = mine().i;
  const uint64_t block = first + i;
  const nvme::DriveSpan to = data.at(uint64_t{i} * block_bytes, block_bytes);
  const Deadline until = deadline(5_s);
  //! [test]
  nvme::DriveSet<> drives(set, i / arch::wave_size());
  nvme::DriveToken token = drives.try_submit(nvme::read(block, 1), to);
  while (token.token.status == Status::would_block && !until.passed()) {
    drives.drain();  // completions make room
    token = drives.try_submit(nvme::read(block, 1), to);
  }
  Status how = drives.test(token);
  while (how == Status::pending && !until.passed()) how = drives.test(token);
  //! [test]
  status[i] = how;
}

XIO_KERNEL void whichever(nvme::DriveSetHandle set, Status* status, nvme::DriveRegion data, uint64_t first) {
  const uint32_t i = mine().i;
  const uint32_t other = i ^ 8;  // of another drive
  const nvme::DriveSpan to = data.at(uint64_t{i} * block_bytes, block_bytes);
  const nvme::DriveSpan beside = data.at(uint64_t{other} * block_bytes, block_bytes);
  const Deadline until = deadline(5_s);
  nvme::DriveSet<> drives(set, i / arch::wave_size());
  //! [wait_any]
  const nvme::DriveToken tokens[] = {drives.read(first + i, to, until), drives.read(first + other, beside, until)};
  uint32_t which = 0;
  const Status earlier = drives.wait_any(tokens, 2, until, which);
  const Status later = drives.wait(tokens[1 - which], until);
  //! [wait_any]
  status[i] = earlier.is_ok() ? later : earlier;
}

XIO_KERNEL void ring(nvme::DriveSetHandle set, Status* status, nvme::DriveRegion data, uint64_t first) {
  const uint32_t i = mine().i;
  const nvme::DriveSpan to = data.at(uint64_t{i} * block_bytes, block_bytes);
  const Deadline until = deadline(5_s);
  //! [ring]
  nvme::DriveSet<Sharing::grid, Policy<Deferred<64>>> drives(set, i / arch::wave_size());
  const nvme::DriveToken token = drives.read(first + i, to, until);
  drives.ring();  // now the drives know of it
  //! [ring]
  Status how = drives.test(token);
  while (how == Status::pending && !until.passed()) how = drives.test(token);
  status[i] = how;
}

XIO_KERNEL void count(nvme::DriveSetHandle set, Status* status, nvme::DriveRegion data, uint64_t first,
                      Notification* ended) {
  const uint32_t i = mine().i;
  const nvme::DriveSpan to = data.at(uint64_t{i} * block_bytes, block_bytes);
  //! [wait_count]
  nvme::DriveSet<Sharing::grid, Policy<Notify>> drives(set, i / arch::wave_size());
  //! [deadline]
  const Deadline until = drives.deadline(5_s);
  //! [deadline]
  const nvme::DriveToken token = drives.read(first + i, to, until, Options().notify(*ended));
  const Status waited = drives.wait_count(*ended, 64, until);  // all reads of the kernel, on whichever drive
  //! [wait_count]
  status[i] = token.token.submitted() ? waited : token.token.status;
}

XIO_KERNEL void batch(nvme::DriveSetHandle set, Status* status, nvme::DriveRegion, uint64_t,
                      const nvme::DrivePiece* pieces) {
  const uint32_t i = mine().i;
  const uint32_t wave = i / arch::wave_size();
  const uint32_t count = arch::block_size() < arch::wave_size() ? arch::block_size() : arch::wave_size();
  pieces += wave * count;
  //! [submit_batch]
  nvme::DriveSet<> drives(set, wave);
  const Deadline until = drives.deadline(5_s);
  nvme::DriveToken tokens[drive_count];  // one per drive; all lanes of the wave pass the same other arguments
  (void)drives.submit_batch(nvme::Opcode::read, pieces, count, tokens, until);
  status[i] = drives.wait_batch(tokens, until);  // tells of what was refused, too
  //! [submit_batch]
}

XIO_KERNEL void transfer(nvme::DriveSetHandle set, Status* status, nvme::DriveRegion, uint64_t,
                         const nvme::DrivePiece* pieces, Notification* progress) {
  const uint32_t i = mine().i;
  const uint32_t wave = i / arch::wave_size();
  const uint32_t count = arch::block_size() < arch::wave_size() ? arch::block_size() : arch::wave_size();
  pieces += wave * count;
  progress += wave;
  //! [transfer]
  nvme::DriveSet<Sharing::grid, Policy<Notify>> drives(set, wave);
  status[i] = drives.transfer(nvme::Opcode::read, pieces, count, drives.deadline(5_s), *progress);
  //! [transfer]
}

void all() {
  //! [open_nvme_drives]
  const std::vector<host::OpenedNvme> opened = host::open_nvme_drives({"emulated", "emulated", "emulated"});
  std::vector<host::NvmeController*> controllers;
  for (const host::OpenedNvme& drive : opened) controllers.push_back(drive.controller.get());
  //! [open_nvme_drives]
  const host::Executor executor = host::default_executor();
  host::NvmeController& one = *controllers[0];
  //! [make_drive_set]
  const host::NvmeDriveSet drives = host::make_drive_set(controllers, executor);
  const host::DriveBuffer data = drives.allocate(size_t{64} * block_bytes);
  // host::launch(executor, shape, kernel, drives.handle(), data.region());
  //! [make_drive_set]
  const host::DmaBuffer status = executor.share(one.allocate(64 * sizeof(Status)));
  const auto* const list = drives.handle().queues;
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
    opened[block / 8 % drive_count].emulated->write_blocks(1, block / 8 / drive_count * 8 + block % 8, 1, words);
  }
  const auto run = [&](const char* name, auto kernel, nvme::DriveSetHandle handle, auto... more) {
    for (auto& result : status.span<Status>()) result = Status::not_ready;
    std::memset(data.data(), 0, data.size());
    host::launch(executor, {1, 64}, kernel, handle, executor.address(status.as<Status>()), data.region(), first,
                 more...);
    bool good = true;
    for (uint32_t i = 0; i < 64; ++i) good = good && status.as<Status>()[i].is_ok();
    check(name, good && holds(data.as<uint64_t>(), 64 * block_words, 0));
  };
  run("submit", submit, set);
  run("make_drive_set", submit, drives.handle());
  run("DriveRegion", read, set);
  run("test", test, set);
  run("wait_any", whichever, set);
  const host::DmaBuffer ended = executor.share(one.allocate(65 * sizeof(Notification)));
  std::memset(ended.data(), 0, ended.size());
  const host::DmaBuffer list_of_pieces = executor.share(one.allocate(64 * sizeof(nvme::DrivePiece)));
  auto* const pieces = list_of_pieces.as<nvme::DrivePiece>();
  //! [DrivePiece]
  for (uint64_t i = 0; i < 64; ++i) pieces[i] = {first + i, data.region().at(i * block_bytes, block_bytes)};
  //! [DrivePiece]
  run("submit_batch", batch, set, executor.address(pieces));
  run("transfer", transfer, set, executor.address(pieces), executor.address(ended.as<Notification>() + 1));
  run("wait_count", count, set, executor.address(ended.as<Notification>()));
  run("ring", ring, set);  // the last one: all users of a queue must be Deferred, or none
}

const Program program("drive_set", all);

}  // namespace snippets::drive_set_calls
