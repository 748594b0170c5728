// SPDX-License-Identifier: MIT

/// @file
/// @brief I/O queues of a controller: sizes, doorbells, page lists, shadow doorbells, deletion; against a scripted one.

#include <memory>
#include <optional>
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
struct Queues {
  std::shared_ptr<FakeWorld> world = std::make_shared<FakeWorld>();
  ControllerOptions options;
  FakeNvme* fake = nullptr;

  Queues() = default;
  Queues(const Queues&) = delete;
  Queues& operator=(const Queues&) = delete;
  ~Queues() { CHECK(world->violations == Log{}); }

  NvmeController make() {
    options.admin_deadline = std::chrono::milliseconds(30);
    auto transport = std::make_unique<FakeNvme>(world);
    fake = transport.get();
    NvmeController controller(std::move(transport), options);
    world->log.clear();
    return controller;
  }
};

QueueOptions with_depth(uint32_t depth) {
  QueueOptions options;
  options.depth = depth;
  return options;
}

}  // namespace

TEST_CASE("a queue pair is created and deleted in order, and its handle is complete", "[host][queue]") {
  Queues fixture;
  NvmeController controller = fixture.make();
  const size_t before = fixture.world->memory.size();
  {
    const NvmeQueue queue = controller.create_queue(with_depth(40));
    CHECK(fixture.world->log ==
          Log{"admin 0x06 0x0 0x0", "open 2", "open 3", "admin 0x05 0x7f0001 0x1", "admin 0x01 0x3f0001 0x10001"});
    const xio::nvme::QueueHandle handle = queue.handle();
    CHECK(handle.depth == 40);
    CHECK(handle.sq_mask == 63);
    CHECK(handle.cq_mask == 127);
    CHECK(handle.slot_mask == queue.plan().slots - 1);
    CHECK(queue.plan().slots >= 2 * 40);
    CHECK(handle.qid == 1);
    CHECK(handle.nsid == 1);
    CHECK(handle.namespace_blocks == 1000);
    CHECK(handle.block_shift == 12);
    CHECK(handle.page_shift == 12);
    CHECK(handle.max_blocks == 32);
    CHECK(handle.list_bytes == 256);
    CHECK(handle.sq_doorbell == fixture.fake->doorbell_words() + 2);
    CHECK(handle.cq_doorbell == fixture.fake->doorbell_words() + 3);
    CHECK(handle.sq_shadow == nullptr);
    CHECK(reinterpret_cast<uintptr_t>(handle.sq) + FakeNvme::bus_offset == fixture.world->live_sqs[1]);
    CHECK(reinterpret_cast<uintptr_t>(handle.cq) + FakeNvme::bus_offset == fixture.world->live_cqs[1]);
    CHECK(reinterpret_cast<uintptr_t>(handle.lists) + FakeNvme::bus_offset == handle.lists_bus);
    CHECK(fixture.fake->at(handle.lists_bus, size_t{queue.plan().slots} * 256) == handle.lists);
    CHECK(reinterpret_cast<uintptr_t>(handle.state) % 64 == 0);
    CHECK(handle.state->reserved == 0);
    CHECK(handle.slots[127].word == 0);
    CHECK(handle.notifications[127] == nullptr);
    CHECK(xio::nvme::layout_agrees(handle));
    CHECK(queue.valid());
    CHECK(queue.generation() == 1);
    fixture.world->log.clear();
  }
  CHECK(fixture.world->log == Log{"close 2", "close 3", "admin 0x00 0x1 0x0", "admin 0x04 0x1 0x0"});
  CHECK(fixture.world->memory.size() == before);
}

TEST_CASE("the doorbell stride is honoured", "[host][queue][H28]") {
  Queues fixture;
  fixture.world->dstrd = 2;
  NvmeController controller = fixture.make();  // the fake takes admin doorbells at the right offset only
  const NvmeQueue first = controller.create_queue();
  const NvmeQueue second = controller.create_queue();
  CHECK(second.qid() == 2);
  CHECK(second.handle().sq_doorbell == fixture.fake->doorbell_words() + 16);
  CHECK(second.handle().cq_doorbell == fixture.fake->doorbell_words() + 20);
  CHECK(std::find(fixture.world->log.begin(), fixture.world->log.end(), "open 20") != fixture.world->log.end());
}

