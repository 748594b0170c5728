// SPDX-License-Identifier: MIT

/// @file
/// @brief Doorbells that go wrong, full rings, a controller that fails and queues that are made again, on QEMU's
/// controller.

#include <algorithm>
#include <vector>

#include <xio/host/simt/simt.hpp>

#include "qemu/faults.hpp"

using namespace fault_tests;

namespace {

template <class Q>
void read_some(Q& queue, Machine& machine, uint32_t count) {
  std::vector<Token> tokens;
  for (uint32_t i = 0; i < count; ++i) {
    tokens.push_back(queue.submit(xio::nvme::read(i % 100, 1), ContiguousPages{machine.bus()}, soon()));
    REQUIRE(tokens.back().submitted());
  }
  for (const Token& token : tokens) REQUIRE(queue.wait(token, soon()).is_ok());
}

void kernel(const xio::nvme::QueueHandle& handle, uint64_t bus, uint32_t rounds) {
  Queue<Sharing::grid, xio::Policy<xio::RingBy<xio::ShadowDoorbell>>> queue(handle);
  for (uint32_t i = 0; i < rounds; ++i) {
    const Token token = queue.submit(xio::nvme::read(i, 1), ContiguousPages{bus}, soon());
    if (!queue.wait(token, soon()).is_ok()) throw xio::host::Error("a read failed");
  }
}

}  // namespace

TEST_CASE("doorbells with values that no queue has are ignored, and told to who listens", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  const QemuProtocol protocol = GENERATE(QemuProtocol::remote, QemuProtocol::qtest);
  INFO(host_tests::protocol_name(protocol));
  Machine machine(host_tests::options_for(protocol));
  const auto handle = machine.queue.handle();
  Queue<Sharing::grid> queue(handle);
  read_some(queue, machine, 10);
  auto& controller = machine.host.controller;
  const auto event = [&]() -> uint32_t {
    const auto got = controller.take_event(std::chrono::milliseconds(20000));
    if (!got) return ~0u;
    controller.get_log_page(static_cast<xio::nvme::LogId>(got->log_page()), 64);
    return got->raw;
  };
  const auto listen = [&] {
    controller.request_event();
    controller.get_feature(xio::nvme::FeatureId::number_of_queues);  // answered: the request before it has arrived, too
  };
  // Nobody asked for events: ignored. The next tail that is right counts.
  xio::arch::store_mmio(handle.sq_doorbell, 5000u);
  read_some(queue, machine, 10);

  listen();
  xio::arch::store_mmio(handle.sq_doorbell, 5001u);
  CHECK(event() == 0x00010100);
  read_some(queue, machine, 10);
  listen();
  xio::arch::store_mmio(handle.cq_doorbell, 5002u);
  CHECK(event() == 0x00010100);
  read_some(queue, machine, 300);
  listen();
  machine.host.qemu->write32(0x1000 + 9 * 8, 1);  // a queue that does not exist
  CHECK(event() == 0x00010000);
  read_some(queue, machine, 10);
  CHECK(queue.quiet(soon()).is_ok());
}

TEST_CASE("a completion ring of one entry more than the depth never stops the controller", "[qemu][H24]") {
  if (host_tests::qemu_is_missing()) return;
  const QemuProtocol protocol = GENERATE(QemuProtocol::remote, QemuProtocol::qtest);
  INFO(host_tests::protocol_name(protocol));
  QueueOptions options;
  options.depth = 7;
  options.cq_entries = 8;
  Machine machine(host_tests::options_for(protocol), options);
  REQUIRE(machine.queue.handle().cq_mask == 7);
  Queue<Sharing::thread> queue(machine.queue.handle());
  read_some(queue, machine, 1000);
  CHECK(queue.quiet(soon()).is_ok());
}

TEST_CASE("a completion ring whose head is not told fills up, and goes on when it is", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  QueueOptions options;
  options.depth = 7;
  options.cq_entries = 8;
  Machine machine(host_tests::options_for(QemuProtocol::remote), options);
  // Heads go to a word that nobody looks at.
  auto handle = machine.queue.handle();
  uint32_t nowhere = 0;
  handle.cq_doorbell = &nowhere;
  Queue<Sharing::thread> queue(handle);
  std::vector<Token> tokens;
  for (uint32_t i = 0; i < 14; ++i) {
    tokens.push_back(queue.submit(xio::nvme::read(i, 1), ContiguousPages{machine.bus()}, soon()));
    REQUIRE(tokens.back().submitted());
  }
  // Seven of them end, whichever.
  const auto ended = [&] {
    return std::count_if(tokens.begin(), tokens.end(),
                         [&](const Token& token) { return queue.test(token) != Status::pending; });
  };
  CHECK(xio::poll_until([&] { return ended() >= 7; }, soon()).is_ok());
  CHECK(xio::poll_until([&] { return ended() > 7; }, shortly()) == Status::timed_out);
  xio::arch::store_mmio(machine.queue.handle().cq_doorbell, nowhere);
  for (const Token& token : tokens) CHECK(queue.wait(token, soon()).is_ok());
}

