// SPDX-License-Identifier: MIT

/// @file
/// @brief Namespaces that are formatted, resized, detached or replaced while a queue exists: found, said, and the queue
/// deleted; against a scripted controller, and with the kernel's driver played.

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <xio/host/nvme/controller.hpp>

#include "catch.hpp"
#include "unit/host_fake_controller.hpp"
#include "unit/host_fake_driver.hpp"
#include "unit/host_shared_controller.hpp"
#include "unit/host_support.hpp"

using namespace xio::host;
using host_tests::contains;
using host_tests::error_of;
using host_tests::FakeDriver;
using host_tests::FakeNvme;
using host_tests::FakeWorld;

namespace {

struct Watched {
  std::shared_ptr<FakeWorld> world = std::make_shared<FakeWorld>();
  FakeNvme* fake = nullptr;

  Watched() = default;
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  ~Watched() { CHECK(world->violations.empty()); }

  NvmeController make() {
    auto transport = std::make_unique<FakeNvme>(world);
    fake = transport.get();
    ControllerOptions options;
    options.admin_deadline = std::chrono::milliseconds(30);
    return NvmeController(std::move(transport), options);
  }
};

/// As after Format NVM by this process, or an event: the controller is asked at once.
void ask_now(NvmeController& controller) {
  controller.admin(xio::nvme::command(xio::nvme::AdminOpcode::format_nvm).nsid(1).moves(0));
}

}  // namespace

TEST_CASE("a namespace that changes fails its queue, and says why", "[host][namespaces]") {
  Watched fixture;
  FakeWorld& world = *fixture.world;
  NvmeController controller = fixture.make();
  NvmeQueue queue = controller.create_queue();
  ask_now(controller);
  CHECK(controller.alive());
  CHECK(controller.namespace_change().empty());
  std::string expected;
  QueueOptions again;
  SECTION("formatted") {
    world.block_shift = 9;
    expected = "namespace 1 was formatted: its blocks have 512 bytes, not 4096";
  }
  SECTION("formatted with metadata") {
    world.format_metadata = 8;
    again.metadata_by_caller = true;
    expected = "namespace 1 was formatted: its blocks have 8 bytes of metadata, not 0";
  }
  SECTION("smaller") {
    world.blocks = 500;
    expected = "namespace 1 was resized: it has 500 blocks, not 1000";
  }
  SECTION("larger") {
    world.blocks = 2000;
    expected = "namespace 1 was resized: it has 2000 blocks, not 1000";
  }
  SECTION("detached") {
    world.blocks = 0;
    again.nsid = 0;
    expected = "namespace 1 is detached or deleted";
  }
  SECTION("another") {
    world.eui64 = 77;
    expected = "namespace 1 was replaced by another";
  }
  ask_now(controller);
  CHECK(world.live_sqs.empty());
  CHECK(world.live_cqs.empty());
  CHECK_FALSE(controller.alive());
  CHECK(controller.namespace_change() == expected);
  CHECK_FALSE(queue.valid());
  CHECK(contains(error_of([&] { queue.handle(); }),
                 "queue 1 does not exist on the controller any more; create another: " + expected));
  // It stays so, however often one asks, and whatever the namespace is like later.
  CHECK_FALSE(controller.alive());
  CHECK(contains(error_of([&] { controller.recover(); }),
                 "queue 1 cannot be created anew: " + expected + "; destroy it, and create another"));
  CHECK_FALSE(controller.alive());
  queue = NvmeQueue();
  CHECK(controller.alive());
  controller.recover();
  CHECK(controller.create_queue(again).qid() == 1);
}

TEST_CASE("a namespace that is as it was again can be recovered", "[host][namespaces]") {
  Watched fixture;
  NvmeController controller = fixture.make();
  const NvmeQueue queue = controller.create_queue();
  fixture.world->block_shift = 9;
  ask_now(controller);
  CHECK_FALSE(controller.alive());
  fixture.world->block_shift = 12;
  ask_now(controller);
  CHECK_FALSE(controller.alive());
  controller.recover();
  CHECK(controller.alive());
  CHECK(queue.valid());
}

TEST_CASE("a change is found at recovery, too", "[host][namespaces]") {
  Watched fixture;
  NvmeController controller = fixture.make();
  const NvmeQueue queue = controller.create_queue();
  fixture.world->block_shift = 9;
  CHECK(contains(error_of([&] { controller.recover(); }), "its blocks have 512 bytes, not 4096"));
  CHECK_FALSE(queue.valid());
}

