// SPDX-License-Identifier: MIT

/// @file
/// @brief Other waves that come between any two accesses of a call, and lanes that come in parts: what a call answers
/// was decided before its acquire, and its lanes stay the same from beginning to end.

#include <xio/device/rdma/receive.hpp>

#include "emulation/rdma_protocol.hpp"

#if !XIO_INTERLEAVE || !XIO_COUNT_OPERATIONS
#error "this test needs XIO_INTERLEAVE=1 and XIO_COUNT_OPERATIONS=1"
#endif

using namespace rdma_tests;
using xio::rdma::Received;
using xio::rdma::ReceiveQueue;

namespace {

/// The calling thread as a wave of one lane; before its `when`-th coherent access another wave does something.
class Interrupted final : public xio::arch::WaveOps {
 public:
  Interrupted(uint32_t when, std::function<void()> other) : when_(when), other_(std::move(other)) {
    xio::arch::current_wave = this;
  }
  ~Interrupted() override { xio::arch::current_wave = nullptr; }
  Interrupted(const Interrupted&) = delete;
  Interrupted& operator=(const Interrupted&) = delete;

  uint64_t active(const xio::arch::CallSite&) override { return 1; }
  uint64_t ballot(uint64_t, bool predicate) override { return predicate; }
  uint64_t shuffle(uint64_t, uint64_t value, uint32_t) override { return value; }
  void block_barrier() override {}
  void yield(uint32_t) override {}
  void access(const void*, uint32_t) override {
    if (++accesses_ != when_) return;
    const auto own = xio::arch::operation_counts;
    xio::arch::current_wave = nullptr;
    other_();
    xio::arch::current_wave = this;
    xio::arch::operation_counts = own;
    was_interrupted = true;
    acquires_before = own.acquires;
  }

  bool was_interrupted = false;
  uint64_t acquires_before = 0;

