// SPDX-License-Identifier: MIT

/// @file
/// @brief In-process NVMe controller: it writes down whatever a host must not do, and nothing that a host may do.

#include <functional>
#include <string>
#include <vector>

#include "../catch.hpp"
#include "model_host.hpp"

using namespace model_test;

namespace {

struct StrictHost : Host {
  explicit StrictHost(const NvmeConfig& config = everything())
      : Host(config), queue(create_queue(1)), data(controller.allocate(1 << 16, 4096)) {}
  static NvmeConfig everything() {
    NvmeConfig config = stepped();
    config.transfer_only_commands = true;
    return config;
  }
  uint64_t bus(uint64_t offset = 0) const { return data.bus() + offset; }
  uint64_t count() const { return controller.violations()->count(); }

  Queue queue;
  DmaBuffer data;
};

Sqe with(const Sqe& sqe, const std::function<void(Sqe&)>& change) {
  Sqe changed = sqe;
  change(changed);
  return changed;
}

/// Every I/O command as a host may send it. Dwords 2, 3, 14 and 15 of some are tags.
std::vector<Sqe> good_commands(uint64_t bus) {
  return {io(op_read, 0, 8, bus),
          io(op_write, 0, 8, bus),
          io(op_compare, 0, 8, bus),
          io(op_zeroes, 0, 8),
          io(op_verify, 0, 8),
          io(op_uncorrectable, 100, 8),
          command(op_flush, 1),
          command(op_dsm, 1, bus + 8192, 0, 0, 4),
          command(0x0d, 1, bus, 0, 0xc000000b),
          command(0x0e, 1, bus, 0, 15, 1),
          command(0x11, 1, bus, 0, 0x109),
          command(0x15, 1, bus, 0, 0x109),
          command(0x12, 1, bus, 0, 0x10001, 15),
          command(0x1d, 1, bus, 0, 0x10001),
          command(0x19, 1, bus, 0, 7, 0, 0x101),
          with(command(0x79, 1, 0, 0, 0, 0, 0), [](Sqe& sqe) { sqe.cdw13 = 0x304; }),
          with(command(0x79, 1, bus, 0, 0, 0, 0), [](Sqe& sqe) { sqe.cdw13 = 0x10; }),
          with(command(0x7a, 1, bus, 0, 0, 0, 63), [](Sqe& sqe) { sqe.cdw13 = 0x1ff01; }),
          io(0x7d, 0, 8, bus)};
}

}  // namespace

