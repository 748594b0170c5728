// SPDX-License-Identifier: MIT

/// @file
/// @brief Calls made of several operations: puts with a signal, invalidation of keys, waits for several tokens, data
/// that is later than its completion.

#include <xio/device/core/deadline.hpp>
#include <xio/device/rdma/receive.hpp>
#include <xio/host/simt/simt.hpp>

#include "emulation/rdma_protocol.hpp"

using namespace rdma_tests;
using xio::rdma::ReceiveQueue;

namespace {

struct WithInvalidate : xio::mlx5::Options {
  static constexpr bool memory_operations = true;
};
using Mlx5Keys = xio::emulation::Mlx5Kit<WithInvalidate>;

/// Vendors, and what one of them offers as an option.
using Full = decltype(std::tuple_cat(Vendors{}, std::tuple<Mlx5Keys>{}));
template <class Kit>
using IfInvalidating = std::conditional_t<Kit::has_local_invalidate, std::tuple<Kit>, std::tuple<>>;
template <class... Kit>
auto invalidating(std::tuple<Kit...>) -> decltype(std::tuple_cat(IfInvalidating<Kit>{}...));
/// Those that invalidate keys of their own memory.
using Invalidating = decltype(invalidating(Full{}));

/// Completions in host memory, data in the GPU's: the device may deliver it later.
using Late = xio::Policy<xio::Placed<xio::Memory::host, xio::Memory::device>>;

xio::rdma::FlushTarget flush_target(const Region& local, const RemoteMemory& remote) {
  return {local.base + local.length - 1, remote.base + remote.length - 1, local.key, remote.rkey};
}

template <class Kit, class Rig>
Token put_signal(QueuePair<typename Kit::Vendor, Sharing::wave, xio::Policy<>>& qp, Rig& rig, uint32_t i) {
  const auto to = rig.remote.at(4096 + 64 * i, 64);
  const auto from = rig.local.at(64 * i, 64);
  const auto signal = rig.remote.at(8 * i, 8);
  if constexpr (Kit::has_inline) {
    return qp.put_signal(to, from, signal, i + 1, soon());
  } else {
    return qp.put_signal(to, from, signal, rig.local.at(8192 + 8 * i, 8), soon());
  }
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("put with signal: who sees the signal sees the data", "", Vendors) {
  RdmaRig<TestType> rig;
  const uint32_t lanes = 8;
  for (uint32_t i = 0; i < 64 * lanes; ++i) rig.near_bytes[i] = static_cast<unsigned char>(i * 7 + 1);
  for (uint64_t i = 0; i < lanes; ++i) {
    const uint64_t value = i + 1;
    std::memcpy(&rig.near_bytes[8192 + 8 * i], &value, 8);
  }
  std::fill(rig.far_bytes.begin(), rig.far_bytes.end(), static_cast<unsigned char>(0));
  rig.running();
  // The first wave puts, the second one is the peer: it waits for the words.
  const auto kernel = [&] {
    const uint32_t lane = xio::arch::lane();
    if (xio::arch::block_index() == 0) {
      QueuePair<typename TestType::Vendor, Sharing::wave, xio::Policy<>> qp(rig.near.handle());
      const Token token = put_signal<TestType>(qp, rig, lane);
      EXPECT(token.submitted());
      EXPECT_OK(qp.wait(token, soon()));
    } else {
      const auto* const word = reinterpret_cast<const uint64_t*>(rig.far_bytes.data()) + lane;
      EXPECT_OK(xio::wait_until(word, lane + 1, soon()));
      EXPECT(std::memcmp(&rig.far_bytes[4096 + 64 * lane], &rig.near_bytes[64 * lane], 64) == 0);
    }
  };
  CHECK_NOTHROW(xio::simt::launch(Grid::of_waves(2, 1, lanes), kernel));
  rig.nic.stop();
  CHECK(rig.violations() == "");
  CHECK(rig.near.model().statistics().operations == 2 * lanes);
  CHECK(rig.near.model().statistics().completions == 1);
}

TEMPLATE_LIST_TEST_CASE("H37 put with signal: what cannot be right is refused whole", "", Vendors) {
  RdmaRig<TestType> rig;
  QueuePair<typename TestType::Vendor, Sharing::thread, xio::Policy<>> qp(rig.near.handle());
  const auto refused = [&](const xio::rdma::RemoteSpan& to, const xio::rdma::RemoteSpan& signal, Status::Code code) {
    const Token token = qp.put_signal(to, rig.local.at(0, 64), signal, rig.local.at(64, 8), soon());
    CHECK_FALSE(token.submitted());
    CHECK(token.status.code == code);
  };
  refused(rig.remote.at(rig.remote.length, 64), rig.remote.at(0, 8), Status::out_of_range);
  refused(rig.remote.at(0, 64), rig.remote.at(rig.remote.length - 4, 8), Status::out_of_range);
  refused(rig.remote.at(0, 64), rig.remote.at(0, 4), Status::invalid_argument);
  refused(rig.remote.at(0, 32), rig.remote.at(0, 8), Status::invalid_argument);
  CHECK(rig.near.state().reserved == 0);
  // No room for the second write: the token says so, and stands for nothing.
  RdmaRig<TestType> narrow;
  narrow.near.limit_depth(Mlx5::config().sq_units / 64);
  QueuePair<typename TestType::Vendor, Sharing::thread, xio::Policy<>> small(narrow.near.handle());
  Token token = small.put(narrow.remote.at(0, 8), narrow.local.at(0, 8), xio::Now{});
  while (token.submitted()) token = small.put(narrow.remote.at(0, 8), narrow.local.at(0, 8), xio::Now{});
  token = small.put_signal(narrow.remote.at(0, 8), narrow.local.at(0, 8), narrow.remote.at(64, 8),
                           narrow.local.at(64, 8), xio::deadline(1_ms));
  CHECK_FALSE(token.submitted());
  CHECK((token.status == Status::timed_out || token.status == Status::out_of_range));
}

TEMPLATE_LIST_TEST_CASE("wait_any answers for the oldest operation, and at once for a refused one", "", Vendors) {
  RdmaRig<TestType> rig;
  rig.running();
  const uint32_t lanes = 32;
  const auto kernel = [&] {
    QueuePair<typename TestType::Vendor, Sharing::grid, xio::Policy<>> qp(rig.near.handle());
    const uint32_t lane = xio::arch::lane();
    const auto put = [&](uint32_t i, uint32_t bytes) {
      const uint64_t at = 64 * (lane * 4 + i);
      return qp.put(rig.remote.at(at, bytes), rig.local.at(at, bytes), soon());
    };
    Token tokens[4] = {put(0, 8), put(1, 16), put(2, 24), Token()};
    std::swap(tokens[0], tokens[2]);
    uint32_t which = 9;
    EXPECT(qp.wait_any(tokens, 0, soon(), which) == Status::invalid_argument);
    EXPECT_OK(qp.wait_any(tokens, 3, soon(), which));
    EXPECT(which == 2);
    tokens[3] = qp.put(rig.remote.at(rig.remote.length, 8), rig.local.at(0, 8), soon());
    EXPECT(qp.wait_any(tokens, 4, soon(), which) == Status::out_of_range);
    EXPECT(which == 3);
    EXPECT_OK(qp.wait_all(tokens, 3, soon()));
  };
  CHECK_NOTHROW(xio::simt::launch(Grid::of_waves(2, 1, lanes), kernel));
  rig.nic.stop();
  CHECK(rig.violations() == "");
}

TEMPLATE_LIST_TEST_CASE("an invalidated key serves no more", "", Invalidating) {
  using Vendor = typename TestType::Vendor;
  RdmaRig<TestType> rig;
  rig.running();
  QueuePair<Vendor, Sharing::thread, xio::Policy<>> qp(rig.near.handle());
  const auto put = [&](uint32_t key) { return qp.put(rig.remote.at(0, 64), {rig.local.base, 64, key}, soon()); };
  xio::rdma::Work unsignaled;
  unsignaled.remote = rig.remote.base;
  unsignaled.rkey = rig.remote.rkey;
  for (uint32_t i = 0; i < 3; ++i) {
    const uint32_t key = rig.fabric.keys().add(rig.near_bytes.data(), 4096);
    const Token before = qp.submit(unsignaled, xio::rdma::OneSge{{rig.local.base, 64, key}}, soon());
    CHECK(qp.invalidate(key, soon()).is_ok());
    CHECK(qp.wait(before, soon()).is_ok());
    CHECK(qp.wait(put(rig.local.key), soon()).is_ok());
    if (i == 2) CHECK_FALSE(qp.wait(put(key), soon()).is_ok());
  }
  rig.nic.stop();
  CHECK(rig.violations() == "");
}

TEMPLATE_LIST_TEST_CASE("a message that invalidates a key of the receiver", "", Full) {
  RdmaRig<TestType> rig;
  rig.running();
  QueuePair<typename TestType::Vendor, Sharing::thread, xio::Policy<>> qp(rig.near.handle());
  ReceiveQueue<typename TestType::Vendor, Sharing::thread, xio::Policy<>> receives(rig.far.receive_handle());
  RemoteMemory granted = rig.remote;
  granted.rkey = rig.fabric.keys().add(rig.far_bytes.data(), rig.far_bytes.size());
  CHECK(qp.wait(qp.put(granted.at(0, 64), rig.local.at(0, 64), soon()), soon()).is_ok());
  const Token receive = receives.post(Region{rig.remote.base, 64, rig.remote.rkey}.at(0, 64), soon());
  CHECK(qp.wait(qp.send_invalidate(rig.local.at(0, 16), granted.rkey, soon()), soon()).is_ok());
  const auto arrived = receives.wait(receive, soon());
  CHECK(arrived.status.is_ok());
  CHECK(arrived.bytes == 16);
  CHECK(arrived.flags == xio::rdma::receive_flag::invalidated);
  CHECK(arrived.immediate == granted.rkey);
  CHECK(qp.wait(qp.put(granted.at(0, 64), rig.local.at(0, 64), soon()), soon()) == Status::access_denied);
  rig.nic.stop();
  CHECK(rig.violations() == "");
}

TEMPLATE_LIST_TEST_CASE("wait for several tokens: the first error in their order", "", Vendors) {
  RdmaRig<TestType> rig;
  rig.near.model().faults().fail(3, RdmaOutcome::remote_access);
  QueuePair<typename TestType::Vendor, Sharing::thread, xio::Policy<>> qp(rig.near.handle());
  Token tokens[6];
  for (uint32_t i = 0; i < 6; ++i) tokens[i] = qp.put(rig.remote.at(0, 64), rig.local.at(0, 64), xio::Now{});
  CHECK(qp.wait_all(tokens, 6, xio::deadline(1_ms)) == Status::timed_out);
  rig.running();
  CHECK(qp.wait_all(tokens, 3, soon()).is_ok());
  CHECK(qp.wait_all(tokens, 6, soon()) == Status::access_denied);
  CHECK(qp.wait_all(tokens, 0, Deadline{0}).is_ok());
}

TEMPLATE_LIST_TEST_CASE("H15 data that is later than its completion: a wait makes it arrive where the policy says so",
                        "", Vendors) {
  using Vendor = typename TestType::Vendor;
  RdmaRig<TestType> rig;
  rig.near.model().faults().hold_inbound(true);
  rig.running();
  auto handle = rig.near.handle();
  QueuePair<Vendor, Sharing::thread, Late> unable(handle);
  CHECK(unable.flush_inbound(soon()) == Status::unsupported);
  CHECK(unable.get(rig.local.at(0, 64), rig.remote.at(0, 64), soon()).submitted());
  CHECK(unable.quiet(soon()) == Status::unsupported);
  CHECK(unable.fence(soon()) == Status::unsupported);
  handle.flush = flush_target(rig.local, rig.remote);
  // A policy that says nothing of it: the completion is there and the data is not.
  QueuePair<Vendor, Sharing::thread, xio::Policy<>> unaware(handle);
  CHECK(unaware.wait(unaware.get(rig.local.at(0, 64), rig.remote.at(0, 64), soon()), soon()).is_ok());
  CHECK(rig.near_bytes[0] == 0x11);
  CHECK(unaware.flush_inbound(soon()).is_ok());
  CHECK(rig.near_bytes[0] == 0x22);
  QueuePair<Vendor, Sharing::thread, Late> qp(handle);
  CHECK(qp.wait(qp.get(rig.local.at(64, 64), rig.remote.at(0, 64), soon()), soon()).is_ok());
  CHECK(rig.near_bytes[64] == 0x22);
  CHECK(qp.get(rig.local.at(128, 64), rig.remote.at(0, 64), soon()).submitted());
  CHECK(qp.quiet(soon()).is_ok());
  CHECK(rig.near_bytes[128] == 0x22);
  CHECK(qp.get(rig.local.at(192, 64), rig.remote.at(0, 64), soon()).submitted());
  CHECK(qp.fence(soon()).is_ok());
  CHECK(rig.near_bytes[192] == 0x22);
  // A wave: one flush for all of its lanes.
  const auto kernel = [&] {
    QueuePair<Vendor, Sharing::wave, Late> own(handle);
    const uint32_t at = 4096 + 64 * xio::arch::lane();
    EXPECT_OK(own.wait(own.get(rig.local.at(at, 64), rig.remote.at(at, 64), soon()), soon()));
    EXPECT(rig.near_bytes[at] == 0x22);
  };
  rig.nic.stop();
  const uint64_t before = rig.near.model().statistics().operations;
  rig.running();
  CHECK_NOTHROW(xio::simt::launch(Grid::of_waves(1, 1, 8), kernel));
  rig.nic.stop();
  CHECK(rig.near.model().statistics().operations == before + 8 + 1);
  CHECK(rig.violations() == "");
}

TEMPLATE_LIST_TEST_CASE("H30 the steps of calls that are to be measured are counted", "", Vendors) {
  RdmaRig<TestType> rig;
  QueuePair<typename TestType::Vendor, Sharing::thread, xio::Policy<>> qp(rig.near.handle());
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
  CHECK(qp.submit_batch(xio::rdma::Operation::get, pieces, 2, soon(), measured).count == 2);
  CHECK(times(Step::enqueue) == 2);
  CHECK(times(Step::sq_doorbell) == 2);
  // What is not told so is not measured.
  CHECK(qp.put(rig.remote.at(0, 64), rig.local.at(0, 64), soon()).submitted());
  CHECK(qp.quiet(soon()).is_ok());
  CHECK(times(Step::enqueue) == 2);
}

namespace {

template <class Kit, Sharing S>
void refuses_pieces() {
  CAPTURE(static_cast<int>(S));
  RdmaRig<Kit> rig;
  QueuePair<typename Kit::Vendor, S, xio::Policy<>> qp(rig.near.handle());
  using xio::rdma::Operation;
  const auto refused = [&](Operation operation, const xio::rdma::Piece& wrong, Status::Code code) {
    xio::rdma::Piece pieces[5];
    for (xio::rdma::Piece& piece : pieces) piece = {rig.remote.at(0, 64), rig.local.at(0, 64)};
    pieces[3] = wrong;
    CHECK(qp.submit_batch(operation, pieces, 5, soon()).status.code == code);
  };
  const uint64_t end = rig.remote.length;
  refused(Operation::put, {rig.remote.at(end - 32, 64), rig.local.at(0, 64)}, Status::out_of_range);
  refused(Operation::get, {rig.remote.at(0, 64), rig.local.at(rig.local.length, 64)}, Status::out_of_range);
  refused(Operation::put, {rig.remote.at(0, 64), rig.local.at(0, 32)}, Status::invalid_argument);
  refused(Operation::send, {rig.remote.at(0, 64), rig.local.at(0, 64)}, Status::invalid_argument);
  CHECK(rig.near.posted() == 0);
  CHECK_FALSE(rig.nic.pass());
}

/// Each wave writes its pieces in batches of different sizes, and reads the last of them back.
template <class Kit, Sharing S, class Policy>
void post_batches(uint32_t waves) {
  CAPTURE(static_cast<int>(S));
  constexpr uint32_t lanes = 8;
  constexpr uint32_t counts[] = {1, 8, 13, 40};
  constexpr uint32_t each = 62;
  constexpr uint32_t room = 3072;
  RdmaRig<Kit> rig(Kit::config(), size_t{3} * (each + 40) * room);
  for (size_t i = 0; i < rig.near_bytes.size(); ++i) rig.near_bytes[i] = static_cast<unsigned char>(mix(i, 3));
  std::vector<xio::rdma::Piece> pieces;
  std::vector<xio::rdma::Piece> back;
  const auto length = [](uint32_t i) { return i * 97 % room; };
  for (uint32_t i = 0; i < waves * each; ++i)
    pieces.push_back({rig.remote.at(uint64_t{i} * room, length(i)), rig.local.at(uint64_t{i} * room, length(i))});
  const auto last = [](uint32_t wave, uint32_t i) { return wave * each + each - 40 + i; };
  const auto back_at = [&](uint32_t wave, uint32_t i) { return (uint64_t{3} * each + wave * 40 + i) * room; };
  for (uint32_t wave = 0; wave < waves; ++wave) {
    for (uint32_t i = 0; i < 40; ++i)
      back.push_back({pieces[last(wave, i)].remote, rig.local.at(back_at(wave, i), length(last(wave, i)))});
  }
  rig.running();
  CHECK_NOTHROW(xio::simt::launch(Grid::of_waves(waves, 1, lanes), [&] {
    QueuePair<typename Kit::Vendor, S, Policy> qp(rig.near.handle());
    const uint32_t wave = xio::arch::block_index();
    uint32_t at = wave * each;
    for (const uint32_t count : counts) {
      const Token token = qp.submit_batch(xio::rdma::Operation::put, &pieces[at], count, soon());
      EXPECT_OK(token.status);
      if (count != 8) EXPECT_OK(qp.wait_batch(token, soon()));
      at += count;
    }
    EXPECT_OK(qp.wait_batch(qp.submit_batch(xio::rdma::Operation::get, &back[wave * 40], 40, soon()), soon()));
  }));
  rig.nic.stop();
  for (uint32_t i = 0; i < waves * each; ++i)
    REQUIRE(std::memcmp(&rig.far_bytes[i * room], &rig.near_bytes[i * room], length(i)) == 0);
  for (uint32_t wave = 0; wave < waves; ++wave) {
    for (uint32_t i = 0; i < 40; ++i) {
      const uint32_t from = last(wave, i);
      REQUIRE(std::memcmp(&rig.near_bytes[back_at(wave, i)], &rig.near_bytes[from * room], length(from)) == 0);
    }
  }
  CHECK(rig.violations() == "");
  CHECK(rig.near.model().statistics().operations == waves * (each + 40));
  // The last piece of a batch has a completion, and one in each quarter of the ring.
  CHECK(rig.near.model().statistics().signaled <= waves * (5 + (each + 40) / (rig.near.config().sq_units / 4) + 1));
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("H37 a batch with a piece that cannot be right is refused whole", "", Vendors) {
  refuses_pieces<TestType, Sharing::thread>();
  refuses_pieces<TestType, Sharing::wave>();
  refuses_pieces<TestType, Sharing::grid>();
}

TEMPLATE_LIST_TEST_CASE("H7 H23 waves post batches of pieces of all lengths", "", Vendors) {
  post_batches<TestType, Sharing::wave, xio::Policy<>>(1);
  post_batches<TestType, Sharing::grid, xio::Policy<>>(3);
  post_batches<TestType, Sharing::grid, xio::Policy<Deferred<16>>>(3);
}
