// SPDX-License-Identifier: MIT

/// @file
/// @brief Arbitrary bytes in the files in which processes that share a controller with the kernel keep their queues: of
/// the controller's queues only those are deleted that a process which has ended wrote down, and never one of the
/// kernel's or of a process that lives.

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <set>
#include <vector>

#include <xio/host/nvme/kernel_shared.hpp>

#include "fuzz/fuzz.hpp"
#include "unit/host_fake_driver.hpp"

namespace {

using namespace fuzz;
using namespace xio::host;
using host_tests::FakeDriver;

constexpr uint32_t kernel_queues = 9;  // the admin queue and eight others, as the played driver says

/// A file that somebody left there, or still has.
struct Record {
  std::string path;
  std::vector<uint8_t> bytes;
  FileDescriptor lock;   ///< of a process that lives
  bool is_ours = true;   ///< nobody else may write to it
  bool is_named = true;  ///< as files of this controller are

  /// What it says as the format is written down: a magic number, a process, up to 1000 numbers of queues.
  bool names(uint32_t qid) const {
    detail::QueueRecordPage page{};
    if (bytes.size() < sizeof page || !is_ours || !is_named) return false;
    std::memcpy(static_cast<void*>(&page), bytes.data(), sizeof page);
    if (page.magic != 0x3130736b2d6f6978) return false;
    for (const uint32_t one : page.qids)
      if (one == qid) return true;
    return false;
  }
};

Record make_record(Input& input, const FakeDriver& kernel, uint32_t number) {
  Record record;
  const uint8_t how = input.take();
  record.is_named = (how & 0x80) == 0;
  record.path = kernel.huge_folder() + "/xio-" + FakeDriver::address + (record.is_named ? "-" : "") + "dead" +
                std::to_string(number);
  detail::QueueRecordPage page{};
  page.magic = (how & 0x40) != 0 ? input.take<uint64_t>() : detail::QueueRecordPage::known_magic;
  page.process = input.take<uint16_t>();
  const uint32_t queues = input.up_to<uint8_t>(24);
  for (uint32_t i = 0; i < queues; ++i) {
    const uint32_t at = (how & 0x20) != 0 ? input.take<uint16_t>() % detail::QueueRecordPage::room : i;
    page.qids[at] = (how & 0x10) != 0 ? input.take<uint32_t>() : input.take() & 0x4f;
  }
  record.bytes.assign(reinterpret_cast<const uint8_t*>(&page), reinterpret_cast<const uint8_t*>(&page) + sizeof page);
  if ((how & 8) != 0) record.bytes.resize(input.take<uint16_t>());
  if ((how & 4) != 0) record.bytes = input.bytes(256);
  const int fd = ::open(record.path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  expect(fd >= 0, "a record can be made");
  FileDescriptor file(fd, "record");
  expect(::write(fd, record.bytes.data(), record.bytes.size()) == static_cast<ssize_t>(record.bytes.size()), "written");
  record.is_ours = (how & 2) == 0;
  if (!record.is_ours) expect(::fchmod(fd, 0666) == 0, "mode");
  if ((how & 1) != 0) {
    expect(::flock(fd, LOCK_EX | LOCK_NB) == 0, "locked");
    record.lock = std::move(file);
  }
  return record;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto kernel = std::make_shared<FakeDriver>();
  for (const std::string& left : kernel->queue_files()) ::unlink(left.c_str());
  kernel->commands.clear();
  kernel->cqs.clear();
  kernel->sqs.clear();

  Input input(data, size);
  std::vector<Record> records;
  const uint32_t count = input.up_to<uint8_t>(4);
  for (uint32_t i = 0; i < count; ++i) records.push_back(make_record(input, *kernel, i));
  // Some of what is named is there.
  for (uint32_t qid = kernel_queues; qid <= 64; ++qid) {
    kernel->cqs.insert(qid);
    kernel->sqs.insert(qid);
  }

  // What KernelSharedNvme does before it has queues of its own.
  try {
    const KernelSharedOptions options = parse_kernel_shared_spec("/dev/nvme0,passthrough=ioctl");
    const KernelController controller("nvme0", kernel->sysfs());
    detail::KernelSharedAccess access(kernel, controller, options);
    const detail::SharedFolder folder(*kernel, FakeDriver::address);
    const FileDescriptor lock = folder.lock();
    folder.clean([&](uint32_t qid, uint64_t) { access.delete_queue(qid, ""); });
  } catch (const Error& error) {
    expect(error.what()[0] != '\0', "a refusal says why");
  }

  std::set<uint32_t> deleted;
  for (const nvme_passthru_cmd& command : kernel->commands) {
    const auto opcode = static_cast<xio::nvme::AdminOpcode>(command.opcode);
    if (opcode != xio::nvme::AdminOpcode::delete_io_sq && opcode != xio::nvme::AdminOpcode::delete_io_cq) continue;
    // The controller looks at 16 bits.
    expect_same(0, command.cdw10 >> 16, "reserved bits of a deletion");
    deleted.insert(command.cdw10 & 0xffff);
  }
  for (const uint32_t qid : deleted) {
    expect(qid >= kernel_queues, "no queue of the kernel's is deleted");
    bool dead = false;
    for (const Record& record : records) {
      expect(!record.lock || !record.names(qid), "no queue of a process that lives is deleted");
      dead = dead || (!record.lock && record.names(qid));
    }
    expect(dead, "what is deleted stands in the record of a process that has ended");
  }
  for (const Record& record : records)
    expect(!record.lock || !record.is_ours || ::access(record.path.c_str(), F_OK) == 0,
           "the record of a process that lives stays");
  return 0;
}
