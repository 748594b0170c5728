// SPDX-License-Identifier: MIT

/// @file
/// @brief Set-up, admin commands and recovery of a controller, step by step against a scripted one.

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <xio/host/nvme/controller.hpp>

#include "catch.hpp"
#include "unit/host_fake_controller.hpp"
#include "unit/host_support.hpp"

using namespace xio::host;
using host_tests::contains;
using host_tests::error_of;
using host_tests::FakeNvme;
using host_tests::FakeWorld;
using Log = std::vector<std::string>;

namespace {

/// A controller on a fake one.
struct Fixture {
  std::shared_ptr<FakeWorld> world = std::make_shared<FakeWorld>();
  ControllerOptions options;
  FakeNvme* fake = nullptr;

  Fixture() = default;
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;
  ~Fixture() { CHECK(world->violations == Log{}); }

  NvmeController make() {
    auto transport = std::make_unique<FakeNvme>(world);
    fake = transport.get();
    return NvmeController(std::move(transport), options);
  }
  std::string failure() {
    return error_of([&] { make(); });
  }
};

constexpr std::chrono::milliseconds shortly{30};

}  // namespace

TEST_CASE("registers are written in the order of the specification", "[host][controller]") {
  Fixture fixture;
  {
    NvmeController controller = fixture.make();
    CHECK(fixture.world->log == Log{"cc 0x460000", "aqa 0x3f003f", "asq page+0", "acq page+0", "cc 0x460001",
                                    "admin 0x06 0x1 0x0", "admin 0x06 0x6 0x0", "admin 0x09 0x7 0x3f003f"});
    CHECK(controller.info().serial == "SERIAL");
    CHECK(controller.info().model == "a fake model");
    CHECK(controller.info().firmware == "fw 1.0");
    CHECK(controller.info().max_transfer_bytes == 4096u << 5);
    CHECK(controller.info().max_events == 4);
    CHECK(controller.granted_queues() == 8);
    CHECK(controller.max_queue_entries() == 2048);
    CHECK(controller.page_bytes() == 4096);
    CHECK(controller.version().mnr() == 4);
    CHECK(controller.status().rdy());
    fixture.world->log.clear();
  }
  // The end: shutdown, then disable, then the transport goes, and no memory stays.
  CHECK(fixture.world->log == Log{"cc 0x464001", "cc 0x460000", "end"});
  CHECK(fixture.world->memory.empty());
}

TEST_CASE("what a controller calls itself can be shown", "[host][controller]") {
  Fixture fixture;
  fixture.world->serial = "A\x1b[31m\x07\xff\n B\\";
  const NvmeController controller = fixture.make();
  CHECK(controller.info().serial == "A\\x1b[31m\\x07\\xff\\x0a B\\\\");
}

TEST_CASE("the smallest memory page of the controller is honoured", "[host][controller][H28]") {
  Fixture fixture;
  fixture.world->mpsmin = 1;
  NvmeController controller = fixture.make();
  CHECK(controller.page_bytes() == 8192);
  CHECK(fixture.world->log[4] == "cc 0x460081");
  // MDTS counts pages of the smallest size.
  CHECK(controller.info().max_transfer_bytes == 8192u << 5);
}

TEST_CASE("options of the set-up reach the registers", "[host][controller]") {
  Fixture fixture;
  fixture.options.admin_entries = 2;
  fixture.options.queue_count = 3;
  fixture.options.all_command_sets = true;
  fixture.world->css = 0x41;
  NvmeController controller = fixture.make();
  CHECK(fixture.world->log[1] == "aqa 0x10001");
  CHECK(fixture.world->log[4] == "cc 0x460061");
  CHECK(fixture.world->log.back() == "admin 0x09 0x7 0x20002");
  // Two entries hold one command: the ring must wrap properly.
  for (int i = 0; i < 100; ++i) REQUIRE(controller.identify_namespace(1).blocks == 1000);
}

