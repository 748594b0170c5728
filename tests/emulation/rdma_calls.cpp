// SPDX-License-Identifier: MIT

/// @file
/// @brief Calls that scenarios do not make, and what arrives on the other side: data of every length, messages,
/// atomics, signals, invalidated keys, batches; and what vendors vary in by their options.

#include "emulation/rdma_protocol.hpp"

using namespace rdma_tests;
using xio::rdma::NoPayload;
using xio::rdma::Operation;
using xio::rdma::Work;

namespace {

/// A running queue pair and its peer's receive queue.
template <class Kit>
struct Both : RdmaRig<Kit> {
  Sends<Kit> qp{this->near.handle()};
  Receives<Kit> receives{this->far.receive_handle()};
  Both() { this->running(); }
};

unsigned char pattern(uint32_t i, uint32_t seed) { return static_cast<unsigned char>(mix(i, seed) | 1); }

}  // namespace

TEMPLATE_LIST_TEST_CASE("put: every length from 0 to 128 bytes and inline -> it arrives and nothing else changes",
                        "[H12]", Vendors) {
  Both<TestType> pair;
  const uint32_t max_inline = TestType::has_inline ? pair.near.config().max_inline : 0;
  std::vector<uint32_t> lengths{256, 1024, 4096, 65536};
  for (uint32_t i = 0; i <= 128; ++i) lengths.push_back(i);
  for (const uint32_t length : lengths) {
    CAPTURE(length);
    for (const bool is_inline : {false, true}) {
      if (is_inline && (!TestType::has_inline || length > max_inline)) continue;
      std::fill(pair.far_bytes.begin(), pair.far_bytes.end(), static_cast<unsigned char>(0));
      for (uint32_t i = 0; i < length; ++i) pair.near_bytes[i] = pattern(i, length);
      Token token;
      if constexpr (TestType::has_inline) {
        const xio::rdma::InlineBytes bytes{pair.near_bytes.data(), length};
        if (is_inline) token = pair.qp.submit(pair.signaled(64), bytes, soon());
      }
      if (!is_inline) token = pair.qp.put(pair.remote.at(64, length), pair.local.at(0, length), soon());
      REQUIRE(pair.qp.wait(token, soon()).is_ok());
      CHECK(std::memcmp(pair.far_bytes.data() + 64, pair.near_bytes.data(), length) == 0);
      bool neighbours = true;
      for (uint32_t i = 0; i < 64; ++i) neighbours &= pair.far_bytes[i] == 0 && pair.far_bytes[64 + length + i] == 0;
      CHECK(neighbours);
    }
  }
  CHECK(pair.violations() == "");
}

TEMPLATE_LIST_TEST_CASE("send: messages and immediates and writes -> they arrive in the order posted", "",
                        WithCollapsed) {
  Both<TestType> pair;
  const unsigned char* const near = pair.near_bytes.data();
  const unsigned char* const far = pair.far_bytes.data();
  for (uint32_t round = 0; round < 200; ++round) {
    CAPTURE(round);
    const Token first = pair.receives.post(pair.far_local.at(0, 128), soon());
    const Token second = pair.receives.post(pair.far_local.at(1024, 128), soon());
    const Token third = pair.receives.post(NoPayload{}, soon());
    const Token fourth = pair.receives.post(NoPayload{}, soon());
    for (uint32_t i = 0; i < 200; ++i) pair.near_bytes[i] = pattern(i, round);
    (void)pair.qp.send(pair.local.at(0, 100), soon());
    (void)pair.qp.send_immediate(pair.local.at(7, 128), 0xdead0000 + round, soon());
    (void)pair.qp.put_immediate(pair.remote.at(4096, 64), pair.local.at(64, 64), 0x1234, soon());
    Work empty;
    empty.operation = Operation::put_immediate;
    empty.flags = xio::rdma::work_flag::signaled;
    empty.immediate = 0xcafe;
    REQUIRE(pair.qp.wait(pair.qp.submit(empty, NoPayload{}, soon()), soon()).is_ok());

    const Received arrived = pair.receives.wait(first, soon());
    CHECK(arrived.status.is_ok());
    CHECK(arrived.bytes == 100);
    CHECK(arrived.flags == 0);
    CHECK(std::memcmp(far, near, 100) == 0);
    const Received tagged = pair.receives.wait(second, soon());
    CHECK(tagged.status.is_ok());
    CHECK(tagged.bytes == 128);
    CHECK(tagged.flags == xio::rdma::receive_flag::immediate);
    CHECK(tagged.immediate == 0xdead0000 + round);
    CHECK(std::memcmp(far + 1024, near + 7, 128) == 0);
    const Received written = pair.receives.wait(third, soon());
    CHECK(written.status.is_ok());
    CHECK(written.immediate == 0x1234);
    CHECK((written.flags & xio::rdma::receive_flag::immediate) != 0);
    CHECK(std::memcmp(far + 4096, near + 64, 64) == 0);
    const Received nothing = pair.receives.wait(fourth, soon());
    CHECK(nothing.status.is_ok());
    CHECK(nothing.immediate == 0xcafe);
    CHECK(nothing.bytes == 0);
  }
  CHECK(pair.violations() == "");
}