TEST_CASE("reserved bits of every I/O command are noticed, one by one, and no others") {
  StrictHost host;
  for (const Sqe& good : good_commands(host.bus())) {
    CAPTURE(good.cdw0);
    REQUIRE(host.code(host.queue, good) == 0);
    REQUIRE(host.count() == 0);
    const auto noticed = [&](const Sqe& bad) {
      host.code(host.queue, bad);
      const auto found = host.controller.violations()->take();
      return !found.empty() && found[0].kind == Kind::reserved;
    };
    for (uint32_t bit = 10; bit <= 13; ++bit) {
      CAPTURE(bit);
      CHECK(noticed(with(good, [&](Sqe& sqe) { sqe.cdw0 |= 1u << bit; })));
    }
    CHECK(noticed(with(good, [](Sqe& sqe) { sqe.cdw0 |= 3u << 8; })));
    CHECK(noticed(with(good, [](Sqe& sqe) { sqe.cdw0 |= 3u << 14; })));
    CHECK(noticed(with(good, [](Sqe& sqe) { sqe.mptr = 8; })));
    const bool data = good.prp1 != 0;
    CHECK(noticed(with(good, [&](Sqe& sqe) { (data ? sqe.prp2 : sqe.prp1) = host.bus(4096); })));
    if (!data) CHECK(noticed(with(good, [&](Sqe& sqe) { sqe.prp2 = host.bus(4096); })));
  }
  // Bits that no command set of today uses.
  struct Bits {
    Sqe good;
    uint32_t Sqe::* word;
    uint32_t reserved;
  };
  const uint64_t bus = host.bus();
  const Bits all[] = {{command(op_flush, 1), &Sqe::cdw10, ~0u},
                      {command(op_flush, 1), &Sqe::cdw2, ~0u},
                      {command(op_flush, 1), &Sqe::cdw15, ~0u},
                      {io(op_read, 0, 1, bus), &Sqe::cdw3, 0xffff0000},
                      {io(op_read, 0, 1, bus), &Sqe::cdw12, 0x02ff0000},
                      {io(op_read, 0, 1, bus), &Sqe::cdw13, 0xffffff00},
                      {io(op_write, 0, 1, bus), &Sqe::cdw12, 0x020f0000},
                      {io(op_write, 0, 1, bus), &Sqe::cdw13, 0x0000ff00},
                      {io(op_verify, 0, 1), &Sqe::cdw12, 0x02ff0000},
                      {io(op_verify, 0, 1), &Sqe::cdw13, ~0u},
                      {io(op_zeroes, 0, 1), &Sqe::cdw12, 0x00ff0000},
                      {io(op_uncorrectable, 100, 1), &Sqe::cdw12, 0xffff0000},
                      {io(op_uncorrectable, 100, 1), &Sqe::cdw14, ~0u},
                      {command(op_dsm, 1, host.bus(8192)), &Sqe::cdw10, 0xffffff00},
                      {command(op_dsm, 1, host.bus(8192)), &Sqe::cdw11, 0xfffffff8},
                      {command(0x0e, 1, bus, 0, 15), &Sqe::cdw11, 0xfffffffe},
                      {command(0x12, 1, bus, 0, 1, 15), &Sqe::cdw10, 0x0000ff00}};
  for (const Bits& one : all) {
    for (uint32_t bit = 0; bit < 32; ++bit) {
      Sqe sqe = one.good;
      sqe.*one.word |= 1u << bit;
      CAPTURE(one.good.cdw0, bit);
      const bool reserved = (one.reserved >> bit & 1) != 0;
      if (!reserved) continue;
      host.code(host.queue, sqe);
      CHECK(host.count() == 1);
      host.strictness.provoked({Kind::reserved});
    }
  }
}

TEST_CASE("reserved fields of admin commands are noticed") {
  NvmeConfig config = Host::stepped();
  Host host(config);
  DmaBuffer page = host.controller.allocate(8192, 4096);
  const uint64_t bus = page.bus();
  const Sqe identify = command(6, 0, bus, 0, 1);
  const Sqe log = command(2, 0xffffffffu, bus, 0, 2u | 127u << 16);
  for (const Sqe& good : {identify, log, command(0xa, 0, 0, 0, 7), command(9, 0, 0, 0, 0xb), command(8, 0, 0, 0, 1)}) {
    host.run_admin(good);
    CHECK(host.controller.violations()->count() == 0);
  }
  const Sqe bad[] = {with(identify, [](Sqe& sqe) { sqe.cdw10 |= 0x100; }),
                     with(identify, [](Sqe& sqe) { sqe.cdw11 |= 0x10000; }),
                     with(identify, [](Sqe& sqe) { sqe.cdw12 = 1; }),
                     with(identify, [](Sqe& sqe) { sqe.cdw14 = 0x80; }),
                     with(identify, [](Sqe& sqe) { sqe.mptr = 4; }),
                     with(identify, [&](Sqe& sqe) { sqe.prp2 = bus + 4096; }),
                     with(log, [](Sqe& sqe) { sqe.cdw15 = 1; }),
                     with(log, [&](Sqe& sqe) { sqe.prp2 = bus + 4096; }),
                     command(0xa, 0, bus, 0, 7),
                     command(0xa, 0, 0, 0, 7 | 1u << 11),
                     command(9, 0, 0, 0, 0xb | 1u << 8),
                     command(8, 1, 0, 0, 1),
                     command(0, 0, bus, 0, 9),
                     command(0, 0, 0, 0, 9 | 1u << 16),
                     command(5, 0, bus, bus + 4096, 1 | 31u << 16, 1),
                     command(5, 0, bus, 0, 2 | 31u << 16, 1 | 1u << 2)};
  for (const Sqe& sqe : bad) {
    CAPTURE(sqe.cdw0, sqe.cdw10, sqe.cdw11);
    host.run_admin(sqe);
    CHECK(host.controller.violations()->count() == 1);
    host.strictness.provoked({Kind::reserved});
  }
}