TEST_CASE("the largest queue of the controller is honoured", "[host][queue][H28]") {
  Queues fixture;
  fixture.world->mqes = 31;
  NvmeController controller = fixture.make();
  CHECK(contains(error_of([&] { controller.create_queue(with_depth(33)); }),
                 "a depth of 33 is more than the controller's queues hold; at most 32 (CAP.MQES + 1) is accepted"));
  CHECK(fixture.world->live_cqs.empty());
  const NvmeQueue most = controller.create_queue(with_depth(32));
  CHECK(most.handle().depth == 31);
  CHECK(most.handle().sq_mask == 31);
  CHECK(most.handle().cq_mask == 31);
  CHECK(controller.create_queue(with_depth(1)).handle().sq_mask == 1);
}

TEST_CASE("queues that need not be contiguous are described by lists of pages", "[host][queue][H25]") {
  Queues fixture;
  QueueOptions options = with_depth(5000);
  options.non_contiguous = true;
  SECTION("refused where the controller wants contiguous queues") {
    NvmeController controller = fixture.make();
    options.depth = 64;
    CHECK(contains(error_of([&] { controller.create_queue(options); }), "requires contiguous queues (CAP.CQR = 1)"));
  }
  SECTION("with PC = 0") {
    fixture.world->cqr = false;
    fixture.world->mqes = 65535;
    NvmeController controller = fixture.make();
    // 65536 entries of 64 bytes are 1024 pages: their list needs three pages, chained.
    options.sq_entries = 65536;
    const NvmeQueue queue = controller.create_queue(options);
    CHECK(fixture.world->log[3] == "admin 0x05 0xffff0001 0x0");
    CHECK(fixture.world->log[4] == "admin 0x01 0xffff0001 0x10000");
    const uint64_t ring = reinterpret_cast<uintptr_t>(queue.handle().sq) + FakeNvme::bus_offset;
    const uint64_t list = fixture.world->live_sqs[1];
    CHECK(list % 4096 == 0);
    CHECK(list != ring);
    const auto* words = static_cast<const uint64_t*>(fixture.fake->at(list, 3 * 4096));
    size_t page = 0;
    for (size_t at = 0; at < 1024 + 2; ++at) {
      if (at == 511 || at == 1023) {
        REQUIRE(words[at] == list + (at + 1) * 8);
      } else {
        REQUIRE(words[at] == ring + page++ * 4096);
      }
    }
    CHECK(page == 1024);
    const uint64_t cq_list = fixture.world->live_cqs[1];
    CHECK(*static_cast<const uint64_t*>(fixture.fake->at(cq_list, 4096)) ==
          reinterpret_cast<uintptr_t>(queue.handle().cq) + FakeNvme::bus_offset);
  }
}

TEST_CASE("queue numbers are given out and checked", "[host][queue]") {
  Queues fixture;
  fixture.world->granted = 2;
  NvmeController controller = fixture.make();
  QueueOptions options;
  options.qid = 3;
  CHECK(contains(error_of([&] { controller.create_queue(options); }), "the controller granted 2 queue pairs"));
  options.qid = 2;
  NvmeQueue two = controller.create_queue(options);
  CHECK(contains(error_of([&] { controller.create_queue(options); }), "queue 2 exists already"));
  NvmeQueue one = controller.create_queue();
  CHECK(one.qid() == 1);
  CHECK(contains(error_of([&] { controller.create_queue(); }),
                 "all 2 queue pairs that the controller granted are in use"));
  two.remove();
  CHECK_FALSE(two.valid());
  CHECK_THROWS_AS(two.handle(), Error);
  one = controller.create_queue();  // takes 2, then lets 1 go
  CHECK(one.qid() == 2);
  CHECK(fixture.world->live_sqs.size() == 1);
}

