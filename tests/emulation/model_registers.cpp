// SPDX-License-Identifier: MIT

/// @file
/// @brief In-process NVMe controller: registers, enabling, reset, fatal status, removal.

#include "../catch.hpp"
#include "model_host.hpp"

using namespace model_test;

TEST_CASE("CAP shows the configuration") {
  NvmeConfig config = Host::stepped();
  config.mqes = 31;
  config.dstrd = 2;
  config.mpsmin = 1;
  config.mpsmax = 3;
  config.contiguous_queues_required = false;
  config.ready_timeout = 9;
  NvmeController model(config);
  const uint64_t cap = model.read64(0);
  CHECK((cap & 0xffff) == 31);
  CHECK((cap >> 16 & 1) == 0);
  CHECK((cap >> 24 & 0xff) == 9);
  CHECK((cap >> 32 & 0xf) == 2);
  CHECK((cap >> 37 & 1) == 1);
  CHECK((cap >> 48 & 0xf) == 1);
  CHECK((cap >> 52 & 0xf) == 3);
  CHECK(model.read32(4) == static_cast<uint32_t>(cap >> 32));
  CHECK(model.read32(8) == 0x00010400);
  config.contiguous_queues_required = true;
  CHECK((NvmeController(config).read64(0) >> 16 & 1) == 1);
}

TEST_CASE("registers keep what they can hold") {
  NvmeController model(Host::stepped());
  model.write64(0x28, 0x123456789abcdfffu);
  model.write64(0x30, 0xfedcba9876543fffu);
  model.write32(0x24, 0xffffffffu);
  CHECK(model.read64(0x28) == 0x123456789abcd000u);
  CHECK(model.read64(0x30) == 0xfedcba9876543000u);
  CHECK(model.read32(0x24) == 0x0fff0fffu);
  model.write32(0x0c, 5);
  model.write32(0x10, 1);
  CHECK(model.read32(0x0c) == 4);
  const uint64_t cap = model.read64(0);
  model.write64(0, 0);
  model.write32(0x1c, 0xffffffffu);
  CHECK(model.read64(0) == cap);
  CHECK(model.read32(0x1c) == 0);
  CHECK(model.read32(0x1000) == 0);
  CHECK(model.read32(0x38) == 0);
}

TEST_CASE("enable, reset, enable again") {
  Host host;
  CHECK(host.csts() == 1);
  Queue queue = host.create_queue(1);
  DmaBuffer data = host.controller.allocate(4096, 4096);
  CHECK(host.code(queue, io(op_read, 0, 8, data.bus())) == 0);
  host.disable();
  CHECK(host.csts() == 0);
  queue.put(io(op_read, 0, 8, data.bus()), 7);
  queue.ring();
  host.controller.run();
  CHECK(!queue.take());
  host.enable();
  CHECK(host.csts() == 1);
  // The queue is gone; its doorbell means nothing.
  queue.ring();
  host.controller.run();
  CHECK(!queue.take());
  queue = host.create_queue(1);
  CHECK(host.code(queue, io(op_read, 0, 8, data.bus())) == 0);
  const auto statistics = host.controller.statistics();
  CHECK(statistics.enables == 2);
  CHECK(statistics.resets == 1);
  host.strictness.provoked({Kind::doorbell});
}

TEST_CASE("a disable that is followed at once by an enable is a reset") {
  NvmeConfig config;
  config.queues = 2;
  Host host(config);
  host.create_queue(1);
  host.controller.write32(0x14, 6u << 16 | 4u << 20);
  host.admin = host.make_queue(0, 32, 32);
  host.controller.write64(0x28, host.admin.sq_memory.bus());
  host.controller.write64(0x30, host.admin.cq_memory.bus());
  host.controller.write32(0x14, 1u | 6u << 16 | 4u << 20);
  host.wait([&] { return host.controller.statistics().enables == 2; });
  host.create_queue(1);
  CHECK(host.controller.statistics().resets == 1);
  // The queues' addresses are written while it may still be ready.
  host.strictness.permitted({Kind::setup});
}

TEST_CASE("settings that the controller does not have are fatal, and a reset helps") {
  const uint32_t good = 1u | 6u << 16 | 4u << 20;
  Host host(Host::stepped(), false);
  DmaBuffer memory = host.controller.allocate(8192, 4096);
  const auto try_with = [&](uint32_t cc, uint32_t aqa) {
    host.controller.write32(0x24, aqa);
    host.controller.write64(0x28, memory.bus());
    host.controller.write64(0x30, memory.bus() + 4096);
    host.controller.write32(0x14, cc);
    const uint32_t csts = host.csts();
    host.controller.write32(0x14, 0);
    CHECK(host.csts() == 0);
    return csts;
  };
  CHECK(try_with(good, 31u | 31u << 16) == 1);
  CHECK(try_with(good, 0u | 31u << 16) == 2);
  CHECK(try_with(good, 31u) == 2);
  CHECK(try_with(good | 5u << 7, 31u | 31u << 16) == 2);   // page larger than MPSMAX
  CHECK(try_with(good | 1u << 4, 31u | 31u << 16) == 2);   // command set
  CHECK(try_with(good | 1u << 11, 31u | 31u << 16) == 2);  // arbitration
  CHECK(try_with(1u | 4u << 20, 31u | 31u << 16) == 2);    // SQE size
  CHECK(try_with(1u | 6u << 16, 31u | 31u << 16) == 2);    // CQE size
  CHECK(try_with(good | 1u << 7, 31u | 31u << 16) == 2);   // of ASQ and ACQ, one is not page aligned
  host.enable();
  CHECK(host.csts() == 1);
  host.strictness.provoked({Kind::setup});
}

