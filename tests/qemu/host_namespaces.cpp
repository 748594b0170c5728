// SPDX-License-Identifier: MIT

/// @file
/// @brief A namespace that is formatted while a queue exists: what a kernel then still submits moves nothing. Blocks
/// that became larger than the queue was told would be moved past the end of the caller's buffer.

#include <algorithm>
#include <string>

#include "catch.hpp"
#include "qemu/host_support.hpp"

using namespace xio::host;
using host_tests::contains;
using host_tests::error_of;
using host_tests::options_for;
using host_tests::QemuController;
namespace nvme = xio::nvme;

TEST_CASE("a namespace that is formatted under a queue", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  const QemuProtocol protocol = GENERATE(QemuProtocol::remote, QemuProtocol::qtest);
  INFO(host_tests::protocol_name(protocol));
  QemuController machine(options_for(protocol));
  NvmeController& controller = machine.controller;
  NvmeQueue queue = controller.create_queue();
  nvme::Queue<xio::Sharing::thread> io(queue.handle());
  const DmaBuffer data = controller.allocate(8192);
  unsigned char* const bytes = data.as<unsigned char>();
  std::fill_n(bytes, 8192, static_cast<unsigned char>(0xcc));
  const auto changed_behind = [&] {
    return std::count_if(bytes + 512, bytes + 8192, [](unsigned char one) { return one != 0xcc; });
  };
  REQUIRE(controller.identify_namespace(1).block_bytes == 512);
  CHECK(host_tests::run(io, nvme::read(5, 1), nvme::ContiguousPages{data.bus()}).is_ok());
  CHECK(changed_behind() == 0);

  constexpr uint32_t format_of_4096 = 4;
  REQUIRE(controller.admin(nvme::command(nvme::AdminOpcode::format_nvm).nsid(1).dword(10, format_of_4096).moves(0))
              .status.is_ok());
  REQUIRE(controller.identify_namespace(1).block_bytes == 4096);
  // A kernel that still runs.
  const xio::Deadline until = xio::deadline(xio::Duration{300000000});
  const xio::Status status = io.wait(io.submit(nvme::read(5, 1), nvme::ContiguousPages{data.bus()}, until), until);
  CHECK(status.code == xio::Status::timed_out);
  CHECK(changed_behind() == 0);
  const std::string why = "namespace 1 was formatted: its blocks have 4096 bytes, not 512";
  CHECK_FALSE(controller.alive());
  CHECK(controller.namespace_change() == why);
  CHECK(contains(error_of([&] { queue.handle(); }), why));

  queue = NvmeQueue();
  CHECK(controller.alive());
  queue = controller.create_queue();
  nvme::Queue<xio::Sharing::thread> next(queue.handle());
  CHECK(host_tests::run(next, nvme::read(5, 1), nvme::ContiguousPages{data.bus()}).is_ok());
}
