// SPDX-License-Identifier: MIT

/// @file
/// @brief Commands that QEMU's controller refuses, and rarer ones that it accepts, through the device API.

#include "qemu/faults.hpp"

using namespace fault_tests;

namespace {

QemuOptions small_transfers(QemuProtocol protocol) {
  QemuOptions options = host_tests::options_for(protocol);
  options.mdts = 5;  // 128 KiB
  return options;
}

}  // namespace

TEST_CASE("what the controller refuses is decoded by name, and the queue goes on", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  const QemuProtocol protocol = GENERATE(QemuProtocol::remote, QemuProtocol::qtest);
  INFO(host_tests::protocol_name(protocol));
  Machine machine(small_transfers(protocol));
  // The checks of the library would refuse most of these themselves: this queue's handle lets them pass.
  auto handle = machine.queue.handle();
  handle.namespace_blocks = 0;
  handle.max_blocks = 65536;
  handle.nsid = 0;
  Queue<Sharing::grid, xio::Trusting> queue(handle);
  const uint64_t bus = machine.bus();
  const DataPointer page{bus};

  struct Case {
    const char* what;
    xio::nvme::Command command;
    DataPointer data;
    uint16_t field;  ///< type and code
    Status::Code code;
    const char* name;
    bool final = true;  ///< "do not retry" is set
  };
  xio::nvme::Command unknown;
  unknown.cdw0 = 0x7f;
  const Case cases[] = {
      {"beyond the end", xio::nvme::read(131072 - 4, 8).nsid(1), page, 0x080, Status::capacity, "LBA out of range"},
      {"64-bit LBA", xio::nvme::read(~uint64_t{0}, 8).nsid(1), page, 0x080, Status::capacity, "LBA out of range"},
      {"unknown opcode", unknown.nsid(1), page, 0x001, Status::invalid_command, "invalid command opcode"},
      {"inactive namespace", xio::nvme::read(0, 8).nsid(2), page, 0x002, Status::invalid_command,
       "invalid field in command"},
      {"namespace 0", xio::nvme::read(0, 8), page, 0x00b, Status::invalid_command, "invalid namespace or format"},
      {"PRP2 in the middle of a page", xio::nvme::read(0, 16).nsid(1), DataPointer{bus, bus + 4096 + 512}, 0x013,
       Status::invalid_command, "PRP offset invalid"},
      {"more than MDTS", xio::nvme::read(0, 512).nsid(1), DataPointer{bus, bus + 4096}, 0x002, Status::invalid_command,
       "invalid field in command"},
      {"fused", xio::nvme::read(0, 8).nsid(1).fused_first(), page, 0x002, Status::invalid_command,
       "invalid field in command", false},
  };
  for (const Case& one : cases) {
    CAPTURE(one.what);
    const Token token = queue.submit(one.command, one.data, soon());
    REQUIRE(token.submitted());
    const Status status = queue.wait(token, soon());
    CHECK(code(status) == one.field);
    CHECK(status.code == one.code);
    CHECK(name_of(status) == one.name);
    CHECK(xio::nvme::do_not_retry(status.vendor) == one.final);
    CHECK(xio::nvme::retryable(status) == !one.final);
    REQUIRE(host_tests::run(queue, xio::nvme::read(0, 8).nsid(1), page).is_ok());
  }
  CHECK(queue.quiet(soon()).is_ok());

  // With the checks on, nothing of that reaches the controller.
  Queue<Sharing::grid> careful(machine.queue.handle());
  CHECK(careful.submit(xio::nvme::read(131072 - 4, 8), ContiguousPages{bus}, soon()).status == Status::out_of_range);
  CHECK(careful.submit(xio::nvme::read(0, 8), ContiguousPages{bus + 2}, soon()).status == Status::misaligned);
  const Token split = careful.submit(xio::nvme::read(0, 512), ContiguousPages{bus}, soon());
  CHECK(split.count == 2);
  CHECK(careful.wait(split, soon()).is_ok());
}

