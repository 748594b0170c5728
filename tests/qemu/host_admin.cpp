// SPDX-License-Identifier: MIT

/// @file
/// @brief What QEMU's controller refuses, announces and survives: every status by its name.

#include <string>
#include <vector>

#include "catch.hpp"
#include "qemu/host_support.hpp"

using namespace xio::host;
using host_tests::contains;
using host_tests::error_of;
using host_tests::options_for;
using host_tests::QemuController;
namespace nvme = xio::nvme;

namespace {

constexpr std::chrono::milliseconds patience{10000};

nvme::Command create_cq(uint32_t qid, uint32_t entries, bool contiguous = true) {
  nvme::CompletionQueueRequest request;
  request.qid = qid;
  request.entries = entries;
  request.contiguous = contiguous;
  return nvme::create_io_cq(request);
}

nvme::Command create_sq(uint32_t qid, uint32_t entries, uint32_t cqid) {
  nvme::SubmissionQueueRequest request;
  request.qid = qid;
  request.entries = entries;
  request.cqid = cqid;
  return nvme::create_io_sq(request);
}

}  // namespace

TEST_CASE("admin statuses are told by name", "[qemu][H28]") {
  if (host_tests::qemu_is_missing()) return;
  const QemuProtocol protocol = GENERATE(QemuProtocol::remote, QemuProtocol::qtest);
  INFO(host_tests::protocol_name(protocol));
  QemuController machine(options_for(protocol));
  NvmeController& controller = machine.controller;
  const NvmeQueue queue = controller.create_queue();
  const DmaBuffer page = controller.allocate(4096);

  struct Row {
    const char* what;
    nvme::Command command;
    uint16_t code;
    const char* name;
  };
  nvme::IdentifyRequest odd;
  odd.cns = static_cast<nvme::Cns>(0xfe);
  const Row rows[] = {
      {"existing CQ", create_cq(1, 64), 0x101, "Create I/O Completion Queue failed: invalid queue identifier"},
      {"CQ 200", create_cq(200, 64), 0x101, "invalid queue identifier"},
      {"CQ 0", create_cq(0, 64), 0x101, "invalid queue identifier"},
      {"CQ of one entry", create_cq(2, 1), 0x102, "invalid queue size"},
      {"CQ larger than MQES", create_cq(2, 65536), 0x102, "invalid queue size"},
      {"CQ larger than MQES by one", create_cq(2, 2049), 0x102, "invalid queue size"},
      {"CQ that is not contiguous", create_cq(2, 64, false), 0x002, "invalid field in command"},
      {"existing SQ", create_sq(1, 64, 1), 0x101, "Create I/O Submission Queue failed: invalid queue identifier"},
      {"SQ without CQ", create_sq(2, 64, 9), 0x100, "completion queue invalid"},
      {"SQ of one entry", create_sq(2, 1, 1), 0x102, "invalid queue size"},
      {"SQ larger than MQES", create_sq(2, 2049, 1), 0x102, "invalid queue size"},
      {"CQ in use", nvme::delete_io_cq(1), 0x10c, "Delete I/O Completion Queue failed: invalid queue deletion"},
      {"SQ 9", nvme::delete_io_sq(9), 0x101, "Delete I/O Submission Queue failed: invalid queue identifier"},
      {"CQ 9", nvme::delete_io_cq(9), 0x100, "completion queue invalid"},
      {"opcode 55h", nvme::command(static_cast<nvme::AdminOpcode>(0x55)), 0x001,
       "admin command 0x55 failed: invalid command opcode"},
      {"CNS FEh", nvme::identify(odd), 0x002, "Identify failed: invalid field in command"},
      {"feature FFh", nvme::get_features(static_cast<nvme::FeatureId>(0xff)), 0x002,
       "Get Features failed: invalid field"},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    const AdminResult result = controller.admin(row.command, {page.bus(), 0});
    CHECK((result.status.vendor & 0x7ff) == row.code);
    CHECK(result.status.from_device());
    try {
      controller.execute(row.command, {page.bus(), 0});
      FAIL("accepted");
    } catch (const AdminError& error) {
      CHECK(contains(error.what(), row.name));
      CHECK(error.code() == row.code);
    }
  }
  // None of that did any harm.
  xio::nvme::Queue<xio::Sharing::thread> io(queue.handle());
  CHECK(host_tests::run(io, nvme::read(0, 8), nvme::ContiguousPages{page.bus()}).is_ok());
}