TEST_CASE("namespaces are checked before a queue is made for them", "[host][queue]") {
  Queues fixture;
  QueueOptions options;
  SECTION("too high") {
    NvmeController controller = fixture.make();
    options.nsid = 5;
    CHECK(
        contains(error_of([&] { controller.create_queue(options); }), "namespace 5 does not exist; the highest is 4"));
  }
  SECTION("inactive") {
    NvmeController controller = fixture.make();
    options.nsid = 2;
    CHECK(contains(error_of([&] { controller.create_queue(options); }), "namespace 2 is not active"));
  }
  SECTION("metadata inside of the blocks") {
    fixture.world->format_metadata = 8;
    fixture.world->extended = true;
    NvmeController controller = fixture.make();
    options.metadata_by_caller = GENERATE(false, true);
    CHECK(contains(error_of([&] { controller.create_queue(options); }),
                   "namespace 1 mixes 8 bytes of metadata into its blocks; format it without"));
  }
  SECTION("metadata apart from the blocks") {
    fixture.world->format_metadata = GENERATE(1u, 8u, 16u, 4096u, 65535u);
    const std::string bytes = std::to_string(fixture.world->format_metadata);
    NvmeController controller = fixture.make();
    CHECK(contains(error_of([&] { controller.create_queue(options); }),
                   "namespace 1 keeps " + bytes + " bytes of metadata apart from its blocks, for which"));
    options.metadata_by_caller = true;
    options.flush_bus = 4096;
    CHECK(contains(error_of([&] { controller.create_queue(options); }), "for which flush_inbound() has no buffer"));
    options.flush_bus = 0;
    const NvmeQueue queue = controller.create_queue(options);
    CHECK(queue.handle().block_shift == 12);
    // Commands without a buffer for it are refused.
    CHECK(queue.handle().max_blocks == 0);
    CHECK(queue.handle().metadata_blocks == queue.plan().max_blocks);
    CHECK(queue.handle().protection_blocks == 0);
  }
  SECTION("none at all") {
    NvmeController controller = fixture.make();
    options.nsid = 0;
    const NvmeQueue queue = controller.create_queue(options);
    CHECK(queue.handle().namespace_blocks == 0);
    CHECK(queue.handle().block_shift == 9);
  }
  CHECK(fixture.world->live_cqs.empty());
}

TEST_CASE("a refused queue leaves nothing behind", "[host][queue]") {
  Queues fixture;
  NvmeController controller = fixture.make();
  const size_t before = fixture.world->memory.size();
  SECTION("completion queue") {
    fixture.world->statuses[0x05].push_back(xio::nvme::make_status_field(0x102, true));
    CHECK(error_of([&] { controller.create_queue(); }) ==
          "Create I/O Completion Queue (queue 1, 256 entries) failed: invalid queue size (status 0x102, do not retry)");
    CHECK(fixture.world->log.back() == "close 3");
  }
  SECTION("submission queue") {
    fixture.world->statuses[0x01].push_back(0x100);
    CHECK(contains(error_of([&] { controller.create_queue(); }), "completion queue invalid (status 0x100)"));
    CHECK(fixture.world->live_cqs.empty());
  }
  SECTION("doorbells") {
    const uint32_t word = GENERATE(2u, 3u);
    fixture.world->closed_words.insert(word);
    CHECK(error_of([&] { controller.create_queue(); }) == "no doorbell " + std::to_string(word));
    CHECK(fixture.world->open_words.empty());
    fixture.world->closed_words.clear();
  }
  CHECK(fixture.world->memory.size() == before);
  CHECK(controller.create_queue().qid() == 1);
}

TEST_CASE("memory that the controller may still use is kept until it is reset", "[host][queue]") {
  Queues fixture;
  NvmeController controller = fixture.make();
  const size_t before = fixture.world->memory.size();
  const auto check_kept = [&](uint64_t ring) {
    REQUIRE(fixture.world->memory.count(ring) == 1);
    fixture.world->silent.clear();
    fixture.world->statuses.clear();
    controller.recover();
    CHECK(fixture.world->memory.size() == before);
  };
  SECTION("the deletion is refused") {
    NvmeQueue queue = controller.create_queue();
    fixture.world->statuses[0x00].push_back(0x101);
    const uint64_t ring = fixture.world->live_sqs[1];
    CHECK(contains(error_of([&] { queue.remove(); }), "Delete I/O Submission Queue (queue 1, 128 entries) failed"));
    check_kept(ring);
  }
  SECTION("the deletion is not answered; the destructor says nothing") {
    uint64_t ring = 0;
    {
      const NvmeQueue queue = controller.create_queue();
      ring = fixture.world->live_sqs[1];
      fixture.world->silent.insert(0x00);
    }
    check_kept(ring);
  }
  SECTION("the creation is not answered") {
    fixture.world->silent.insert(0x05);
    const size_t allocations = fixture.world->allocations;
    CHECK(contains(error_of([&] { controller.create_queue(); }), "did not complete"));
    CHECK(fixture.world->allocations > allocations);
    CHECK(fixture.world->memory.size() > before);
    check_kept(std::prev(fixture.world->memory.end())->first);
  }
}

