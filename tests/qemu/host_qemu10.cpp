// SPDX-License-Identifier: MIT

/// @file
/// @brief The same against QEMU 10, whose controller can be smaller and can do without shadow doorbells.

#include <cstdlib>
#include <string>

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
