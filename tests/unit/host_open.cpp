// SPDX-License-Identifier: MIT

/// @file
/// @brief Controllers opened by their description: the model, and what is refused.

#include <chrono>
#include <string>

#include <xio/device/nvme/queue.hpp>
#include <xio/host/nvme/open.hpp>

#include "catch.hpp"
#include "unit/host_support.hpp"

using namespace xio::host;
using host_tests::contains;
using host_tests::error_of;

TEST_CASE("a description opens the model in this process", "[host][open]") {
  const OpenedNvme opened = open_nvme("emulated:lba=4096/512,size=1M/2M,queues=3,serial=seven");
  CHECK(opened.spec == "emulated:lba=4096/512,size=1M/2M,queues=3,serial=seven");
  CHECK(std::string(opened.kind_name()) == "emulated");
  REQUIRE(opened.emulated != nullptr);
  CHECK(opened.qemu == nullptr);
  CHECK(opened.vfio == nullptr);
  CHECK(opened.kernel_shared == nullptr);
  CHECK(opened.pci() == nullptr);
  CHECK(opened.guard == nullptr);
  CHECK(opened.nsid == 0);
  CHECK(opened.controller->info().serial == "seven");
  CHECK(opened.controller->granted_queues() == 3);
  CHECK(opened.identify().block_bytes == 4096);
  CHECK(opened.identify().blocks == 256);
  CHECK(opened.identify(2).block_bytes == 512);
  CHECK(opened.identify(2).nsid == 2);
  CHECK(opened.loss() == "the controller is gone");
  CHECK(contains(error_of([&] { opened.identify(3); }), "namespace 3 of " + opened.spec + " is not active"));
  CHECK(contains(error_of([&] { opened.identify(0xfffffffe); }),
                 "namespace 4294967294 of " + opened.spec + " does not exist; the highest is "));
}

TEST_CASE("a namespace of values is told from one of blocks", "[host][open]") {
  ControllerOptions all;
  all.all_command_sets = true;
  const std::string spec = "emulated:keys=16/0/4,values=20K,size=1M";
  const OpenedNvme opened = open_nvme(spec, all);
  CHECK(opened.stores_values());
  CHECK_FALSE(opened.stores_values(2));
  CHECK(opened.stores_values(3));
  CHECK(opened.identify(2).blocks == 2048);
  const KeyValueInfo values = opened.identify_key_values();
  CHECK(values.capacity_bytes == 1 << 20);
  CHECK(values.longest_key == 16);
  CHECK(values.longest_value == 20480);
  CHECK(opened.identify_key_values(3).longest_key == 4);
  CHECK(contains(error_of([&] { opened.identify(); }), "namespace 1 of " + spec + " stores values under keys and has"));
  CHECK(contains(error_of([&] { opened.identify_key_values(2); }), "namespace 2 of " + spec + " stores no values"));
  CHECK(contains(error_of([&] { opened.identify_key_values(4); }), "namespace 4 of " + spec + " stores no values"));
  CHECK(contains(error_of([&] { opened.identify_key_values(~0u); }), "does not exist; the highest is"));

  const OpenedNvme blocks_only = open_nvme(spec);
  CHECK(blocks_only.stores_values());
  CHECK(blocks_only.identify(2).blocks == 2048);
  CHECK(contains(error_of([&] { blocks_only.identify(); }), "has no blocks"));
  CHECK(contains(error_of([&] { blocks_only.identify_key_values(); }), "ControllerOptions::all_command_sets"));
  CHECK_FALSE(open_nvme("emulated").stores_values());
}

TEST_CASE("delays and reordering of a description reach the model", "[host][open]") {
  using Clock = std::chrono::steady_clock;
  const OpenedNvme opened = open_nvme("emulated:delay=20000");
  const NvmeQueue owner = opened.controller->create_queue();
  const DmaBuffer data = opened.controller->allocate(512);
  xio::nvme::Queue<xio::Sharing::thread> queue(owner.handle());
  const xio::Deadline until = queue.deadline(xio::Duration{10000000000});
  const Clock::time_point begin = Clock::now();
  CHECK(queue.wait(queue.read(0, data.region().at(0, 512), until), until).is_ok());
  CHECK(Clock::now() - begin >= std::chrono::milliseconds(20));
}

