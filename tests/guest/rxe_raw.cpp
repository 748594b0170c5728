// SPDX-License-Identifier: MIT

/// @file
/// @brief Operations on soft-RoCE by entries that are stored into its rings, on every device that there is. Runs in the
/// guest of scripts/guest; elsewhere it is skipped.

#include "catch.hpp"
#include "skip.hpp"

#if __has_include(<infiniband/verbs.h>)

#include <cerrno>

#include <xio/host/rdma/rxe_doorbell.hpp>

#include "guest/rxe_support.hpp"
#include "unit/host_support.hpp"

using namespace xio::host;
using namespace guest_tests;
using host_tests::contains;
using host_tests::error_of;

namespace {

std::vector<std::string> devices() {
  std::vector<std::string> names;
  const std::string error = error_of([&] { names = rdma_device_names(); });
  if (names.empty()) xio_tests::skip(error.empty() ? "no RDMA device" : error);
  return names;
}

/// Runs `body` once for each device.
template <class Body>
void on_each_device(Body&& body) {
  for (const std::string& device : devices()) {
    INFO("device " << device);
    std::printf("%s\n", device.c_str());
    body(device);
  }
}

}  // namespace

TEST_CASE("what the driver maps is what was asked for", "[guest]") {
  on_each_device([](const std::string& name) {
    QueuePairOptions options;
    options.send_entries = 100;
    options.receive_entries = 30;
    options.receive_sges = 32;  // larger than a send entry: the rings are told apart nevertheless
    Node node(name, options);
    const RxeRing& send = node.queue.send_ring();
    const RxeRing& receive = node.queue.receive_ring();
    const RxeRing& completion = node.completion.ring();
    std::printf("  mtu %u, gid %u %s %s\n", node.device.mtu(), node.device.gid().index,
                xio::host::name(node.device.gid().type), to_text(node.device.gid().gid).c_str());
    std::printf("  send %u x %u, receive %u x %u, completion %u x %u\n", send.count, send.entry_bytes, receive.count,
                receive.entry_bytes, completion.count, completion.entry_bytes);
    CHECK(send.count == 128);
    CHECK(send.entry_bytes == 256);
    CHECK(receive.count == 32);
    CHECK(receive.entry_bytes == 1024);
    CHECK(completion.count >= 257);
    CHECK(node.device.gid().type == GidType::roce_v2);
    CHECK(is_ipv4(node.device.gid().gid));
    CHECK(send.used() + receive.used() + completion.used() == 0);
  });
}

TEST_CASE("write and read", "[guest]") {
  on_each_device([](const std::string& name) {
    Pair pair(name);
    for (const uint32_t bytes : {1u, 8u, 1024u, 4097u, 65536u, 1u << 20}) {
      pair.near.fill(bytes, bytes);
      pair.far.fill(bytes + 1, pair.far.memory.size());
      const unsigned char behind = bytes < pair.far.memory.size() ? pair.far.memory[bytes] : 0;
      pair.near.poster.post(pair.work(rxe::Opcode::rdma_write, bytes, 0, bytes));
      const rxe::Cqe written = pair.near.wait();
      CHECK(written.wr_id == bytes);
      CHECK(status(written) == rxe::CqeStatus::ok);
      CHECK(opcode(written) == rxe::CqeOpcode::rdma_write);
      CHECK(written.qpn == pair.near.queue.verbs_queue().qpn());
      CHECK(std::memcmp(pair.near.memory.data(), pair.far.memory.data(), bytes) == 0);
      if (bytes < pair.far.memory.size()) CHECK(pair.far.memory[bytes] == behind);

      pair.near.fill(bytes + 2, bytes);
      pair.near.poster.post(pair.work(rxe::Opcode::rdma_read, bytes + 1, 0, bytes));
      const rxe::Cqe read = pair.near.wait();
      CHECK(read.wr_id == bytes + 1);
      CHECK(status(read) == rxe::CqeStatus::ok);
      CHECK(opcode(read) == rxe::CqeOpcode::rdma_read);
      CHECK(std::memcmp(pair.near.memory.data(), pair.far.memory.data(), bytes) == 0);
    }
  });
}