TEST_CASE("options that make no sense are refused", "[host][controller]") {
  Fixture fixture;
  SECTION("admin queue too small") {
    fixture.options.admin_entries = 1;
    CHECK(contains(fixture.failure(), "admin_entries = 1 is not accepted; expected 2 to 4096"));
  }
  SECTION("no queues") {
    fixture.options.queue_count = 0;
    CHECK(contains(fixture.failure(), "queue_count = 0 is not accepted"));
  }
  SECTION("command sets that are not there") {
    fixture.options.all_command_sets = true;
    CHECK(contains(fixture.failure(), "supports no further command sets"));
  }
  SECTION("no transport") {
    CHECK(contains(error_of([] { NvmeController controller(nullptr); }), "no transport"));
  }
}

TEST_CASE("a controller that does not become ready is an error", "[host][controller]") {
  Fixture fixture;
  SECTION("after CAP.TO") {
    fixture.world->stays_unready = true;
    CHECK(contains(fixture.failure(), "the fake did not become ready (CC.EN = 1) within 500 ms; CSTS = 0x00000000"));
  }
  SECTION("after the user's own limit") {
    fixture.world->stays_unready = true;
    fixture.options.ready_deadline = shortly;
    CHECK(contains(fixture.failure(), "within 30 ms"));
  }
  SECTION("it never becomes idle") {
    fixture.world->stays_ready = true;
    fixture.options.ready_deadline = shortly;
    CHECK(contains(fixture.failure(), "did not become idle (CC.EN = 0) within 30 ms"));
  }
  SECTION("it fails") {
    fixture.world->fails_on_enable = true;
    CHECK(contains(fixture.failure(), "failed while it was enabled (CSTS.CFS)"));
  }
  SECTION("it is not there") {
    fixture.world->gone = true;
    CHECK(contains(fixture.failure(), "registers read as all ones"));
  }
  CHECK(fixture.world->log.back() == "end");
  CHECK(fixture.world->memory.empty());
}

TEST_CASE("a controller that does not listen any more is reset by its bus", "[host][controller]") {
  Fixture fixture;
  fixture.options.ready_deadline = shortly;
  fixture.world->bus_reset = true;
  SECTION("from the start") {
    fixture.world->stays_ready = true;
    const NvmeController controller = fixture.make();
    CHECK(controller.status().rdy());
    CHECK(std::count(fixture.world->log.begin(), fixture.world->log.end(), "bus reset") == 1);
  }
  SECTION("in a recovery") {
    NvmeController controller = fixture.make();
    const NvmeQueue queue = controller.create_queue();
    CHECK(std::count(fixture.world->log.begin(), fixture.world->log.end(), "bus reset") == 0);
    fixture.world->stays_ready = true;
    controller.recover();
    CHECK(std::count(fixture.world->log.begin(), fixture.world->log.end(), "bus reset") == 1);
    CHECK(queue.valid());
    CHECK(queue.generation() == 2);
  }
}

TEST_CASE("every admin status is read and named", "[host][controller][H28]") {
  Fixture fixture;
  NvmeController controller = fixture.make();
  const auto fail_next = [&](xio::nvme::AdminOpcode opcode, uint16_t field) {
    fixture.world->statuses[static_cast<uint8_t>(opcode)].push_back(field);
  };
  fail_next(xio::nvme::AdminOpcode::get_features, xio::nvme::make_status_field(0x002, true));
  try {
    controller.get_feature(xio::nvme::FeatureId::number_of_queues);
    FAIL("no error");
  } catch (const AdminError& error) {
    CHECK(std::string(error.what()) == "Get Features failed: invalid field in command (status 0x002, do not retry)");
    CHECK(error.code() == 0x002);
    CHECK(error.opcode() == 0x0a);
    CHECK(error.status() == xio::Status::invalid_command);
  }
  fail_next(xio::nvme::AdminOpcode::identify, 0x00b);
  CHECK(contains(error_of([&] { controller.identify_namespace(1); }), "Identify failed: invalid namespace or format"));
  // The answer as a value, for those who expect it.
  fail_next(xio::nvme::AdminOpcode::get_features, 0x006);
  CHECK(controller.admin(xio::nvme::get_features(xio::nvme::FeatureId::arbitration)).status ==
        xio::Status::internal_error);
  // Set-up fails by name, too.
  Fixture other;
  other.world->statuses[0x06].push_back(0x006);
  CHECK(other.failure() == "Identify failed: internal error (status 0x006)");
  CHECK(other.world->memory.empty());
}

