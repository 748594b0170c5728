// SPDX-License-Identifier: MIT

/// @file
/// @brief The RDMA queue protocol under every schedule of two or three waves and a NIC, for every vendor: entries,
/// packet and message numbers come in the order of their tickets, doorbells never announce what is not there, every
/// token gets its own completion. Also with stores that are performed late, and beside a wave that stops.

#include "emulation/rdma_vendors.hpp"
#include "model/explore.hpp"
#include "model/rdma_device.hpp"

namespace {

using namespace model;
using rdma_tests::Bnxt;
using rdma_tests::Vendors;
using xio::Deadline;
using xio::Deferred;
using xio::Policy;
using xio::Sharing;
using xio::protocol::draining_bit;
using xio::protocol::published;
using xio::protocol::ringing_bit;
using xio::rdma::QueuePair;
using xio::rdma::Received;
using xio::rdma::ReceiveQueue;

constexpr uint64_t enough = 10000;

struct Shape {
  RdmaSizes sizes;
  uint32_t waves = 2;
  uint32_t each = 1;
  bool weak = false;
  bool stops = false;
};

/// Each wave posts some writes, one after the other, and waits for them in reverse order.
template <class Kit, class Policy = xio::Policy<>>
class Puts : public RdmaProgram<Kit> {
 public:
  Puts(Explorer& explorer, const Shape& shape) : RdmaProgram<Kit>(explorer, shape.sizes, shape.waves), shape_(shape) {}
  bool weak() const override { return shape_.weak; }
  uint32_t victim() const override { return shape_.stops ? 0 : ~0u; }
  bool like_previous(uint32_t actor) const override { return actor < shape_.waves && (actor > 1 || !shape_.stops); }

 protected:
  using Base = RdmaProgram<Kit>;
  using Base::explorer_;
  using Base::memory_;
  using Base::nic_;
  using Base::sizes_;

  void wave(uint32_t number) override {
    QueuePair<typename Kit::Vendor, Sharing::grid, Policy> queue(this->handle());
    const Deadline until{number == victim() || !shape_.stops ? ~uint64_t{0} : 5000};
    Token tokens[4];
    bool in_time[4]{};
    uint64_t known = 1;
    for (uint32_t i = 0; i < shape_.each; ++i) {
      explorer_.mark_call(known);
      tokens[i] = Token::refused(Status::timed_out);
      // Once the deadline has passed, nothing is asked of the queue any more.
      if (xio::arch::clock() != early) continue;
      tokens[i] = this->put(queue, number * 8 + i, until);
      in_time[i] = xio::arch::clock() == early;
      if (!tokens[i].submitted()) {
        explorer_.require(tokens[i].status == Status::timed_out, "refused for another reason than time");
        explorer_.require(blocked(~uint64_t{0}), "refused although there was room, or should have been");
      }
      known = mix(known, tokens[i].last << 2 | uint64_t{tokens[i].submitted()} << 1 | in_time[i]);
    }
    for (uint32_t i = shape_.each; i-- > 0;) {
      // Where it pauses, a wait keeps an earlier value of the producer counter, which it reads again.
      explorer_.mark_call(mix(known, i));
      if (!tokens[i].submitted()) continue;
      const Status status = queue.wait(tokens[i], until);
      if (status == Status::timed_out && shape_.stops) {
        explorer_.require(!in_time[i] || blocked(tokens[i].last),
                          "an operation did not end that nothing stopped was in the way of");
      } else {
        explorer_.require(status.is_ok(), "a wait failed");
        explorer_.require((nic_.seen >> (number * 8 + i) & 1) != 0, "a wait ended before its operation");
      }
    }
  }

  /// Whether the stopped wave is in the way of this ticket: it rings, it drains, or it holds a ticket that is not
  /// linked.
  bool blocked(uint64_t ticket) const {
    if (!shape_.stops) return false;
    if ((memory_.state.tail & ringing_bit) != 0 || (memory_.state.retired & draining_bit) != 0) return true;
    const uint64_t tail = published(memory_.state.tail);
    const uint64_t end = memory_.links[tail % sizes_.sq];
    return ticket >= tail && tail < this->claimed() && end - tail - 1 >= sizes_.depth;
  }
  std::string judge_stopped() override { return memory_.state.broken != 0 ? "a stop broke the queue" : ""; }
  std::string verdict() override {
    if (memory_.state.tail != nic_.accepted << 1) return "not everything was published, or somebody rings for ever";
    if (!shape_.stops && memory_.state.retired != nic_.accepted) return "not all completions were taken";
    return {};
  }

  const Shape shape_;
};

/// Each wave posts some receives, one after the other, and waits for each.
template <class Kit>
class Receives : public RdmaProgram<Kit> {
 public:
  Receives(Explorer& explorer, const Shape& shape)
      : RdmaProgram<Kit>(explorer, shape.sizes, shape.waves), shape_(shape) {}
  bool weak() const override { return shape_.weak; }
  bool like_previous(uint32_t actor) const override { return actor < shape_.waves; }

 protected:
  void wave(uint32_t) override {
    ReceiveQueue<typename Kit::Vendor, Sharing::grid> queue(this->receive_handle());
    for (uint32_t i = 0; i < shape_.each; ++i) {
      this->explorer_.mark_call(mix(1, i));
      const Token token = this->receive(queue, this->forever());
      this->explorer_.require(token.submitted(), "a receive was refused");
      this->explorer_.mark_call(mix(2 + i, token.last));
      const Received received = queue.wait(token, this->forever());
      this->explorer_.require(received.status.is_ok(), "a receive failed");
      this->explorer_.require(received.bytes == token.last + 1, "a receive got another's message");
    }
  }
  std::string verdict() override {
    if (this->nic_.rq_consumed != this->nic_.posted) return "a receive was lost";
    if (this->memory_.receives.queue.retired != this->nic_.posted) return "not all messages were taken";
    return {};
  }

