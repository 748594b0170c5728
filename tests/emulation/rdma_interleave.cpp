// SPDX-License-Identifier: MIT

/// @file
/// @brief Other waves that come between any two accesses of a call: what a call answers was decided before its acquire.

#include "emulation/rdma_protocol.hpp"

#if !XIO_INTERLEAVE || !XIO_COUNT_OPERATIONS
#error "this test needs XIO_INTERLEAVE=1 and XIO_COUNT_OPERATIONS=1"
#endif

using namespace rdma_tests;

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
  Sends<Kit, S> qp(rig.near.handle());
  Sends<Kit, S> others(rig.near.handle());
  Token token;
  const auto begin = [&] {
    token = rig.put(qp);
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
  Sends<Kit> qp(rig.near.handle());
  Receives<Kit, S> receives(rig.far.receive_handle());
  Receives<Kit, S> others(rig.far.receive_handle());
  Token token;
  Token later;
  const auto begin = [&] {
    token = receives.post(rig.far_local.at(0, 64), xio::Now{});
    later = receives.post(rig.far_local.at(0, 64), xio::Now{});
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

TEMPLATE_LIST_TEST_CASE("wait: another wave takes the completion between any two accesses -> ok only behind an acquire",
                        "[H27]", Vendors) {
  interrupt_sends<TestType, Sharing::grid>();
  interrupt_sends<TestType, Sharing::block>();
  interrupt_receives<TestType, Sharing::grid>();
  interrupt_receives<TestType, Sharing::block>();
}
