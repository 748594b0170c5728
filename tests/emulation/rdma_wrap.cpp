// SPDX-License-Identifier: MIT

/// @file
/// @brief Counters that wrap on the wire or do not begin at 0, full rings, small completion queues, completion queues
/// of one entry: nothing is lost, early or overrun.

#include <xio/host/rdma/direct_queue_pair.hpp>

#include "emulation/rdma_protocol.hpp"

using namespace rdma_tests;

namespace {

/// Puts stamped words one after the other, at most `depth` in flight, and looks at each on the other side.
template <class Kit>
void stream(RdmaRig<Kit>& rig, uint32_t count, uint32_t depth) {
  Sends<Kit> qp(rig.near.handle());
  auto* const near = reinterpret_cast<uint64_t*>(rig.near_bytes.data());
  auto* const far = reinterpret_cast<uint64_t*>(rig.far_bytes.data());
  std::vector<Token> tokens(count);
  uint32_t right = 0;
  for (uint32_t i = 0; i < count + depth; ++i) {
    if (i >= depth) {
      const uint32_t done = i - depth;
      REQUIRE(qp.wait(tokens[done], soon()).is_ok());
      right += far[done % depth] == mix(done, 1) ? 1 : 0;
    }
    if (i < count) {
      near[i % depth] = mix(i, 1);
      tokens[i] = qp.put(rig.remote.at(8 * (i % depth), 8), rig.local.at(8 * (i % depth), 8), soon());
    }
  }
  CHECK(right == count);
  CHECK(qp.quiet(soon()).is_ok());
  CHECK(rig.violations() == "");
}

/// What a doorbell register and a record hold.
using Told = std::pair<uint64_t, uint32_t>;
Told told(const uint64_t* doorbell, const uint32_t* record) { return {*doorbell, record != nullptr ? *record : 0}; }

struct LargeCollapsed : Mlx5Collapsed {
  static constexpr uint32_t cqe_bytes = 128;
};
using Wrapping = Joined<WithCollapsed, std::tuple<xio::emulation::Mlx5Kit<LargeCollapsed>>>;

}  // namespace

TEMPLATE_LIST_TEST_CASE("put: counters of the wire wrap at 16 and 24 bits from every offset -> each ends as its own",
                        "[H2]", Wrapping) {
  const uint64_t bases[] = {uint64_t{1} << 16, uint64_t{1} << 23, uint64_t{1} << 24, uint64_t{1} << 32,
                            (uint64_t{1} << 40) + (1 << 24)};
  for (const uint64_t base : bases) {
    for (uint64_t before = 0; before < 80; before += 1 + before % 7) {
      CAPTURE(base, before);
      RdmaRig<TestType> rig;
      const uint32_t cqes = rig.near.config().cq_entries;
      rig.near.start_at(base - before, cqes == 1 ? 0 : base - 2 * uint64_t{cqes}, base - before);
      rig.running();
      stream(rig, 100, 8);
    }
  }
}

TEMPLATE_LIST_TEST_CASE("put: many laps of rings of every size -> each ends as its own", "[H2]", WithCollapsed) {
  for (const uint32_t units : {2u, 4u, 8u, 64u}) {
    for (const uint32_t entries : {2u, 4u, 128u}) {
      RdmaQueueConfig config = TestType::config();
      const bool is_collapsed = config.cq_entries == 1;
      if (is_collapsed && entries != 2) continue;
      config.sq_units = units;
      if (!is_collapsed) config.cq_entries = entries;
      if (config.side_entries != 0) config.side_entries = units;
      RdmaRig<TestType> rig(config);
      const uint32_t depth = std::min(TestType::depth(config), is_collapsed ? ~0u : entries - 1);
      CAPTURE(units, entries, depth);
      rig.near.limit_depth(depth);
      rig.running();
      stream(rig, 700, depth);
    }
  }
  RdmaRig<TestType> rig;
  rig.running();
  // All that 16 bits count.
  if (rig.near.config().cq_entries == 1) stream(rig, 70000, 64);
}

