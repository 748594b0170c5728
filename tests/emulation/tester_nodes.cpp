// SPDX-License-Identifier: MIT
/// @file
/// @brief The tester's two nodes, each on a thread of this process, with emulated NICs on one fabric between them: what
/// arrives is checked there, both report the same, and neither outlives the other.

#include <sys/socket.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "tester/cli/errors.hpp"
#include "tester/rdma/emulated.hpp"
#include "tester/rdma/session.hpp"

using namespace tester;
using xio::host::Exchange;
using xio::host::FileDescriptor;

namespace {

using Fabric = xio::emulation::RdmaFabric;

RdmaOptions options_for(RdmaVerb verb) {
  RdmaOptions options;
  options.verb = verb;
  options.verify = true;
  options.iterations = 100;
  options.deadline_ms = 60000;
  return options;
}

template <class Kit>
RdmaProvider on(std::shared_ptr<Fabric> fabric, uint32_t first) {
  RdmaProvider provider = emulated_provider<Kit>();
  provider.open = [fabric, first](const RdmaLinkShape& shape, const ExecutorMemory&) -> std::unique_ptr<RdmaLink> {
    return std::make_unique<EmulatedRdmaLink<Kit>>(shape, fabric, first);
  };
  return provider;
}

/// What one node came to.
struct Outcome {
  RdmaResult result;
  std::string refused;
};

struct Nodes {
  Outcome server;
  Outcome client;
};

/// Lets a test change what the kernel gets.
class SpoiledLink final : public RdmaLink {
 public:
  SpoiledLink(std::unique_ptr<RdmaLink> link, std::function<void(RdmaPhase&)> change, bool atomics)
      : link_(std::move(link)), change_(std::move(change)), atomics_(atomics) {}
  xio::rdma::QueuePairHandle queue(uint32_t number) override { return link_->queue(number); }
  xio::rdma::ReceiveQueueHandle receives(uint32_t number) override { return link_->receives(number); }
  xio::host::QueuePairAddress address(uint32_t number) const override { return link_->address(number); }
  void connect(uint32_t number, const xio::host::QueuePairAddress& peer) override { link_->connect(number, peer); }
  RdmaKeys add_memory(void* memory, uint64_t bytes) override {
    RdmaKeys keys = link_->add_memory(memory, bytes);
    keys.atomics = atomics_;
    return keys;
  }
  void start() override { link_->start(); }
  void run(const RdmaPhase& phase) override {
    RdmaPhase changed = phase;
    change_(changed);
    link_->run(changed);
  }
  RdmaSeen seen() const override { return link_->seen(); }

 private:
  std::unique_ptr<RdmaLink> link_;
  std::function<void(RdmaPhase&)> change_;
  bool atomics_;
};

template <class Kit>
class Pair {
 public:
  Pair() {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw std::runtime_error("socketpair");
    for (const int end : ends) exchanges_.emplace_back(FileDescriptor(end, "socket"), std::chrono::milliseconds(30000));
  }

  /// Changes what the server's kernel gets.
  std::function<void(RdmaPhase&)> at_server = [](RdmaPhase&) {};
  std::function<void(RdmaPhase&)> at_client = [](RdmaPhase&) {};
  bool atomics = true;  ///< on the server's memory

  Nodes run(const RdmaOptions& for_server, const RdmaOptions& for_client, uint64_t bytes) {
    Nodes nodes;
    std::thread server([&] { nodes.server = play(RdmaRole::server, for_server, bytes); });
    nodes.client = play(RdmaRole::client, for_client, bytes);
    server.join();
    return nodes;
  }
  Nodes run(const RdmaOptions& options, uint64_t bytes) { return run(options, options, bytes); }

