// SPDX-License-Identifier: MIT

/// @file
/// @brief QEMU as a transport: starts by either protocol, offers what was asked for, and says why where it cannot.

#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <xio/host/nvme/open.hpp>

#include "catch.hpp"
#include "qemu/host_support.hpp"

using namespace xio::host;
using host_tests::contains;
using host_tests::error_of;
using host_tests::options_for;
using host_tests::QemuController;

TEST_CASE("a controller starts and is identified by either protocol", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  const QemuProtocol protocol = GENERATE(QemuProtocol::remote, QemuProtocol::qtest);
  INFO(host_tests::protocol_name(protocol));
  QemuOptions options = options_for(protocol);
  options.block_bytes = 4096;
  options.size = 8 << 20;
  options.queues = 5;
  options.mdts = 3;
  options.serial = "with,comma";
  QemuController machine(options);
  CHECK(machine.qemu->uses_remote() == (protocol == QemuProtocol::remote));
  CHECK(contains(machine.qemu->description(), "NVMe controller by " + host_tests::protocol_name(protocol)));
  CHECK(machine.qemu->alive());
  CHECK(machine.qemu->start_time().count() > 0);
  const NvmeController& controller = machine.controller;
  CHECK(controller.info().model == "QEMU NVMe Ctrl");
  CHECK(controller.info().serial == "with,comma");
  CHECK_FALSE(controller.info().firmware.empty());
  CHECK(controller.info().max_transfer_bytes == 4096u << 3);
  CHECK(controller.granted_queues() == 5);
  CHECK(controller.max_queue_entries() == 2048);
  CHECK(controller.active_namespaces() == std::vector<uint32_t>{1});
  const NamespaceInfo names = controller.identify_namespace(1);
  CHECK(names.blocks == 2048);
  CHECK(names.block_bytes == 4096);
}

TEST_CASE("a description opens QEMU's controller, and tells what became of it", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  const OpenedNvme opened = open_nvme("qemu:lba=4096,size=8M,queues=5");
  REQUIRE(opened.qemu != nullptr);
  CHECK(opened.kind == NvmeKind::qemu);
  CHECK(opened.pci() == nullptr);
  CHECK(opened.controller->granted_queues() == 5);
  CHECK(opened.identify().blocks == 2048);
  CHECK(opened.identify().block_bytes == 4096);
  CHECK(opened.why_read_only(1).empty());
  CHECK(contains(error_of([&] { opened.identify(2); }), "namespace 2 of " + opened.spec + " is not active"));
  REQUIRE(opened.controller->alive());
  ::kill(opened.qemu->process().pid(), SIGKILL);
  REQUIRE(host_tests::eventually([&] { return !opened.controller->alive(); }));
  CHECK(contains(opened.loss(), "QEMU is gone: killed by signal 9"));
}

TEST_CASE("the choice of the protocol is automatic", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  CHECK(QemuNvme().uses_remote());
  // A machine that x-remote cannot be combined with: the other protocol is taken.
  QemuOptions options;
  options.arguments = {"-smp", "2"};
  QemuNvme other(options);
  CHECK_FALSE(other.uses_remote());
  CHECK(other.read64(0) != 0);
}

TEST_CASE("ten starts in a row, by either protocol", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  const QemuProtocol protocol = GENERATE(QemuProtocol::remote, QemuProtocol::qtest);
  INFO(host_tests::protocol_name(protocol));
  for (int i = 0; i < 10; ++i) {
    QemuController machine(options_for(protocol));
    NvmeQueue queue = machine.controller.create_queue();
    REQUIRE(queue.valid());
    queue.remove();
  }
}

TEST_CASE("two at a time, started from threads that end", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  std::vector<std::unique_ptr<QemuNvme>> both(2);
  std::vector<std::thread> threads;
  for (std::unique_ptr<QemuNvme>& one : both)
    threads.emplace_back([&one] { one = std::make_unique<QemuNvme>(QemuOptions()); });
  for (std::thread& thread : threads) thread.join();
  for (const std::unique_ptr<QemuNvme>& one : both) {
    CHECK(one->alive());
    CHECK(one->read32(xio::nvme::reg::vs) != 0);
  }
  CHECK(both[0]->process().pid() != both[1]->process().pid());
}

