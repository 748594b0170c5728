// SPDX-License-Identifier: MIT

/// @file
/// @brief I/O queues on QEMU's controller: doorbells through the proxy, shadow doorbells, every size, many at once.

#include <cstring>
#include <iterator>
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

/// Keeps `io` full with reads of one block until `count` are done; returns how many went wrong.
template <class Queue>
uint64_t read_many(Queue& io, uint64_t bus, uint32_t count) {
  const xio::Deadline until = xio::deadline(xio::Duration{30000000000});
  std::vector<xio::Token> tokens;
  uint64_t wrong = 0;
  for (uint32_t i = 0; i < count; ++i) {
    tokens.push_back(io.submit(nvme::read(i % 1000, 1), nvme::ContiguousPages{bus}, until));
    const uint32_t depth = io.handle().depth;
    if (tokens.size() >= depth) wrong += !io.wait(tokens[tokens.size() - depth], until).is_ok();
  }
  const size_t open = tokens.size() < io.handle().depth ? tokens.size() : io.handle().depth - 1;
  for (size_t i = tokens.size() - open; i < tokens.size(); ++i) wrong += !io.wait(tokens[i], until).is_ok();
  return wrong;
}

}  // namespace

TEST_CASE("queues of every size turn over many times", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  const QemuProtocol protocol = GENERATE(QemuProtocol::remote, QemuProtocol::qtest);
  INFO(host_tests::protocol_name(protocol));
  QemuController machine(options_for(protocol));
  const DmaBuffer page = machine.controller.allocate(4096);
  for (const uint32_t depth : {1u, 2u, 3u, 64u, 1023u, 2048u}) {
    INFO("depth " << depth);
    QueueOptions options;
    options.depth = depth;
    const NvmeQueue queue = machine.controller.create_queue(options);
    nvme::Queue<xio::Sharing::thread> io(queue.handle());
    const uint32_t count = depth < 64 ? 300 : 5 * depth;
    CHECK(read_many(io, page.bus(), count) == 0);
    CHECK(queue.handle().state->retired == count);
  }
  QueueOptions options;
  options.depth = 2049;
  CHECK(contains(error_of([&] { machine.controller.create_queue(options); }), "at most 2048 (CAP.MQES + 1)"));
  options.depth = 64;
  options.non_contiguous = true;
  CHECK(contains(error_of([&] { machine.controller.create_queue(options); }), "CAP.CQR = 1"));
  CHECK(machine.qemu->doorbell_error().empty());
  CHECK(machine.qemu->doorbell_statistics().words > 0);
}

TEST_CASE("queues are made again with and without shadow doorbells", "[qemu][H34]") {
  if (host_tests::qemu_is_missing()) return;
  const QemuProtocol protocol = GENERATE(QemuProtocol::remote, QemuProtocol::qtest);
  const bool shadow = GENERATE(false, true);
  INFO(host_tests::protocol_name(protocol) << (shadow ? ", shadow doorbells" : ""));
  QemuController machine(options_for(protocol));
  NvmeController& controller = machine.controller;
  const DmaBuffer page = controller.allocate(4096);
  QueueOptions options;
  options.depth = 7;
  options.cq_entries = 16;
  options.shadow_doorbells = shadow;
  NvmeQueue queue;
  // As many commands as in the life before: a stale doorbell word would look unchanged. Fewer: a stale EventIdx would
  // suppress every kick.
  const uint32_t counts[] = {1, 1, 5, 2, 2, 6, 1, 7, 3, 8, 13, 4};
  for (size_t life = 0; life < std::size(counts); ++life) {
    if (life == 6) {
      controller.recover();
    } else {
      queue.remove();
      queue = controller.create_queue(options);
    }
    REQUIRE(queue.qid() == 1);
    const uint32_t count = counts[life];
    uint64_t wrong = 1;
    if (shadow) {
      nvme::Queue<xio::Sharing::thread, xio::Policy<xio::RingBy<xio::ShadowDoorbell>>> io(queue.handle());
      wrong = read_many(io, page.bus(), count);
    } else {
      nvme::Queue<xio::Sharing::thread> io(queue.handle());
      wrong = read_many(io, page.bus(), count);
    }
    REQUIRE(wrong == 0);
  }
}