 private:
  Outcome play(RdmaRole role, RdmaOptions options, uint64_t bytes) {
    Outcome outcome;
    const bool server = role == RdmaRole::server;
    options.role = role;
    try {
      RdmaProvider provider = on<Kit>(fabric_, server ? 0 : 64);
      const auto open = provider.open;
      const auto change = server ? at_server : at_client;
      const bool takes = !server || atomics;
      provider.open = [open, change, takes](const RdmaLinkShape& shape,
                                            const ExecutorMemory& memory) -> std::unique_ptr<RdmaLink> {
        return std::make_unique<SpoiledLink>(open(shape, memory), change, takes);
      };
      const RdmaPlan plan = make_plan(options, provider, bytes);
      RdmaSession session(options, std::move(exchanges_[server ? 0 : 1]));
      outcome.result = session.measure(provider, plan, true);
    } catch (const std::exception& failure) {
      outcome.refused = failure.what();
    }
    return outcome;
  }

  std::shared_ptr<Fabric> fabric_ = std::make_shared<Fabric>();
  std::vector<Exchange> exchanges_;
};

using Mlx5 = xio::emulation::Mlx5Kit<>;

/// Everything arrived, and both nodes say so.
void require_right(const Nodes& nodes, const RdmaOptions& options, uint64_t batches) {
  const uint64_t operations = options.iterations * options.runs;
  for (const Outcome* const node : {&nodes.server, &nodes.client}) {
    REQUIRE(node->refused.empty());
    const RdmaResult& result = node->result;
    CHECK(result.lost.empty());
    CHECK(result.completed == operations);
    CHECK(result.failed == 0);
    CHECK(result.checked == (options.verify ? operations : 0));
    CHECK(result.wrong_count == 0);
    CHECK(result.batches == batches);
    CHECK(result.runs.size() == options.runs);
    CHECK_FALSE(result.gave_up);
    CHECK(result.seen.violations.empty());
  }
  // One doorbell and one completion for each batch, on the client's side.
  CHECK(nodes.client.result.doorbells == batches);
  CHECK(nodes.client.result.seen.signaled == batches);
  CHECK(nodes.client.result.seen.completions == batches);
  // The server tells of its receives, where there are any, and asks for nothing else.
  const bool receives =
      options.write_imm || options.verb == RdmaVerb::send || (options.verb == RdmaVerb::write && options.verify);
  CHECK((nodes.server.result.seen.operations != 0) == receives);
  CHECK(nodes.server.result.seen.operations <= operations + 2 * options.num_queues);
}

template <class Kit>
void every_operation() {
  for (const RdmaVerb verb : {RdmaVerb::write, RdmaVerb::read, RdmaVerb::send, RdmaVerb::fetch_add}) {
    for (const uint32_t batch : {1u, 7u, 0u}) {
      for (const bool immediate : {false, true}) {
        if (immediate && verb != RdmaVerb::write) continue;
        RdmaOptions options = options_for(verb);
        options.write_imm = immediate;
        options.batch_size = batch;
        options.num_queues = 2;
        options.sq_depth = 20;
        options.runs = 2;
        CAPTURE(Kit::Vendor::name, static_cast<int>(verb), batch, immediate);
        Pair<Kit> pair;
        const Nodes nodes = pair.run(options, verb == RdmaVerb::fetch_add ? 8 : 333);
        const uint64_t batches = 4 * (batch == 1 ? 50 : batch == 7 ? 8 : 3);
        require_right(nodes, options, batches);
        const bool received = immediate || verb == RdmaVerb::send;
        CHECK(nodes.client.result.received == (received ? 200 : verb == RdmaVerb::write ? batches : 0));
      }
    }
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("two nodes: every operation", "", xio::emulation::RdmaKits) { every_operation<TestType>(); }

TEST_CASE("two nodes: without verification writes are silent, and no message closes a batch") {
  RdmaOptions options = options_for(RdmaVerb::write);
  options.verify = false;
  options.batch_size = 10;
  Pair<Mlx5> pair;
  const Nodes nodes = pair.run(options, 64);
  require_right(nodes, options, 10);
  CHECK(nodes.client.result.received == 0);
  CHECK(nodes.client.result.seen.operations == 100);
}

namespace {

RdmaOptions ping_pong() {
  RdmaOptions options = options_for(RdmaVerb::write);
  options.ping_pong = true;
  options.num_queues = 2;
  options.runs = 2;
  return options;
}

template <class Kit>
void there_and_back() {
  for (const bool verify : {true, false}) {
    RdmaOptions options = ping_pong();
    options.verify = verify;
    CAPTURE(Kit::Vendor::name, verify);
    Pair<Kit> pair;
    const Nodes nodes = pair.run(options, 333);
    for (const Outcome* const node : {&nodes.server, &nodes.client}) {
      REQUIRE(node->refused.empty());
      const RdmaResult& result = node->result;
      CHECK(result.lost.empty());
      CHECK(result.completed == 200);
      CHECK(result.failed == 0);
      CHECK(result.checked == (verify ? 200 : 0));
      CHECK(result.wrong_count == 0);
      CHECK(result.batches == 200);
      CHECK(result.received == 0);
      CHECK(result.doorbells == 200);
      CHECK(result.seen.operations == 200);
      CHECK(result.seen.completions == 200);
      CHECK(result.seen.violations.empty());
    }
    CHECK(nodes.client.result.latency.count() == 200);
    CHECK(nodes.server.result.latency.count() == 0);
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("two nodes: each write is answered by one", "", xio::emulation::RdmaKits) {
  there_and_back<TestType>();
}

TEST_CASE("two nodes: the time is up, and the last write is answered") {
  RdmaOptions options = ping_pong();
  options.duration = 0.05;
  Pair<Mlx5> pair;
  const Nodes nodes = pair.run(options, 64);
  CHECK(nodes.client.result.completed > 0);
  CHECK(nodes.client.result.completed == nodes.client.result.checked);
  CHECK(nodes.server.result.seen.operations == nodes.client.result.completed);
  CHECK_FALSE(nodes.server.result.gave_up);
}

TEST_CASE("two nodes: a write that is not answered, and an answer that fails, end both") {
  RdmaOptions options = ping_pong();
  options.num_queues = options.runs = 1;
  options.deadline_ms = 200;
  {
    Pair<Mlx5> pair;
    // It looks for writes elsewhere.
    auto memory = std::make_shared<std::vector<uint8_t>>(4096);
    pair.at_server = [memory](RdmaPhase& phase) { phase.far = memory->data(); };
    const Nodes nodes = pair.run(options, 64);
    CHECK(nodes.server.result.gave_up);
    CHECK(nodes.client.result.gave_up);
    CHECK(nodes.client.result.completed == 0);
  }
  {
    Pair<Mlx5> pair;
    options.deadline_ms = 60000;
    pair.at_server = [](RdmaPhase& phase) { phase.remote.rkey ^= 1; };
    const Nodes nodes = pair.run(options, 64);
    for (const Outcome* const node : {&nodes.server, &nodes.client}) {
      CHECK(node->result.lost.empty());
      CHECK_FALSE(node->result.gave_up);
      CHECK(node->result.completed == 0);
      CHECK(node->result.failed == 1);
      REQUIRE(node->result.statuses.size() == 1);
      CHECK(node->result.statuses[0].status == xio::Status::access_denied);
    }
  }
}

TEST_CASE("two nodes: a server that is slow to look holds the client back, and misses nothing") {
  for (const RdmaVerb verb : {RdmaVerb::write, RdmaVerb::send}) {
    for (const bool immediate : {false, true}) {
      if (immediate && verb == RdmaVerb::send) continue;
      CAPTURE(static_cast<int>(verb), immediate);
      RdmaOptions options = options_for(verb);
      options.write_imm = immediate;
      options.batch_size = 2;
      options.depth = 4;
      options.iterations = 60;
      Pair<Mlx5> pair;
      // The kernel begins late: by then the client has sent all that it may. What finds no receive is not tried so
      // long.
      pair.at_server = [](RdmaPhase&) { std::this_thread::sleep_for(std::chrono::milliseconds(1000)); };
      require_right(pair.run(options, 256), options, 30);
    }
  }
}

TEST_CASE("two nodes: data that goes elsewhere is noticed on the other side, and both know it") {
  const auto spoiled = [](RdmaVerb verb, uint64_t bytes, std::function<void(RdmaPhase&)> at_client,
                          std::function<void(RdmaPhase&)> at_server, bool immediate = false) {
    RdmaOptions options = options_for(verb);
    options.write_imm = immediate;
    options.batch_size = 4;
    options.depth = 8;
    Pair<Mlx5> pair;
    if (at_client) pair.at_client = at_client;
    if (at_server) pair.at_server = at_server;
    const Nodes nodes = pair.run(options, bytes);
    CHECK(nodes.client.result.lost.empty());
    CHECK(nodes.server.result.wrong_count == nodes.client.result.wrong_count);
    CHECK(nodes.server.result.wrong.size() == nodes.client.result.wrong.size());
    return nodes.client.result.wrong_count;
  };
  const auto behind = [](RdmaPhase& phase) {
    phase.remote.base += 8;
    phase.remote.length -= 8;
  };
  CHECK(spoiled(RdmaVerb::write, 256, behind, nullptr) == 100);
  CHECK(spoiled(RdmaVerb::write, 256, behind, nullptr, true) == 100);
  CHECK(spoiled(RdmaVerb::read, 256, behind, nullptr) == 100);
  CHECK(spoiled(RdmaVerb::fetch_add, 8, behind, nullptr) == 101);
  // A server that looks for other data than the client has sent.
  const auto other_seed = [](RdmaPhase& phase) { phase.content = BlockContent::hashed(999); };
  CHECK(spoiled(RdmaVerb::write, 256, nullptr, other_seed) == 100);
  CHECK(spoiled(RdmaVerb::write, 0, nullptr, other_seed, true) == 100);
  CHECK(spoiled(RdmaVerb::send, 256, nullptr, other_seed) == 100);
  // A client that does not store what it sends.
  const auto unchanged = [](RdmaPhase& phase) { phase.check = false; };
  CHECK(spoiled(RdmaVerb::send, 256, unchanged, nullptr) == 100);
}

TEST_CASE("two nodes: a read that brings nothing is noticed") {
  RdmaOptions options = options_for(RdmaVerb::read);
  options.depth = 4;
  Pair<Mlx5> pair;
  // The NIC's data goes elsewhere, and where the kernel looks lies that of an earlier lap.
  auto memory = std::make_shared<std::vector<uint64_t>>();
  pair.at_client = [memory](RdmaPhase& phase) {
    memory->assign(4 * phase.place_bytes / 8, 0x5a5a5a5a5a5a5a5a);
    phase.near = reinterpret_cast<uint8_t*>(memory->data());
    for (uint32_t i = 0; i < 4; ++i) fill_message(phase.content, phase.near + i * phase.place_bytes, i, phase.bytes);
  };
  CHECK(pair.run(options, 256).client.result.wrong_count == 100);
}

TEST_CASE("two nodes: a wrong key ends the run on both sides") {
  RdmaOptions options = options_for(RdmaVerb::write);
  options.runs = 3;
  Pair<Mlx5> pair;
  pair.at_client = [](RdmaPhase& phase) { phase.remote.rkey ^= 1; };
  const Nodes nodes = pair.run(options, 256);
  for (const Outcome* const node : {&nodes.server, &nodes.client}) {
    CHECK(node->result.lost.empty());
    CHECK(node->result.completed == 0);
    CHECK(node->result.failed == 1);
    CHECK(node->result.runs.size() == 1);
    REQUIRE(node->result.statuses.size() == 1);
    CHECK(node->result.statuses[0].status == xio::Status::access_denied);
  }
}

TEST_CASE("two nodes: operations that the server does not see end its run at the deadline") {
  const RdmaOptions options = options_for(RdmaVerb::write);
  RdmaOptions impatient = options;
  impatient.deadline_ms = 200;
  Pair<Mlx5> pair;
  // Nobody tells it of the batches.
  pair.at_client = [](RdmaPhase& phase) { phase.notices = false, phase.receives = 0; };
  const Nodes nodes = pair.run(impatient, options, 256);
  CHECK(nodes.server.result.gave_up);
  CHECK(nodes.client.result.gave_up);
  CHECK(nodes.client.result.completed == 100);
  CHECK(nodes.client.result.checked == 0);
}

TEST_CASE("two nodes: flags that differ are refused on both sides") {
  RdmaOptions ours = options_for(RdmaVerb::write);
  RdmaOptions theirs = ours;
  theirs.batch_size = 2;
  Pair<Mlx5> pair;
  const Nodes nodes = pair.run(ours, theirs, 256);
  CHECK(nodes.server.refused == "--batch-size: 1 here, 2 on the other side; give both sides the same");
  CHECK(nodes.client.refused == "--batch-size: 2 here, 1 on the other side; give both sides the same");
}

TEST_CASE("two nodes: one that goes away ends the other") {
  for (const bool server_goes : {true, false}) {
    CAPTURE(server_goes);
    RdmaOptions options = options_for(RdmaVerb::send);
    options.infinite = true;
    options.deadline_ms = 3000;
    Pair<Mlx5> pair;
    const auto leave = [](RdmaPhase&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      throw xio::host::Error("gone");
    };
    (server_goes ? pair.at_server : pair.at_client) = leave;
    const Nodes nodes = pair.run(options, 256);
    const Outcome& gone = server_goes ? nodes.server : nodes.client;
    const Outcome& other = server_goes ? nodes.client : nodes.server;
    CHECK(gone.result.lost == "gone");
    CHECK(other.result.lost.find("exchange: ") == 0);
  }
}

TEST_CASE("nobody there, or a port that is in use, is one clear line") {
  RdmaOptions options;
  options.role = RdmaRole::server;
  options.json = "-";
  options.connect_ms = 50;
  options.port = 0;
  CHECK_THROWS_AS(RdmaSession(options), Failed);
  const xio::host::ExchangeServer occupied(0);
  options.port = occupied.port();
  CHECK_THROWS_WITH(RdmaSession(options),
                    Catch::StartsWith("--port ") && Catch::Contains("--listen") && Catch::Contains("in use"));
  CHECK_THROWS_AS(RdmaSession(options), BadInput);
  // It takes the connection and says nothing.
  options.role = RdmaRole::client;
  options.server_host = "127.0.0.1";
  CHECK_THROWS_AS(RdmaSession(options), Failed);
  {
    const xio::host::ExchangeServer gone(0);
    options.port = gone.port();
  }
  CHECK_THROWS_WITH(RdmaSession(options), Catch::Contains("no server responds") && Catch::Contains("--server-host"));
}

TEST_CASE("memory that the server's device takes no atomics on is refused at the client") {
  for (const bool atomics : {false, true}) {
    Pair<Mlx5> pair;
    pair.atomics = atomics;
    const Nodes nodes = pair.run(options_for(RdmaVerb::fetch_add), 8);
    const RdmaResult& result = nodes.client.result;
    CHECK((result.failed == 0) == atomics);
    CHECK((result.completed == 100) == atomics);
    if (atomics) continue;
    REQUIRE(result.statuses.size() >= 1);
    CHECK(result.statuses[0].status == xio::Status::unsupported);
  }
}

TEST_CASE("a server finds its client among strangers") {
  RdmaOptions options = options_for(RdmaVerb::write);
  options.json = "-";
  {
    options.port = xio::host::ExchangeServer().port();
  }
  RdmaOptions for_client = options;
  options.role = RdmaRole::server;
  for_client.role = RdmaRole::client;
  for_client.server_host = "127.0.0.1";
  std::string trouble;
  std::thread server([&] {
    try {
      RdmaSession session(options);
    } catch (const std::exception& failure) {
      trouble = failure.what();
    }
  });
  const auto limit = std::chrono::milliseconds(20000);
  // One who speaks the language of the exchange, and one who connects and says nothing.
  Exchange silent = Exchange::connect("127.0.0.1", options.port, limit);
  std::thread other(
      [&] { CHECK_THROWS(Exchange::connect("127.0.0.1", options.port, limit).trade(std::string("\x1b[2Jhello"))); });
  other.join();
  CHECK_NOTHROW(RdmaSession(for_client));
  server.join();
  CHECK(trouble.empty());
}
