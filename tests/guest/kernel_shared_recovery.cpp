// SPDX-License-Identifier: MIT

/// @file
/// @brief Queues beside the kernel's on a controller that is reset under them, and what the controller's API does
/// there. Overwrites blocks of the namespace that XIO_KERNEL_SHARED_TEST names (/dev/disk/by-id/...); skipped where it
/// names none.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>

#include <xio/device/nvme/queue.hpp>
#include <xio/host/memory/revocable_mapping.hpp>
#include <xio/host/nvme/controller.hpp>
#include <xio/host/nvme/kernel_shared.hpp>

#include "catch.hpp"
#include "skip.hpp"
#include "unit/host_support.hpp"

using namespace xio::host;
namespace nvme = xio::nvme;

namespace {

/// What the tests work on; empty where there is nothing.
std::string controller_spec() {
  const char* const spec = std::getenv("XIO_KERNEL_SHARED_TEST");
  if (spec == nullptr) xio_tests::skip("XIO_KERNEL_SHARED_TEST names no namespace whose blocks may be overwritten");
  return spec == nullptr ? "" : spec;
}

struct Drive {
  explicit Drive(const std::string& spec) : Drive(std::make_unique<KernelSharedNvme>(parse_kernel_shared_spec(spec))) {}

  KernelSharedNvme* shared;
  NvmeController controller;

 private:
  explicit Drive(std::unique_ptr<KernelSharedNvme> transport)
      : shared(transport.get()), controller(std::move(transport)) {}
};

xio::Status transfer(const NvmeQueue& from, const nvme::Command& command, uint64_t bus, uint64_t patience_ns) {
  nvme::Queue<xio::Sharing::thread> queue(from.handle());
  const xio::Deadline until = xio::deadline(xio::Duration{patience_ns});
  return queue.wait(queue.submit(command, nvme::ContiguousPages{bus}, until), until);
}

constexpr uint64_t patience = 20000000000;

/// Writes a word to block `lba`, reads it back into other memory.
void round_trip(Drive& drive, const NvmeQueue& queue, uint64_t lba, uint32_t word) {
  const uint32_t bytes = 1u << queue.handle().block_shift;
  const DmaBuffer out = drive.controller.allocate(bytes);
  const DmaBuffer in = drive.controller.allocate(bytes);
  *out.as<uint32_t>(bytes - 4) = word;
  REQUIRE(transfer(queue, nvme::write(lba, 1), out.bus(), patience).is_ok());
  REQUIRE(transfer(queue, nvme::read(lba, 1), in.bus(), patience).is_ok());
  CHECK(std::memcmp(out.data(), in.data(), bytes) == 0);
}

/// As `nvme reset` does; returns when the driver has the controller again.
void reset_by_kernel(const Drive& drive) {
  std::ofstream file("/sys/class/nvme/" + drive.shared->controller().name() + "/reset_controller");
  file << "1" << std::flush;
  REQUIRE(file.good());
}

}  // namespace

TEST_CASE("a queue that a reset took is created anew", "[guest]") {
  const std::string spec = controller_spec();
  if (spec.empty()) return;
  Drive drive(spec);
  const NvmeQueue queue = drive.controller.create_queue();
  const NvmeQueue other = drive.controller.create_queue();
  CHECK(other.qid() == queue.qid() - 1);
  const DmaBuffer page = drive.controller.allocate(4096);
  for (uint32_t i = 0; i < 3; ++i) {
    round_trip(drive, queue, 8, 0x22222222u + i);
    round_trip(drive, other, 9, 0x33333333u + i);
    reset_by_kernel(drive);
    CHECK(drive.shared->alive());
    const xio::Status status = transfer(queue, nvme::read(8, 1), page.bus(), 300000000);
    CHECK(status.code == xio::Status::timed_out);
    drive.controller.recover();
    CHECK(queue.generation() == i + 2);
    round_trip(drive, queue, 8, 0x44444444u + i);
  }
}

TEST_CASE("a queue that a reset took is deleted without harm", "[guest]") {
  const std::string spec = controller_spec();
  if (spec.empty()) return;
  for (int i = 0; i < 2; ++i) {
    Drive drive(spec);
    NvmeQueue queue = drive.controller.create_queue();
    round_trip(drive, queue, 10, 0x55555555);
    reset_by_kernel(drive);
    if (i == 0) queue = NvmeQueue();
    // The identifier is free at once, and belongs to the new queue alone.
    const NvmeQueue next = drive.controller.create_queue();
    round_trip(drive, next, 10, 0x66666666);
  }
}

