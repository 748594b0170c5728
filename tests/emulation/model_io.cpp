// SPDX-License-Identifier: MIT

/// @file
/// @brief In-process NVMe controller: I/O commands, what they do to the medium, and their status codes.

#include "../catch.hpp"
#include "model_host.hpp"

using namespace model_test;

namespace {

struct IoHost : Host {
  explicit IoHost(const NvmeConfig& config = stepped())
      : Host(config), queue(create_queue(1)), data(controller.allocate(1 << 18, 4096)) {}

  unsigned char* bytes(size_t offset = 0) { return data.as<unsigned char>(offset); }
  uint64_t bus(uint64_t offset = 0) { return data.bus() + offset; }
  uint16_t code(const Sqe& sqe) { return Host::code(queue, sqe); }
  bool all(size_t offset, size_t count, unsigned char value) {
    for (size_t i = 0; i < count; ++i) {
      if (bytes(offset)[i] != value) return false;
    }
    return true;
  }

  Queue queue;
  DmaBuffer data;
};

}  // namespace

TEST_CASE("write, read, and what lies on the medium") {
  IoHost host;
  fill(host.bytes(), 8192, 1);
  CHECK(host.code(io(op_write, 131072 - 16, 16, host.bus(), host.bus(4096))) == 0);
  CHECK(host.code(io(op_read, 131072 - 16, 16, host.bus(8192), host.bus(12288))) == 0);
  CHECK(std::memcmp(host.bytes(), host.bytes(8192), 8192) == 0);
  std::vector<unsigned char> stored(8192);
  host.controller.read_blocks(1, 131072 - 16, 16, stored.data());
  CHECK(std::memcmp(stored.data(), host.bytes(), 8192) == 0);
  // One block in the middle, changed behind the controller's back.
  stored.assign(512, 0x5a);
  host.controller.write_blocks(1, 131072 - 10, 1, stored.data());
  CHECK(host.code(io(op_read, 131072 - 10, 1, host.bus(1024))) == 0);
  CHECK(host.all(1024, 512, 0x5a));
  CHECK_THROWS_AS(host.controller.read_blocks(1, 131072, 1, stored.data()), xio::host::Error);
  CHECK_THROWS_AS(host.controller.read_blocks(2, 0, 1, stored.data()), xio::host::Error);
  const auto statistics = host.controller.statistics();
  CHECK(statistics.bytes_written == 8192);
  CHECK(statistics.bytes_read == 8192 + 512);
  CHECK(statistics.queues[1].by_opcode[op_read] == 2);
  CHECK(statistics.queues[1].by_opcode[op_write] == 1);
  CHECK(statistics.queues[1].commands == 3);
  CHECK(statistics.queues[1].completions == 3);
  CHECK(statistics.queues[1].errors == 0);
}

TEST_CASE("status of bad I/O commands, as QEMU gives them") {
  NvmeConfig config = Host::stepped();
  config.mdts = 5;
  IoHost host(config);
  const auto bus = host.bus();
  CHECK(host.code(io(op_read, 131072 - 4, 8, bus)) == 0x080);
  CHECK(host.code(io(op_read, ~uint64_t{0}, 1, bus)) == 0x080);
  CHECK(host.code(io(op_read, ~uint64_t{0} - 3, 8, bus)) == 0x080);
  CHECK(host.code(io(op_write, 131072, 1, bus)) == 0x080);
  CHECK(host.code(io(op_zeroes, 131071, 2)) == 0x080);
  CHECK(host.code(io(op_verify, 131071, 2)) == 0x080);
  CHECK(host.code(io(op_compare, 131071, 2, bus)) == 0x080);
  CHECK(host.code(io(op_uncorrectable, 131071, 2)) == 0x080);
  CHECK(host.code(command(0x7f, 1, bus)) == 0x001);
  CHECK(host.code(io(op_read, 0, 8, bus, 0, 2)) == 0x002);  // inactive
  CHECK(host.code(io(op_read, 0, 8, bus, 0, 0)) == 0x00b);  // never valid
  CHECK(host.code(io(op_read, 0, 8, bus, 0, 257)) == 0x00b);
  CHECK(host.code(command(op_flush, 2)) == 0x002);
  CHECK(host.code(command(op_flush, 0)) == 0x00b);
  CHECK(host.code(command(op_flush, 0xffffffffu)) == 0);
  CHECK(host.code(io(op_read, 0, 256, bus, bus + 65536)) == 0x004);  // a list that names nothing
  CHECK(host.code(io(op_read, 0, 257, bus, bus + 4096)) == 0x002);   // 128 KiB + 512 with MDTS 5
  CHECK(host.code(io(op_read | 1u << 8, 0, 1, bus)) == 0x002);       // fused, first
  CHECK(host.code(io(op_read | 2u << 8, 0, 1, bus)) == 0x002);
  CHECK(host.code(io(op_zeroes, 0, 65536)) == 0);  // moves no data: MDTS says nothing
  const Cqe cqe = host.run(host.queue, io(op_read, 131072, 1, bus));
  CHECK(dnr(cqe));
  CHECK(cqe.sqid == 1);
  CHECK(host.code(command(op_flush, 1)) == 0);
  host.strictness.provoked({Kind::memory, Kind::limit});
}