TEST_CASE("recovery makes every queue anew", "[host][queue]") {
  Queues fixture;
  NvmeController controller = fixture.make();
  NvmeQueue one = controller.create_queue(with_depth(8));
  NvmeQueue two = controller.create_queue(with_depth(16));
  one.handle().state->reserved = 77;
  one.handle().sq_doorbell[0] = 5;
  controller.reset();
  CHECK_FALSE(one.valid());
  CHECK(contains(error_of([&] { one.handle(); }), "queue 1 does not exist on the controller any more; call recover()"));
  fixture.world->log.clear();
  controller.recover();
  CHECK(one.valid());
  CHECK(two.valid());
  CHECK(one.generation() == 2);
  CHECK(one.handle().state->reserved == 0);
  CHECK(fixture.world->live_sqs.size() == 2);
  CHECK(reinterpret_cast<uintptr_t>(two.handle().sq) + FakeNvme::bus_offset == fixture.world->live_sqs[2]);
  CHECK(std::count(fixture.world->log.begin(), fixture.world->log.end(), "open 2") == 1);
  // A queue that the controller refuses now stays invalid, and can be dropped.
  fixture.world->statuses[0x05] = {0x102};
  CHECK_THROWS_AS(controller.recover(), AdminError);
  CHECK_FALSE(one.valid());
}

TEST_CASE("doorbells are closed before their queues go, whoever takes them", "[host][queue]") {
  Queues fixture;
  std::optional<NvmeController> controller(fixture.make());
  std::optional<NvmeQueue> queue(controller->create_queue());
  const NvmeQueue other = controller->create_queue();
  const auto closed = [&] { return fixture.world->open_words.empty(); };
  CHECK(fixture.world->open_words.size() == 4);
  SECTION("a reset") {
    controller->reset();
    CHECK(closed());
    queue.reset();
    controller->recover();
    CHECK(fixture.world->open_words.size() == 2);
  }
  SECTION("a recovery") {
    controller->recover();
    CHECK(fixture.world->open_words.size() == 4);
  }
  SECTION("a recovery that fails, and one after it") {
    fixture.world->statuses[0x01] = {0, 0x102};
    CHECK_THROWS_AS(controller->recover(), AdminError);
    CHECK(fixture.world->open_words.size() == 2);
    controller->recover();
    CHECK(fixture.world->open_words.size() == 4);
  }
  SECTION("a reset that fails: the queues may be there still, and are of no use") {
    const uint64_t ring = fixture.world->live_sqs[1];
    fixture.world->stays_ready = true;
    CHECK_THROWS_AS(controller->recover(), ControllerFailure);
    CHECK(closed());
    CHECK_FALSE(queue->valid());
    SECTION("they come back") {
      fixture.world->stays_ready = false;
      controller->recover();
      CHECK(queue->valid());
    }
    SECTION("or are given up: their memory stays until a reset succeeds") {
      fixture.world->log.clear();
      queue.reset();
      CHECK(fixture.world->log.empty());
      CHECK(fixture.world->memory.count(ring) == 1);
      const size_t kept = fixture.world->memory.size();
      fixture.world->stays_ready = false;
      controller->recover();
      CHECK(fixture.world->memory.size() < kept);
    }
  }
  SECTION("a creation that is not answered") {
    fixture.world->silent.insert(0x05);
    CHECK(contains(error_of([&] { controller->create_queue(); }), "did not complete"));
    CHECK(fixture.world->open_words.size() == 4);
  }
  SECTION("the end of the queue") {
    queue.reset();
    CHECK(fixture.world->open_words.size() == 2);
  }
  SECTION("the end of the controller") {
    controller.reset();
    CHECK(closed());
  }
  SECTION("the end of a controller that does not run any more") {
    fixture.world->alive = false;
    controller.reset();
    CHECK(closed());
  }
}

