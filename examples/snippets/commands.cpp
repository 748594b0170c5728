// SPDX-License-Identifier: MIT

/// @file
/// @brief Snippets of the reference: builders of NVMe commands.

#include <vector>

#include <xio/vendors/nvme/encode_more.hpp>
#include <xio/vendors/nvme/ranges.hpp>

#include "drive.hpp"

using namespace xio;
using ThreadQueue = nvme::Queue<Sharing::thread>;

namespace snippets::command_calls {

XIO_KERNEL void read(nvme::QueueHandle handle, Region data, Status* status) {
  ThreadQueue queue(handle);
  const Deadline until = queue.deadline(5_s);
  const uint64_t lba = 0;
  //! [read]
  const Token token = queue.submit(nvme::read(lba, 8), data.at(0, 8 * 512), until);
  *status = queue.wait(token, until);
  //! [read]
}

XIO_KERNEL void write(nvme::QueueHandle handle, Region data, Status* status) {
  ThreadQueue queue(handle);
  const Deadline until = queue.deadline(5_s);
  const uint64_t lba = free_blocks;
  //! [write]
  const Token token = queue.submit(nvme::write(lba, 8).force_unit_access(), data.at(0, 8 * 512), until);
  *status = queue.wait(token, until);
  //! [write]
}

XIO_KERNEL void compare(nvme::QueueHandle handle, Region data, Status* status) {
  ThreadQueue queue(handle);
  const Deadline until = queue.deadline(5_s);
  const uint64_t lba = 8;
  bool same = false;
  //! [compare]
  const Token token = queue.submit(nvme::compare(lba, 8), data.at(0, 8 * 512), until);
  const Status how = queue.wait(token, until);
  if (how.is_ok()) same = true;  // Status::compare_failed: the blocks hold other data
  //! [compare]
  *status = same ? how : Status(Status::compare_failed);
}

XIO_KERNEL void write_zeroes(nvme::QueueHandle handle, Region, Status* status) {
  ThreadQueue queue(handle);
  const Deadline until = queue.deadline(5_s);
  const uint64_t lba = free_blocks;
  //! [write_zeroes]
  const Token token = queue.submit(nvme::write_zeroes(lba, 8).deallocate(), nvme::NoData{}, until);
  *status = queue.wait(token, until);
  //! [write_zeroes]
}

XIO_KERNEL void verify(nvme::QueueHandle handle, Region, Status* status) {
  ThreadQueue queue(handle);
  const Deadline until = queue.deadline(5_s);
  //! [verify]
  const Token token = queue.submit(nvme::verify(0, 1024), nvme::NoData{}, until);  // reads, but transfers no data
  *status = queue.wait(token, until);
  //! [verify]
}

XIO_KERNEL void write_uncorrectable(nvme::QueueHandle handle, Region data, Status* status) {
  ThreadQueue queue(handle);
  const Deadline until = queue.deadline(5_s);
  const uint64_t lba = 100000;
  //! [write_uncorrectable]
  const Token marked = queue.submit(nvme::write_uncorrectable(lba, 1), nvme::NoData{}, until);
  Status how = queue.wait(marked, until);
  if (how.is_ok()) how = queue.wait(queue.read(lba, data.at(0, 512), until), until);  // Status::read_error
  //! [write_uncorrectable]
  *status = how;
}

XIO_KERNEL void zone_append(nvme::QueueHandle handle, Region data, Status* status) {
  ThreadQueue queue(handle);
  const Deadline until = queue.deadline(5_s);
  const uint64_t zone = 0;
  uint64_t lba = ~uint64_t{0};
  //! [zone_append]
  const Token token = queue.submit(nvme::zone_append(zone, 8), data.at(0, 8 * 512), until);
  Status how = queue.wait(token, until);
  if (how.is_ok()) how = queue.result(token, lba);  // the first block written
  //! [zone_append]
  *status = lba != ~uint64_t{0} ? how : Status(Status::device_error);
}

XIO_KERNEL void flush(nvme::QueueHandle handle, Region, Status* status) {
  ThreadQueue queue(handle);
  const Deadline until = queue.deadline(5_s);
  //! [flush]
  const Token token = queue.submit(nvme::flush(), nvme::NoData{}, until);
  *status = queue.wait(token, until);  // writes that had completed before survive a power loss
  //! [flush]
}

XIO_KERNEL void dataset_management(nvme::QueueHandle handle, Region data, Status* status, nvme::DsmRange* ranges) {
  ThreadQueue queue(handle);
  const Deadline until = queue.deadline(5_s);
  //! [dataset_management]
  ranges[0] = {0, /*blocks*/ 8, /*lba*/ 0};  // in the memory of `data`
  ranges[1] = {0, /*blocks*/ 8, /*lba*/ 512};
  const nvme::Command command = nvme::dataset_management(2, nvme::dsm::integral_read);
  const Token token = queue.submit(command, data.at(0, 2 * sizeof(nvme::DsmRange)), until);
  *status = queue.wait(token, until);
  //! [dataset_management]
}

XIO_KERNEL void deallocate(nvme::QueueHandle handle, Region data, Status* status, nvme::DsmRange* ranges) {
  ThreadQueue queue(handle);
  const Deadline until = queue.deadline(5_s);
  const uint64_t lba = free_blocks;
  const uint64_t blocks = 1000;
  //! [deallocate]
  const nvme::CoveredBlocks covered = nvme::cover_ranges(queue.handle(), lba, blocks, ranges);  // as the drive allows
  const uint32_t bytes = covered.ranges * static_cast<uint32_t>(sizeof(nvme::DsmRange));
  const Token token = queue.submit(nvme::deallocate(covered.ranges), data.at(0, bytes), until);
  *status = queue.wait(token, until);
  //! [deallocate]
  if (covered.blocks != blocks) *status = Status::device_error;
}

XIO_KERNEL void copy(nvme::QueueHandle handle, Region data, Status* status, nvme::CopyRange* ranges) {
  ThreadQueue queue(handle);
  const Deadline until = queue.deadline(5_s);
  const uint64_t lba = free_blocks;
  //! [copy]
  ranges[0] = {};  // in the memory of `data`
  ranges[0].lba = 16;
  ranges[0].last_block = 7;  // 8 blocks
  const Token token = queue.submit(nvme::copy(lba, 1), data.at(0, sizeof(nvme::CopyRange)), until);
  *status = queue.wait(token, until);
  //! [copy]
}

XIO_KERNEL void command(nvme::QueueHandle handle, Region data, Status* status) {
  ThreadQueue queue(handle);
  const Deadline until = queue.deadline(5_s);
  const nvme::Opcode opcode = nvme::Opcode::io_management_receive;
  //! [command]
  const nvme::Command command = nvme::command(opcode).dword(10, 1).dword(11, 1023).moves(4096);
  const Token token = queue.submit(command, data.at(0, 4096), until);
  *status = queue.wait(token, until);
  //! [command]
}

XIO_KERNEL void setters(nvme::QueueHandle handle, Region data, Status* status) {
  ThreadQueue queue(handle);
  const Deadline until = queue.deadline(5_s);
  const uint64_t lba = free_blocks;
  //! [setters]
  const nvme::Command command = nvme::write(lba, 8)
                                    .force_unit_access()
                                    .hints(nvme::hint::sequential | nvme::hint::incompressible)
                                    .directive(/*streams*/ 1, /*stream*/ 3);
  //! [setters]
  *status = queue.wait(queue.submit(command, data.at(0, 4096), until), until);
}

XIO_KERNEL void zones(nvme::QueueHandle handle, Region data, Status* status) {
  ThreadQueue queue(handle);
  const Deadline until = queue.deadline(5_s);
  const uint64_t zone = 0;
  //! [zone_management]
  nvme::ZoneSendRequest reset;
  reset.action = nvme::ZoneSendAction::reset;
  reset.zone_lba = zone;
  Status how = queue.wait(queue.submit(nvme::zone_management_send(reset), nvme::NoData{}, until), until);
  nvme::ZoneReceiveRequest report;
  report.zone_lba = zone;
  report.bytes = 4096;
  const Token token = queue.submit(nvme::zone_management_receive(report), data.at(0, 4096), until);
  //! [zone_management]
  const Status second = queue.wait(token, until);
  *status = how.is_ok() ? second : how;
}

XIO_KERNEL void reservations(nvme::QueueHandle handle, Region data, Status* status, uint64_t* keys) {
  ThreadQueue queue(handle);
  const Deadline until = queue.deadline(5_s);
  const uint64_t key = 0x1234;
  //! [reservation]
  keys[0] = 0;  // in the memory of `data`: the current key, and the new one
  keys[1] = key;
  Status how = queue.wait(queue.submit(nvme::reservation_register(0), data.at(0, 16), until), until);
  keys[0] = key;
  if (how.is_ok()) how = queue.wait(queue.submit(nvme::reservation_acquire(0, 1), data.at(0, 16), until), until);
  if (how.is_ok()) how = queue.wait(queue.submit(nvme::reservation_release(0, 1), data.at(0, 8), until), until);
  //! [reservation]
  if (!how.is_ok()) return;
  //! [reservation_report]
  const Token token = queue.submit(nvme::reservation_report(/*bytes*/ 4096), data.at(0, 4096), until);
  *status = queue.wait(token, until);
  //! [reservation_report]
}

XIO_KERNEL void io_management(nvme::QueueHandle handle, Region data, Status* status) {
  ThreadQueue queue(handle);
  const Deadline until = queue.deadline(5_s);
  //! [io_management]
  const nvme::Command command = nvme::io_management_receive(/*reclaim unit handle status*/ 1, 0, 4096);
  const Token token = queue.submit(command, data.at(0, 4096), until);
  *status = queue.wait(token, until);
  //! [io_management]
}

XIO_KERNEL void io_management_send(nvme::QueueHandle handle, Region data, Status* status, uint16_t* identifiers) {
  ThreadQueue queue(handle);
  const Deadline until = queue.deadline(5_s);
  const uint16_t placement = 3;
  //! [io_management_send]
  identifiers[0] = placement;  // in the memory of `data`
  const nvme::Command command = nvme::io_management_send(/*reclaim unit handle update*/ 1, /*handles - 1*/ 0);
  const Token token = queue.submit(command, data.at(0, 2), until);
  *status = queue.wait(token, until);
  //! [io_management_send]
}

void builders() {
  const uint64_t lba = 3;
  const uint64_t bus = 0x1000;
  const uint32_t identifier = 7;
  //! [encode]
  constexpr uint32_t blocks = 8;
  const nvme::Command command = nvme::read(lba, blocks).nsid(1);
  const nvme::Sqe entry = nvme::encode(command, identifier, {bus, 0});  // 64 bytes for the submission queue
  //! [encode]
  check("encode", entry.cdw0 == (0x70002 ^ damage) && entry.prp1 == bus && entry.cdw12 == 7 && entry.nsid == 1);
}

void all() {
  builders();
  Drive drive;
  drive.check_read("read", 8, 1, read);
  drive.check_write("write", 8, 1, write);

  fill(drive.words(), 8 * block_words, 8 * block_words);
  check("compare", drive.run(1, compare));
  std::vector<uint64_t> found(1000 * block_words, 1);
  const auto clean = [&](const char* name, uint64_t blocks) {
    drive.model->read_blocks(1, free_blocks, blocks, found.data());
    uint64_t bits = damage;
    for (uint64_t i = 0; i < blocks * block_words; ++i) bits |= found[i];
    check(name, bits == 0);
  };
  check("write_zeroes", drive.run(1, write_zeroes));
  clean("write_zeroes", 8);
  check("verify", drive.run(1, verify));
  check("write_uncorrectable", !drive.run(1, write_uncorrectable) && drive.status(0) == Status::read_error);
  check("zone_append", drive.run(1, zone_append));
  check("flush", drive.run(1, flush));
  auto* const ranges = reinterpret_cast<nvme::DsmRange*>(drive.executor.address(drive.words()));
  check("dataset_management", drive.run(1, dataset_management, ranges));
  drive.check_write("write", 8, 1, write);
  check("deallocate", drive.run(1, deallocate, ranges));
  clean("deallocate", 1000);
  // The model accepts the data of the other commands and ignores it.
  auto* const sources = reinterpret_cast<nvme::CopyRange*>(drive.executor.address(drive.words()));
  check("copy", drive.run(1, copy, sources));
  check("command", drive.run(1, command));
  check("setters", drive.run(1, setters));
  check("zone_management", drive.run(1, zones));
  check("reservation", drive.run(1, reservations, drive.executor.address(drive.words())));
  check("io_management", drive.run(1, io_management));
  auto* const identifiers = reinterpret_cast<uint16_t*>(drive.executor.address(drive.words()));
  check("io_management_send", drive.run(1, io_management_send, identifiers));
}

const Program program("commands", all);

}  // namespace snippets::command_calls