TEST_CASE("compare, verify, write zeroes, deallocate") {
  IoHost host;
  fill(host.bytes(), 4096, 2);
  CHECK(host.code(io(op_write, 64, 8, host.bus())) == 0);
  CHECK(host.code(io(op_compare, 64, 8, host.bus())) == 0);
  host.bytes()[4095] ^= 1;
  CHECK(host.code(io(op_compare, 64, 8, host.bus())) == 0x285);
  host.bytes()[4095] ^= 1;
  CHECK(host.code(io(op_verify, 0, 65536)) == 0);

  CHECK(host.code(io(op_zeroes, 65, 2)) == 0);
  Sqe deallocating = io(op_zeroes, 70, 1);
  deallocating.cdw12 |= 1u << 25;
  CHECK(host.code(deallocating) == 0);
  CHECK(host.code(io(op_read, 64, 8, host.bus(8192))) == 0);
  CHECK(std::memcmp(host.bytes(), host.bytes(8192), 512) == 0);
  CHECK(host.all(8192 + 512, 1024, 0));
  CHECK(std::memcmp(host.bytes(3 * 512), host.bytes(8192 + 3 * 512), 3 * 512) == 0);
  CHECK(host.all(8192 + 6 * 512, 512, 0));
  CHECK(std::memcmp(host.bytes(7 * 512), host.bytes(8192 + 7 * 512), 512) == 0);

  CHECK(host.code(io(op_write, 64, 8, host.bus())) == 0);
  const auto range = [&](uint32_t i, uint64_t lba, uint32_t blocks) {
    uint32_t* const words = reinterpret_cast<uint32_t*>(host.bytes(16384 + 16 * i));
    words[0] = 0;
    words[1] = blocks;
    std::memcpy(words + 2, &lba, 8);
  };
  range(0, 64, 1);
  range(1, 70, 2);
  CHECK(host.code(command(op_dsm, 1, host.bus(16384), 0, 1, 0)) == 0);  // a hint: nothing happens
  CHECK(host.code(io(op_compare, 64, 8, host.bus())) == 0);
  CHECK(host.code(command(op_dsm, 1, host.bus(16384), 0, 1, 4)) == 0);
  CHECK(host.code(io(op_read, 64, 8, host.bus(8192))) == 0);
  CHECK(host.all(8192, 512, 0));
  CHECK(std::memcmp(host.bytes(512), host.bytes(8192 + 512), 5 * 512) == 0);
  CHECK(host.all(8192 + 6 * 512, 1024, 0));
  range(1, 131071, 2);
  range(0, 65, 1);
  CHECK(host.code(command(op_dsm, 1, host.bus(16384), 0, 1, 4)) == 0x080);
  CHECK(host.code(io(op_compare, 65, 1, host.bus(512))) == 0);  // nothing was deallocated
  for (uint32_t i = 0; i < 256; ++i) range(i, i, 1);
  CHECK(host.code(command(op_dsm, 1, host.bus(16384), 0, 255, 4)) == 0);
  CHECK(host.code(io(op_read, 65, 1, host.bus(8192))) == 0);
  CHECK(host.all(8192, 512, 0));
  CHECK(host.code(command(op_dsm, 1, 0x7000000000u, 0, 0, 4)) == 0x004);
  host.strictness.provoked({Kind::memory});
}

TEST_CASE("write uncorrectable, until the next write") {
  IoHost host;
  CHECK(host.code(io(op_uncorrectable, 10, 2)) == 0);
  CHECK(host.code(io(op_read, 8, 2, host.bus())) == 0);
  CHECK(host.code(io(op_read, 8, 3, host.bus())) == 0x281);
  CHECK(host.code(io(op_read, 11, 8, host.bus())) == 0x281);
  CHECK(host.code(io(op_verify, 0, 64)) == 0x281);
  CHECK(host.code(io(op_compare, 10, 1, host.bus())) == 0x281);
  CHECK(host.code(io(op_write, 10, 1, host.bus())) == 0);
  CHECK(host.code(io(op_read, 10, 1, host.bus())) == 0);
  CHECK(host.code(io(op_read, 11, 1, host.bus())) == 0x281);
  CHECK(host.code(io(op_zeroes, 11, 1)) == 0);
  CHECK(host.code(io(op_read, 0, 64, host.bus(), host.bus(4096))) == 0x004);  // 32 KiB want a list; these are zeros
  CHECK(host.code(io(op_verify, 0, 64)) == 0);
  host.strictness.provoked({Kind::memory});
}