TEST_CASE("registers, doorbells and memory are reached by all their ways", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  const QemuProtocol protocol = GENERATE(QemuProtocol::remote, QemuProtocol::qtest);
  INFO(host_tests::protocol_name(protocol));
  QemuNvme qemu(options_for(protocol));
  const uint64_t cap = qemu.read64(xio::nvme::reg::cap);
  CHECK(qemu.read32(xio::nvme::reg::cap) == static_cast<uint32_t>(cap));
  CHECK(qemu.read32(xio::nvme::reg::cap + 4) == static_cast<uint32_t>(cap >> 32));
  qemu.write64(xio::nvme::reg::asq, 0x123456789000);
  CHECK(qemu.read64(xio::nvme::reg::asq) == 0x123456789000);
  qemu.write32(xio::nvme::reg::aqa, 0x00070007);
  CHECK(qemu.read32(xio::nvme::reg::aqa) == 0x00070007);
  // Thousands of posted doorbells of queues that do not exist: ignored by the controller, and no reply is lost.
  for (uint32_t i = 0; i < 5000; ++i) qemu.ring(0x1000 + 8 * (i % 60), i);
  CHECK(qemu.read64(xio::nvme::reg::cap) == cap);

  const DmaBuffer buffer = qemu.allocate(10000, 4096);
  CHECK(buffer.bus() % 4096 == 0);
  if (protocol == QemuProtocol::remote) CHECK(buffer.bus() == reinterpret_cast<uintptr_t>(buffer.data()));
  if (protocol == QemuProtocol::qtest) CHECK(buffer.bus() >= 1 << 20);
  CHECK(qemu.dma_window().size() == 256 << 20);
  CHECK(buffer.data() > qemu.dma_window().begin());
  qemu.write_bus64(buffer.bus() + 8, 0x1122334455667788);
  CHECK(*buffer.as<uint64_t>(8) == 0x1122334455667788);
  CHECK(qemu.read_bus64(buffer.bus() + 8) == 0x1122334455667788);
}

TEST_CASE("backends and several namespaces", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  const QemuProtocol protocol = GENERATE(QemuProtocol::remote, QemuProtocol::qtest);
  INFO(host_tests::protocol_name(protocol));
  QemuOptions options = options_for(protocol);
  options.namespaces.resize(5);
  options.namespaces[0].nsid = 1;
  options.namespaces[1].nsid = 2;
  options.namespaces[1].block_bytes = 4096;
  options.namespaces[1].backend = QemuBackend::null;
  options.namespaces[2].nsid = 3;
  options.namespaces[2].device = "ms=8,mset=0,pi=1,pil=1";
  options.namespaces[2].backend = QemuBackend::threads;
  options.namespaces[3].nsid = 5;
  options.namespaces[3].block_bytes = 4096;
  options.namespaces[3].device = "zoned=on,zoned.zone_size=1M,zoned.zone_capacity=1M";
  options.namespaces[4].nsid = 6;
  options.namespaces[4].backend = QemuBackend::null_zeroes;
  ControllerOptions wanted;
  wanted.all_command_sets = true;
  QemuController machine(options, wanted);
  NvmeController& controller = machine.controller;
  CHECK(controller.active_namespaces() == std::vector<uint32_t>{1, 2, 3, 5, 6});
  CHECK(controller.identify_namespace(2).block_shift == 12);
  CHECK(controller.identify_namespace(3).metadata_bytes == 8);
  CHECK(controller.identify_namespace(3).protection_type == 1);
  CHECK(controller.identify_namespace(5).blocks == (64 << 20) / 4096);
  for (const uint32_t nsid : {1u, 2u, 3u, 5u, 6u})
    CHECK(controller.command_set(nsid) == (nsid == 5 ? xio::nvme::CommandSet::zoned : xio::nvme::CommandSet::nvm));
  CHECK(contains(error_of([&] { controller.command_set(7); }), "Identify failed"));

  // One queue each: what is written to one is not found in another.
  DmaBuffer data = controller.allocate(8192);
  const xio::nvme::ContiguousPages pages{data.bus()};
  for (const uint32_t nsid : {1u, 2u, 6u}) {
    QueueOptions queue_options;
    queue_options.nsid = nsid;
    NvmeQueue queue = controller.create_queue(queue_options);
    xio::nvme::Queue<xio::Sharing::thread> io(queue.handle());
    std::memset(data.data(), static_cast<int>(nsid), data.size());
    REQUIRE(host_tests::run(io, xio::nvme::write(8, 2), pages).is_ok());
    std::memset(data.data(), 0x55, data.size());
    REQUIRE(host_tests::run(io, xio::nvme::read(8, 2), pages).is_ok());
    const int expected = nsid == 1 ? 1 : nsid == 2 ? 0x55 : 0;
    CHECK(*data.as<unsigned char>(1) == expected);
  }
  QueueOptions nowhere;
  nowhere.nsid = 4;
  CHECK(contains(error_of([&] { controller.create_queue(nowhere); }), "namespace 4"));
}

