// SPDX-License-Identifier: MIT

/// @file
/// @brief A controller by vfio that fails, is reset, and is wanted back by the kernel. Overwrites blocks of the
/// controller that XIO_VFIO_TEST names (vfio:BDF); skipped where it names none. Last, the kernel removes the device.

#include <sys/mman.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include <xio/device/nvme/queue.hpp>
#include <xio/host/linux/child_process.hpp>
#include <xio/host/nvme/controller.hpp>
#include <xio/host/nvme/vfio.hpp>

#include "catch.hpp"
#include "skip.hpp"
#include "unit/host_support.hpp"

using namespace xio::host;
namespace nvme = xio::nvme;

namespace {

/// What the tests work on; empty where there is nothing.
std::string controller_spec() {
  const char* const spec = std::getenv("XIO_VFIO_TEST");
  if (spec == nullptr) xio_tests::skip("XIO_VFIO_TEST names no controller whose blocks may be overwritten");
  return spec == nullptr ? "" : spec;
}

struct Drive {
  explicit Drive(const std::string& spec) : Drive(std::make_unique<VfioNvme>(parse_vfio_spec(spec))) {}

  VfioNvme* vfio;
  NvmeController controller;

 private:
  explicit Drive(std::unique_ptr<VfioNvme> transport) : vfio(transport.get()), controller(std::move(transport)) {}
};

xio::Status transfer(const NvmeQueue& from, const nvme::Command& command, uint64_t bus) {
  nvme::Queue<xio::Sharing::thread> queue(from.handle());
  const xio::Deadline until = xio::deadline(xio::Duration{20000000000});
  return queue.wait(queue.submit(command, nvme::ContiguousPages{bus}, until), until);
}

/// Writes a word to block `lba`, reads it back into other memory.
void round_trip(Drive& drive, const NvmeQueue& queue, uint64_t lba, uint32_t word) {
  const uint32_t bytes = 1u << queue.handle().block_shift;
  const DmaBuffer out = drive.controller.allocate(bytes);
  const DmaBuffer in = drive.controller.allocate(bytes);
  *out.as<uint32_t>(bytes - 4) = word;
  REQUIRE(transfer(queue, nvme::write(lba, 1), out.bus()).is_ok());
  REQUIRE(transfer(queue, nvme::read(lba, 1), in.bus()).is_ok());
  CHECK(std::memcmp(out.data(), in.data(), bytes) == 0);
}

/// Makes the controller fetch commands from where there is no memory.
void break_controller(Drive& drive, uint32_t qid) {
  const DmaBuffer ring = drive.controller.allocate(4096);
  nvme::CompletionQueueRequest cq;
  cq.qid = qid;
  cq.entries = 16;
  drive.controller.execute(nvme::create_io_cq(cq), {ring.bus(), 0});
  nvme::SubmissionQueueRequest sq;
  sq.qid = qid;
  sq.cqid = qid;
  sq.entries = 16;
  drive.controller.execute(nvme::create_io_sq(sq), {uint64_t{0x7000000000}, 0});
  drive.vfio->ring(nvme::sq_tail_doorbell(qid, drive.controller.capabilities().dstrd()), 1);
  REQUIRE(host_tests::eventually([&] { return drive.controller.status().cfs(); }));
}

}  // namespace

TEST_CASE("a controller that reports a fatal status is recovered", "[guest]") {
  const std::string spec = controller_spec();
  if (spec.empty()) return;
  Drive drive(spec);
  const NvmeQueue queue = drive.controller.create_queue();
  round_trip(drive, queue, 7, 0x11111111);
  for (int i = 0; i < 3; ++i) {
    break_controller(drive, 9);
    drive.controller.recover();
    CHECK(queue.generation() == static_cast<uint64_t>(i) + 2);
    round_trip(drive, queue, 8, 0x22222222u + static_cast<uint32_t>(i));
  }
}

TEST_CASE("a device that was reset by its bus is recovered", "[guest]") {
  const std::string spec = controller_spec();
  if (spec.empty()) return;
  Drive drive(spec);
  const NvmeQueue queue = drive.controller.create_queue();
  round_trip(drive, queue, 9, 0x33333333);
  REQUIRE(drive.vfio->reset_device());
  CHECK_FALSE(drive.controller.status().rdy());
  drive.controller.recover();
  round_trip(drive, queue, 10, 0x44444444);
}

TEST_CASE("the controller reaches memory of the caller's, and only so long", "[guest]") {
  const std::string spec = controller_spec();
  if (spec.empty()) return;
  Drive drive(spec);
  const NvmeQueue queue = drive.controller.create_queue();
  const uint32_t bytes = 1u << queue.handle().block_shift;
  constexpr size_t room = 65536;
  void* const memory = ::mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  auto* const words = static_cast<uint32_t*>(memory);
  round_trip(drive, queue, 11, 0x55555555);
  DmaBuffer mine = drive.vfio->map(memory, room);
  const uint64_t bus = mine.bus();
  REQUIRE(transfer(queue, nvme::read(11, 1), bus).is_ok());
  CHECK(words[bytes / 4 - 1] == 0x55555555);
  words[bytes / 4 - 1] = 0;
  mine = DmaBuffer();
  // Whatever the controller says of it: nothing arrives.
  (void)transfer(queue, nvme::read(11, 1), bus);
  CHECK(words[bytes / 4 - 1] == 0);
  ::munmap(memory, room);
}

TEST_CASE("z: the kernel gets the device back when it asks for it", "[guest]") {
  const std::string spec = controller_spec();
  if (spec.empty()) return;
  std::string address;
  std::unique_ptr<ChildProcess> removal;
  {
    Drive drive(spec);
    const NvmeQueue queue = drive.controller.create_queue();
    round_trip(drive, queue, 12, 0x66666666);
    address = drive.vfio->pci().address();
    CHECK(drive.vfio->alive());
    ChildCommand command;
    command.program = "/bin/sh";
    command.arguments = {"-c", "echo 1 >/sys/bus/pci/devices/" + address + "/remove"};
    removal = std::make_unique<ChildProcess>(command);
    CHECK(host_tests::eventually([&] { return !drive.vfio->alive(); }));
    // The kernel waits, and what is in flight may end.
    round_trip(drive, queue, 13, 0x77777777);
    CHECK(removal->running());
  }
  REQUIRE(removal->wait_end(std::chrono::milliseconds(20000)));
  CHECK_FALSE(PciFunction(address, "/sys").present());
  CHECK(host_tests::contains(host_tests::error_of([&] { Drive again(spec); }), "does not exist"));
}