TEST_CASE("compare, write zeroes, deallocate, verify, flush and SGLs", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  const QemuProtocol protocol = GENERATE(QemuProtocol::remote, QemuProtocol::qtest);
  INFO(host_tests::protocol_name(protocol));
  Machine machine(small_transfers(protocol));
  Queue<Sharing::grid> queue(machine.queue.handle());
  const ContiguousPages pages{machine.bus()};
  machine.fill(0x11);
  REQUIRE(host_tests::run(queue, xio::nvme::write(64, 8).force_unit_access(), pages).is_ok());
  CHECK(host_tests::run(queue, xio::nvme::compare(64, 8), pages).is_ok());
  machine.fill(0x12, 1);
  const Status differs = host_tests::run(queue, xio::nvme::compare(64, 8), pages);
  CHECK(differs.code == Status::compare_failed);
  CHECK(code(differs) == 0x285);
  CHECK(name_of(differs) == "compare failure");

  CHECK(host_tests::run(queue, xio::nvme::verify(64, 8), NoData{}).is_ok());
  CHECK(host_tests::run(queue, xio::nvme::flush(), NoData{}).is_ok());
  CHECK(host_tests::run(queue, xio::nvme::write_zeroes(66, 2), NoData{}).is_ok());
  machine.fill(0xee);
  REQUIRE(host_tests::run(queue, xio::nvme::read(64, 8), pages).is_ok());
  CHECK(machine.holds(0x11, 1024));
  CHECK(machine.holds(0, 1024, 1024));
  CHECK(machine.holds(0x11, 2048, 2048));

  // Data in pieces of any size: a list of descriptors.
  const xio::nvme::Segment segments[] = {
      {machine.bus(8192), 512}, {machine.bus(20000), 1536}, {machine.bus(12288), 2048}};
  const auto sgl = xio::nvme::as_sgl(xio::nvme::SegmentList{segments, 3});
  machine.fill(0x31, 512, 8192);
  machine.fill(0x32, 1536, 20000);
  machine.fill(0x33, 2048, 12288);
  REQUIRE(host_tests::run(queue, xio::nvme::write(128, 8), sgl).is_ok());
  machine.fill(0);
  REQUIRE(host_tests::run(queue, xio::nvme::read(128, 8), xio::nvme::as_sgl(pages)).is_ok());
  CHECK(machine.holds(0x31, 512));
  CHECK(machine.holds(0x32, 1536, 512));
  CHECK(machine.holds(0x33, 2048, 2048));

  // Deallocated blocks may read as anything that QEMU likes; it reads zeroes here or what was there.
  auto* const ranges = reinterpret_cast<xio::nvme::DsmRange*>(machine.bytes());
  ranges[0] = {0, 8, 64};
  ranges[1] = {0, 8, 128};
  CHECK(host_tests::run(queue, xio::nvme::deallocate(2), pages).is_ok());
  CHECK(host_tests::run(queue, xio::nvme::read(64, 8), pages).is_ok());
  CHECK(queue.quiet(soon()).is_ok());
}

TEST_CASE("the namespace that QEMU has by default copies blocks", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  const QemuProtocol protocol = GENERATE(QemuProtocol::remote, QemuProtocol::qtest);
  INFO(host_tests::protocol_name(protocol));
  Machine machine(host_tests::options_for(protocol));
  Queue<Sharing::grid> queue(machine.queue.handle());
  const ContiguousPages pages{machine.bus()};
  machine.fill(0x33);
  CHECK(host_tests::run(queue, xio::nvme::write(16, 8), pages).is_ok());
  // One source range of format 0: bytes 8 to 15 are the first block, 16 and 17 the number of blocks, less one.
  machine.fill(0);
  *machine.bytes(8) = 16;
  *machine.bytes(16) = 7;
  CHECK(host_tests::run(queue, xio::nvme::copy(64, 1), pages).is_ok());
  machine.fill(0);
  CHECK(host_tests::run(queue, xio::nvme::read(64, 8), pages).is_ok());
  CHECK(machine.holds(0x33));
}

TEST_CASE("commands without data keep to the limits that the controller tells", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  const QemuProtocol protocol = GENERATE(QemuProtocol::remote, QemuProtocol::qtest);
  // Of data without a limit, of Verify 512 KiB by default or what is set.
  const bool set = GENERATE(false, true);
  QemuOptions options = host_tests::options_for(protocol);
  options.mdts = 0;
  if (set) options.device_options = "vsl=1";
  const uint32_t part = set ? 16 : 1024;
  INFO(host_tests::protocol_name(protocol));
  CAPTURE(set);
  Machine machine(options);
  const auto handle = machine.queue.handle();
  CHECK(handle.verify_blocks == part);
  Queue<Sharing::grid> queue(handle);
  const auto parts = [&](const xio::nvme::Command& command) {
    const Token token = queue.submit(command, NoData{}, soon());
    CHECK(queue.wait(token, soon()).is_ok());
    return token.count;
  };
  CHECK(parts(xio::nvme::verify(0, part)) == 1);
  CHECK(parts(xio::nvme::verify(5, part + 1)) == 2);
  CHECK(parts(xio::nvme::verify(7, 24 * part + 3)) == 25);
  CHECK(parts(xio::nvme::write_zeroes(0, 65536)) == 1);
  CHECK(queue.quiet(soon()).is_ok());
  // More than that is refused, where the library lets it pass.
  auto unlimited = handle;
  unlimited.verify_blocks = 65536;
  Queue<Sharing::grid> careless(unlimited);
  CHECK(code(host_tests::run(careless, xio::nvme::verify(0, part + 1), NoData{})) == 0x002);
}