TEST_CASE("a command that is not answered is an error, and its memory is kept", "[host][controller]") {
  Fixture fixture;
  fixture.options.admin_deadline = shortly;
  NvmeController controller = fixture.make();
  fixture.world->silent.insert(0x06);
  const size_t before = fixture.world->memory.size();
  CHECK(contains(error_of([&] { controller.identify_namespace(1); }), "Identify did not complete within 30 ms"));
  CHECK(fixture.world->memory.size() == before + 1);
  // Other commands still work; the memory comes back with the reset.
  CHECK_NOTHROW(controller.get_feature(xio::nvme::FeatureId::arbitration));
  fixture.world->silent.clear();
  controller.recover();
  CHECK(fixture.world->memory.size() == before);
  CHECK(controller.identify_namespace(1).blocks == 1000);
}

TEST_CASE("an admin queue full of unanswered commands is an error", "[host][controller]") {
  Fixture fixture;
  fixture.options.admin_deadline = std::chrono::milliseconds(1);
  fixture.options.admin_entries = 4;
  NvmeController controller = fixture.make();
  fixture.world->silent.insert(0x0a);
  std::string message;
  for (int i = 0; i < 4; ++i) message = error_of([&] { controller.get_feature(xio::nvme::FeatureId::arbitration); });
  CHECK(contains(message, "the admin queue is full of commands that did not complete"));
}

TEST_CASE("a fatal status is noticed while a command waits, and recover() repairs it", "[host][controller]") {
  Fixture fixture;
  NvmeController controller = fixture.make();
  fixture.world->fatal.insert(0x0a);
  bool failure = false;
  try {
    controller.get_feature(xio::nvme::FeatureId::arbitration);
  } catch (const ControllerFailure& error) {
    failure = contains(error.what(), "fatal status (CSTS.CFS)");
  }
  CHECK(failure);
  CHECK(controller.status().cfs());
  fixture.world->fatal.clear();
  fixture.world->log.clear();
  controller.recover();
  CHECK(fixture.world->log ==
        Log{"cc 0x460000", "aqa 0x3f003f", "asq page+0", "acq page+0", "cc 0x460001", "admin 0x09 0x7 0x3f003f"});
  CHECK_FALSE(controller.status().cfs());
  CHECK_NOTHROW(controller.get_feature(xio::nvme::FeatureId::arbitration));
}

TEST_CASE("a fatal status that outlasts the disabling is answered by a reset of the bus", "[host][controller]") {
  Fixture fixture;
  NvmeController controller = fixture.make();
  const NvmeQueue queue = controller.create_queue();
  const auto bus_resets = [&] { return std::count(fixture.world->log.begin(), fixture.world->log.end(), "bus reset"); };
  fixture.fake->set_fatal();
  SECTION("which takes it back") {
    fixture.world->bus_reset = true;
    fixture.world->stays_fatal = GENERATE(false, true);
    fixture.world->keeps_fatal = true;
    controller.recover();
    CHECK(bus_resets() == 1);
    CHECK_FALSE(controller.status().cfs());
    CHECK(queue.valid());
    CHECK(controller.identify_namespace(1).blocks == 1000);
  }
  SECTION("no bus reset is needed where the disabling takes it back") {
    fixture.world->bus_reset = true;
    controller.recover();
    CHECK(bus_resets() == 0);
    CHECK(queue.valid());
  }
  SECTION("where the bus has none, enabling tells") {
    fixture.world->keeps_fatal = true;
    controller.recover();
    CHECK_FALSE(controller.status().cfs());
    CHECK(queue.valid());
  }
  SECTION("and is an error where nothing helps") {
    fixture.world->bus_reset = GENERATE(false, true);
    fixture.world->stays_fatal = fixture.world->broken = true;
    CHECK(contains(error_of([&] { controller.recover(); }), "the fake failed while it was enabled (CSTS.CFS)"));
    CHECK(bus_resets() == (fixture.world->bus_reset ? 1 : 0));
    CHECK_FALSE(queue.valid());
  }
}