TEMPLATE_LIST_TEST_CASE("fetch_add: and compare_swap -> the old value returns and the right words change", "",
                        Vendors) {
  Both<TestType> pair;
  auto* const far = reinterpret_cast<uint64_t*>(pair.far_bytes.data());
  const auto& old_value = reinterpret_cast<const uint64_t*>(pair.near_bytes.data())[2];
  far[0] = 100;
  far[1] = 7;
  const auto word = pair.remote.at(0, 8);
  const auto old = pair.local.at(16, 8);
  const auto ends = [&](const Token& token, uint64_t before, uint64_t after) {
    REQUIRE(pair.qp.wait(token, soon()).is_ok());
    CHECK(old_value == before);
    CHECK(far[0] == after);
  };
  ends(pair.qp.fetch_add(word, 5, old, soon()), 100, 105);
  ends(pair.qp.compare_swap(word, 104, 1, old, soon()), 105, 105);
  ends(pair.qp.compare_swap(word, 105, ~uint64_t{0} - 1, old, soon()), 105, ~uint64_t{0} - 1);
  ends(pair.qp.fetch_add(word, 3, old, soon()), ~uint64_t{0} - 1, 1);
  CHECK(far[1] == 7);
  CHECK(pair.violations() == "");
}

TEMPLATE_LIST_TEST_CASE("send: no receive or one that is too short -> an error at both sides", "", Vendors) {
  {
    Both<TestType> pair;
    pair.near.model().faults().wait_for_receives(1000);
    CHECK(pair.qp.wait(pair.qp.send(pair.local.at(0, 8), soon()), soon()) == Status::receiver_not_ready);
  }
  Both<TestType> pair;
  const Token receive = pair.receives.post(pair.far_local.at(0, 32), soon());
  CHECK(pair.qp.wait(pair.qp.send(pair.local.at(0, 64), soon()), soon()) == Status::remote_error);
  CHECK(pair.receives.wait(receive, soon()).status == Status::length_error);
  CHECK(pair.violations() == "");
}

TEMPLATE_LIST_TEST_CASE("send: the receive comes late -> the message waits for it", "", Vendors) {
  RdmaRig<TestType> rig;
  Sends<TestType> qp(rig.near.handle());
  Receives<TestType> receives(rig.far.receive_handle());
  const Token token = qp.send(rig.local.at(0, 8), xio::Now{});
  for (uint32_t i = 0; i < 5000; ++i) rig.nic.pass();
  CHECK(qp.test(token) == Status::pending);
  const Token receive = receives.post(rig.far_local.at(0, 8), xio::Now{});
  settle(rig.nic);
  CHECK(qp.wait(token, shortly()).is_ok());
  CHECK(receives.wait(receive, shortly()).bytes == 8);
  CHECK(rig.violations() == "");
}