TEST_CASE("what a controller said that it takes is a limit") {
  NvmeConfig config = Host::stepped();
  config.mdts = 1;  // 8 KiB
  config.vsl = 2;
  config.wzsl = 3;
  config.wusl = 4;
  config.dmrl = 3;
  config.dmrsl = 10;
  config.dmsl = 25;
  StrictHost host(config);
  REQUIRE(host.admin_code(command(6, 0, host.bus(), 0, 6)) == 0);
  const unsigned char limits[] = {2, 3, 4, 3, 10, 0, 0, 0, 25, 0, 0, 0, 0, 0, 0, 0};
  CHECK(std::memcmp(host.data.data(), limits, sizeof limits) == 0);
  CHECK(host.admin_code(with(command(6, 0, host.bus(), 0, 6), [](Sqe& sqe) { sqe.cdw11 = 2u << 24; })) == 0x002);
  struct Case {
    uint32_t opcode;
    uint32_t blocks;
  };
  for (const Case& one : {Case{op_read, 16}, {op_verify, 32}, {op_zeroes, 64}, {op_uncorrectable, 128}}) {
    CAPTURE(one.opcode);
    const auto run = [&](uint32_t blocks) {
      const bool data = one.opcode == op_read;
      return host.code(host.queue, io(one.opcode, 1000, blocks, data ? host.bus() : 0, data ? host.bus(4096) : 0));
    };
    CHECK(run(one.blocks) == 0);
    CHECK(run(one.blocks + 1) == 0x002);
    host.strictness.provoked({Kind::limit});
  }
  const auto ranges = [&](std::initializer_list<uint32_t> blocks) {
    uint32_t i = 0;
    for (const uint32_t count : blocks) {
      uint32_t* const words = host.data.as<uint32_t>(16 * i++);
      words[0] = words[2] = words[3] = 0;
      words[1] = count;
    }
    return host.code(host.queue, command(op_dsm, 1, host.bus(), 0, i - 1, 4));
  };
  CHECK(ranges({10, 10, 5}) == 0);
  for (const auto& wrong : {std::initializer_list<uint32_t>{1, 1, 1, 1}, {11}, {10, 10, 6}}) {
    CHECK(ranges(wrong) == 0x183);
    host.strictness.provoked({Kind::limit});
  }
}

TEST_CASE("registers are written when, and as, they may be") {
  Host host(Host::stepped(), false);
  const auto wrong = [&](uint64_t offset, uint32_t value) {
    host.controller.write32(offset, value);
    const bool noticed = host.controller.violations()->count() != 0;
    if (noticed) host.strictness.provoked({Kind::setup});
    return noticed;
  };
  CHECK_FALSE(wrong(0x0c, 1));
  CHECK(wrong(0x00, 1));
  CHECK(wrong(0x38, 1));
  CHECK(wrong(0x24, 0x1000));
  CHECK(wrong(0x28, 0x800));
  CHECK(wrong(0x14, 2));
  host.enable();
  CHECK(host.controller.violations()->count() == 0);
  const uint32_t cc = host.controller.read32(0x14);
  CHECK(wrong(0x24, 0x00100010));
  CHECK(wrong(0x28, 0));
  CHECK(wrong(0x34, 0));
  CHECK(wrong(0x14, cc | 1u << 11));
  CHECK(wrong(0x14, cc));
  CHECK_FALSE(wrong(0x14, cc | 1u << 14));
  CHECK_FALSE(wrong(0x14, cc & ~1u));
}

TEST_CASE("identifiers and entries") {
  NvmeConfig config = Host::stepped();
  config.poison_fetched_entries = true;
  StrictHost host(config);
  host.queue.put(command(op_flush, 1), 0xffff);
  host.queue.ring();
  host.controller.run();
  host.strictness.provoked({Kind::identifier});
  // Many of a kind: the first ones are kept, all are counted.
  host.queue.take_all();
  for (uint32_t i = 0; i < 100; ++i) host.code(host.queue, with(command(op_flush, 1), [](Sqe& sqe) { sqe.mptr = 1; }));
  CHECK(host.count() == 100);
  CHECK(host.controller.violations()->text().find("and 36 more") != std::string::npos);
  CHECK(host.controller.violations()->take().size() == xio::emulation::NvmeViolations::kept);
  CHECK(host.count() == 0);
  CHECK(host.controller.violations()->text().empty());
}