TEST_CASE("an image holds what was written", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  const QemuBackend backend = GENERATE(QemuBackend::file, QemuBackend::uring);
  const host_tests::ScratchFile file("disk,1.img");
  QemuOptions options;
  options.image = file.path();
  options.size = 1 << 20;
  options.backend = backend;
  {
    QemuController machine(options);
    NvmeQueue queue = machine.controller.create_queue();
    xio::nvme::Queue<xio::Sharing::thread> io(queue.handle());
    DmaBuffer data = machine.controller.allocate(4096);
    std::memset(data.data(), 0x5a, data.size());
    REQUIRE(host_tests::run(io, xio::nvme::write(16, 8), xio::nvme::ContiguousPages{data.bus()}).is_ok());
    // A second one must not use the same image.
    options.size = 0;
    CHECK(error_of([&] { QemuNvme second(options); }) ==
          "qemu: image " + file.path() + " is in use by another QEMU; end that one, or use a copy of the image");
  }
  std::FILE* image = std::fopen(file.path().c_str(), "r");
  REQUIRE(image != nullptr);
  unsigned char bytes[3] = {};
  std::fseek(image, 16 * 512 + 4094, SEEK_SET);
  CHECK(std::fread(bytes, 1, 3, image) == 3);
  std::fclose(image);
  CHECK(bytes[0] == 0x5a);
  CHECK(bytes[1] == 0x5a);
  CHECK(bytes[2] == 0);
}

TEST_CASE("what keeps QEMU from starting is said in one line", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  QemuOptions options;
  const auto complaint = [&] {
    const std::string message = error_of([&] { QemuNvme qemu(options); });
    CHECK(message.find('\n') == std::string::npos);
    return message;
  };
  SECTION("missing program") {
    options.binary = "no-such-qemu";
    CHECK(complaint() == "no-such-qemu not found: install qemu-system-x86, or give binary= (QemuOptions::binary)");
  }
  SECTION("missing program of the environment") {
    ::setenv("XIO_QEMU", "/no/such/qemu", 1);
    const std::string message = complaint();
    ::unsetenv("XIO_QEMU");
    CHECK(contains(message, "/no/such/qemu not found"));
  }
  SECTION("not QEMU at all") {
    options.binary = "/bin/true";
    CHECK(contains(complaint(), "QEMU: exited with status 0"));
  }
  SECTION("a program that never answers") {
    const host_tests::ScratchFile file("silent");
    std::FILE* script = std::fopen(file.path().c_str(), "w");
    REQUIRE(script != nullptr);
    const std::string ending = GENERATE(as<std::string>(), "exec sleep 1000", "sleep 1000 & exit 3");
    std::fprintf(script, "#!/bin/sh\n%s\n", ending.c_str());
    std::fclose(script);
    REQUIRE(::chmod(file.path().c_str(), 0755) == 0);
    options.binary = file.path();
    CHECK(options.start_deadline == std::chrono::seconds(10));
    const bool ends = contains(ending, "exit");
    if (!ends) options.start_deadline = std::chrono::milliseconds(1500);
    const auto began = std::chrono::steady_clock::now();
    const std::string message = complaint();
    INFO(message);
    // Both protocols together; what has ended needs no deadline at all.
    CHECK(contains(message, ends ? "exited with status 3" : "still running"));
    CHECK_FALSE(contains(message, "has not answered within 10000 ms"));
    CHECK(contains(message, "has not answered within") == !ends);
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(8));
  }
  SECTION("an option that QEMU does not know") {
    options.device_options = "colour=blue";
    CHECK(contains(complaint(), "Property 'nvme.colour' not found"));
    CHECK_FALSE(contains(complaint(), "neither protocol"));
  }
  SECTION("too little memory") {
    options.dma_bytes = 4096;
    CHECK(contains(complaint(), "(QemuOptions::dma_bytes) must be more than 1 MiB"));
  }
  SECTION("too much memory for a board") {
    options.dma_bytes = size_t{4} << 30;
    options.protocol = QemuProtocol::qtest;
    CHECK(contains(complaint(), "transport=qtest takes at most dma=2G"));
  }
}

TEST_CASE("memory runs out with advice, and comes back", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  QemuOptions options;
  options.dma_bytes = 4 << 20;
  QemuController machine(options);
  const std::string message = error_of([&] { machine.controller.allocate(4 << 20); });
  CHECK(contains(message, "DMA memory is full"));
  CHECK(contains(message, "raise dma="));
  for (int i = 0; i < 50; ++i) {
    const DmaBuffer half = machine.controller.allocate(2 << 20);
    const NvmeQueue queue = machine.controller.create_queue();
  }
}