TEMPLATE_LIST_TEST_CASE("put_signal: lanes of a wave -> two operations each and one completion", "", Vendors) {
  RdmaRig<TestType> rig;
  constexpr uint32_t lanes = 8;
  rig.running();
  CHECK_NOTHROW(xio::simt::launch(Grid::of_waves(1, 1, lanes), [&] {
    Sends<TestType, Sharing::wave> qp(rig.near.handle());
    const uint32_t i = xio::arch::lane();
    const auto to = rig.remote.at(4096 + 64 * i, 64);
    Token token;
    if constexpr (TestType::has_inline) {
      token = qp.put_signal(to, rig.local.at(64 * i, 64), rig.remote.at(8 * i, 8), 0x1111111111111111, soon());
    } else {
      token = qp.put_signal(to, rig.local.at(64 * i, 64), rig.remote.at(8 * i, 8), rig.local.at(0, 8), soon());
    }
    EXPECT_OK(qp.wait(token, soon()));
  }));
  rig.nic.stop();
  CHECK(std::memcmp(&rig.far_bytes[4096], &rig.near_bytes[0], 64 * lanes) == 0);
  CHECK(std::memcmp(&rig.far_bytes[0], &rig.near_bytes[0], 8 * lanes) == 0);
  CHECK(rig.near.model().statistics().operations == 2 * lanes);
  CHECK(rig.near.model().statistics().completions == 1);
  CHECK(rig.violations() == "");
  // No room for the second write: the token says so, and stands for nothing.
  RdmaRig<TestType> narrow;
  narrow.near.limit_depth(Mlx5::config().sq_units / 64);
  Sends<TestType> small(narrow.near.handle());
  Token token = narrow.put(small);
  while (token.submitted()) token = narrow.put(small);
  token = small.put_signal(narrow.remote.at(0, 8), narrow.local.at(0, 8), narrow.remote.at(64, 8),
                           narrow.local.at(64, 8), xio::deadline(1_ms));
  CHECK_FALSE(token.submitted());
  CHECK((token.status == Status::timed_out || token.status == Status::out_of_range));
}

// Keys that end.

namespace {

struct WithInvalidate : xio::mlx5::Options {
  static constexpr bool memory_operations = true;
  static constexpr bool signature = true;
};
using Mlx5Keys = xio::emulation::Mlx5Kit<WithInvalidate>;

/// Vendors, and what one of them offers as an option.
using Full = Joined<Vendors, std::tuple<Mlx5Keys>>;
template <class Kit>
using IfInvalidating = std::conditional_t<Kit::has_local_invalidate, std::tuple<Kit>, std::tuple<>>;
template <class... Kit>
auto invalidating(std::tuple<Kit...>) -> decltype(std::tuple_cat(IfInvalidating<Kit>{}...));
/// Those that invalidate keys of their own memory.
using Invalidating = decltype(invalidating(Full{}));

}  // namespace

TEMPLATE_LIST_TEST_CASE("invalidate: a key of one's own -> it serves no more", "", Invalidating) {
  Both<TestType> pair;
  const auto put = [&](uint32_t key) { return pair.qp.put(pair.remote.at(0, 64), {pair.local.base, 64, key}, soon()); };
  for (uint32_t i = 0; i < 3; ++i) {
    const uint32_t key = pair.fabric.keys().add(pair.near_bytes.data(), 4096);
    const Token before = pair.qp.submit(pair.unsignaled(), xio::rdma::OneSge{{pair.local.base, 64, key}}, soon());
    CHECK(pair.qp.invalidate(key, soon()).is_ok());
    CHECK(pair.qp.wait(before, soon()).is_ok());
    CHECK(pair.qp.wait(put(pair.local.key), soon()).is_ok());
    if (i == 2) CHECK_FALSE(pair.qp.wait(put(key), soon()).is_ok());
  }
  pair.nic.stop();
  CHECK(pair.violations() == "");
}

TEST_CASE("try_submit: ConnectX invalidates a key -> the next operation waits for it and the key is gone") {
  RdmaRig<Mlx5Keys> rig;
  const uint32_t key = rig.fabric.keys().add(rig.near_bytes.data(), 4096);
  Sends<Mlx5Keys> qp(rig.near.handle());
  Work work;
  work.operation = Operation::local_invalidate;
  work.flags = xio::rdma::work_flag::signaled;
  work.immediate = key;
  const Token gone = qp.try_submit(work, NoPayload{});
  const Token after = rig.put(qp);
  const uint8_t* const next = rig.near.memory().sq + 64 * (after.last + 1 - after.count);
  CHECK((next[11] & 0xe0) == 0x20);  // initiator small fence
  rig.running();
  CHECK(qp.wait(gone, soon()).is_ok());
  CHECK(qp.wait(after, soon()).is_ok());
  const Token use = qp.put(rig.remote.at(0, 64), {rig.local.base, 64, key}, xio::Now{});
  CHECK(qp.wait(use, soon()) == Status::bad_address);
}

TEMPLATE_TEST_CASE("try_submit: a local invalidate would not end in its turn -> unsupported", "[H16]", Bnxt, Ionic,
                   Ernic) {
  RdmaRig<TestType> rig;
  Work work;
  work.operation = Operation::local_invalidate;
  const Token token = Sends<TestType>(rig.near.handle()).try_submit(work, NoPayload{});
  CHECK(token.count == 0);
  CHECK(token.status == Status::unsupported);
}