TEST_CASE("a controller that ends is told apart from one that fails", "[host][controller]") {
  Fixture fixture;
  NvmeController controller = fixture.make();
  SECTION("it does not run any more") {
    fixture.world->alive = false;
    CHECK(contains(error_of([&] { controller.status(); }), "the fake has ended"));
    CHECK(contains(error_of([&] { controller.recover(); }), "the fake has ended"));
  }
  SECTION("its registers read as all ones") {
    fixture.world->silent.insert(0x0a);
    fixture.world->gone = true;
    const std::string message = error_of([&] { controller.get_feature(xio::nvme::FeatureId::arbitration); });
    CHECK(contains(message, "the fake is gone: its registers read as all ones"));
  }
}

TEST_CASE("asynchronous events come out of the admin queue in between", "[host][controller]") {
  Fixture fixture;
  NvmeController controller = fixture.make();
  CHECK_FALSE(controller.take_event(shortly).has_value());
  controller.request_event();
  controller.request_event();
  CHECK_FALSE(controller.take_event(shortly).has_value());
  fixture.fake->raise_event(0x00020001);
  // The event's completion arrives before the command's own.
  CHECK(controller.identify_namespace(1).blocks == 1000);
  const auto event = controller.take_event(shortly);
  REQUIRE(event);
  CHECK(event->type() == 1);
  CHECK(event->information() == 0);
  CHECK(event->log_page() == 2);
  CHECK_FALSE(controller.take_event(shortly).has_value());
  fixture.fake->raise_event(0, 0x105);
  CHECK(contains(error_of([&] { controller.take_event(shortly); }), "event request limit exceeded"));
  // Identifiers of waiting requests are not used again.
  controller.request_event();
  for (int i = 0; i < 40000; ++i) controller.get_feature(xio::nvme::FeatureId::arbitration);
  fixture.fake->raise_event(0x100);
  CHECK(controller.take_event(shortly)->raw == 0x100);
}

TEST_CASE("no more namespaces are listed than the controller has", "[host][controller][H28]") {
  Fixture fixture;
  fixture.world->highest_nsid = GENERATE(0u, 1u, 2u, 2047u, 2048u, 2049u, 2050u, 4999u, 5000u);
  INFO("NN " << fixture.world->highest_nsid);
  // One that does not end its list.
  fixture.world->last_listed_nsid = 100000;
  NvmeController controller = fixture.make();
  fixture.world->log.clear();
  const std::vector<uint32_t> active = controller.active_namespaces();
  CHECK(active.size() == (fixture.world->highest_nsid + 1) / 2);
  CHECK((active.empty() || active.back() <= fixture.world->highest_nsid));
  CHECK(fixture.world->log.size() <= (active.size() + 1024) / 1024);
}

TEST_CASE("the command set of a namespace is found among its descriptors", "[host][controller]") {
  Fixture fixture;
  fixture.world->css = 0x41;
  const auto found = [&](const std::vector<uint8_t>& descriptors) {
    fixture.world->descriptors = descriptors;
    return fixture.make().command_set(1);
  };
  using xio::nvme::CommandSet;
  CHECK(found({}) == CommandSet::nvm);
  CHECK(found({4, 1, 0, 0, 2}) == CommandSet::zoned);
  CHECK(found({1, 8, 0, 0, 4, 1, 0, 0, 1, 1, 1, 1, 4, 1, 0, 0, 1}) == CommandSet::key_value);
  CHECK(found({1, 8, 0, 0, 4, 1, 0, 0, 2, 2, 2, 2}) == CommandSet::nvm);
  CHECK(found({0, 0, 0, 0, 4, 1, 0, 0, 2}) == CommandSet::nvm);
  // Up to the end of the page, and not beyond it.
  for (const size_t start : {size_t{4087}, size_t{4091}, size_t{4092}, size_t{4093}}) {
    std::vector<uint8_t> page(4096, 0);
    for (size_t at = 0; at < start;) {
      const size_t bytes = start - at < 4 + 256 ? start - at - 4 : 250;
      page[at] = 1;
      page[at + 1] = static_cast<uint8_t>(bytes);
      at += 4 + bytes;
    }
    const uint8_t last[] = {4, 1, 0, 0, 2};
    std::copy_n(last, std::min(sizeof last, page.size() - start), page.begin() + static_cast<std::ptrdiff_t>(start));
    CHECK(found(page) == (start <= 4091 ? CommandSet::zoned : CommandSet::nvm));
  }
  CHECK(std::count(fixture.world->log.begin(), fixture.world->log.end(), "admin 0x06 0x3 0x0") == 9);
  // A controller that has no other set is not asked.
  fixture.world->css = 1;
  CHECK(found({4, 1, 0, 0, 2}) == CommandSet::nvm);
  CHECK(std::count(fixture.world->log.begin(), fixture.world->log.end(), "admin 0x06 0x3 0x0") == 9);
}