TEST_CASE("two processes' worth of queues, side by side", "[guest]") {
  const std::string spec = controller_spec();
  if (spec.empty()) return;
  Drive one(spec);
  const NvmeQueue first = one.controller.create_queue();
  KernelSharedOptions reading = parse_kernel_shared_spec(spec);
  reading.read_mounted = true;
  NvmeController two(std::make_unique<KernelSharedNvme>(reading));
  const NvmeQueue second = two.create_queue();
  CHECK(second.qid() != first.qid());
  round_trip(one, first, 11, 0x77777777);
  const DmaBuffer page = two.allocate(4096);
  REQUIRE(transfer(second, nvme::read(11, 1), page.bus(), patience).is_ok());
  CHECK(*page.as<uint32_t>((1u << second.handle().block_shift) - 4) == 0x77777777);
  QueueOptions taken;
  taken.qid = first.qid();
  CHECK(host_tests::contains(host_tests::error_of([&] { two.create_queue(taken); }),
                             "in use by another process or driver"));
  taken.qid = 1;
  CHECK(host_tests::contains(host_tests::error_of([&] { two.create_queue(taken); }), "granted queues"));
}

TEST_CASE("admin commands go through the kernel", "[guest]") {
  const std::string spec = controller_spec();
  if (spec.empty()) return;
  for (const char* how : {",passthrough=libnvme", ",passthrough=ioctl"}) {
    Drive drive(spec + how);
    const NvmeController& controller = drive.controller;
    CHECK(controller.info().model == "QEMU NVMe Ctrl");
    CHECK(controller.active_namespaces() == std::vector<uint32_t>{1});
    CHECK(controller.get_feature(nvme::FeatureId::number_of_queues) == 0x3f003f);
    CHECK(controller.get_log_page(nvme::LogId::error_information, 64).size() == 64);
    nvme::IdentifyRequest odd;
    odd.cns = static_cast<nvme::Cns>(0xfe);
    CHECK(host_tests::contains(host_tests::error_of([&] { controller.fetch(nvme::identify(odd), 4096); }),
                               "Identify failed: invalid field in command (status 0x002, do not retry)"));
    CHECK(controller.status().rdy());
    CHECK(host_tests::contains(host_tests::error_of([&] { drive.controller.request_event(); }), "events go to the"));
    CHECK(host_tests::contains(host_tests::error_of([&] { drive.shared->write32(nvme::reg::cc, 0); }), "registers"));
  }
}

TEST_CASE("a drive that is removed from the bus", "[guest][.removed]") {
  const std::string spec = controller_spec();
  if (spec.empty()) return;
  const auto mapped = [](const Drive& drive) {
    const std::string file = drive.shared->pci().address() + "/resource0";
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
      if (line.find(file) != std::string::npos) return true;
    return false;
  };
  const BusErrorGuard guard;
  {
    Drive drive(spec);
    const NvmeQueue queue = drive.controller.create_queue();
    round_trip(drive, queue, 3, 0x1234);
    const DmaBuffer page = drive.controller.allocate(4096);
    CHECK(mapped(drive));
    std::ofstream("/sys/bus/pci/devices/" + drive.shared->pci().address() + "/remove") << "1" << std::flush;
    // Before anybody has noticed, and after.
    CHECK(transfer(queue, nvme::read(3, 1), page.bus(), 200000000).code == xio::Status::timed_out);
    CHECK_FALSE(drive.shared->alive());
    CHECK(drive.shared->removed());
    CHECK_FALSE(mapped(drive));
    CHECK(drive.shared->read32(nvme::reg::csts) == ~0u);
    CHECK(transfer(queue, nvme::read(3, 1), page.bus(), 200000000).code == xio::Status::timed_out);
  }
  std::ofstream("/sys/bus/pci/rescan") << "1" << std::flush;
}

TEST_CASE("registers that the kernel takes away", "[guest][.revoked]") {
  const char* const address = std::getenv("XIO_UNBOUND_DRIVE");
  if (address == nullptr) return xio_tests::skip("XIO_UNBOUND_DRIVE names no drive without a driver");
  constexpr size_t bytes = 16384;
  const int file = ::open(PciFunction(address, "/sys").resource(0).c_str(), O_RDWR | O_CLOEXEC);
  void* const data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  REQUIRE(data != MAP_FAILED);
  ::close(file);
  const BusErrorGuard guard;
  const RevocableMapping mapping(data, bytes);
  auto* const words = static_cast<volatile uint32_t*>(data);
  CHECK(words[nvme::reg::csts / 4] != 1);
  CHECK_FALSE(mapping.lost());
  // A kernel that keeps registers to drivers unmaps them as soon as there is one.
  std::ofstream("/sys/bus/pci/drivers/nvme/bind") << address << std::flush;
  constexpr size_t doorbell = 0x1000 / 4 + 100;
  words[doorbell] = 5;
  CHECK(mapping.lost());
  CHECK(words[doorbell] == 5);
  CHECK(words[doorbell + 1] == ~0u);
  CHECK(words[nvme::reg::csts / 4] == ~0u);
  ::munmap(data, bytes);
}
