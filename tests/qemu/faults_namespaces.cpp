// SPDX-License-Identifier: MIT

/// @file
/// @brief Namespaces of other kinds on QEMU's controller: 4096-byte blocks, protection information, zones.

#include <set>
#include <vector>

#include <xio/device/nvme/zone_writer.hpp>
#include <xio/host/simt/simt.hpp>

#include "qemu/faults.hpp"

using namespace fault_tests;

namespace {

QemuNamespace name_space(uint32_t nsid, uint32_t block_bytes, const std::string& device = {}) {
  QemuNamespace one;
  one.nsid = nsid;
  one.block_bytes = block_bytes;
  one.device = device;
  return one;
}

}  // namespace

TEST_CASE("namespaces of every kind are used through the same queue type", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  const QemuProtocol protocol = GENERATE(QemuProtocol::remote, QemuProtocol::qtest);
  INFO(host_tests::protocol_name(protocol));
  QemuOptions options = host_tests::options_for(protocol);
  options.namespaces = {name_space(1, 512), name_space(2, 4096), name_space(3, 512, "ms=8,mset=0,pi=1,pil=1"),
                        name_space(5, 4096, "zoned=on,zoned.zone_size=1M,zoned.zone_capacity=1M")};
  xio::host::ControllerOptions set_up;
  set_up.all_command_sets = true;
  Machine machine(options, {}, set_up);
  CHECK(machine.host.controller.active_namespaces() == std::vector<uint32_t>{1, 2, 3, 5});
  const ContiguousPages pages{machine.bus()};
  const uint64_t tuples = machine.bus(65536);
  unsigned char* const tuple = machine.bytes(65536);
  const auto queue_of = [&](uint32_t nsid) {
    QueueOptions wanted;
    wanted.nsid = nsid;
    wanted.metadata_by_caller = true;
    return machine.host.controller.create_queue(wanted);
  };

  SECTION("blocks of 512 and 4096 bytes, on one controller") {
    const NvmeQueue second = queue_of(2);
    CHECK(second.handle().block_shift == 12);
    CHECK(second.handle().namespace_blocks == 16384);
    Queue<Sharing::grid> queue(second.handle());
    machine.fill(0x21);
    CHECK(host_tests::run(queue, xio::nvme::write(3, 1), pages).is_ok());
    machine.fill(0);
    CHECK(host_tests::run(queue, xio::nvme::read(3, 1), pages).is_ok());
    CHECK(machine.holds(0x21));
    // One queue serves all namespaces: the command may name another.
    Queue<Sharing::grid> first(machine.queue.handle());
    machine.fill(0);
    CHECK(host_tests::run(first, xio::nvme::read(3, 1).nsid(2), DataPointer{machine.bus()}).is_ok());
    CHECK(machine.holds(0x21));
    // Its blocks are larger than the queue knows of.
    CHECK(host_tests::run(first, xio::nvme::read(3, 3).nsid(2), pages) == Status::invalid_argument);
    machine.fill(0x22, 3 * 4096);
    CHECK(host_tests::run(first, xio::nvme::write(3, 3).nsid(2).moves(3 * 4096), pages).is_ok());
    machine.fill(0, 3 * 4096);
    CHECK(host_tests::run(queue, xio::nvme::read(3, 3), pages).is_ok());
    CHECK(machine.holds(0x22, 3 * 4096));
    CHECK(host_tests::run(queue, xio::nvme::read(16383, 2), pages) == Status::out_of_range);
  }

  SECTION("protection information in separate metadata") {
    const NvmeQueue third = queue_of(3);
    Queue<Sharing::grid> queue(third.handle());
    using xio::nvme::read;
    using xio::nvme::write;
    machine.fill(0x22, 512);
    // The controller makes the tuple: guard of 512 times 0x22, no application tag, reference tag 5.
    CHECK(host_tests::run(queue, write(5, 1).protection_action().reference_tag(5), pages).is_ok());
    const uint32_t all =
        xio::nvme::cdw12::check_guard | xio::nvme::cdw12::check_application_tag | xio::nvme::cdw12::check_reference_tag;
    CHECK(host_tests::run(queue, read(5, 1).protection_check(all).reference_tag(5).metadata(tuples), pages).is_ok());
    const unsigned char expected[8] = {0xdc, 0x10, 0, 0, 0, 0, 0, 5};
    CHECK(std::memcmp(tuple, expected, 8) == 0);
    const Status wrong_tag = host_tests::run(
        queue, read(5, 1).protection_check(xio::nvme::cdw12::check_reference_tag).reference_tag(6).metadata(tuples),
        pages);
    CHECK(code(wrong_tag) == 0x181);
    CHECK(name_of(wrong_tag) == "invalid protection information");
    tuple[0] ^= 0xff;
    const Status wrong_guard = host_tests::run(
        queue, write(6, 1).protection_check(xio::nvme::cdw12::check_guard).reference_tag(6).metadata(tuples), pages);
    CHECK(wrong_guard.code == Status::integrity_error);
    CHECK(code(wrong_guard) == 0x282);
    CHECK(host_tests::run(queue, read(5, 1).metadata(tuples), pages).is_ok());
    CHECK(queue.quiet(soon()).is_ok());
  }

  SECTION("zones") {
    const NvmeQueue fifth = queue_of(5);
    Queue<Sharing::grid> queue(fifth.handle());
    machine.fill(0x51);
    for (uint64_t i = 0; i < 3; ++i) {
      const Token token = queue.submit(xio::nvme::zone_append(0, 1), pages, soon());
      CHECK(queue.wait(token, soon()).is_ok());
      uint64_t lba = ~uint64_t{0};
      CHECK(queue.result(token, lba).is_ok());
      CHECK(lba == i);
    }
    machine.fill(0);
    CHECK(host_tests::run(queue, xio::nvme::read(2, 1), pages).is_ok());
    CHECK(machine.holds(0x51));
    const Status misplaced = host_tests::run(queue, xio::nvme::write(9, 1), pages);
    CHECK(misplaced.code == Status::zone_error);
    CHECK(code(misplaced) == 0x1bc);
    xio::nvme::ZoneReceiveRequest report;
    report.bytes = 1024;
    CHECK(host_tests::run(queue, xio::nvme::zone_management_receive(report), pages).is_ok());
    uint64_t zones = 0;
    uint64_t write_pointer = 0;
    std::memcpy(&zones, machine.bytes(), 8);
    std::memcpy(&write_pointer, machine.bytes(64 + 24), 8);
    CHECK(zones == 64);
    CHECK(write_pointer == 3);
    // A report of more than two pages, wherever it starts: 64 zones of 64 bytes, and zeros after them.
    report.bytes = 16384;
    for (const size_t offset : {size_t{0}, size_t{4}, size_t{4092}}) {
      machine.fill(0xee, 5 * 4096 + 8);
      CHECK(host_tests::run(queue, xio::nvme::zone_management_receive(report), ContiguousPages{machine.bus(offset)})
                .is_ok());
      uint64_t start = 0;
      std::memcpy(&start, machine.bytes(offset + 64 + 63 * 64 + 16), 8);
      CHECK(start == 63 * 256);
      CHECK(machine.holds(0xee, 8, offset + 16384));
    }
    xio::nvme::ZoneSendRequest reset;
    CHECK(host_tests::run(queue, xio::nvme::zone_management_send(reset), NoData{}).is_ok());
    CHECK(queue.quiet(soon()).is_ok());
  }
}