TEST_CASE("features and log pages", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  QemuController machine(QemuOptions{});
  NvmeController& controller = machine.controller;
  CHECK((controller.get_feature(nvme::FeatureId::number_of_queues) & 0xffff) == controller.granted_queues() - 1);
  CHECK(controller.get_feature(nvme::FeatureId::volatile_write_cache) == 1);
  controller.set_feature(nvme::FeatureId::volatile_write_cache, 0);
  CHECK(controller.get_feature(nvme::FeatureId::volatile_write_cache) == 0);
  const std::vector<uint8_t> smart = controller.get_log_page(nvme::LogId::smart, 512);
  REQUIRE(smart.size() == 512);
  CHECK(smart[0] == 0);
  CHECK(smart[1] + smart[2] * 256 > 250);  // temperature in kelvins
  const NvmeQueue queue = controller.create_queue();
  CHECK_FALSE(controller.abort(1, 1));  // there is no such command
  CHECK(contains(error_of([&] { controller.set_queue_count(0x10000); }), "expected 1 to 65535"));
}

TEST_CASE("asynchronous events", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  const QemuProtocol protocol = GENERATE(QemuProtocol::remote, QemuProtocol::qtest);
  INFO(host_tests::protocol_name(protocol));
  QemuController machine(options_for(protocol));
  NvmeController& controller = machine.controller;
  const NvmeQueue queue = controller.create_queue();
  const auto next_event = [&] {
    const auto event = controller.take_event(patience);
    if (event) controller.get_log_page(static_cast<nvme::LogId>(event->log_page()), 64);
    return event ? event->raw : 0u;
  };
  // QEMU drops events while it has not fetched a request: the answer to a later command shows that it has.
  const auto request_event = [&] {
    controller.request_event();
    controller.get_feature(nvme::FeatureId::arbitration);
  };
  const uint32_t stride = controller.capabilities().dstrd();

  request_event();
  machine.qemu->write32(nvme::sq_tail_doorbell(1, stride), 2000);
  CHECK(next_event() == 0x00010100);  // invalid doorbell value
  request_event();
  machine.qemu->write32(nvme::cq_head_doorbell(1, stride), 2000);
  CHECK(next_event() == 0x00010100);
  request_event();
  machine.qemu->write32(nvme::sq_tail_doorbell(9, stride), 1);
  CHECK(next_event() == 0x00010000);  // invalid doorbell register

  controller.set_feature(nvme::FeatureId::async_event_configuration, 0xff);
  request_event();
  machine.qemu->monitor().set_property("/machine/peripheral/nvme0", "smart_critical_warning", "4");
  CHECK(next_event() == 0x00020001);  // SMART: reliability
  CHECK(contains(error_of([&] { machine.qemu->monitor().set_property("/machine/peripheral/nvme0", "colour", "1"); }),
                 "QEMU refuses qom-set"));

  // The limit is told, and the queue works all the while.
  for (uint32_t i = 0; i <= controller.info().max_events; ++i) controller.request_event();
  CHECK(contains(error_of([&] { controller.take_event(patience); }), "event request limit exceeded"));
  const DmaBuffer page = controller.allocate(4096);
  xio::nvme::Queue<xio::Sharing::thread> io(queue.handle());
  CHECK(host_tests::run(io, nvme::read(0, 8), nvme::ContiguousPages{page.bus()}).is_ok());
}

TEST_CASE("a fatal status is recovered from, and the queues work again", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  const QemuProtocol protocol = GENERATE(QemuProtocol::remote, QemuProtocol::qtest);
  INFO(host_tests::protocol_name(protocol));
  QemuController machine(options_for(protocol));
  NvmeController& controller = machine.controller;
  NvmeQueue first = controller.create_queue();
  QueueOptions options;
  options.depth = 300;
  NvmeQueue second = controller.create_queue(options);
  const DmaBuffer page = controller.allocate(4096);
  const nvme::ContiguousPages pages{page.bus()};

  for (int round = 0; round < 3; ++round) {
    // A submission queue where there is no memory; its first doorbell is fatal.
    controller.execute(create_cq(3, 64), {controller.allocate(4096).bus(), 0});
    controller.execute(create_sq(3, 64, 3), {0x7000000000, 0});
    machine.qemu->write32(nvme::sq_tail_doorbell(3, 0), 1);
    REQUIRE(host_tests::eventually([&] { return controller.status().cfs(); }));
    controller.recover();
    CHECK_FALSE(controller.status().cfs());
    CHECK(first.generation() == static_cast<uint64_t>(round) + 2);
    for (const NvmeQueue* queue : {&first, &second}) {
      xio::nvme::Queue<xio::Sharing::thread> io(queue->handle());
      for (int i = 0; i < 200; ++i) REQUIRE(host_tests::run(io, nvme::read(8, 8), pages).is_ok());
    }
  }
}