TEMPLATE_LIST_TEST_CASE("send_invalidate: a key of the receiver -> it serves no more", "", Full) {
  Both<TestType> pair;
  RemoteMemory granted = pair.remote;
  granted.rkey = pair.fabric.keys().add(pair.far_bytes.data(), pair.far_bytes.size());
  const auto put = [&] { return pair.qp.put(granted.at(0, 64), pair.local.at(0, 64), soon()); };
  CHECK(pair.qp.wait(put(), soon()).is_ok());
  const Token receive = pair.receives.post(pair.far_local.at(0, 64), soon());
  CHECK(pair.qp.wait(pair.qp.send_invalidate(pair.local.at(0, 16), granted.rkey, soon()), soon()).is_ok());
  const Received arrived = pair.receives.wait(receive, soon());
  CHECK(arrived.status.is_ok());
  CHECK(arrived.bytes == 16);
  CHECK(arrived.flags == xio::rdma::receive_flag::invalidated);
  CHECK(arrived.immediate == granted.rkey);
  CHECK(pair.qp.wait(put(), soon()) == Status::access_denied);
  pair.nic.stop();
  CHECK(pair.violations() == "");
}

TEMPLATE_LIST_TEST_CASE("flush_inbound: data is later than its completion -> it arrives as the policy says", "[H15]",
                        Vendors) {
  using Late = xio::Policy<xio::Placed<xio::Memory::host, xio::Memory::device>>;
  Both<TestType> pair;
  pair.near.model().faults().hold_inbound(true);
  auto handle = pair.near.handle();
  const auto get = [&](auto& qp, uint64_t at) { return qp.get(pair.local.at(at, 64), pair.remote.at(0, 64), soon()); };
  Sends<TestType, Sharing::thread, Late> unable(handle);
  CHECK(unable.flush_inbound(soon()) == Status::unsupported);
  CHECK(get(unable, 0).submitted());
  CHECK(unable.quiet(soon()) == Status::unsupported);
  CHECK(unable.fence(soon()) == Status::unsupported);
  handle.flush = {pair.local.base + pair.local.length - 1, pair.remote.base + pair.remote.length - 1, pair.local.key,
                  pair.remote.rkey};
  // A policy that says nothing of it: the completion is there and the data is not.
  Sends<TestType> unaware(handle);
  CHECK(unaware.wait(get(unaware, 0), soon()).is_ok());
  CHECK(pair.near_bytes[0] == 0x11);
  CHECK(unaware.flush_inbound(soon()).is_ok());
  CHECK(pair.near_bytes[0] == 0x22);
  // A wave: one flush for all of its lanes.
  pair.nic.stop();
  const uint64_t before = pair.near.model().statistics().operations;
  pair.running();
  CHECK_NOTHROW(xio::simt::launch(Grid::of_waves(1, 1, 8), [&] {
    Sends<TestType, Sharing::wave, Late> own(handle);
    const uint32_t at = 4096 + 64 * xio::arch::lane();
    EXPECT_OK(own.wait(get(own, at), soon()));
    EXPECT(pair.near_bytes[at] == 0x22);
  }));
  pair.nic.stop();
  CHECK(pair.near.model().statistics().operations == before + 8 + 1);
  CHECK(pair.violations() == "");
}

TEMPLATE_LIST_TEST_CASE("put: a call is to be measured -> its steps are counted", "[H30]", Vendors) {
  RdmaRig<TestType> rig;
  Sends<TestType> qp(rig.near.handle());
  using xio::telemetry::Step;
  xio::telemetry::Steps steps;
  const auto measured = xio::Options().measure(steps);
  const auto times = [&](Step step) { return steps.times[static_cast<uint32_t>(step)]; };
  const PausingWave wave([&](uint64_t) { settle(rig.nic); });
  const Token token = qp.put(rig.remote.at(0, 64), rig.local.at(0, 64), soon(), measured);
  CHECK(times(Step::enqueue) == 1);
  CHECK(times(Step::sq_doorbell) == 1);
  CHECK(times(Step::cq_poll) == 0);
  CHECK(qp.wait(token, soon(), measured).is_ok());
  CHECK(times(Step::cq_poll) >= 2);
  const xio::rdma::Piece pieces[] = {{rig.remote.at(0, 8), rig.local.at(0, 8)},
                                     {rig.remote.at(8, 8), rig.local.at(8, 8)}};
  CHECK(qp.submit_batch(Operation::get, pieces, 2, soon(), measured).count == 2);
  CHECK(times(Step::enqueue) == 2);
  CHECK(times(Step::sq_doorbell) == 2);
  // What is not told so is not measured.
  CHECK(rig.put(qp, 0, soon()).submitted());
  CHECK(qp.quiet(soon()).is_ok());
  CHECK(times(Step::enqueue) == 2);
}