TEST_CASE("writers of many waves fill zone after zone, and are told when none is left", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  constexpr uint32_t lanes = 32, blocks = 5, zones = 6, fitting = 2 * zones, bytes = blocks * 4096;
  QemuOptions options;
  // 16 blocks, of which 12 are for data: two appends of 5 fit.
  options.namespaces = {name_space(1, 4096, "zoned=on,zoned.zone_size=64K,zoned.zone_capacity=48K")};
  xio::host::ControllerOptions set_up;
  set_up.all_command_sets = true;
  Machine machine(options, {}, set_up);
  for (uint32_t i = 0; i < lanes; ++i) machine.fill(static_cast<int>(i + 1), bytes, size_t{i} * bytes);
  xio::nvme::ZoneRange range{16, 16, zones, 0};  // all but the first zone
  std::vector<xio::KeptResult> kept(lanes);
  std::vector<Status> how(lanes);
  std::vector<uint64_t> lba(lanes);
  xio::simt::launch(xio::simt::Grid{4, 8, 8}, [&] {
    Queue<Sharing::grid, xio::Policy<xio::Notify>> queue(machine.queue.handle());
    xio::nvme::ZoneWriter writer(range);
    const uint32_t i = xio::arch::block_index() * 8 + xio::arch::thread_index();
    how[i] = writer.append(queue, machine.data.region().at(uint64_t{i} * bytes, bytes), soon(), kept[i], lba[i]);
  });
  CHECK(range.current == zones);
  std::set<uint64_t> places;
  Queue<Sharing::grid> queue(machine.queue.handle());
  for (uint32_t i = 0; i < lanes; ++i) {
    if (!how[i].is_ok()) {
      CHECK(how[i] == Status::capacity);
      continue;
    }
    places.insert(lba[i]);
    machine.fill(0, bytes);
    CHECK(host_tests::run(queue, xio::nvme::read(lba[i], blocks), ContiguousPages{machine.bus()}).is_ok());
    CHECK(machine.holds(static_cast<int>(i + 1), bytes));
  }
  std::set<uint64_t> expected;
  for (uint64_t zone = 1; zone <= zones; ++zone) expected.insert({16 * zone, 16 * zone + blocks});
  CHECK(places == expected);
  CHECK(places.size() == fitting);
}

TEST_CASE("an append keeps to the limit that the controller tells", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  QemuOptions options;
  options.namespaces = {name_space(1, 4096, "zoned=on,zoned.zone_size=1M,zoned.zone_capacity=1M")};
  options.device_options = "zoned.zasl=1";  // 8 KiB
  xio::host::ControllerOptions set_up;
  set_up.all_command_sets = true;
  Machine machine(options, {}, set_up);
  CHECK(machine.host.controller.info().limits.append_bytes == 8192);
  Queue<Sharing::grid> queue(machine.queue.handle());
  const ContiguousPages pages{machine.bus()};
  CHECK(host_tests::run(queue, xio::nvme::zone_append(0, 2), pages).is_ok());
  CHECK(host_tests::run(queue, xio::nvme::zone_append(0, 3), pages) == Status::invalid_argument);
  // The controller would refuse it as well.
  Queue<Sharing::grid, xio::Trusting> careless(machine.queue.handle());
  CHECK(code(host_tests::run(careless, xio::nvme::zone_append(0, 3), pages)) == 0x002);
}