  const Shape shape_;
};

/// One wave posts a write. Before its claim, others may have posted and ended so many operations that the claim word
/// holds the same bits of the ticket again.
template <class Kit>
class Wraps : public RdmaProgram<Kit> {
 public:
  Wraps(Explorer& explorer, const Shape& shape) : RdmaProgram<Kit>(explorer, shape.sizes, 2) {}

 protected:
  using Base = RdmaProgram<Kit>;
  using Base::explorer_;
  using Base::memory_;
  using Base::nic_;

  void wave(uint32_t number) override {
    if (number == 1) {
      if (this->claimed() == 0) others_post();
      return;
    }
    QueuePair<typename Kit::Vendor, Sharing::grid> queue(this->handle());
    const Token token = this->put(queue, 0, this->forever());
    explorer_.require(token.submitted(), "a write was refused");
    explorer_.require(token.last + 1 == nic_.accepted, "a write got a ticket of an earlier lap");
    explorer_.require(queue.wait(token, this->forever()).is_ok(), "a wait failed");
  }

 private:
  void others_post() {
    constexpr uint64_t all = uint64_t{1} << 22;
    nic_.psn = static_cast<uint32_t>(nic_.psn + all) & 0xffffff;
    memory_.send.claims = xio::rdma::SequencedTickets::begin(all, nic_.psn, 0);
    memory_.state.tail = all << 1;
    memory_.state.retired = all;
    for (uint64_t* const count :
         {&nic_.announced, &nic_.executed, &nic_.completed, &nic_.messages, &nic_.reported, &nic_.accepted})
      *count = all;
  }
};

template <class P>
void run(const char* what, const Shape& shape) {
  say(what);
  explore<P>(enough, shape);
}
template <class P>
void run_whole(const char* what, const Shape& shape) {
  say(what);
  explore_whole<P>(enough, shape);
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("puts of waves that share a queue pair", "[H10][H17]", Vendors) {
  const uint32_t depth = TestType::depth(TestType::config()) == TestType::config().sq_units ? 4 : 3;
  run_whole<Puts<TestType>>("2 waves x 2, rings of 4", {{4, 8, depth}, 2, 2});
  run_whole<Puts<TestType>>("2 waves x 2, a ring of 2", {{2, 4, 1}, 2, 2});
  run<Puts<TestType>>("3 waves x 1, rings of 4", {{4, 8, depth}, 3, 1});
  run_whole<Puts<TestType>>("3 waves x 1, a ring of 2", {{2, 4, 1}, 3, 1});
  run_whole<Puts<TestType, Policy<Deferred<2>>>>("deferred, 2 waves x 2", {{4, 8, 2}, 2, 2});
  run_whole<Puts<TestType, Policy<Deferred<2>>>>("deferred, 3 waves x 1, a ring of 2", {{2, 4, 1}, 3, 1});
}

TEMPLATE_LIST_TEST_CASE("puts whose stores are performed late", "[H17]", Vendors) {
  run_whole<Puts<TestType>>("late: 2 waves x 1", {{4, 8, 2}, 2, 1, true});
  run_whole<Puts<TestType>>("late: 2 waves x 2, a ring of 2", {{2, 4, 1}, 2, 2, true});
  run_whole<Puts<TestType>>("late: 3 waves x 1, a ring of 2", {{2, 4, 1}, 3, 1, true});
  run_whole<Puts<TestType, Policy<Deferred<2>>>>("late, deferred: 2 waves x 2", {{4, 8, 2}, 2, 2, true});
  run_whole<Puts<TestType, Policy<Deferred<2>>>>("late, deferred: 3 waves x 1, a ring of 2", {{2, 4, 1}, 3, 1, true});
}

TEMPLATE_LIST_TEST_CASE("puts beside a wave that stops at any step", "", Vendors) {
  run_whole<Puts<TestType>>("stop: 2 waves x 1", {{4, 8, 2}, 2, 1, false, true});
  run_whole<Puts<TestType>>("stop: 2 waves x 2", {{4, 8, 2}, 2, 2, false, true});
  run_whole<Puts<TestType>>("stop: 3 waves x 1, a ring of 2", {{2, 4, 1}, 3, 1, false, true});
}

TEMPLATE_LIST_TEST_CASE("receives of waves that share a queue", "", Vendors) {
  run_whole<Receives<TestType>>("receives: 2 waves x 2, a ring of 2", {{2, 4, 1, 2}, 2, 2});
  run<Receives<TestType>>("receives: 3 waves x 1, rings of 4", {{4, 8, 3, 4}, 3, 1});
  run_whole<Receives<TestType>>("receives, late: 2 waves x 1", {{4, 8, 2, 4}, 2, 1, true});
}

TEST_CASE("two waves that share a queue pair of a small ring: all schedules", "[H10][H17]") {
  explore_all<Puts<Bnxt>>(Shape{{2, 4, 1}, 2, 2});
  explore_all<Puts<Bnxt>>(Shape{{4, 8, 2}, 2, 1, true});
  explore_all<Puts<Bnxt>>(Shape{{2, 4, 1}, 2, 1, false, true});
  explore_all<Receives<Bnxt>>(Shape{{2, 4, 1, 2}, 2, 1});
}

TEST_CASE("a put while the tickets of the claim word wrap", "[H2]") {
  run_whole<Wraps<Bnxt>>("wraps: 1 wave", {{4, 8, 4}, 2, 1});
}