TEST_CASE("shutdown notification") {
  Host host;
  host.controller.write32(0x14, 1u | 6u << 16 | 4u << 20 | 1u << 14);
  CHECK(host.csts() == (1u | 2u << 2));
  host.disable();
  CHECK(host.csts() == 0);
}

TEST_CASE("admin queue in memory that is not mapped is fatal") {
  Host host(Host::stepped(), false);
  DmaBuffer cq = host.controller.allocate(4096, 4096);
  host.controller.write32(0x24, 31u | 31u << 16);
  host.controller.write64(0x28, 0x7000000000u);
  host.controller.write64(0x30, cq.bus());
  host.controller.write32(0x14, 1u | 6u << 16 | 4u << 20);
  CHECK(host.csts() == 1);
  host.controller.write32(0x1000, 1);
  CHECK(host.csts() == 3);
  CHECK(host.controller.statistics().fatal_errors == 1);
  host.controller.write32(0x14, 0);
  CHECK(host.csts() == 0);
  host.enable();
  CHECK(host.admin_code(command(0x0a, 0, 0, 0, 7)) == 0);
  host.strictness.provoked({Kind::memory});
}

TEST_CASE("slow enable, and never") {
  Host host(Host::stepped(), false);
  host.controller.faults().slow_enable_us(~uint64_t{0});
  host.admin = host.make_queue(0, 32, 32);
  host.controller.write32(0x24, 31u | 31u << 16);
  host.controller.write64(0x28, host.admin.sq_memory.bus());
  host.controller.write64(0x30, host.admin.cq_memory.bus());
  host.controller.write32(0x14, 1u | 6u << 16 | 4u << 20);
  for (int i = 0; i < 100; ++i) host.controller.step();
  CHECK(host.csts() == 0);
  host.controller.faults().slow_enable_us(2000);
  host.wait([&] { return host.csts() == 1; });
  CHECK(host.admin_code(command(0x0a, 0, 0, 0, 7)) == 0);
}

TEST_CASE("CSTS.CFS on demand: nothing goes on until the reset") {
  Host host;
  Queue queue = host.create_queue(1);
  host.controller.faults().fail_controller();
  host.controller.step();
  CHECK(host.csts() == 3);
  queue.put(command(op_flush, 1), 1);
  queue.ring();
  host.controller.run();
  CHECK(!queue.take());
  host.disable();
  host.enable();
  queue = host.create_queue(1);
  CHECK(host.code(queue, command(op_flush, 1)) == 0);
  CHECK(host.controller.statistics().fatal_errors == 1);
}

TEST_CASE("removal: registers read as ones") {
  Host host;
  Queue queue = host.create_queue(1);
  CHECK(host.controller.alive());
  host.controller.faults().remove_controller();
  CHECK(!host.controller.alive());
  CHECK(host.controller.read32(0x1c) == ~uint32_t{0});
  CHECK(host.controller.read64(0) == ~uint64_t{0});
  queue.put(command(op_flush, 1), 1);
  queue.ring();
  CHECK(host.controller.run() == 0);
  CHECK(!queue.take());
}

TEST_CASE("impossible configurations are refused") {
  const auto refused = [](auto change) {
    NvmeConfig config = Host::stepped();
    change(config);
    try {
      NvmeController model(config);
    } catch (const xio::host::Error&) {
      return true;
    }
    return false;
  };
  CHECK(!refused([](NvmeConfig&) {}));
  CHECK(refused([](NvmeConfig& c) { c.namespaces.clear(); }));
  CHECK(refused([](NvmeConfig& c) { c.namespaces[0].nsid = 0; }));
  CHECK(refused([](NvmeConfig& c) { c.namespaces[0].blocks = 0; }));
  CHECK(refused([](NvmeConfig& c) { c.namespaces[0].block_bytes = 1000; }));
  CHECK(refused([](NvmeConfig& c) { c.namespaces.push_back(c.namespaces[0]); }));
  CHECK(refused([](NvmeConfig& c) { c.queues = 0; }));
  CHECK(refused([](NvmeConfig& c) { c.mqes = 0; }));
  CHECK(refused([](NvmeConfig& c) { c.mpsmin = 5; }));
  CHECK(refused([](NvmeConfig& c) { c.dstrd = 9; }));
  CHECK(refused([](NvmeConfig& c) { c.bus_offset = 4096; }));
  CHECK(refused([](NvmeConfig& c) { c.serial = "123456789012345678901"; }));
}
