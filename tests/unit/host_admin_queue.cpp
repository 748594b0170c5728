// SPDX-License-Identifier: MIT

/// @file
/// @brief The admin queue under several threads, beside resets, and full of event requests.

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/nvme/controller.hpp>

#include "catch.hpp"
#include "unit/host_fake_controller.hpp"
#include "unit/host_support.hpp"

using namespace xio::host;
using host_tests::contains;
using host_tests::error_of;
using host_tests::FakeNvme;
using host_tests::FakeWorld;
using xio::emulation::FaultRule;
using xio::emulation::Match;

namespace {

constexpr uint8_t identify = 0x06;

/// A controller on the emulated one.
struct Emulated {
  explicit Emulated(uint32_t admin_entries = 64, uint8_t event_limit = 3) {
    options.admin_entries = admin_entries;
    options.admin_deadline = std::chrono::milliseconds(3000);
    config.async_event_limit = event_limit;
  }
  NvmeController make() {
    auto transport = std::make_unique<xio::emulation::NvmeController>(config);
    emulated = transport.get();
    violations = transport->violations();
    return NvmeController(std::move(transport), options);
  }
  /// Admin commands of an opcode that the controller has fetched.
  uint64_t fetched(uint8_t opcode) const { return emulated->statistics().queues[0].by_opcode[opcode]; }
  void wait_for_fetch(uint8_t opcode, uint64_t count) const {
    const Timeout deadline(std::chrono::milliseconds(10000));
    for (Backoff backoff; fetched(opcode) < count && !deadline.passed();) backoff.pause();
    REQUIRE(fetched(opcode) >= count);
  }
  ~Emulated() { CHECK((violations == nullptr || violations->count() == 0)); }
  Emulated(const Emulated&) = delete;
  Emulated& operator=(const Emulated&) = delete;

  xio::emulation::NvmeConfig config;
  ControllerOptions options;
  xio::emulation::NvmeController* emulated = nullptr;
  std::shared_ptr<xio::emulation::NvmeViolations> violations;
};

}  // namespace

TEST_CASE("a disabled controller refuses admin commands at once, and keeps nothing for them", "[host][admin]") {
  const auto world = std::make_shared<FakeWorld>();
  ControllerOptions options;
  options.admin_deadline = std::chrono::milliseconds(30);
  NvmeController controller(std::make_unique<FakeNvme>(world), options);
  controller.reset();
  const size_t before = world->memory.size();
  world->log.clear();
  for (int i = 0; i < 3; ++i)
    CHECK(contains(error_of([&] { controller.identify_namespace(1); }), "the fake is disabled, or is being reset"));
  CHECK_THROWS_AS(controller.get_feature(xio::nvme::FeatureId::arbitration), CommandNotSent);
  CHECK_THROWS_AS(controller.request_event(), CommandNotSent);
  CHECK_THROWS_AS(controller.take_event(std::chrono::milliseconds(30)), CommandNotSent);
  CHECK(world->log.empty());
  CHECK(world->memory.size() == before);
  controller.recover();
  CHECK(controller.identify_namespace(1).blocks == 1000);
}

TEST_CASE("a reset ends the wait of a command that the controller does not answer", "[host][admin]") {
  Emulated fixture;
  NvmeController controller = fixture.make();
  const NvmeQueue queue = controller.create_queue();
  fixture.emulated->faults().hold(Match().on_queue(0).with_opcode(identify).once());
  const uint64_t before = fixture.fetched(identify);
  std::string message;
  std::thread waiting([&] { message = error_of([&] { controller.identify_namespace(1); }); });
  fixture.wait_for_fetch(identify, before + 1);
  controller.recover();
  waiting.join();
  CHECK(contains(message, "was reset before Identify completed"));
  CHECK(queue.valid());
  CHECK(controller.identify_namespace(1).blocks != 0);
}