TEMPLATE_LIST_TEST_CASE("put: a completion queue of any size and depth -> the device never overruns it", "[H24]",
                        Vendors) {
  for (const uint32_t entries : {4u, 8u, 32u, 256u}) {
    for (const uint32_t depth : {1u, 2u, 3u, 7u, 31u, 120u}) {
      if (depth >= entries) continue;
      CAPTURE(entries, depth);
      RdmaQueueConfig config = TestType::config();
      config.cq_entries = entries;
      RdmaRig<TestType> rig(config);
      rig.near.limit_depth(depth);
      rig.near.model().faults().delay(2);
      rig.running();
      stream(rig, 3 * entries, depth);
    }
  }
}

TEMPLATE_LIST_TEST_CASE(
    "quiet: an exactly full completion queue is drained by one or many lanes -> each operation ends", "[H7]", Vendors) {
  for (const bool together : {false, true}) {
    RdmaQueueConfig config = TestType::config();
    config.cq_entries = 16;
    RdmaRig<TestType> rig(config);
    const auto room = static_cast<uint32_t>(TestType::Wire::cq_capacity(config.cq_entries));
    rig.near.limit_depth(room);
    const QueuePairHandle handle = rig.near.handle();
    Sends<TestType, Sharing::wave> qp(handle);
    for (uint32_t lap = 0; lap < 9; ++lap) {
      CAPTURE(together, lap);
      std::vector<Token> tokens;
      for (uint32_t i = 0; i < room; ++i) tokens.push_back(rig.put(qp, i));
      REQUIRE(tokens.back().submitted());
      CHECK(rig.put(qp).status == Status::would_block);
      settle(rig.nic);
      REQUIRE(rig.near.model().statistics().completions == (lap + 1) * room);
      if (together) {
        xio::simt::launch(Grid::of_waves(1, 1, 64), [&] {
          Sends<TestType, Sharing::wave> wave(handle);
          EXPECT(wave.quiet(shortly()).is_ok());
        });
      }
      for (const Token& token : tokens) CHECK(qp.wait(token, shortly()).is_ok());
    }
    CHECK(rig.violations() == "");
  }
}

TEMPLATE_LIST_TEST_CASE("put: a deferred ring is full -> it is announced before the call waits for room", "[H3]",
                        Vendors) {
  RdmaRig<TestType> rig;
  rig.running();
  rig.near.limit_depth(16);
  Sends<TestType, Sharing::thread, Policy<Deferred<1000>>> qp(rig.near.handle());
  for (uint32_t i = 0; i < 100; ++i) REQUIRE(rig.put(qp, 0, xio::deadline(2_s)).submitted());
  CHECK(qp.quiet(soon()).is_ok());
  rig.nic.stop();
  CHECK(rig.violations() == "");
}

TEMPLATE_LIST_TEST_CASE("test: memory was something else before -> nothing is taken for a completion", "[H5]",
                        WithCollapsed) {
  // What set-up does not initialise holds 0xa5, side table and rings; what it does is as the vendor wants it.
  RdmaRig<TestType> rig;
  Sends<TestType> qp(rig.near.handle());
  const Token token = rig.put(qp);
  for (uint32_t i = 0; i < 50; ++i) CHECK(qp.test(token) == Status::pending);
  CHECK(qp.drain() == 0);
}

TEMPLATE_LIST_TEST_CASE("wait: a completion comes twice -> it is not taken for a later one", "[H2]", Vendors) {
  for (const uint64_t twice : {0u, 3u, 9u}) {
    CAPTURE(twice);
    RdmaRig<TestType> rig;
    rig.near.model().faults().duplicate(twice);
    Sends<TestType> qp(rig.near.handle());
    Token tokens[10];
    for (Token& token : tokens) token = rig.put(qp);
    for (uint32_t i = 0; i < 30; ++i) rig.nic.pass();
    for (const Token& token : tokens) {
      const Status status = qp.wait(token, xio::deadline(3_ms));
      CHECK((status.is_ok() || status == Status::broken));
    }
    CHECK(rig.near.state().retired <= rig.near.posted());
    const Token after = rig.put(qp);
    if (after.submitted()) CHECK_FALSE(qp.test(after).is_ok());
  }
}

