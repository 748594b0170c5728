// SPDX-License-Identifier: MIT

/// @file
/// @brief Memory for kernels that do not run on the CPU: which pages are handed over, how often, and under which
/// addresses; and what a queue pair's handle then says.

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <xio/host/emulation/rdma/nic.hpp>
#include <xio/host/rdma/direct_queue_pair.hpp>

#include "catch.hpp"
#include "unit/host_support.hpp"

using namespace xio::host;
using host_tests::contains;
using host_tests::error_of;

namespace {

constexpr uintptr_t page_bytes = 4096;

/// Somebody who sees our memory elsewhere, and keeps a list of what was handed over.
struct Elsewhere : ExecutorReach {
  uintptr_t distance = uintptr_t{1} << 44;
  uintptr_t registers_distance = uintptr_t{1} << 45;
  uintptr_t drift = 0;  // how much farther away each piece lies than the one before
  int room = 1000;
  std::map<uintptr_t, size_t> held;
  std::vector<std::string> log;
  bool twice = false;

  std::shared_ptr<void> add_memory(void* first, size_t bytes) override {
    return add(first, bytes, distance, "memory ");
  }
  std::shared_ptr<void> add_registers(void* first, size_t bytes) override {
    return add(first, bytes, registers_distance, "registers ");
  }

 private:
  std::shared_ptr<void> add(void* first, size_t bytes, uintptr_t& far, const char* what) {
    if (room-- == 0) throw Error("no room");
    const auto address = reinterpret_cast<uintptr_t>(first);
    for (const auto& [begin, size] : held) twice |= address < begin + size && begin < address + bytes;
    if (address % page_bytes != 0 || bytes % page_bytes != 0) log.push_back("no whole pages");
    held[address] = bytes;
    log.push_back(what + std::to_string(bytes / page_bytes));
    far += drift;
    return {reinterpret_cast<void*>(address + far), [this, address](void*) { held.erase(address); }};
  }
};

struct Rig {
  std::shared_ptr<Elsewhere> elsewhere = std::make_shared<Elsewhere>();
  std::shared_ptr<ReachablePages> pages = std::make_shared<ReachablePages>(elsewhere);
  std::unique_ptr<void, decltype(&std::free)> memory{std::aligned_alloc(page_bytes, 16 * page_bytes), std::free};
  char* at(size_t offset) const { return static_cast<char*>(memory.get()) + offset; }
  uintptr_t seen(const void* data) const { return reinterpret_cast<uintptr_t>(data) + elsewhere->distance; }
};

uintptr_t number(const void* address) { return reinterpret_cast<uintptr_t>(address); }

using Kit = xio::emulation::Mlx5Kit<>;

/// Queues that are known to work.
struct Emulated {
  xio::emulation::RdmaFabric fabric;
  xio::emulation::RdmaQueuePair<Kit> pair{fabric, Kit::config()};

  DirectQueues queues() {
    const xio::rdma::QueuePairHandle send = pair.handle();
    const xio::rdma::ReceiveQueueHandle receive = pair.receive_handle();
    DirectQueues all;
    all.name = "test";
    all.sq = send.sq;
    all.sq_record = send.sq_record;
    all.sq_doorbell = send.sq_doorbell;
    all.shape = send.shape;
    all.cq = completions(send.cq);
    all.rq = receive.rq;
    all.rq_record = receive.record;
    all.receive_shape = receive.shape;
    all.receive_cq = completions(receive.cq);
    return all;
  }

 private:
  static DirectCompletionRing completions(const xio::rdma::CompletionQueueHandle& cq) {
    DirectCompletionRing ring;
    ring.entries = const_cast<void*>(cq.entries);
    ring.count = cq.size;
    ring.record = cq.record;
    return ring;
  }
};

}  // namespace

TEST_CASE("on the CPU addresses stay as they are", "[host][rdma]") {
  ReachedMemory reached(nullptr);
  int word = 0;
  CHECK(reached.memory(&word, sizeof word) == &word);
  CHECK(reached.registers(&word, sizeof word) == &word);
}