TEST_CASE("nothing is forwarded from the doorbells of queues that a reset has ended", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  const QemuProtocol protocol = GENERATE(QemuProtocol::remote, QemuProtocol::qtest);
  INFO(host_tests::protocol_name(protocol));
  QemuController machine(options_for(protocol));
  NvmeController& controller = machine.controller;
  const DmaBuffer page = controller.allocate(4096);
  const NvmeQueue queue = controller.create_queue();
  const NvmeQueue other = controller.create_queue();
  uint32_t* const words = machine.qemu->doorbell_words();
  for (int round = 0; round < 3; ++round) {
    controller.reset();
    const uint64_t before = machine.qemu->doorbell_statistics().words;
    const uint64_t looks = machine.qemu->doorbell_statistics().looks;
    for (uint32_t word = 2; word < 6; ++word) __atomic_store_n(words + word, 1u, __ATOMIC_RELEASE);
    REQUIRE(host_tests::eventually([&] { return machine.qemu->doorbell_statistics().looks > looks + 2; }));
    CHECK(machine.qemu->doorbell_statistics().words == before);
    controller.recover();
    for (const NvmeQueue* one : {&queue, &other}) {
      nvme::Queue<xio::Sharing::thread> io(one->handle());
      CHECK(read_many(io, page.bus(), 100) == 0);
    }
  }
}

TEST_CASE("all queues of the controller at once", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  QemuOptions options;
  options.queues = 64;
  QemuController machine(options);
  NvmeController& controller = machine.controller;
  REQUIRE(controller.granted_queues() == 64);
  const DmaBuffer data = controller.allocate(size_t{64} * 4096);
  std::vector<NvmeQueue> queues;
  for (int i = 0; i < 64; ++i) queues.push_back(controller.create_queue());
  CHECK(contains(error_of([&] { controller.create_queue(); }), "all 64 queue pairs"));

  // Every queue writes a block of its own before any of them waits.
  const xio::Deadline until = xio::deadline(xio::Duration{30000000000});
  std::vector<nvme::Queue<xio::Sharing::thread>> io;
  std::vector<xio::Token> tokens;
  for (const NvmeQueue& queue : queues) io.emplace_back(queue.handle());
  for (size_t i = 0; i < io.size(); ++i) {
    std::memset(data.as<char>(i * 4096), static_cast<int>(i + 1), 512);
    tokens.push_back(io[i].submit(nvme::write(i, 1), nvme::ContiguousPages{data.bus() + i * 4096}, until));
  }
  for (size_t i = 0; i < io.size(); ++i) REQUIRE(io[i].wait(tokens[i], until).is_ok());
  std::memset(data.data(), 0, data.size());
  REQUIRE(host_tests::run(io[5], nvme::read(0, 64), nvme::ContiguousPages{data.bus()}).is_ok());
  for (size_t i = 0; i < io.size(); ++i) REQUIRE(*data.as<unsigned char>(i * 512 + 511) == i + 1);

  queues.clear();
  CHECK(controller.create_queue().qid() == 1);
}

TEST_CASE("a command that QEMU holds back can be aborted in name only, and ends later", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  QemuOptions options;
  options.blockdevs = {"driver=file,node-name=file0,filename=@image@", "driver=blkdebug,node-name=debug0,image=file0",
                       "driver=raw,node-name=drive0,file=debug0"};
  QemuController machine(options);
  NvmeController& controller = machine.controller;
  const NvmeQueue queue = controller.create_queue();
  nvme::Queue<xio::Sharing::thread> io(queue.handle());
  const DmaBuffer page = controller.allocate(8192);
  const nvme::ContiguousPages pages{page.bus()};
  const xio::Deadline until = xio::deadline(xio::Duration{20000000000});

  machine.qemu->monitor().human("qemu-io drive0 \"break read_aio held\"");
  const xio::Token held = io.submit(nvme::read(0, 8), pages, until);
  const xio::Token other = io.submit(nvme::read(8, 8), nvme::ContiguousPages{page.bus() + 4096}, until);
  CHECK(io.wait(other, until).is_ok());
  CHECK(io.wait(held, xio::deadline(xio::Duration{10000000})) == xio::Status::timed_out);
  CHECK_FALSE(controller.abort(queue.qid(), static_cast<uint32_t>(held.last)));
  machine.qemu->monitor().human("qemu-io drive0 \"resume held\"");
  CHECK(io.wait(held, until).is_ok());
}