namespace {

/// A queue that has nothing to announce stays silent; then each operation is announced and ends, over several laps.
template <class Kit, Sharing S, class Policy>
void use(RdmaRig<Kit>& rig, const QueuePairHandle& handle) {
  CAPTURE(static_cast<int>(S), Policy::ring_every);
  Sends<Kit, S, Policy> qp(handle);
  const auto memory = rig.near.memory();
  const Told before = told(memory.sq_doorbell, memory.sq_record);
  qp.ring();
  CHECK(qp.quiet(Deadline{0}) == Status::ok);
  CHECK(told(memory.sq_doorbell, memory.sq_record) == before);
  for (uint32_t round = 0; round < 2 * rig.near.config().sq_units / 4; ++round) {
    Token token;
    for (uint32_t i = 0; i < 4; ++i) token = rig.put(qp, i);
    REQUIRE(token.submitted());
    // A wait announces what is not announced yet.
    (void)qp.wait(token, Deadline{0});
    settle(rig.nic);
    REQUIRE(qp.wait(token, Deadline{0}).is_ok());
  }
  qp.ring();
  CHECK(qp.quiet(Deadline{0}).is_ok());
  CHECK(rig.far_bytes[0] == 0x11);
  CHECK(rig.violations() == "");
}

xio::host::DirectCompletionRing completions(const xio::rdma::CompletionQueueHandle& cq, uint64_t index) {
  xio::host::DirectCompletionRing ring;
  ring.entries = const_cast<void*>(cq.entries);
  ring.count = cq.size;
  ring.number = cq.number;
  ring.record = cq.record;
  ring.producer = cq.producer;
  ring.doorbell = cq.doorbell;
  ring.index = index;
  return ring;
}

/// The queues of a driver whose send queue has used so many units.
template <class Kit>
xio::host::DirectQueues adoptable(RdmaRig<Kit>& rig, uint64_t units) {
  const QueuePairHandle send = rig.near.handle();
  xio::host::DirectQueues queues;
  queues.name = "test";
  queues.sq = send.sq;
  queues.sq_record = send.sq_record;
  queues.sq_doorbell = send.sq_doorbell;
  queues.side_table = send.side_table;
  queues.side_entries = send.side_entries;
  queues.shape = send.shape;
  queues.send_depth = send.depth;
  queues.send_index = units;
  queues.cq = completions(send.cq, 0);
  queues.first_psn = rig.near.config().first_psn;
  queues.no_receives = "not needed";
  return queues;
}

template <class Kit, Sharing S, class Policy>
void begin_at(uint64_t units) {
  CAPTURE(units);
  {
    RdmaRig<Kit> rig;
    rig.near.start_at(units, 0, units);
    use<Kit, S, Policy>(rig, rig.near.handle());
  }
  RdmaRig<Kit> rig;
  // An adopted queue pair's messages are counted from 0.
  rig.near.start_at(units, 0, 0);
  const xio::host::DirectQueuePair<typename Kit::Vendor> adopted(adoptable(rig, units));
  use<Kit, S, Policy>(rig, adopted.handle());
}

template <class Kit, Sharing S>
void begin_anywhere() {
  for (const uint64_t units : {uint64_t{0}, uint64_t{7}, uint64_t{10}, uint64_t{0xfffe}, (uint64_t{1} << 32) + 1}) {
    begin_at<Kit, S, xio::Policy<>>(units);
    begin_at<Kit, S, Policy<Deferred<4>>>(units);
    begin_at<Kit, S, Policy<Deferred<100>>>(units);
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("ring: the queue pair was used before -> what is posted is announced and nothing else",
                        "[H2][H10]", Vendors) {
  begin_anywhere<TestType, Sharing::thread>();
  begin_anywhere<TestType, Sharing::wave>();
  begin_anywhere<TestType, Sharing::block>();
  begin_anywhere<TestType, Sharing::grid>();
}

TEMPLATE_LIST_TEST_CASE("post: the receive queue was used before -> it has room for as many as a new one", "[H2]",
                        Vendors) {
  RdmaRig<TestType> rig;
  const xio::rdma::ReceiveQueueHandle receive = rig.near.receive_handle();
  for (const uint64_t laps : {0u, 2u, 6u, 1u << 31}) {
    CAPTURE(laps);
    xio::host::DirectQueues queues = adoptable(rig, 0);
    queues.no_receives = {};
    queues.rq = receive.rq;
    queues.rq_record = receive.record;
    queues.rq_doorbell = receive.doorbell;
    queues.receive_shape = receive.shape;
    queues.receive_depth = receive.depth;
    queues.receive_cq = completions(receive.cq, laps * receive.cq.size);
    const xio::host::DirectQueuePair<typename TestType::Vendor> adopted(queues);
    Receives<TestType, Sharing::grid> receives(adopted.receive_handle());
    uint32_t posted = 0;
    while (posted <= receive.depth && receives.post(rig.local.at(0, 64), xio::Now{}).submitted()) ++posted;
    CHECK(posted == receive.depth);
  }
}

// A completion queue that is collapsed to one entry.

TEMPLATE_LIST_TEST_CASE("test: the last completion stays in a collapsed queue -> it is not taken for a later one",
                        "[H2]", Collapsed) {
  RdmaRig<TestType> rig;
  Sends<TestType> qp(rig.near.handle());
  (void)rig.put(qp);
  settle(rig.nic);
  CHECK(qp.wait(rig.put(qp), Deadline{0}) == Status::timed_out);
  settle(rig.nic);
  CHECK(qp.quiet(shortly()).is_ok());
  // A whole ring of others in flight, and of each size that a counter can be off by.
  for (uint32_t round = 0; round < 200; ++round) {
    std::vector<Token> tokens;
    for (;;) {
      const Token token = rig.put(qp, tokens.size());
      if (!token.submitted()) break;
      tokens.push_back(token);
      if (tokens.size() == 1 + round % 130) break;
    }
    REQUIRE(!tokens.empty());
    for (const Token& token : tokens) REQUIRE(qp.test(token) == Status::pending);
    settle(rig.nic);
    for (const Token& token : tokens) REQUIRE(qp.test(token).is_ok());
    REQUIRE(qp.drain() == 0);
  }
  CHECK(rig.violations() == "");
}

TEMPLATE_LIST_TEST_CASE("wait: completions of a collapsed queue -> the device is told nothing of them", "[H24]",
                        Collapsed) {
  RdmaRig<TestType> rig;
  const auto memory = rig.near.memory();
  const Told before = told(memory.cq_doorbell, memory.cq_record);
  rig.running();
  stream(rig, 1000, 100);
  rig.nic.stop();
  CHECK(told(memory.cq_doorbell, memory.cq_record) == before);
  CHECK(rig.near.config().cq_entries == 1);
  CHECK(rig.near.handle().depth > 100);
}

TEMPLATE_LIST_TEST_CASE("test: a collapsed entry holds anything before the first completion -> pending", "[H5]",
                        Collapsed) {
  RdmaRig<TestType> rig;
  Sends<TestType> qp(rig.near.handle());
  const Token token = rig.put(qp);
  // Whatever it is, it names nothing that is in flight.
  for (uint32_t fill = 1; fill < 256; ++fill) {
    CAPTURE(fill);
    const bool is_last = fill >> 5 == 3;  // IONIC: the end of a local operation, which is 0
    if (is_last) continue;
    std::memset(rig.near.memory().cq, static_cast<int>(fill), TestType::Wire::cqe_bytes);
    REQUIRE(qp.test(token) == Status::pending);
  }
  settle(rig.nic);
  CHECK(qp.test(token).is_ok());
}

TEST_CASE("invalidate: IONIC's local operations end in the collapsed entry too -> each is told apart", "[H2]") {
  using Kit = xio::emulation::IonicKit<IonicCollapsed>;
  RdmaRig<Kit> rig;
  const uint32_t key = rig.fabric.keys().add(rig.near_bytes.data(), 4096);
  rig.running();
  Sends<Kit> qp(rig.near.handle());
  for (uint32_t i = 0; i < 5; ++i) CHECK(qp.wait(rig.put(qp, i), soon()).is_ok());
  CHECK(qp.invalidate(key, soon()).is_ok());
  rig.near.model().faults().hold(true);
  const Token held = rig.put(qp);
  for (uint32_t i = 0; i < 10; ++i) REQUIRE(qp.test(held) == Status::pending);
  rig.near.model().faults().hold(false);
  CHECK(qp.wait(held, soon()).is_ok());
  stream(rig, 300, 20);
  CHECK_FALSE(qp.invalidate(key, soon()).is_ok());
}

namespace {

/// An entry that is overwritten before its `when`-th load.
struct Changing {
  const uint64_t* before;
  const uint64_t* after;
  uint32_t when;
  uint32_t loads = 0;
  uint64_t operator()(uint32_t offset) { return (loads++ < when ? before : after)[offset / sizeof(uint64_t)]; }
};

template <class Entry>
xio::rdma::WorkCompletion decode_changing(const uint64_t* before, const uint64_t* after, uint32_t when) {
  Changing entry{before, after, when};
  const auto read = [&](uint32_t offset) { return entry(offset); };
  const xio::rdma::Progress known{5, 5};
  const uint64_t word = Entry::look(read);
  if (!Entry::is_new(word, known, 100)) return {};
  const xio::rdma::WorkCompletion success = Entry::decode_success(word, read);
  return success.kind == xio::rdma::CompletionKind::send ? success : Entry::decode(read, known, 100);
}

}  // namespace

TEST_CASE("decode: a collapsed entry is overwritten while it is read -> no mixture of two", "[H27]") {
  using xio::rdma::CompletionKind;
  uint64_t first[8] = {};
  uint64_t second[8] = {};
  const auto mlx5 = [](uint64_t* words, uint16_t number, xio::mlx5::CqeOpcode opcode, xio::mlx5::Syndrome syndrome) {
    words[6] = static_cast<uint64_t>(syndrome) << 56;
    words[7] = static_cast<uint64_t>(opcode) << 60 | uint64_t{xio::byte_swap(number)} << 32;
  };
  mlx5(first, 7, xio::mlx5::CqeOpcode::request_error, xio::mlx5::Syndrome::remote_access);
  mlx5(second, 9, xio::mlx5::CqeOpcode::request_error, xio::mlx5::Syndrome::flushed);
  for (uint32_t when = 0; when < 8; ++when) {
    CAPTURE(when);
    const auto seen = decode_changing<xio::mlx5::CollapsedDecoder<>>(first, second, when);
    const bool none = seen.kind == CompletionKind::nothing;
    CHECK((none || (seen.counter == 7 ? seen.status == Status::access_denied : seen.status == Status::flushed)));
  }
  const auto ionic = [](uint64_t* words, uint32_t number, bool error, uint32_t status) {
    words[0] = uint64_t{xio::byte_swap(number)} << 32;
    const uint32_t flags = static_cast<uint32_t>(xio::ionic::CqeType::send_msn) << xio::ionic::cqe_word::type_shift |
                           (error ? xio::ionic::cqe_word::error : 0u);
    words[3] = uint64_t{xio::byte_swap(flags)} << 32 | xio::byte_swap(status);
  };
  ionic(first, 7, false, 64);
  ionic(second, 8, true, static_cast<uint32_t>(xio::ionic::CqeStatus::remote_access));
  for (uint32_t when = 0; when < 8; ++when) {
    CAPTURE(when);
    const auto seen = decode_changing<xio::ionic::CollapsedDecoder>(first, second, when);
    const bool none = seen.kind == CompletionKind::nothing;
    CHECK((none || seen.status.is_ok() == (seen.counter == 7)));
  }
}
