// SPDX-License-Identifier: MIT

/// @file
/// @brief Controllers that deviate as real ones do: each row of the emulated controller's table, from set-up to end.

#include <chrono>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/emulation/nvme/emulated_spec.hpp>
#include <xio/host/nvme/controller.hpp>
#include <xio/nvme.hpp>

#include "catch.hpp"
#include "unit/host_fake_controller.hpp"
#include "unit/host_support.hpp"

using namespace xio::host;
using host_tests::contains;
using host_tests::error_of;
using host_tests::FakeNvme;
using host_tests::FakeWorld;
using xio::emulation::Match;

namespace {

/// Transport to an emulated controller that the test keeps, to look at it after the end.
class Shared final : public NvmeTransport {
 public:
  explicit Shared(std::shared_ptr<xio::emulation::NvmeController> to) : to_(std::move(to)) {}
  uint32_t read32(uint64_t offset) override { return to_->read32(offset); }
  uint64_t read64(uint64_t offset) override { return to_->read64(offset); }
  void write32(uint64_t offset, uint32_t value) override { to_->write32(offset, value); }
  void write64(uint64_t offset, uint64_t value) override { to_->write64(offset, value); }
  DmaBuffer allocate(size_t bytes, size_t alignment) override { return to_->allocate(bytes, alignment); }
  uint32_t* doorbell_words() override { return to_->doorbell_words(); }
  bool doorbells_are_registers() const override { return false; }
  std::string description() const override { return to_->description(); }

 private:
  std::shared_ptr<xio::emulation::NvmeController> to_;
};

/// One block is written and read back.
void use(const NvmeController& controller, const NvmeQueue& queue) {
  xio::nvme::Queue<xio::Sharing::thread> q(queue.handle());
  const DmaBuffer data = controller.allocate(4096);
  std::memset(data.data(), 0x5a, 512);
  const xio::nvme::ContiguousPages pages{data.bus()};
  const auto until = q.deadline(xio::operator""_s(20));
  REQUIRE(q.wait(q.submit(xio::nvme::write(7, 1), pages, until), until).is_ok());
  std::memset(data.data(), 0, 512);
  REQUIRE(q.wait(q.submit(xio::nvme::read(7, 1), pages, until), until).is_ok());
  CHECK(static_cast<const unsigned char*>(data.data())[511] == 0x5a);
}

}  // namespace

TEST_CASE("controllers that deviate are brought up, used, recovered and shut down", "[host][quirks]") {
  const auto row = GENERATE(from_range(std::begin(xio::emulation::nvme_quirks), std::end(xio::emulation::nvme_quirks)));
  INFO(row.name << ": " << row.meaning);
  xio::emulation::NvmeConfig config = xio::emulation::parse_emulated_spec("emulated:size=1M/1M,lba=512").config;
  config.ready_timeout = 2;
  config.async_event_limit = 100;
  row.apply(config.quirks);
  const auto emulated = std::make_shared<xio::emulation::NvmeController>(config);
  ControllerOptions options;
  options.shutdown_deadline = std::chrono::milliseconds(200);
  {
    NvmeController controller(std::make_unique<Shared>(emulated), options);
    CHECK(controller.active_namespaces() == std::vector<uint32_t>{1, 2});
    CHECK(controller.granted_queues() >= 1);
    CHECK(controller.granted_queues() <= 65535);
    CHECK(controller.max_queue_entries() >= 64);
    // More commands than the admin queue has entries, some of which stay.
    for (int i = 0; i < 70; ++i) controller.request_event();
    for (int i = 0; i < 70; ++i) REQUIRE(controller.identify_namespace(1).blocks == 2048);
    const NvmeQueue queue = controller.create_queue();
    use(controller, queue);
    const uint32_t granted = controller.granted_queues();
    controller.recover();
    CHECK(controller.granted_queues() == granted);
    use(controller, queue);
  }
  CHECK((emulated->read32(xio::nvme::reg::cc) & 1) == 0);
  CHECK(emulated->violations()->text() == "");
}

TEST_CASE("what a controller says of its queues is believed as far as it can be", "[host][quirks]") {
  const auto granted = [](const std::string& quirk) {
    const auto spec = xio::emulation::parse_emulated_spec("emulated:queues=5,quirks=" + quirk);
    return NvmeController(std::make_unique<xio::emulation::NvmeController>(spec.config)).granted_queues();
  };
  CHECK(granted("nvme-1.0") == 5);
  CHECK(granted("fixed-queues") == 5);
  CHECK(granted("unknown-queues") == 1);
  CHECK(granted("all-queues") == 65535);
  CHECK(contains(error_of([&] { granted("nvme-1.0/odd"); }), "unknown quirk 'odd'; known: nvme-1.0, no-list, "));
}

TEST_CASE("a controller without a list of namespaces is asked for each, within reason", "[host][quirks]") {
  xio::emulation::NvmeConfig config = xio::emulation::parse_emulated_spec("emulated:quirks=no-list").config;
  config.max_nsid = 0xfffffffe;
  const NvmeController controller(std::make_unique<xio::emulation::NvmeController>(config));
  CHECK(contains(error_of([&] { controller.active_namespaces(); }), "does not list its namespaces"));
  CHECK(controller.identify_namespace(1).blocks != 0);
}

TEST_CASE("a shutdown may take what the controller reports, within bounds", "[host][quirks]") {
  CHECK(detail::shutdown_time(0).count() == 10000);
  CHECK(detail::shutdown_time(1).count() == 10000);
  CHECK(detail::shutdown_time(12000000).count() == 12001);
  CHECK(detail::shutdown_time(~0u).count() == 60000);
  std::vector<unsigned char> page(4096, 0);
  page[88] = 0x80, page[89] = 0x84, page[90] = 0x1e;
  CHECK(xio::nvme::IdentifyController{page.data()}.rtd3e() == 2000000);
}

TEST_CASE("a controller that answers no more is asked once, however many queues end", "[host][quirks]") {
  const auto world = std::make_shared<FakeWorld>();
  ControllerOptions options;
  options.admin_deadline = std::chrono::milliseconds(30);
  NvmeController controller(std::make_unique<FakeNvme>(world), options);
  std::vector<NvmeQueue> queues;
  for (int i = 0; i < 8; ++i) queues.push_back(controller.create_queue());
  const size_t memory = world->memory.size();
  world->silent.insert(0x00);
  const auto deletions = [&] {
    size_t count = 0;
    for (const std::string& line : world->log) count += line.compare(0, 10, "admin 0x00") == 0;
    return count;
  };
  queues.resize(1);
  CHECK(deletions() == 1);
  CHECK(world->open_words.size() == 2);
  // The controller may use the rings and lists of all seven.
  CHECK(world->memory.size() >= memory - 7 * 4);
  CHECK(world->live_sqs.size() == 8);
  SECTION("until it answers something") {
    CHECK(controller.identify_namespace(1).blocks == 1000);
    queues.clear();
    CHECK(deletions() == 2);
  }
  SECTION("until it is reset") {
    world->silent.clear();
    controller.recover();
    CHECK(world->live_sqs.size() == 1);
    queues.clear();
    CHECK(deletions() == 2);
    CHECK(world->live_sqs.empty());
  }
}