TEST_CASE("send and receive; a receive is posted by its index alone", "[guest]") {
  on_each_device([](const std::string& name) {
    Pair pair(name);
    pair.near.fill(1, 8192);
    pair.far.fill(2, 8192);
    pair.far.poster.receive(71, pair.far.memory.data(), 8192, pair.far.region.lkey());
    auto send = pair.work(rxe::Opcode::send_immediate, 70, 0, 5000);
    send.immediate = 0x01020304;
    pair.near.poster.post(send);
    CHECK(status(pair.near.wait()) == rxe::CqeStatus::ok);
    rxe::Cqe received = pair.far.wait();
    CHECK(received.wr_id == 71);
    CHECK(status(received) == rxe::CqeStatus::ok);
    CHECK(opcode(received) == rxe::CqeOpcode::receive);
    CHECK(received.byte_count == 5000);
    CHECK(received.immediate.raw == 0x01020304);
    CHECK((received.flags & rxe::cqe_flag::immediate) != 0);
    CHECK(std::memcmp(pair.near.memory.data(), pair.far.memory.data(), 5000) == 0);

    // The message comes first: the sender tries again until there is a receive.
    pair.near.fill(3, 64);
    pair.near.poster.post(pair.work(rxe::Opcode::send, 72, 0, 64));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK(pair.near.completion.ring().used() == 0);
    pair.far.poster.receive(73, pair.far.memory.data(), 64, pair.far.region.lkey());
    received = pair.far.wait();
    CHECK(received.wr_id == 73);
    CHECK(received.byte_count == 64);
    CHECK((received.flags & rxe::cqe_flag::immediate) == 0);
    CHECK(status(pair.near.wait()) == rxe::CqeStatus::ok);
    CHECK(std::memcmp(pair.near.memory.data(), pair.far.memory.data(), 64) == 0);

    // A write with immediate data takes a receive, and says how much was written.
    pair.far.poster.receive(75, nullptr, 0, 0);
    pair.near.fill(4, 128);
    auto write = pair.work(rxe::Opcode::rdma_write_immediate, 74, 0, 128);
    write.immediate = 0xa0b0c0d0;
    pair.near.poster.post(write);
    CHECK(status(pair.near.wait()) == rxe::CqeStatus::ok);
    received = pair.far.wait();
    CHECK(opcode(received) == rxe::CqeOpcode::receive_rdma_immediate);
    CHECK(received.immediate.raw == 0xa0b0c0d0);
    CHECK(received.byte_count == 128);
    CHECK(std::memcmp(pair.near.memory.data(), pair.far.memory.data(), 128) == 0);
  });
}

TEST_CASE("fetch and add, compare and swap", "[guest]") {
  on_each_device([](const std::string& name) {
    Pair pair(name);
    auto* counter = reinterpret_cast<uint64_t*>(pair.far.memory.data());
    auto* before = reinterpret_cast<uint64_t*>(pair.near.memory.data());
    *counter = 0xfffffffffffffff0;
    auto add = pair.work(rxe::Opcode::fetch_add, 1, 0, 8);
    add.compare_add = 0x25;
    pair.near.poster.post(add);
    const rxe::Cqe added = pair.near.wait();
    CHECK(status(added) == rxe::CqeStatus::ok);
    CHECK(opcode(added) == rxe::CqeOpcode::fetch_add);
    CHECK(*before == 0xfffffffffffffff0);
    CHECK(*counter == 0x15);

    auto swap = pair.work(rxe::Opcode::compare_swap, 2, 0, 8);
    swap.compare_add = 0x15;
    swap.swap = 0x1122334455667788;
    pair.near.poster.post(swap);
    const rxe::Cqe swapped = pair.near.wait();
    CHECK(status(swapped) == rxe::CqeStatus::ok);
    CHECK(opcode(swapped) == rxe::CqeOpcode::compare_swap);
    CHECK(*before == 0x15);
    CHECK(*counter == 0x1122334455667788);

    // Not equal: nothing is stored.
    pair.near.poster.post(swap);
    CHECK(status(pair.near.wait()) == rxe::CqeStatus::ok);
    CHECK(*before == 0x1122334455667788);
    CHECK(*counter == 0x1122334455667788);
  });
}

TEST_CASE("bytes in the entry", "[guest]") {
  on_each_device([](const std::string& name) {
    QueuePairOptions options;
    options.inline_bytes = 100;
    Pair pair(name, options);
    CHECK(pair.near.queue.send_ring().entry_bytes == 512);
    pair.near.fill(5, 100);
    auto write = pair.work(rxe::Opcode::rdma_write, 1, 0, 100);
    write.flags |= rxe::send_flag::inline_data;
    write.lkey = 0;
    pair.near.poster.post(write);
    CHECK(status(pair.near.wait()) == rxe::CqeStatus::ok);
    CHECK(std::memcmp(pair.near.memory.data(), pair.far.memory.data(), 100) == 0);
  });
}