TEST_CASE("namespaces of different block and capacity sizes keep apart") {
  NvmeConfig config = Host::stepped();
  config.namespaces = {{1, 64, 512}, {2, 32, 4096}, {7, 16, 65536}};
  IoHost host(config);
  fill(host.bytes(), 1 << 17, 3);
  CHECK(host.code(io(op_write, 3, 1, host.bus(), 0, 1)) == 0);
  CHECK(host.code(io(op_write, 3, 1, host.bus(4096), 0, 2)) == 0);
  uint64_t* const list = reinterpret_cast<uint64_t*>(host.bytes(0x20000));
  for (uint64_t i = 0; i < 15; ++i) list[i] = host.bus(0x11000 + i * 4096);
  CHECK(host.code(io(op_write, 3, 1, host.bus(0x10000), host.bus(0x20000), 7)) == 0);
  CHECK(host.code(io(op_read, 63, 2, host.bus(), 0, 1)) == 0x080);
  CHECK(host.code(io(op_read, 31, 2, host.bus(), host.bus(4096), 2)) == 0x080);
  CHECK(host.code(io(op_read, 16, 1, host.bus(), host.bus(0x20000), 7)) == 0x080);
  std::vector<unsigned char> stored(65536);
  host.controller.read_blocks(1, 3, 1, stored.data());
  CHECK(std::memcmp(stored.data(), host.bytes(), 512) == 0);
  host.controller.read_blocks(2, 3, 1, stored.data());
  CHECK(std::memcmp(stored.data(), host.bytes(4096), 4096) == 0);
  host.controller.read_blocks(7, 3, 1, stored.data());
  CHECK(std::memcmp(stored.data(), host.bytes(0x10000), 65536) == 0);
  CHECK(host.code(io(op_read, 0, 1, host.bus(), 0, 3)) == 0x002);
}

TEST_CASE("force unit access is counted and otherwise a normal write") {
  IoHost host;
  Sqe write = io(op_write, 0, 1, host.bus());
  write.cdw12 |= 1u << 30;
  CHECK(host.code(write) == 0);
  CHECK(host.controller.statistics().forced_unit_access == 1);
}

TEST_CASE("a command identifier in use is refused, H26") {
  for (const bool checked : {true, false}) {
    NvmeConfig config = Host::stepped();
    config.check_command_ids = checked;
    IoHost host(config);
    host.controller.faults().hold(Match().at(0));
    host.queue.put(io(op_read, 0, 1, host.bus()), 5);
    host.queue.put(io(op_read, 0, 1, host.bus()), 5);
    host.queue.put(io(op_read, 0, 1, host.bus()), 6);
    host.queue.ring();
    host.controller.run();
    const auto first = host.queue.take_all();
    REQUIRE(first.size() == 2);
    CHECK(first[0].cid == 5);
    CHECK(code_of(first[0]) == (checked ? 0x003 : 0));
    CHECK(code_of(first[1]) == 0);
    CHECK(host.controller.statistics().queues[1].command_id_conflicts == checked);
    if (checked) host.strictness.provoked({Kind::identifier});
    host.controller.faults().clear();
    host.controller.run();
    const auto second = host.queue.take_all();
    REQUIRE(second.size() == 1);
    CHECK(code_of(second[0]) == 0);
    CHECK(host.code(io(op_read, 0, 1, host.bus())) == 0);
  }
}

TEST_CASE("null medium: addresses count, data does not") {
  NvmeConfig config = Host::stepped();
  config.discard_data = true;
  IoHost host(config);
  host.bytes()[0] = 0x77;
  CHECK(host.code(io(op_read, 0, 1, host.bus())) == 0);
  CHECK(host.bytes()[0] == 0x77);
  CHECK(host.code(io(op_write, 0, 1, host.bus())) == 0);
  CHECK(host.code(io(op_compare, 0, 1, host.bus())) == 0);
  CHECK(host.code(io(op_zeroes, 0, 1)) == 0);
  CHECK(host.code(io(op_read, 0, 1, 0x7000000000u)) == 0x004);
  CHECK(host.code(io(op_read, 131072, 1, host.bus())) == 0x080);
  CHECK_THROWS_AS(host.controller.read_blocks(1, 0, 1, host.bytes()), xio::host::Error);
  host.strictness.provoked({Kind::memory});
}