TEST_CASE("a recovery goes before the commands of other threads", "[host][admin]") {
  Emulated fixture;
  // Longer than a busy machine takes between a command and the recovery that ends it.
  fixture.options.admin_deadline = std::chrono::seconds(60);
  NvmeController controller = fixture.make();
  std::vector<NvmeQueue> queues;
  for (int i = 0; i < 4; ++i) queues.push_back(controller.create_queue());
  std::atomic<bool> stop{false};
  std::mutex mutex;
  std::vector<std::string> wrong;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      while (!stop.load()) {
        const std::string message = error_of([&] { controller.identify_namespace(1); });
        const std::lock_guard<std::mutex> lock(mutex);
        if (!message.empty() && !contains(message, "is being reset") && !contains(message, "was reset before"))
          wrong.push_back(message);
      }
    });
  fixture.wait_for_fetch(identify, fixture.fetched(identify) + 10);
  // Those that come meanwhile are never answered: a recovery that let them in would wait for them.
  for (int i = 0; i < 4; ++i) {
    const FaultRule silent = fixture.emulated->faults().hold(Match().on_queue(0).with_opcode(identify));
    const Timeout deadline(std::chrono::milliseconds(10000));
    for (Backoff backoff; silent.hits() == 0 && !deadline.passed();) backoff.pause();
    REQUIRE(silent.hits() != 0);
    controller.recover();
    fixture.emulated->faults().remove(silent);
    for (const NvmeQueue& queue : queues) CHECK(queue.valid());
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<std::string>{});
}

TEST_CASE("requests for events leave room for commands, up to the controller's limit", "[host][admin]") {
  const uint32_t entries = GENERATE(3u, 4u, 64u);
  Emulated fixture(entries, 255);
  NvmeController controller = fixture.make();
  REQUIRE(controller.info().max_events == 256);
  for (int i = 0; i < 256; ++i) {
    controller.request_event();
    if (i % 50 == 0) REQUIRE(controller.identify_namespace(1).blocks != 0);
  }
  CHECK(fixture.fetched(0x0c) >= 256 - (entries - 2));
  CHECK(controller.identify_namespace(1).blocks != 0);
  CHECK(fixture.fetched(0x0c) == 256);
  // One more than the controller takes: its refusal is an event that says so.
  controller.request_event();
  CHECK(contains(error_of([&] { controller.take_event(std::chrono::milliseconds(3000)); }),
                 "event request limit exceeded"));
}

TEST_CASE("an admin queue of two entries has no place for event requests", "[host][admin]") {
  Emulated fixture(2);
  NvmeController controller = fixture.make();
  CHECK(contains(error_of([&] { controller.request_event(); }), "admin_entries = 2 leaves no place"));
  CHECK(controller.identify_namespace(1).blocks != 0);
}

TEST_CASE("waiting for an event keeps nobody from the admin queue", "[host][admin]") {
  Emulated fixture;
  NvmeController controller = fixture.make();
  controller.set_feature(xio::nvme::FeatureId::async_event_configuration, 1);
  controller.request_event();
  std::atomic<bool> done{false};
  std::optional<AsyncEvent> event;
  std::thread waiting([&] {
    event = controller.take_event(std::chrono::milliseconds(5000));
    done.store(true);
  });
  for (int i = 0; i < 100 && !done.load(); ++i) REQUIRE(controller.identify_namespace(1).blocks != 0);
  CHECK_FALSE(done.load());
  fixture.emulated->set_critical_warning(1);
  waiting.join();
  CHECK(event.has_value());
}

TEST_CASE("the head that completions report is not needed", "[host][admin]") {
  const auto world = std::make_shared<FakeWorld>();
  world->reported_head = GENERATE(0u, 1u, 0xffffu);
  NvmeController controller(std::make_unique<FakeNvme>(world));
  for (int i = 0; i < 300; ++i) REQUIRE(controller.identify_namespace(1).blocks == 1000);
}