TEMPLATE_LIST_TEST_CASE("submit_batch: waves post pieces of all lengths -> they arrive with few completions",
                        "[H7][H23]", Vendors) {
  constexpr uint32_t waves = 3;
  constexpr uint32_t each = 53;
  constexpr uint32_t room = 3072;
  RdmaRig<TestType> rig(TestType::config(), size_t{waves} * each * room);
  for (size_t i = 0; i < rig.near_bytes.size(); ++i) rig.near_bytes[i] = static_cast<unsigned char>(mix(i, 3));
  std::vector<xio::rdma::Piece> pieces;
  for (uint32_t i = 0; i < waves * each; ++i)
    pieces.push_back(
        {rig.remote.at(uint64_t{i} * room, i * 97 % room), rig.local.at(uint64_t{i} * room, i * 97 % room)});
  rig.running();
  CHECK_NOTHROW(xio::simt::launch(Grid::of_waves(waves, 1, 8), [&] {
    Sends<TestType, Sharing::grid, Policy<Deferred<16>>> qp(rig.near.handle());
    uint32_t at = xio::arch::block_index() * each;
    for (const uint32_t count : {13u, 40u}) {
      EXPECT_OK(qp.wait_batch(qp.submit_batch(Operation::put, &pieces[at], count, soon()), soon()));
      at += count;
    }
  }));
  rig.nic.stop();
  for (uint32_t i = 0; i < waves * each; ++i)
    REQUIRE(std::memcmp(&rig.far_bytes[i * room], &rig.near_bytes[i * room], i * 97 % room) == 0);
  CHECK(rig.violations() == "");
  CHECK(rig.near.model().statistics().operations == waves * each);
  // The last piece of a batch has a completion, and one in each quarter of the ring.
  CHECK(rig.near.model().statistics().signaled <= waves * (2 + each / (rig.near.config().sq_units / 4) + 1));
}

// What vendors vary in.

namespace {

template <xio::bnxt::SideTableKind Kind>
struct FixedWith : xio::bnxt::Options {
  static constexpr xio::bnxt::SideTableKind side_table = Kind;
};
struct Version2 : xio::ionic::Options {
  static constexpr xio::ionic::Version version = xio::ionic::Version::v2;
};
using xio::bnxt::SideTableKind;
using xio::emulation::BnxtKit;
using Variants = std::tuple<BnxtKit<FixedWith<SideTableKind::psn8>>, BnxtKit<FixedWith<SideTableKind::psn16>>,
                            BnxtKit<Variable<SideTableKind::msn, true>>, BnxtKit<Variable<SideTableKind::psn16, false>>,
                            xio::emulation::Mlx5Kit<LargeCqes>, Mlx5Keys, xio::emulation::IonicKit<Version2>>;

}  // namespace

TEMPLATE_LIST_TEST_CASE("submit: every variant of tables and sizes and versions -> mixed operations end", "[H7]",
                        Variants) {
  RdmaQueueConfig config = TestType::config();
  // Not a power of two where that may be; a multiple of nothing that an entry takes.
  if constexpr (!TestType::Vendor::power_of_two) config.sq_units = config.side_entries = 119;
  RdmaRig<TestType> rig(config);
  if constexpr (TestType::Vendor::has_side_table) rig.near.send().psn = config.first_psn;
  rig.running();
  Sends<TestType> qp(rig.near.handle());
  auto* const far = reinterpret_cast<uint64_t*>(rig.far_bytes.data());
  far[0] = 0;
  constexpr uint32_t rounds = 200;
  for (uint32_t round = 0; round < rounds; ++round) {
    const uint32_t bytes = 1 + round * 37 % 9000;
    for (uint32_t i = 0; i < bytes; ++i) rig.near_bytes[4096 + i] = static_cast<unsigned char>(mix(i, round));
    // Several pieces of memory make one message; one of them is empty.
    const xio::rdma::Sge pieces[] = {{rig.local.base + 4096, bytes / 2, rig.local.key},
                                     {rig.local.base, 0, rig.local.key},
                                     {rig.local.base + 4096 + bytes / 2, bytes - bytes / 2, rig.local.key}};
    const Token list = qp.submit(rig.signaled(4096), xio::rdma::SgeList{pieces, 3}, soon());
    const Token value = qp.put_value(rig.remote.at(64, 8), round, soon());
    const Token count = qp.fetch_add(rig.remote.at(0, 8), 1, rig.local.at(0, 8), soon());
    REQUIRE(qp.wait(count, soon()).is_ok());
    REQUIRE(qp.wait(list, soon()).is_ok());
    REQUIRE(qp.wait(value, soon()).is_ok());
    CHECK(std::memcmp(rig.far_bytes.data() + 4096, rig.near_bytes.data() + 4096, bytes) == 0);
    CHECK(far[8] == round);
    CHECK(reinterpret_cast<uint64_t*>(rig.near_bytes.data())[0] == round);
  }
  CHECK(far[0] == rounds);
  CHECK(qp.quiet(soon()).is_ok());
  rig.nic.stop();
  CHECK(rig.violations() == "");
}