TEST_CASE("pages are handed over once, and given back when nobody uses them", "[host][rdma]") {
  Rig rig;
  {
    ReachedMemory first(rig.pages);
    CHECK(number(first.memory(rig.at(100), 200)) == rig.seen(rig.at(100)));
    {
      // Shares its first page_bytes, has another one behind it; then one inside.
      ReachedMemory second(rig.pages);
      CHECK(number(second.memory(rig.at(4000), 200)) == rig.seen(rig.at(4000)));
      CHECK(number(second.memory(rig.at(5000), 8)) == rig.seen(rig.at(5000)));
      CHECK(rig.elsewhere->log == std::vector<std::string>{"memory 1", "memory 1"});
      // Around both, and with a gap that is filled.
      CHECK(number(second.memory(rig.at(3 * page_bytes), 1)) == rig.seen(rig.at(3 * page_bytes)));
      CHECK(number(second.memory(rig.at(50), 5 * page_bytes - 50)) == rig.seen(rig.at(50)));
      CHECK(rig.elsewhere->held.size() == 5);
    }
    CHECK(rig.elsewhere->held == std::map<uintptr_t, size_t>{{number(rig.at(0)), page_bytes}});
  }
  CHECK(rig.elsewhere->held.empty());
  CHECK_FALSE(rig.elsewhere->twice);
  CHECK(rig.elsewhere->log.size() == 5);
  // Nothing of it is remembered.
  ReachedMemory again(rig.pages);
  again.memory(rig.at(0), 2 * page_bytes);
  CHECK(rig.elsewhere->log.back() == "memory 2");
}

TEST_CASE("registers are told from memory", "[host][rdma]") {
  Rig rig;
  ReachedMemory reached(rig.pages);
  const char* const seen = reached.registers(rig.at(2 * page_bytes + 0x800), 8);
  CHECK(number(seen) == number(rig.at(2 * page_bytes + 0x800)) + rig.elsewhere->registers_distance);
  CHECK(rig.elsewhere->log == std::vector<std::string>{"registers 1"});
}

TEST_CASE("a queue that would lie in two pieces is refused, and nothing is kept", "[host][rdma]") {
  Rig rig;
  ReachedMemory reached(rig.pages);
  reached.memory(rig.at(0), 1);
  rig.elsewhere->drift = page_bytes;
  CHECK(contains(error_of([&] { reached.memory(rig.at(0), 2 * page_bytes); }),
                 "do not follow those from " + xio::host::to_hex(number(rig.at(0)))));
  CHECK(rig.elsewhere->held.size() == 1);
}

TEST_CASE("what cannot be handed over leaves nothing behind", "[host][rdma]") {
  Rig rig;
  ReachedMemory reached(rig.pages);
  reached.memory(rig.at(2 * page_bytes), 1);
  rig.elsewhere->room = 1;
  // Two gaps, before and behind: the second does not fit.
  CHECK(error_of([&] { reached.memory(rig.at(0), 5 * page_bytes); }) == "no room");
  CHECK(rig.elsewhere->held == std::map<uintptr_t, size_t>{{number(rig.at(2 * page_bytes)), page_bytes}});
}

