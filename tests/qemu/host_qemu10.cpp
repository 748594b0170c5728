// SPDX-License-Identifier: MIT

/// @file
/// @brief The same against QEMU 10, whose controller can be smaller and can do without shadow doorbells.

#include <cstdlib>
#include <cstring>
#include <string>

#include <xio/vendors/nvme/encode_more.hpp>
#include <xio/vendors/nvme/ranges.hpp>

#include "catch.hpp"
#include "qemu/host_support.hpp"

using namespace xio::host;
using host_tests::contains;
using host_tests::error_of;
using host_tests::options_for;
using host_tests::QemuController;
namespace nvme = xio::nvme;

namespace {

/// Where scripts/qemu10 puts it; empty, and the test without a verdict, where it was not run.
std::string qemu10() {
  const char* cache = std::getenv("XIO_CACHE");
  const char* home = std::getenv("HOME");
  const std::string folder = cache != nullptr ? cache : (home != nullptr ? home : std::string("/root")) + "/.cache/xio";
  const std::string found = find_program(folder + "/qemu10/qemu-system-x86_64");
  if (found.empty()) xio_tests::skip("QEMU 10 is not there: scripts/qemu10 unpacks it");
  return found;
}

}  // namespace

TEST_CASE("QEMU 10 by either protocol", "[qemu]") {
  const std::string binary = qemu10();
  if (binary.empty()) return;
  const QemuProtocol protocol = GENERATE(QemuProtocol::remote, QemuProtocol::qtest);
  INFO(host_tests::protocol_name(protocol));
  QemuOptions options = options_for(protocol);
  options.binary = binary;
  QemuController machine(options);
  CHECK(contains(machine.qemu->description(), "QEMU 10."));
  CHECK(machine.qemu->uses_remote() == (protocol == QemuProtocol::remote));
  const NvmeQueue queue = machine.controller.create_queue();
  nvme::Queue<xio::Sharing::thread> io(queue.handle());
  const DmaBuffer page = machine.controller.allocate(4096);
  for (int i = 0; i < 300; ++i)
    REQUIRE(host_tests::run(io, nvme::read(8, 8), nvme::ContiguousPages{page.bus()}).is_ok());
}

TEST_CASE("QEMU 10 with small queues and without shadow doorbells", "[qemu][H28]") {
  const std::string binary = qemu10();
  if (binary.empty()) return;
  QemuOptions options;
  options.binary = binary;
  options.device_options = "mqes=31,dbcs=off";
  QemuController machine(options);
  NvmeController& controller = machine.controller;
  CHECK(controller.max_queue_entries() == 32);
  CHECK(contains(error_of([&] { controller.enable_shadow_doorbells(); }), "has no shadow doorbells"));
  QueueOptions wanted;
  wanted.depth = 33;
  CHECK(contains(error_of([&] { controller.create_queue(wanted); }), "at most 32 (CAP.MQES + 1)"));
  wanted.depth = 32;
  const NvmeQueue queue = controller.create_queue(wanted);
  CHECK(queue.handle().depth == 31);
  nvme::Queue<xio::Sharing::thread> io(queue.handle());
  const DmaBuffer page = controller.allocate(4096);
  const xio::Deadline until = xio::deadline(xio::Duration{30000000000});
  xio::Token last;
  for (int i = 0; i < 500; ++i) {
    last = io.submit(nvme::read(8, 8), nvme::ContiguousPages{page.bus()}, until);
    REQUIRE(last.status.is_ok());
  }
  CHECK(io.wait(last, until).is_ok());
  CHECK(io.quiet(until).is_ok());
}

TEST_CASE("QEMU 10 copies blocks", "[qemu]") {
  const std::string binary = qemu10();
  if (binary.empty()) return;
  QemuOptions options;
  options.binary = binary;
  QemuController machine(options);
  const NvmeQueue queue = machine.controller.create_queue();
  nvme::Queue<xio::Sharing::thread> io(queue.handle());
  const DmaBuffer data = machine.controller.allocate(16384);
  auto* const bytes = data.as<unsigned char>();
  const auto pages = [&](size_t offset) { return nvme::ContiguousPages{data.bus() + offset}; };
  for (int i = 0; i < 4096; ++i) bytes[i] = static_cast<unsigned char>(i * 13 + i / 512);
  REQUIRE(host_tests::run(io, nvme::write(0, 8), pages(0)).is_ok());
  // Blocks 6, and 1 and 2.
  auto* const ranges = data.as<nvme::CopyRange>() + 4096 / sizeof(nvme::CopyRange);
  ranges[0] = nvme::CopyRange{};
  ranges[1] = nvme::CopyRange{};
  ranges[0].lba = 6;
  ranges[1].lba = 1;
  ranges[1].last_block = 1;
  REQUIRE(host_tests::run(io, nvme::copy(100, 2), pages(4096)).is_ok());
  REQUIRE(host_tests::run(io, nvme::read(100, 3), pages(8192)).is_ok());
  CHECK(std::memcmp(bytes + 8192, bytes + 6 * 512, 512) == 0);
  CHECK(std::memcmp(bytes + 8192 + 512, bytes + 512, 1024) == 0);
}

TEST_CASE("QEMU 10 places data by handles", "[qemu]") {
  const std::string binary = qemu10();
  if (binary.empty()) return;
  QemuOptions options;
  options.binary = binary;
  options.arguments = {"-device", "nvme-subsys,id=subsystem,fdp=on,fdp.runs=1M,fdp.nruh=4"};
  options.device_options = "subsys=subsystem";
  options.device = "fdp.ruhs=0;1;2";
  QemuController machine(options);
  const NvmeQueue queue = machine.controller.create_queue();
  nvme::Queue<xio::Sharing::thread> io(queue.handle());
  const DmaBuffer data = machine.controller.allocate(8192);
  // Reclaim unit handle status: 16 bytes, and 32 of each handle, of which 8 to 15 are the blocks that its reclaim unit
  // has room for (NVM Express Base Specification 2.1, figures 623 and 624).
  const auto room = [&](uint32_t handle) {
    REQUIRE(host_tests::run(io, nvme::io_management_receive(1, 0, 4096), nvme::ContiguousPages{data.bus()}).is_ok());
    uint64_t blocks = 0;
    std::memcpy(&blocks, data.as<char>() + 16 + handle * 32 + 8, sizeof blocks);
    return blocks;
  };
  const auto write = [&](const nvme::Command& command) {
    REQUIRE(host_tests::run(io, command, nvme::ContiguousPages{data.bus() + 4096}).is_ok());
  };
  const uint64_t whole = room(0);
  REQUIRE(whole == (1u << 20) / 512);
  write(nvme::write(0, 8));  // to handle 0
  write(nvme::write(8, 4).placement(1));
  write(nvme::write(16, 2).placement(2));
  write(nvme::write(24, 1).placement(2));
  CHECK(room(0) == whole - 8);
  CHECK(room(1) == whole - 4);
  CHECK(room(2) == whole - 3);
}