TEST_CASE("only the queues of the namespace that changed fail", "[host][namespaces]") {
  Watched fixture;
  NvmeController controller = fixture.make();
  QueueOptions other;
  other.nsid = 3;
  QueueOptions none;
  none.nsid = 0;
  const NvmeQueue first = controller.create_queue();
  const NvmeQueue second = controller.create_queue(other);
  const NvmeQueue third = controller.create_queue(none);
  fixture.world->detached = {3};
  ask_now(controller);
  CHECK(first.valid());
  CHECK_FALSE(second.valid());
  CHECK(third.valid());
  CHECK(controller.namespace_change() == "namespace 3 is detached or deleted");
  CHECK(fixture.world->live_sqs.size() == 2);
}

TEST_CASE("an event that the user asked for makes the next look ask", "[host][namespaces]") {
  Watched fixture;
  NvmeController controller = fixture.make();
  const NvmeQueue queue = controller.create_queue();
  controller.request_event();
  fixture.world->block_shift = 9;
  CHECK(controller.alive());            // the controller was identified less than a second ago
  fixture.fake->raise_event(0x040002);  // notice, Namespace Attribute Changed, log page 4
  REQUIRE(controller.take_event(std::chrono::milliseconds(100)));
  CHECK_FALSE(controller.alive());
}

TEST_CASE("the controller is asked again after a while", "[host][namespaces]") {
  Watched fixture;
  NvmeController controller = fixture.make();
  const NvmeQueue queue = controller.create_queue();
  fixture.world->block_shift = 9;
  CHECK(host_tests::eventually([&] { return !controller.alive(); }));
}

TEST_CASE("a controller that does not say is not asked for ever", "[host][namespaces]") {
  Watched fixture;
  NvmeController controller = fixture.make();
  const NvmeQueue queue = controller.create_queue();
  fixture.world->silent = {0x06};
  fixture.world->log.clear();
  const auto asked = [&] {
    size_t count = 0;
    for (const std::string& line : fixture.world->log)
      count += line.compare(0, 8, "admin 0x") == 0 && contains(line, "0x06 ");
    return count;
  };
  for (int i = 0; i < 3; ++i) {
    ask_now(controller);
    CHECK(controller.alive());
  }
  CHECK(asked() == 1);
  // An error is no change.
  fixture.world->silent.clear();
  controller.recover();
  fixture.world->statuses[0x06] = {0x0006};
  ask_now(controller);
  CHECK(controller.alive());
  CHECK(queue.valid());
  // The controller says that there is none.
  fixture.world->statuses[0x06] = {0x400b};
  ask_now(controller);
  CHECK(controller.namespace_change() == "namespace 1 is detached or deleted");
}

TEST_CASE("beside the kernel's driver, sysfs says it", "[host][namespaces]") {
  const auto kernel = std::make_shared<FakeDriver>();
  const std::string block = "/sys/class/block/nvme0n1";
  std::filesystem::create_directories(kernel->sysfs() + "/class/block/nvme0n1/queue");
  kernel->set(block + "/size", "1000");
  kernel->set(block + "/queue/logical_block_size", "512");
  kernel->set(block + "/diskseq", "7");
  NvmeController controller = host_tests::make_shared_controller(kernel);
  const NvmeQueue queue = controller.create_queue();
  kernel->commands.clear();
  CHECK(controller.alive());
  CHECK(kernel->commands.empty());
  std::string expected;
  SECTION("formatted") {
    kernel->set(block + "/queue/logical_block_size", "4096");
    kernel->block_shift = 12;
    kernel->blocks = 125;
    expected = "namespace 1 was formatted: its blocks have 4096 bytes, not 512";
  }
  SECTION("resized") {
    kernel->set(block + "/size", "500");
    kernel->blocks = 500;
    expected = "namespace 1 was resized: it has 500 blocks, not 1000";
  }
  SECTION("detached") {
    std::filesystem::remove_all(kernel->sysfs() + "/class/nvme/nvme0/nvme0c0n1");
    kernel->blocks = 0;
    expected = "namespace 1 is detached or deleted";
  }
  SECTION("detached and attached, the same size") {
    kernel->set(block + "/diskseq", "8");
    expected = "namespace 1 was detached meanwhile";
  }
  CHECK_FALSE(controller.alive());
  CHECK(controller.namespace_change() == expected);
  CHECK_FALSE(queue.valid());
  CHECK(kernel->sqs.empty());
  CHECK(kernel->cqs.empty());
  CHECK_FALSE(controller.alive());
}