TEST_CASE("a wrong key ends the queue pair, and it recovers", "[guest]") {
  on_each_device([](const std::string& name) {
    Pair pair(name);
    for (int round = 0; round < 3; ++round) {
      auto bad = pair.work(rxe::Opcode::rdma_write, 1, 0, 64);
      bad.rkey ^= 0xff00;
      pair.near.poster.post(bad);
      CHECK(status(pair.near.wait()) == rxe::CqeStatus::remote_access);
      CHECK(pair.near.queue.verbs_queue().state() == IBV_QPS_ERR);
      pair.near.poster.post(pair.work(rxe::Opcode::rdma_write, 2, 0, 64));
      CHECK(status(pair.near.wait()) == rxe::CqeStatus::flushed);

      // A receive that waits is given back by the recovery, as are operations that were stored and not sent.
      pair.far.poster.receive(3, pair.far.memory.data(), 64, pair.far.region.lkey());
      pair.far.poster.store(
          pair.far.work(rxe::Opcode::rdma_write, 4, 0, 64, pair.near.address(), pair.near.region.rkey()));
      // So is what was stored into a queue pair that had failed already.
      pair.near.poster.receive(6, pair.near.memory.data(), 64, pair.near.region.lkey());
      pair.near.poster.store(pair.work(rxe::Opcode::rdma_write, 6, 0, 64));
      pair.near.queue.recover(patience);
      pair.far.queue.recover(patience);
      for (int i = 0; i < 2; ++i) {
        const rxe::Cqe flushed = pair.near.wait();
        CHECK(flushed.wr_id == 6);
        CHECK(status(flushed) == rxe::CqeStatus::flushed);
      }
      for (int i = 0; i < 2; ++i) {
        const rxe::Cqe flushed = pair.far.wait();
        CHECK((flushed.wr_id == 3 || flushed.wr_id == 4));
        CHECK(status(flushed) == rxe::CqeStatus::flushed);
      }
      CHECK(pair.near.queue.verbs_queue().state() == IBV_QPS_RESET);

      pair.connect();
      pair.near.fill(static_cast<unsigned>(round), 4096);
      pair.near.poster.post(pair.work(rxe::Opcode::rdma_write, 5, 0, 4096));
      const rxe::Cqe written = pair.near.wait();
      CHECK(written.wr_id == 5);
      CHECK(status(written) == rxe::CqeStatus::ok);
      CHECK(std::memcmp(pair.near.memory.data(), pair.far.memory.data(), 4096) == 0);
    }
    rxe::Cqe none;
    CHECK_FALSE(poll(pair.near.completion.ring(), none));
    CHECK_FALSE(poll(pair.far.completion.ring(), none));
  });
}

TEST_CASE("what a wrong local key, and a missing right, say", "[guest]") {
  on_each_device([](const std::string& name) {
    {
      Pair pair(name);
      auto bad = pair.work(rxe::Opcode::rdma_write, 1, 0, 64);
      bad.lkey ^= 0xff00;
      pair.near.poster.post(bad);
      const rxe::CqeStatus said = status(pair.near.wait());
      std::printf("  wrong lkey: %s\n", rxe::name(said));
      // Which of the two depends on the kernel.
      CHECK((said == rxe::CqeStatus::local_qp_operation || said == rxe::CqeStatus::local_protection));
    }
    QueuePairOptions no_reads;
    no_reads.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    Pair pair(name, no_reads);
    pair.near.poster.post(pair.work(rxe::Opcode::rdma_read, 1, 0, 64));
    const rxe::CqeStatus said = status(pair.near.wait());
    std::printf("  read without the right: %s\n", rxe::name(said));
    CHECK((said == rxe::CqeStatus::remote_access || said == rxe::CqeStatus::remote_invalid_request));
  });
}

TEST_CASE("a doorbell word, many laps, deep", "[guest]") {
  on_each_device([](const std::string& name) {
    QueuePairOptions options;
    options.send_entries = 31;
    Pair pair(name, options);
    const RxeRing& ring = pair.near.queue.send_ring();
    REQUIRE(ring.count == 32);
    RxeDoorbell doorbell(pair.near.queue);
    constexpr uint32_t operations = 2000;
    constexpr uint32_t bytes = 256;
    pair.near.fill(9, size_t{operations} * bytes);
    uint32_t done = 0;
    const Timeout deadline(patience);
    Backoff backoff;
    for (uint32_t posted = 0; done < operations;) {
      bool stored = false;
      for (; posted < operations && posted - done < ring.capacity(); ++posted, stored = true)
        pair.near.poster.store(pair.work(rxe::Opcode::rdma_write, posted, size_t{posted % 4096} * bytes, bytes));
      if (stored) __atomic_store_n(doorbell.word(), ring.producer(), __ATOMIC_RELEASE);
      rxe::Cqe entry;
      while (poll(pair.near.completion.ring(), entry)) {
        REQUIRE(entry.wr_id == done);
        REQUIRE(status(entry) == rxe::CqeStatus::ok);
        ++done;
        backoff.reset();
      }
      REQUIRE_FALSE(deadline.passed());
      backoff.pause();
    }
    std::printf("  %u operations, %llu kicks\n", operations, static_cast<unsigned long long>(doorbell.kicks()));
    CHECK(doorbell.kicks() >= 1);
    CHECK(doorbell.kicks() <= operations);
    CHECK(doorbell.refused() == 0);
    CHECK(std::memcmp(pair.near.memory.data(), pair.far.memory.data(), size_t{operations} * bytes) == 0);
    CHECK(ring.used() == 0);
  });
}