TEST_CASE("a controller that fails is recovered, and so are its queues", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  const QemuProtocol protocol = GENERATE(QemuProtocol::remote, QemuProtocol::qtest);
  INFO(host_tests::protocol_name(protocol));
  Machine machine(host_tests::options_for(protocol));
  auto& controller = machine.host.controller;
  {
    Queue<Sharing::grid> queue(machine.queue.handle());
    read_some(queue, machine, 10);
  }
  {
    // A ring where no memory is: the controller fails when it fetches.
    QueueOptions astray;
    astray.allocate_rings = [](size_t bytes, size_t alignment) {
      void* const memory = std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
      std::memset(memory, 0, bytes);
      return xio::host::DmaBuffer(memory, 0x7000000000, bytes,
                                  std::shared_ptr<void>(memory, [](void* p) { std::free(p); }));
    };
    const NvmeQueue lost = controller.create_queue(astray);
    Queue<Sharing::grid> queue(lost.handle());
    const Token token = queue.submit(xio::nvme::read(0, 1), ContiguousPages{machine.bus()}, soon());
    CHECK(queue.wait(token, shortly()) == Status::timed_out);
    CHECK(host_tests::eventually([&] { return controller.status().cfs() != 0; }));
  }
  controller.recover();
  CHECK(machine.queue.generation() == 2);
  CHECK_FALSE(controller.status().cfs());
  Queue<Sharing::grid> queue(machine.queue.handle());
  read_some(queue, machine, 100);
  CHECK(queue.quiet(soon()).is_ok());
}

TEST_CASE("a reset with commands in flight: waits end, and recovered queues start clean", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  const QemuProtocol protocol = GENERATE(QemuProtocol::remote, QemuProtocol::qtest);
  INFO(host_tests::protocol_name(protocol));
  QueueOptions options;
  options.depth = 7;
  options.cq_entries = 8;
  Machine machine(host_tests::options_for(protocol), options);
  auto& controller = machine.host.controller;
  // Seven commands cannot be completed, since the controller is not told that there is room. Commands that wait for the
  // medium would do as well, but QEMU 7.2 crashes now and then when it is reset with such.
  auto handle = machine.queue.handle();
  uint32_t nowhere = 0;
  handle.cq_doorbell = &nowhere;
  {
    Queue<Sharing::grid> queue(handle);
    Token last;
    for (uint32_t i = 0; i < 14; ++i) {
      last = queue.submit(xio::nvme::read(i, 1), ContiguousPages{machine.bus()}, soon());
      REQUIRE(last.submitted());
    }
    CHECK(queue.wait(last, shortly()) == Status::timed_out);
    controller.reset();
    CHECK_FALSE(machine.queue.valid());
    CHECK(host_tests::contains(host_tests::error_of([&] { machine.queue.handle(); }), "recover()"));
    // The memory of the queue is still there; what was in flight never ends, but the wait does.
    CHECK(queue.wait(last, shortly()) == Status::timed_out);
    CHECK(queue.quiet(shortly()) == Status::timed_out);
  }
  controller.recover();
  CHECK(machine.queue.generation() == 2);
  Queue<Sharing::grid> queue(machine.queue.handle());
  CHECK(queue.quiet(Deadline{0}).is_ok());
  read_some(queue, machine, 10);
  CHECK(queue.quiet(soon()).is_ok());
}

TEST_CASE("queues that are made again are heard at their first doorbell, with and without shadow", "[qemu][H34][H5]") {
  if (host_tests::qemu_is_missing()) return;
  const QemuProtocol protocol = GENERATE(QemuProtocol::remote, QemuProtocol::qtest);
  INFO(host_tests::protocol_name(protocol));
  for (const bool shadow : {false, true}) {
    CAPTURE(shadow);
    QueueOptions options;
    options.depth = 7;
    options.qid = 2;
    options.shadow_doorbells = shadow;
    host_tests::QemuController host(host_tests::options_for(protocol));
    const xio::host::DmaBuffer data = host.controller.allocate(4096);
    for (uint32_t again = 0; again < 6; ++again) {
      CAPTURE(again);
      // Memory of the last round is used again, with its entries and phases in it.
      const NvmeQueue queue = host.controller.create_queue(options);
      const auto run = [&](auto view) {
        for (uint32_t i = 0; i < 3 + again; ++i) {
          const Token token = view.submit(xio::nvme::read(i, 1), ContiguousPages{data.bus()}, soon());
          REQUIRE(view.wait(token, soon()).is_ok());
        }
      };
      if (shadow) {
        run(Queue<Sharing::grid, xio::Policy<xio::RingBy<xio::ShadowDoorbell>>>(queue.handle()));
      } else {
        run(Queue<Sharing::grid>(queue.handle()));
      }
    }
    if (!shadow) continue;
    // Its table knows all tokens to the end, however long one of the waves is kept from running.
    options.completion_slots = 1024;
    const NvmeQueue queue = host.controller.create_queue(options);
    CHECK_NOTHROW(xio::simt::launch(xio::simt::Grid::of_waves(4, 1, 8), kernel, queue.handle(), data.bus(), 30u));
  }
}