TEST_CASE("shadow doorbells and EventIdx are zero whenever a queue is created", "[host][queue][H34]") {
  Queues fixture;
  fixture.world->dstrd = 1;
  NvmeController controller = fixture.make();
  QueueOptions options = with_depth(8);
  options.shadow_doorbells = true;
  NvmeQueue queue = controller.create_queue(options);
  CHECK(fixture.world->log[1] == "admin 0x7c 0x0 0x0");
  const auto soil = [&] {
    const xio::nvme::QueueHandle handle = queue.handle();
    CHECK(handle.sq_shadow[0] == 0);
    CHECK(handle.cq_shadow[0] == 0);
    CHECK(handle.sq_event_index[0] == 0);
    CHECK(handle.cq_event_index[0] == 0);
    CHECK(handle.cq_shadow - handle.sq_shadow == 2);
    CHECK(handle.cq_event_index - handle.sq_event_index == 2);
    handle.sq_shadow[0] = 9;
    handle.cq_shadow[0] = 9;
    const_cast<uint32_t*>(handle.sq_event_index)[0] = 9;
    const_cast<uint32_t*>(handle.cq_event_index)[0] = 9;
  };
  soil();
  queue.remove();
  queue = controller.create_queue(with_depth(8));  // shadow doorbells hold for all queues from now on
  soil();
  fixture.world->log.clear();
  controller.recover();
  // The reset has switched them off: they come back before the queues do.
  REQUIRE(fixture.world->log.size() > 8);
  CHECK(fixture.world->log[8] == "admin 0x7c 0x0 0x0");
  soil();
  // The admin queue's own words follow its commands.
  uint32_t* const admin_shadow = queue.handle().sq_shadow - 4;
  const uint32_t tail = admin_shadow[0];
  controller.identify_namespace(1);
  CHECK(admin_shadow[0] == tail + 1);
  CHECK(admin_shadow[2] == tail + 1);
}

TEST_CASE("shadow doorbells are refused where they cannot work", "[host][queue]") {
  Queues fixture;
  SECTION("not offered") {
    fixture.world->oacs = 0;
    NvmeController controller = fixture.make();
    CHECK(contains(error_of([&] { controller.enable_shadow_doorbells(); }), "has no shadow doorbells"));
  }
  SECTION("too late") {
    NvmeController controller = fixture.make();
    const NvmeQueue queue = controller.create_queue();
    CHECK(contains(error_of([&] { controller.enable_shadow_doorbells(); }), "before the first queue is created"));
  }
  SECTION("no room on the page") {
    fixture.world->dstrd = 9;  // one doorbell each 2048 bytes
    NvmeController controller = fixture.make();
    controller.enable_shadow_doorbells();
    CHECK(contains(error_of([&] { controller.create_queue(); }), "no space for this queue"));
  }
}

TEST_CASE("queues may outlive their controller", "[host][queue]") {
  Queues fixture;
  NvmeQueue queue;
  {
    NvmeController controller = fixture.make();
    queue = controller.create_queue();
  }
  CHECK(fixture.world->log.back() == "end");
  CHECK_FALSE(queue.valid());
  CHECK_THROWS_AS(queue.handle(), Error);
  CHECK(queue.qid() == 1);
}

TEST_CASE("memory and addresses of the executing side are the user's choice", "[host][queue]") {
  Queues fixture;
  NvmeController controller = fixture.make();
  QueueOptions options;
  options.completion_slots = 128;
  size_t state_bytes = 0;
  size_t ring_bytes = 0;
  options.allocate_state = [&](size_t bytes, size_t alignment) {
    state_bytes += bytes;
    return fixture.fake->allocate(bytes, alignment);
  };
  options.allocate_rings = [&](size_t bytes, size_t alignment) {
    ring_bytes += bytes;
    return fixture.fake->allocate(bytes, alignment);
  };
  options.executor_address = [](void* address) { return static_cast<char*>(address) + 0x100000000; };
  options.clock_hz = 100000000;
  options.flush_bus = 0x1234;
  const NvmeQueue queue = controller.create_queue(options);
  const xio::nvme::QueueHandle handle = queue.handle();
  CHECK(state_bytes == 64 + xio::link_bytes(128) + 128 * 16 + 128 * 8 + xio::nvme::failure_log_bytes(1024));
  CHECK(ring_bytes == 128 * 64 + 256 * 16 + 128 * 256);
  CHECK(reinterpret_cast<uintptr_t>(handle.sq) - 0x100000000 + FakeNvme::bus_offset == fixture.world->live_sqs[1]);
  CHECK(reinterpret_cast<char*>(handle.sq_doorbell) - 0x100000000 ==
        reinterpret_cast<char*>(fixture.fake->doorbell_words() + 2));
  CHECK(handle.sq_shadow == nullptr);
  CHECK(handle.clock_hz == 100000000);
  CHECK(handle.flush_bus == 0x1234);
}