TEST_CASE("put: BNXT counts packets -> its PSN wraps at 24 bits", "[H7]") {
  RdmaQueueConfig config = Bnxt::config();
  config.first_psn = 0xfffff0;
  RdmaRig<Bnxt> rig(config);
  rig.running();
  Sends<Bnxt> qp(rig.near.handle());
  const uint32_t mtu = 1u << config.mtu_shift;
  uint32_t packets = 0;
  for (const uint32_t bytes : {0u, 1u, mtu - 1, mtu, mtu + 1, 10 * mtu, 10 * mtu + 1}) {
    REQUIRE(qp.wait(qp.put(rig.remote.at(0, bytes), rig.local.at(0, bytes), soon()), soon()).is_ok());
    packets += bytes == 0 ? 1 : (bytes + mtu - 1) / mtu;
  }
  CHECK(rig.near.send().psn == ((config.first_psn + packets) & 0xffffff));
  CHECK(rig.near.send().msn == 7);
  rig.nic.stop();
  CHECK(rig.violations() == "");
}

namespace {

/// Messages, entries that say nothing and the end of the queue pair, in BNXT's completion queue for receives.
template <Sharing S>
void meet_all_entries() {
  namespace bnxt = xio::bnxt;
  RdmaRig<Bnxt> rig;
  const xio::rdma::ReceiveQueueHandle handle = rig.near.receive_handle();
  auto* const words = static_cast<uint64_t*>(const_cast<void*>(handle.cq.entries));
  const auto put = [&](uint32_t slot, bnxt::CqeType type, uint64_t status, uint64_t bytes) {
    const bool of_receive = type == bnxt::CqeType::responder_rc;
    words[4 * slot] = of_receive ? bytes : handle.cq.cookie;
    words[4 * slot + 1] = handle.cq.cookie;
    words[4 * slot + 3] =
        1 | static_cast<uint64_t>(type) << bnxt::cqe_word::type_shift | status << bnxt::cqe_word::status_shift;
  };
  Receives<Bnxt, S> queue(handle);
  Token tokens[4];
  for (Token& token : tokens) token = queue.post(NoPayload{}, xio::Now{});
  put(0, bnxt::CqeType::responder_rc, static_cast<uint64_t>(bnxt::ResponderStatus::hardware_flush), 0);
  put(1, bnxt::CqeType::responder_rc, 0, 5);
  put(2, static_cast<bnxt::CqeType>(13), 0, 0);
  put(3, bnxt::CqeType::responder_rc, 0, 6);
  CHECK(queue.wait(tokens[0], soon()).bytes == 5);
  CHECK(queue.wait(tokens[1], soon()).bytes == 6);
  CHECK(queue.test(tokens[2]).status == Status::pending);
  put(4, bnxt::CqeType::terminal, 0, 0);
  CHECK(queue.wait(tokens[2], soon()).status == Status::flushed);
  CHECK(queue.wait(tokens[3], soon()).status == Status::flushed);
  CHECK(queue.wait(tokens[1], soon()).status == Status::ok);
  CHECK(handle.state->queue.broken == 0);
}

}  // namespace

TEST_CASE("wait: receives meet entries that say nothing and the end of their queue pair -> they pass and end",
          "[H16]") {
  meet_all_entries<Sharing::thread>();
  meet_all_entries<Sharing::wave>();
  meet_all_entries<Sharing::block>();
  meet_all_entries<Sharing::grid>();
}