TEST_CASE("options of the controller are passed on", "[host][open]") {
  ControllerOptions options;
  options.all_command_sets = true;
  CHECK(open_nvme("emulated", options).controller->granted_queues() == 64);
  options.admin_entries = 1;
  CHECK(contains(error_of([&] { open_nvme("emulated", options); }), "admin_entries = 1 is not accepted"));
}

TEST_CASE("the namespace of a description is the one that may be written", "[host][open]") {
  OpenedNvme opened = open_nvme("emulated:size=1M/1M");
  CHECK(opened.namespace_or(0) == 1);
  CHECK(opened.namespace_or(2) == 2);
  CHECK(opened.why_read_only().empty());
  CHECK(opened.why_read_only(2).empty());
  opened.nsid = 2;  // as after the node of a namespace
  CHECK(opened.namespace_or(0) == 2);
  CHECK(opened.why_read_only().empty());
  CHECK(opened.why_read_only(2).empty());
  CHECK(opened.why_read_only(1) == "namespace 1 may not be written: " + opened.spec + " names namespace 2");
}

TEST_CASE("a write protected namespace refuses what changes it, and says so before", "[host][open]") {
  using namespace xio;
  emulation::NvmeConfig config;
  config.namespaces.emplace_back();
  config.namespaces[1].nsid = 2;
  config.namespaces[1].write_protected = true;
  OpenedNvme opened;
  opened.spec = "emulated";
  opened.controller = std::make_unique<NvmeController>(std::make_unique<emulation::NvmeController>(config));
  CHECK(opened.why_read_only().empty());
  CHECK(opened.why_read_only(3).empty());  // inactive
  CHECK(contains(opened.why_read_only(2), "namespace 2 of emulated is write protected; end that by Set Features 84h"));
  CHECK(opened.identify(2).write_protected);

  QueueOptions options;
  options.nsid = 2;
  const NvmeQueue owner = opened.controller->create_queue(options);
  const DmaBuffer data = opened.controller->allocate(512);
  nvme::Queue<Sharing::thread> queue(owner.handle());
  const Deadline until = queue.deadline(Duration{10000000000});
  const auto ends = [&](const Token& token) { return queue.wait(token, until); };
  CHECK(ends(queue.write(0, data.region().at(0, 512), until)) == Status::access_denied);
  CHECK(ends(queue.submit(nvme::write_zeroes(0, 1), nvme::NoData{}, until)) == Status::access_denied);
  CHECK(ends(queue.read(0, data.region().at(0, 512), until)).is_ok());
  CHECK(ends(queue.submit(nvme::flush(), nvme::NoData{}, until)).is_ok());
}

TEST_CASE("what describes no controller is refused with a message of the library", "[host][open]") {
  for (const char* const wrong : {"", "Emulated", "emulatedx", "nvme0n1", "qemux:", "/devnvme0"})
    CHECK(error_of([&] { open_nvme(wrong); }) ==
          "'" + std::string(wrong) + "' describes no NVMe controller; " + nvme_spec_forms + " are accepted");
  CHECK(contains(error_of([] { open_nvme("emulated:colour=red"); }), "emulated: unknown key 'colour'"));
  CHECK(contains(error_of([] { open_nvme("qemu:lba=1000"); }), "qemu: lba=1000 is not accepted"));
  CHECK(contains(error_of([] { open_nvme("qemu:binary=/nowhere/qemu"); }), "/nowhere/qemu not found"));
  CHECK(contains(error_of([] { open_nvme("vfio"); }), "is not of the form vfio:BDF"));
  CHECK(contains(error_of([] { open_nvme("vfio:nvme0"); }), "is not a PCI address"));
  CHECK(contains(error_of([] { open_nvme("/dev/nvme4095"); }), "does not exist"));
  for (const std::string& text : {error_of([] { open_nvme("x"); }), error_of([] { open_nvme("vfio:x"); })})
    CHECK_FALSE(contains(text, "--"));
}