TEST_CASE("the first index that is rung can be 0", "[guest]") {
  on_each_device([](const std::string& name) {
    QueuePairOptions options;
    options.send_entries = 3;
    Node node(name, options);
    node.queue.verbs_queue().connect_to_itself();
    const auto work = node.work(rxe::Opcode::rdma_write, 1, 0, 8, node.address(4096), node.region.rkey());
    const RxeRing& ring = node.queue.send_ring();
    for (uint32_t i = 0; i < ring.mask(); ++i) {
      node.poster.post(work);
      REQUIRE(status(node.wait()) == rxe::CqeStatus::ok);
    }
    RxeDoorbell doorbell(node.queue);
    node.poster.store(work);
    REQUIRE(ring.producer() == 0);
    __atomic_store_n(doorbell.word(), ring.producer(), __ATOMIC_RELEASE);
    CHECK(status(node.wait()) == rxe::CqeStatus::ok);
    CHECK(doorbell.kicks() == 1);
  });
}

TEST_CASE("a doorbell of a queue pair that is not connected is refused, and goes on later", "[guest]") {
  on_each_device([](const std::string& name) {
    Node node(name);
    RxeDoorbell doorbell(node.queue);
    node.poster.store(node.work(rxe::Opcode::rdma_write, 1, 0, 64, node.address(4096), node.region.rkey()));
    __atomic_store_n(doorbell.word(), node.queue.send_ring().producer(), __ATOMIC_RELEASE);
    REQUIRE(host_tests::eventually([&] { return doorbell.refused() == 1; }));
    CHECK(doorbell.last_error() == EINVAL);
    node.fill(1, 64);
    node.queue.verbs_queue().connect_to_itself();
    __atomic_store_n(doorbell.word(), node.queue.send_ring().producer(), __ATOMIC_RELEASE);
    CHECK(status(node.wait()) == rxe::CqeStatus::ok);
    CHECK(std::memcmp(node.memory.data(), node.memory.data() + 4096, 64) == 0);
  });
}

TEST_CASE("a full completion queue loses completions, and says so", "[guest]") {
  on_each_device([](const std::string& name) {
    Node node(name, {}, 3);
    node.queue.verbs_queue().connect_to_itself();
    const RxeRing& ring = node.completion.ring();
    REQUIRE(ring.capacity() < 64);
    CHECK(node.device.next_event().empty());
    const uint32_t room = ring.capacity();
    for (uint32_t i = 0; i < room + 2; ++i)
      node.poster.post(node.work(rxe::Opcode::rdma_write, i, 0, 8, node.address(4096), node.region.rkey()));
    REQUIRE(host_tests::eventually([&] { return node.queue.send_ring().used() == 0; }));
    CHECK(ring.used() == room);
    std::string event;
    REQUIRE(host_tests::eventually([&] { return !(event = node.device.next_event()).empty(); }));
    std::printf("  ring of %u: %s\n", ring.count, event.c_str());
    CHECK(contains(event, "CQ"));
    for (uint32_t i = 0; i < room; ++i) CHECK(node.wait().wr_id == i);
  });
}

TEST_CASE("what is refused", "[guest]") {
  const std::vector<std::string> names = devices();
  if (names.empty()) return;
  CHECK(contains(error_of([] { RdmaDevice device({"nosuch", 1, {}}); }), "no device 'nosuch'; there are: " + names[0]));
  CHECK(contains(error_of([&] { RdmaDevice device({names[0], 9, {}}); }), "has no port 9"));
  CHECK(contains(error_of([&] { RdmaDevice device({names[0], 1, 200}); }), "no GID at index 200"));
  const RdmaDevice device;
  CHECK(contains(error_of([&] { CompletionQueue queue(device, 1u << 30); }), "cannot make a completion queue"));
  const ProtectionDomain domain(device);
  CHECK(contains(error_of([&] { MemoryRegion region(domain, nullptr, 4096); }), "cannot register 4096 bytes"));
  Node node(names[0]);
  CHECK(contains(error_of([&] { node.queue.verbs_queue().connect({1, 0, 1024, 0, {{0x20, 0x01, 0x0d, 0xb8}}}); }),
                 "is there a route from"));
}

#else

TEST_CASE("soft-RoCE", "[guest]") { xio_tests::skip("no infiniband/verbs.h (Debian: libibverbs-dev)"); }

#endif