TEST_CASE("handles carry the addresses of those who use them", "[host][rdma]") {
  Emulated emulated;
  const DirectQueues queues = emulated.queues();
  const xio::rdma::QueuePairHandle plain = emulated.pair.handle();
  const xio::rdma::ReceiveQueueHandle plain_receive = emulated.pair.receive_handle();
  Rig rig;
  {
    DirectQueuePair<Kit::Vendor> made(queues, rig.pages);
    const DirectQueuePair<Kit::Vendor> direct(std::move(made));  // handles stay valid
    const xio::rdma::QueuePairHandle& h = direct.handle();
    const xio::rdma::ReceiveQueueHandle& r = direct.receive_handle();
    CHECK(number(h.sq) == rig.seen(plain.sq));
    CHECK(number(h.sq_record) == rig.seen(plain.sq_record));
    CHECK(number(h.sq_doorbell) == number(plain.sq_doorbell) + rig.elsewhere->registers_distance);
    CHECK(number(h.cq.entries) == rig.seen(plain.cq.entries));
    CHECK(number(h.cq.record) == rig.seen(plain.cq.record));
    CHECK(h.cq.doorbell == nullptr);
    CHECK(number(r.rq) == rig.seen(plain_receive.rq));
    CHECK(number(r.record) == rig.seen(plain_receive.record));
    CHECK(number(r.cq.entries) == rig.seen(plain_receive.cq.entries));
    // The state is memory of the object's own: cleared, and of whole lines.
    const auto* const state = reinterpret_cast<const xio::QueueState*>(number(h.state) - rig.elsewhere->distance);
    CHECK(state->reserved == 0);
    CHECK(number(h.state) % 64 == 0);
    CHECK(number(h.send) % 64 == 0);
    CHECK(number(r.state) % 64 == 0);
    const auto* const slots =
        reinterpret_cast<const xio::rdma::ReceiveSlot*>(number(r.slots) - rig.elsewhere->distance);
    CHECK(slots[r.shape.entries - 1].number == 0);
    CHECK_FALSE(rig.elsewhere->twice);
    CHECK(rig.elsewhere->log.front().substr(0, 6) == "memory");
  }
  CHECK(rig.elsewhere->held.empty());
}

TEST_CASE("the state of a queue pair is copied to the memory of those who poll it", "[host][rdma]") {
  struct Nearer : Elsewhere {
    std::vector<std::weak_ptr<void>> copies;
    std::shared_ptr<void> copy(const void* from, size_t bytes) override {
      std::shared_ptr<void> made(std::aligned_alloc(page_bytes, bytes), std::free);
      std::memcpy(made.get(), from, bytes);
      copies.push_back(made);
      return made;
    }
  };
  Emulated emulated;
  DirectQueues queues = emulated.queues();
  queues.send_index = 77;
  const auto nearer = std::make_shared<Nearer>();
  {
    DirectQueuePair<Kit::Vendor> made(queues, std::make_shared<ReachablePages>(nearer));
    const DirectQueuePair<Kit::Vendor> direct(std::move(made));
    REQUIRE(nearer->copies.size() == 1);
    const auto* const copy = static_cast<const char*>(nearer->copies[0].lock().get());
    const xio::rdma::QueuePairHandle& h = direct.handle();
    CHECK(reinterpret_cast<const char*>(h.state) == copy);
    CHECK(h.state->reserved == 77);
    CHECK(h.state->tail == 2 * 77);
    CHECK(number(h.send) > number(copy));
    CHECK(number(direct.receive_handle().slots) > number(direct.receive_handle().state));
    CHECK(direct.receive_handle().slots[0].number == 0);
    // The rings stay where they were.
    CHECK(number(h.sq) == number(queues.sq) + nearer->distance);
  }
  CHECK(nearer->copies[0].expired());
  CHECK(nearer->held.empty());
}

TEST_CASE("a completion queue that was not initialised is refused", "[host][rdma][H5]") {
  Emulated emulated;
  const DirectQueues queues = emulated.queues();
  std::memset(queues.cq.entries, 0, size_t{queues.cq.count} * 64);
  CHECK(contains(error_of([&] { DirectQueuePair<Kit::Vendor>{queues}; }),
                 "its send completion queue holds an entry at 0 that was not polled"));
}

TEST_CASE("no more is in flight than the completion queue holds", "[host][rdma][H24]") {
  Emulated emulated;
  DirectQueues queues = emulated.queues();
  CHECK(DirectQueuePair<Kit::Vendor>(queues).handle().depth == 128);
  queues.cq.count = 32;
  queues.receive_cq.count = 16;
  const DirectQueuePair<Kit::Vendor> small(queues);
  CHECK(small.handle().depth == 31);
  CHECK(small.handle().signal_every == 4);
  CHECK(small.receive_handle().depth == 15);
}
