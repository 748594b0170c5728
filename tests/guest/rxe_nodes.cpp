// SPDX-License-Identifier: MIT

/// @file
/// @brief Two processes, each with a soft-RoCE device of its own, find each other by TCP and use each other's memory.
/// Runs in the guest of scripts/guest, on the devices rxe0 and rxe1; elsewhere it is skipped.

#include <cstdio>
#include <cstdlib>

#if __has_include(<infiniband/verbs.h>)

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include <xio/host/rdma/exchange.hpp>

#include "guest/rxe_support.hpp"

using namespace xio::host;
using namespace guest_tests;

namespace {

constexpr uint32_t rounds = 200;
constexpr uint32_t bytes = 16384;
constexpr size_t in = 65536;        // where the peer writes
constexpr size_t counter = 131072;  // what the client adds to, in the server's memory

void require(bool holds, const std::string& what) {
  if (!holds) throw Error(what);
}

void require_ok(const rxe::Cqe& entry, const char* what) {
  require(status(entry) == rxe::CqeStatus::ok, std::string(what) + ": " + rxe::name(status(entry)));
}

/// Content of the message of a round, by its sender.
void fill(Node& node, bool server, uint32_t round) { node.fill(round * 2 + (server ? 1 : 0), bytes); }

/// Packets that a network device has seen.
uint64_t packets(const std::string& netdev) {
  std::ifstream file("/sys/class/net/" + netdev + "/statistics/tx_packets");
  uint64_t count = 0;
  file >> count;
  return count;
}

/// What both processes do; they differ in who listens and in whose counter is used.
void run(bool server, Exchange exchange) {
  Node node(server ? "rxe0" : "rxe1", {}, 256, size_t{256} << 10);
  VerbsQueuePair& queue = node.queue.verbs_queue();
  const QueuePairAddress peer = exchange.trade(queue.address());
  const PeerMemory remote = exchange.trade(node.region.remote());
  require(peer.gid != queue.address().gid, "both have the same address");
  queue.connect(peer);
  exchange.meet();

  const uint64_t before = packets(server ? "v0" : "v1");
  std::vector<unsigned char> expected(bytes);
  for (uint32_t round = 0; round < rounds; ++round) {
    fill(node, !server, round);
    std::copy_n(node.memory.begin(), bytes, expected.begin());
    fill(node, server, round);
    std::fill_n(node.memory.begin() + in, bytes, static_cast<unsigned char>(0));
    node.poster.receive(1000 + round, nullptr, 0, 0);
    exchange.meet();
    node.poster.post(node.work(rxe::Opcode::rdma_write_immediate, round, 0, bytes, remote.address + in, remote.rkey));
    for (int i = 0; i < 2; ++i) {
      const rxe::Cqe entry = node.wait();
      require_ok(entry, "write");
      require(entry.wr_id == round || entry.wr_id == 1000 + round, "a completion of another round");
    }
    require(std::equal(expected.begin(), expected.end(), node.memory.begin() + in), "wrong data was written here");
    // Read back what we have written there.
    std::copy_n(node.memory.begin(), bytes, expected.begin());
    node.poster.post(node.work(rxe::Opcode::rdma_read, round, in + bytes, bytes, remote.address + in, remote.rkey));
    require_ok(node.wait(), "read");
    require(std::equal(expected.begin(), expected.end(), node.memory.begin() + in + bytes), "wrong data was read");
    exchange.meet();
  }

  // The client adds to a number of the server.
  auto* number = reinterpret_cast<uint64_t*>(node.memory.data() + counter);
  *number = 1000;
  exchange.meet();
  if (!server) {
    auto add = node.work(rxe::Opcode::fetch_add, 1, 0, 8, remote.address + counter, remote.rkey);
    add.compare_add = 3;
    for (uint64_t i = 0; i < 100; ++i) {
      node.poster.post(add);
      require_ok(node.wait(), "fetch and add");
      require(*reinterpret_cast<uint64_t*>(node.memory.data()) == 1000 + 3 * i, "wrong number before the addition");
    }
  }
  exchange.meet();
  require(!server || *number == 1300, "the sum is wrong");

  // What the peer refuses is an error here and does not harm it; both recover and go on.
  if (!server) {
    auto bad = node.work(rxe::Opcode::rdma_write, 1, 0, 8, remote.address, remote.rkey ^ 0xff00);
    node.poster.post(bad);
    require(status(node.wait()) == rxe::CqeStatus::remote_access, "a wrong key was accepted");
  }
  exchange.meet();
  node.queue.recover(patience);
  queue.connect(exchange.trade(queue.address()));
  exchange.meet();
  fill(node, server, 0);
  node.poster.post(node.work(rxe::Opcode::rdma_write, 1, 0, bytes, remote.address + in, remote.rkey));
  require_ok(node.wait(), "write after the recovery");
  exchange.meet();

  const uint64_t sent = packets(server ? "v0" : "v1") - before;
  std::printf("%s: %u rounds of %u bytes each way, %llu packets sent through the pair\n", server ? "rxe0" : "rxe1",
              rounds, bytes, static_cast<unsigned long long>(sent));
  // 16 packets and an answer to each: less would mean that the wire was not used.
  require(sent > rounds * (bytes / node.device.mtu()), "the packets have not crossed the pair");
}

int guarded(bool server, ExchangeServer* listener, uint16_t port) {
  try {
    run(server, server ? listener->accept(patience) : Exchange::connect("127.0.0.1", port, patience));
    return 0;
  } catch (const std::exception& error) {
    std::printf("%s: FAILED: %s\n", server ? "rxe0" : "rxe1", error.what());
    return 1;
  }
}

}  // namespace

int main() {
  try {
    const std::vector<std::string> names = rdma_device_names();
    for (const char* wanted : {"rxe0", "rxe1"}) {
      if (std::find(names.begin(), names.end(), wanted) != names.end()) continue;
      std::printf("skipped: no device %s\n", wanted);
      return 77;
    }
  } catch (const Error& error) {
    std::printf("skipped: %s\n", error.what());
    return 77;
  }
  ExchangeServer listener(0, "127.0.0.1");
  const uint16_t port = listener.port();
  const pid_t child = ::fork();
  if (child == 0) {
    const int result = guarded(false, nullptr, port);
    std::fflush(stdout);
    std::_Exit(result);
  }
  const int mine = guarded(true, &listener, port);
  int theirs = 0;
  ::waitpid(child, &theirs, 0);
  return mine == 0 && WIFEXITED(theirs) && WEXITSTATUS(theirs) == 0 ? 0 : 1;
}

#else

int main() {
  std::puts("skipped: no infiniband/verbs.h (Debian: libibverbs-dev)");
  return 77;
}

#endif
