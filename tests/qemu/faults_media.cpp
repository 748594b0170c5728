// SPDX-License-Identifier: MIT

/// @file
/// @brief Media that fail, hang or are slow, behind QEMU's controller: each status reaches the caller, and the queue
/// goes on.

#include "qemu/faults.hpp"

using namespace fault_tests;

TEST_CASE("media errors are reported for the commands that meet them, and for no others", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  const QemuProtocol protocol = GENERATE(QemuProtocol::remote, QemuProtocol::qtest);
  INFO(host_tests::protocol_name(protocol));
  Machine machine(with_errors(protocol, inject("read", "2048", 5, false) + "," + inject("write", "4096", 5, false) +
                                            "," + inject("write", "8192", 28, false) + "," +
                                            inject("read", "16384", 5, true) + "," + inject("flush", "", 5, true)));
  Queue<Sharing::grid> queue(machine.queue.handle());
  const ContiguousPages pages{machine.bus()};
  const auto read = [&](uint64_t lba) { return host_tests::run(queue, xio::nvme::read(lba, 8), pages); };
  const auto write = [&](uint64_t lba) { return host_tests::run(queue, xio::nvme::write(lba, 8), pages); };
  const auto flush = [&] { return host_tests::run(queue, xio::nvme::flush(), NoData{}); };

  CHECK(read(2040).is_ok());
  const Status bad_read = read(2044);
  CHECK(bad_read.code == Status::read_error);
  CHECK(code(bad_read) == 0x281);
  CHECK(name_of(bad_read) == "unrecovered read error");
  CHECK(code(read(2048)) == 0x281);
  CHECK(read(2056).is_ok());

  const Status bad_write = write(4096);
  CHECK(bad_write.code == Status::write_error);
  CHECK(code(bad_write) == 0x280);
  CHECK(name_of(bad_write) == "write fault");
  CHECK(code(write(8192)) == 0x280);  // no space left: QEMU says so, too
  CHECK(write(4104).is_ok());

  // Errors that happen once: what the status says about retrying holds.
  const Status once = read(16384);
  CHECK(code(once) == 0x281);
  CHECK(read(16384).is_ok());
  CHECK_FALSE(flush().is_ok());
  CHECK(flush().is_ok());

  // A long command fails as a whole where one part does, and the others are done.
  machine.fill(0x77, size_t{1} << 20);
  const Token token = queue.submit(xio::nvme::write(3000, 2048), pages, soon());
  CHECK(token.count > 1);
  CHECK(code(queue.wait(token, soon())) == 0x280);
  machine.fill(0, 4096);
  CHECK(read(3000).is_ok());
  CHECK(machine.holds(0x77));

  // Nobody waits for these; quiet tells of the first.
  (void)queue.submit(xio::nvme::read(0, 8), pages, soon());
  const Token lost = queue.submit(xio::nvme::read(2048, 1), pages, soon());
  (void)queue.submit(xio::nvme::write(4096, 1), pages, soon());
  REQUIRE(queue.fence(soon()).is_ok());
  CHECK(queue.errors().count == 2);
  CHECK(queue.errors().first_ticket == lost.last);
  CHECK(code(queue.quiet(soon())) == 0x281);
  CHECK(queue.quiet(soon()).is_ok());
}

TEST_CASE("one command is held by the medium, the others overtake it for several laps", "[qemu][H26][H36]") {
  if (host_tests::qemu_is_missing()) return;
  const QemuProtocol protocol = GENERATE(QemuProtocol::remote, QemuProtocol::qtest);
  INFO(host_tests::protocol_name(protocol));
  QueueOptions options;
  options.depth = 7;
  options.sq_entries = 8;
  options.completion_slots = 64;
  Machine machine(with_breakpoints(protocol), options);
  const auto handle = machine.queue.handle();
  Queue<Sharing::grid> queue(handle);
  machine.fill(0x41);
  REQUIRE(host_tests::run(queue, xio::nvme::write(0, 1), ContiguousPages{machine.bus()}).is_ok());
  machine.fill(0x42);
  REQUIRE(host_tests::run(queue, xio::nvme::write(8, 1), ContiguousPages{machine.bus()}).is_ok());

  machine.qemu_io("break read_aio A");
  machine.fill(0, 8192);
  const Token held = queue.submit(xio::nvme::read(0, 1), ContiguousPages{machine.bus()}, soon());
  REQUIRE(queue.wait(held, shortly()) == Status::timed_out);
  for (uint32_t i = 0; i < 63; ++i) {
    machine.fill(0, 512, 4096);
    const Token other = queue.submit(xio::nvme::read(8, 1), ContiguousPages{machine.bus(4096)}, soon());
    REQUIRE(other.submitted());
    REQUIRE(queue.wait(other, soon()).is_ok());
    REQUIRE(machine.holds(0x42, 512, 4096));
    REQUIRE(queue.test(held) == Status::pending);
  }
  // The identifier of the held command comes round: it is not given to anybody else.
  CHECK(queue.submit(xio::nvme::read(8, 1), ContiguousPages{machine.bus(4096)}, shortly()).status == Status::timed_out);
  CHECK(machine.holds(0, 512));
  CHECK_FALSE(machine.host.controller.abort(handle.qid, static_cast<uint32_t>(held.last) & handle.slot_mask));
  CHECK(queue.fence(shortly()) == Status::timed_out);

  machine.qemu_io("resume A");
  CHECK(queue.wait(held, soon()).is_ok());
  CHECK(machine.holds(0x41, 512));
  for (uint32_t i = 0; i < 20; ++i) {
    REQUIRE(host_tests::run(queue, xio::nvme::read(8, 1), ContiguousPages{machine.bus(4096)}).is_ok());
  }
  CHECK(queue.quiet(soon()).is_ok());
}

TEST_CASE("a slow medium: a wait ends at its deadline, and a later one gets the answer", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  const QemuProtocol protocol = GENERATE(QemuProtocol::remote, QemuProtocol::qtest);
  INFO(host_tests::protocol_name(protocol));
  // One request a second: the last one of 20 is not back before the machine is told to go faster, however busy ours is.
  Machine machine(throttled(protocol, 1));
  Queue<Sharing::grid> queue(machine.queue.handle());
  Token tokens[20];
  for (uint32_t i = 0; i < 20; ++i) {
    tokens[i] = queue.submit(xio::nvme::read(i, 1), ContiguousPages{machine.bus(i * 512)}, soon());
    REQUIRE(tokens[i].submitted());
  }
  CHECK(queue.wait(tokens[19], shortly()) == Status::timed_out);
  CHECK(queue.test(tokens[19]) == Status::pending);
  uint32_t which = 99;
  CHECK(queue.wait_any(tokens, 20, soon(), which).is_ok());
  CHECK(which < 19);
  machine.host.qemu->monitor().set_property("/objects/slow", "limits", "{\"iops-total\":100000}");
  CHECK(queue.wait_all(tokens, 20, soon()).is_ok());
  CHECK(queue.quiet(soon()).is_ok());
}

TEST_CASE("a medium with latency", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  QemuOptions options;
  options.blockdevs = {"driver=null-co,node-name=drive0,size=67108864,latency-ns=2000000000"};
  Machine machine(options);
  Queue<Sharing::thread> queue(machine.queue.handle());
  const Token token = queue.submit(xio::nvme::read(0, 1), ContiguousPages{machine.bus()}, soon());
  CHECK(queue.wait(token, xio::deadline(1_ms)) == Status::timed_out);
  CHECK(queue.wait(token, soon()).is_ok());
}