 private:
  uint32_t when_;
  uint32_t accesses_ = 0;
  std::function<void()> other_;
};

/// Calls `call` again and again; each time another wave takes the completion that it is for, one access later. What it
/// then answers with ok it must have acquired behind that.
/// @param begin  posts what `call` is for
/// @param other  what the other wave does
/// @param finish makes the queues idle again
template <class Begin, class Call, class Other, class Finish>
void interrupt_everywhere(Begin begin, Call call, Other other, Finish finish) {
  uint32_t answered = 0;
  uint32_t too_early = 0;
  for (uint32_t when = 1;; ++when) {
    begin();
    bool interrupted = false;
    {
      Interrupted wave(when, other);
      const Status status = call();
      interrupted = wave.was_interrupted;
      if (interrupted && status.is_ok()) {
        ++answered;
        if (xio::arch::operation_counts.acquires == wave.acquires_before) ++too_early;
      }
    }
    finish();
    if (!interrupted) break;
  }
  CHECK(answered > 0);
  CHECK(too_early == 0);
}

template <class Kit, Sharing S>
void interrupt_sends() {
  CAPTURE(static_cast<int>(S));
  RdmaRig<Kit> rig;
  using Pair = QueuePair<typename Kit::Vendor, S, xio::Policy<>>;
  Pair qp(rig.near.handle());
  Pair others(rig.near.handle());
  Token token;
  const auto begin = [&] {
    token = qp.put(rig.remote.at(0, 64), rig.local.at(0, 64), xio::Now{});
    REQUIRE(token.submitted());
  };
  const auto other = [&] {
    settle(rig.nic);
    others.drain();
  };
  const auto finish = [&] {
    settle(rig.nic);
    REQUIRE(qp.wait(token, soon()).is_ok());
  };
  const auto everywhere = [&](auto call) { interrupt_everywhere(begin, call, other, finish); };
  everywhere([&] { return qp.test(token); });
  everywhere([&] { return qp.wait(token, Deadline{0}); });
  everywhere([&] {
    const Token tokens[] = {Token(), token};
    return qp.wait_all(tokens, 2, Deadline{0});
  });
  everywhere([&] { return qp.quiet(Deadline{0}); });
  everywhere([&] { return qp.fence(Deadline{0}); });
  CHECK(rig.violations() == "");
}

template <class Kit, Sharing S>
void interrupt_receives() {
  CAPTURE(static_cast<int>(S));
  RdmaRig<Kit> rig;
  using Receives = ReceiveQueue<typename Kit::Vendor, S, xio::Policy<>>;
  QueuePair<typename Kit::Vendor, Sharing::thread, xio::Policy<>> qp(rig.near.handle());
  Receives receives(rig.far.receive_handle());
  Receives others(rig.far.receive_handle());
  const Region far{rig.remote.base, rig.remote.length, rig.remote.rkey};
  Token token;
  Token later;
  const auto begin = [&] {
    token = receives.post(far.at(0, 64), xio::Now{});
    later = receives.post(far.at(0, 64), xio::Now{});
    REQUIRE(later.submitted());
    REQUIRE(qp.send(rig.local.at(0, 64), xio::Now{}).submitted());
  };
  const auto other = [&] {
    settle(rig.nic);
    others.test(later);
  };
  const auto finish = [&] {
    REQUIRE(qp.send(rig.local.at(0, 64), xio::Now{}).submitted());
    settle(rig.nic);
    REQUIRE(qp.quiet(soon()).is_ok());
    REQUIRE(receives.wait(token, soon()).status.is_ok());
    REQUIRE(receives.wait(later, soon()).status.is_ok());
  };
  const auto everywhere = [&](auto call) { interrupt_everywhere(begin, call, other, finish); };
  everywhere([&] { return receives.test(token).status; });
  everywhere([&] { return receives.wait(token, Deadline{0}).status; });
  CHECK(rig.violations() == "");
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("H27 whoever takes a completion, and when: who answers ok has acquired since", "", Vendors) {
  interrupt_sends<TestType, Sharing::grid>();
  interrupt_sends<TestType, Sharing::block>();
  interrupt_receives<TestType, Sharing::grid>();
  interrupt_receives<TestType, Sharing::block>();
}

namespace {

constexpr uint32_t piece = 64;  // bytes

/// Each lane makes every call that there is, with data of its own.
template <class Kit, Sharing S, class Policy>
void call_everything(RdmaRig<Kit>& rig, const QueuePairHandle& handle, const xio::rdma::ReceiveQueueHandle& receiving) {
  QueuePair<typename Kit::Vendor, S, Policy> qp(handle);
  ReceiveQueue<typename Kit::Vendor, S, Policy> receives(receiving);
  const uint32_t me = xio::arch::block_index() * xio::arch::block_size() + xio::arch::thread_index();
  const uint64_t at = 256 * (1 + uint64_t{me});
  unsigned char* const near = &rig.near_bytes[at];
  unsigned char* const far = &rig.far_bytes[at];
  const Region far_local{rig.remote.base, rig.remote.length, rig.remote.rkey};
  xio::rdma::Work unsignaled;
  unsignaled.remote = rig.remote.base + at;
  unsignaled.rkey = rig.remote.rkey;
  for (uint32_t round = 0; round < 3; ++round) {
    for (uint32_t i = 0; i < piece; ++i) near[i] = static_cast<unsigned char>(mix(me * 100 + round, i));
    EXPECT_OK(qp.wait(qp.put(rig.remote.at(at, piece), rig.local.at(at, piece), soon()), soon()));
    EXPECT(std::memcmp(near, far, piece) == 0);

    // Entries of several sizes in one call.
    const xio::rdma::Sge pieces[] = {{rig.local.base + at, piece / 4, rig.local.key},
                                     {rig.local.base + at + piece / 4, piece / 4, rig.local.key},
                                     {rig.local.base + at + piece / 2, piece / 2, rig.local.key}};
    const uint32_t count = 1 + me % 3;
    const Token list = qp.submit(unsignaled, xio::rdma::SgeList{pieces, count}, soon());
    const Token get = qp.get(rig.local.at(at + piece, piece), rig.remote.at(at, piece), soon());
    const Token tokens[] = {list, get};
    EXPECT_OK(qp.wait_all(tokens, me % 2 + 1, soon()));
    EXPECT_OK(qp.wait(get, soon()));
    EXPECT(std::memcmp(near, near + piece, piece) == 0);

    const Token signal = qp.put_signal(rig.remote.at(at, piece), rig.local.at(at, piece),
                                       rig.remote.at(65536 + 8 * me, 8), rig.local.at(at, 8), soon());
    EXPECT_OK(signal.status);
    qp.ring();
    Status status = Status::pending;
    const auto is_over = [&] {
      const bool over = status != Status::pending;
      // The lanes of a wave's own queue make every call together.
      return S == Sharing::wave ? xio::arch::ballot(in_wave(~uint64_t{0}), !over) == 0 : over;
    };
    for (const Deadline until = soon(); !is_over(); status = qp.test(signal)) {
      EXPECT(!until.passed());
      xio::arch::pause(1);
    }
    EXPECT_OK(status);
    if (round == 1) EXPECT_OK(qp.quiet(soon()));
    if (round == 2) EXPECT_OK(qp.fence(soon()));
    qp.drain();

    // Any lane's message may take this lane's receive.
    const Token receive = receives.post(far_local.at(at + piece, piece), soon());
    EXPECT_OK(receive.status);
    const Token sent = qp.send(rig.local.at(at, piece), soon());
    EXPECT_OK(sent.status);
    qp.ring();
    const Received arrived = receives.wait(receive, soon());
    // What arrived can be another lane's message: this lane's may still be on its way.
    EXPECT_OK(qp.wait(sent, soon()));
    EXPECT_OK(arrived.status);
    EXPECT(arrived.bytes == piece);
    EXPECT(receives.test(receive).bytes == piece);
  }
}

template <class Kit, Sharing S, class Policy>
void call_in_parts(uint32_t waves, uint32_t wave_size, uint64_t seed) {
  CAPTURE(static_cast<int>(S), waves, wave_size, seed);
  // A receive for each lane, whatever the others have done with theirs.
  RdmaQueueConfig config = Kit::config();
  config.rq_entries = 2 * waves * wave_size;
  config.receive_cq_entries = 2 * config.rq_entries;
  RdmaRig<Kit> rig(config);
  rig.running();
  Grid grid = Grid::of_waves(S == Sharing::grid ? waves : 1, S == Sharing::grid ? 1 : waves, wave_size);
  grid.jitter_seed = seed;
  grid.split_groups = true;
  CHECK_NOTHROW(xio::simt::launch(
      grid, [&] { call_everything<Kit, S, Policy>(rig, rig.near.handle(), rig.far.receive_handle()); }));
  rig.nic.stop();
  REQUIRE(rig.violations() == "");
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("H17 H38 lanes that come in parts: each call has one group from beginning to end", "",
                        Vendors) {
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    call_in_parts<TestType, Sharing::grid, xio::Policy<>>(2, 32, seed);
    call_in_parts<TestType, Sharing::grid, Policy<Deferred<3>>>(4, 8, seed);
    call_in_parts<TestType, Sharing::block, xio::Policy<>>(2, 8, seed);
    call_in_parts<TestType, Sharing::wave, xio::Policy<>>(1, 64, seed);
  }
}