TEST_CASE("namespaces are listed beyond one page, and described", "[host][controller]") {
  Fixture fixture;
  fixture.world->highest_nsid = 5000;
  fixture.world->format_metadata = 8;
  NvmeController controller = fixture.make();
  const std::vector<uint32_t> active = controller.active_namespaces();
  REQUIRE(active.size() == 2500);
  CHECK(active[1024] == 2049);
  CHECK(active.back() == 4999);
  const NamespaceInfo info = controller.identify_namespace(3);
  CHECK(info.nsid == 3);
  CHECK(info.blocks == 1000);
  CHECK(info.block_bytes == 4096);
  CHECK(info.metadata_bytes == 8);
  CHECK_FALSE(info.extended_blocks);
  CHECK_THROWS_AS(controller.fetch(xio::nvme::identify_controller(), 4097), Error);
  CHECK(controller.fetch(xio::nvme::identify_controller(), 4096)[4] == 'S');
  // The controller moves all of it, however little of it is wanted.
  CHECK(controller.fetch(xio::nvme::identify_controller(), 64).size() == 64);
  CHECK(contains(error_of([&] { controller.get_log_page(xio::nvme::LogId::smart, 510); }),
                 "a data size that no command supports"));
  xio::nvme::LogPageRequest large;
  large.bytes = 8192;
  CHECK(contains(error_of([&] { controller.fetch(xio::nvme::get_log_page(large), 4096); }), "more than a page"));
  CHECK(contains(error_of([&] { controller.admin(xio::nvme::identify_controller()); }), "set a data pointer"));
  CHECK(contains(error_of([&] { controller.set_feature(xio::nvme::FeatureId::timestamp, 0); }), "set a data pointer"));
  CHECK(controller.abort(1, 2));
}

TEST_CASE("limits of single commands are asked for where the controller can know the question", "[host][controller]") {
  Fixture fixture;
  fixture.world->limits = {3, 4, 5, 6, 7, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 1};
  {
    NvmeController controller = fixture.make();
    const xio::host::CommandLimits& limits = controller.info().limits;
    CHECK(limits.transfer_bytes == 4096u << 5);
    CHECK(limits.verify_bytes == 4096u << 3);
    CHECK(limits.write_zeroes_bytes == 4096u << 4);
    CHECK(limits.uncorrectable_bytes == 4096u << 5);
    CHECK(limits.append_bytes == 0);
    CHECK(limits.dsm_ranges == 6);
    CHECK(limits.dsm_range_blocks == 7);
    CHECK(limits.dsm_blocks == (uint64_t{1} << 56 | 8));
    const NvmeQueue queue = controller.create_queue();
    CHECK(queue.handle().verify_blocks == 8);
    CHECK(queue.handle().write_zeroes_blocks == 16);
    CHECK(queue.handle().uncorrectable_blocks == 32);
    CHECK(queue.handle().max_bytes == 4096u << 5);
    CHECK(queue.handle().append_bytes == 4096u << 5);
    CHECK(queue.handle().dsm_ranges == 6);
    CHECK(queue.handle().dsm_range_blocks == 7);
    CHECK(queue.handle().dsm_blocks == (uint64_t{1} << 56 | 8));
  }
  // One that refuses the question, and one that is too old for it.
  for (const bool old : {false, true}) {
    if (old) fixture.world->version = 0x00010100;
    fixture.world->limits.clear();
    fixture.world->log.clear();
    NvmeController controller = fixture.make();
    CHECK(controller.info().limits.verify_bytes == 0);
    const Log& log = fixture.world->log;
    CHECK((std::find(log.begin(), log.end(), "admin 0x06 0x6 0x0") == log.end()) == old);
    CHECK(controller.create_queue().handle().verify_blocks == 65536);
  }
}
