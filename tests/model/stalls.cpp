// SPDX-License-Identifier: MIT

/// @file
/// @brief Shared queues under every schedule of stores that are performed late, and beside a wave that stops at any of
/// its steps: nobody waits for it but who stands behind it, no queue breaks, and all is well when it goes on.

#include "model/device.hpp"
#include "model/explore.hpp"

namespace {

using namespace model;
using xio::Deadline;
using xio::Deferred;
using xio::MmioDoorbell;
using xio::Policy;
using xio::Sharing;
using xio::nvme::Queue;
using xio::protocol::owed_bit;
using xio::protocol::published;
using xio::protocol::ringing_bit;

constexpr uint64_t enough = 20000;

/// Hands ringing on as soon as somebody else has published.
struct Impatient : xio::Policy<> {
  static constexpr uint32_t most_doorbells = 1;
};

struct Shape {
  Sizes sizes;
  uint32_t waves = 2;
  uint32_t each = 1;
  bool weak = false;
  bool stops = false;
  bool waits = true;  ///< else: submits, flushes and leaves
  bool shadow = false;
  uint32_t batch = 1;   ///< entries of the first wave's claims
  uint64_t start = 0;   ///< of all counters
  bool any = false;     ///< waits by wait_any()
  bool drains = false;  ///< waits by drain() and ended() alone
};

/// Fails where a doorbell is given the value that it has: a controller answers that with an error.
struct CheckedDoorbell : MmioDoorbell {
  static inline Explorer* explorer;
  static inline uint64_t* last;
  static inline uint32_t* sq;
  static void ring(const xio::DoorbellTarget& target, uint32_t value) {
    if (target.word == sq) {
      explorer->require(*last != value, "a doorbell was rung for nothing");
      *last = value;
    }
    MmioDoorbell::ring(target, value);
  }
};

template <class Policy, class Doorbell = CheckedDoorbell>
class Stalls : public QueueProgram {
 public:
  Stalls(Explorer& explorer, const Shape& shape) : QueueProgram(explorer, shape.sizes, shape.waves), shape_(shape) {
    shadow_ = shape.shadow;
    for (auto& p : pieces_) p = {0, 0x1000, 1};
    CheckedDoorbell::explorer = &explorer;
    CheckedDoorbell::last = &memory_.word[3];
    CheckedDoorbell::sq = &memory_.sq_doorbell;
  }
  bool weak() const override { return shape_.weak; }
  uint32_t victim() const override { return shape_.stops ? 0 : ~0u; }
  bool like_previous(uint32_t actor) const override {
    return actor < shape_.waves && (actor > 1 || !(shape_.stops || shape_.batch > 1));
  }

 protected:
  void wave(uint32_t number) override {
    Queue<Sharing::grid, xio::Policy<Policy, xio::RingBy<Doorbell>>> queue(handle());
    const Deadline until{number == victim() || !shape_.stops ? ~uint64_t{0} : 5000};
    Token tokens[4];
    bool in_time[4]{};
    uint64_t known = 1;
    for (uint32_t i = 0; i < shape_.each; ++i) {
      begin(known, number);
      tokens[i] = Token::refused(Status::timed_out);
      // Once the deadline has passed, nothing is asked of the queue any more.
      if (xio::arch::clock() != early) continue;
      const uint32_t block = number * 8 + i * 4;
      if (number == 0 && shape_.batch > 1) {
        xio::nvme::Piece pieces[4];
        for (uint32_t k = 0; k < shape_.batch; ++k) pieces[k] = {block + k, 0x1000, 1};
        tokens[i] = queue.submit_batch(xio::nvme::Opcode::read, pieces, shape_.batch, until);
        device_.accepted += tokens[i].count;
      } else {
        tokens[i] = submit(queue, block, until);
      }
      in_time[i] = xio::arch::clock() == early;
      if (!tokens[i].submitted()) {
        explorer_.require(tokens[i].status == Status::timed_out, "refused for another reason than time");
        explorer_.require(blocked(~uint64_t{0}), "refused although there was room, or should have been");
      }
      known = mix(known, tokens[i].last << 2 | uint64_t{tokens[i].submitted()} << 1 | in_time[i]);
    }
    explorer_.mark(mix(known, 100));
    if (!shape_.waits) queue.ring();
    for (uint32_t i = shape_.each; shape_.waits && i-- > 0;) {
      begin(mix(known, i), number);
      if (!tokens[i].submitted()) continue;
      uint32_t which = 0;
      const Status status = Policy::notifications ? wait_count(queue, until)
                            : shape_.drains       ? drain_until_ended(queue, tokens[i])
                            : shape_.any          ? queue.wait_any(&tokens[i], 1, until, which)
                                                  : queue.wait(tokens[i], until);
      if (status == Status::timed_out && shape_.stops) {
        explorer_.require(!in_time[i] || blocked(tokens[i].last),
                          "an operation did not end that nothing stopped was in the way of");
      } else {
        explorer_.require(status.is_ok(), "a wait failed");
      }
    }
  }

  /// Reads; under a policy with notifications, all reads are counted together.
  template <class Q>
  Token submit(Q& queue, uint32_t block, Deadline until) {
    if constexpr (Policy::notifications) {
      const Token token = queue.submit(xio::nvme::read(block, 1), xio::nvme::DataPointer{uint64_t{block} << 12}, until,
                                       xio::Options().notify(memory_.notification));
      device_.accepted += token.count;
      return token;
    } else {
      return read(queue, block, until);
    }
  }

  /// Waits for as many as this wave has submitted, and knows the end of none.
  template <class Q>
  Status wait_count(Q& queue, Deadline until) {
    if constexpr (Policy::notifications) return queue.wait_count(memory_.notification, shape_.each, until);
    return Status::unsupported;
  }

  /// Waits as one that is told otherwise of the end, and takes completions meanwhile.
  template <class Q>
  Status drain_until_ended(Q& queue, const Token& token) {
    for (;;) {
      explorer_.mark(mix(200, token.last));
      if (queue.ended(token)) break;
      const bool late_now = shape_.stops && xio::arch::clock() != early;
      queue.ring();
      queue.drain();
      if (late_now && !queue.ended(token)) return Status::timed_out;
      xio::arch::pause(0);
    }
    return queue.test(token);
  }

  /// A call on a wave's queue begins. That of a batch keeps what it has reserved, and how many of it have ended.
  void begin(uint64_t known, uint32_t number) {
    if (number == 0 && shape_.batch > 1) {
      explorer_.mark(known);
    } else {
      explorer_.mark_call(known);
    }
  }

  /// Whether what is stopped stands before this ticket: it rings, it drains, or it holds a ticket that is not linked.
  bool blocked(uint64_t ticket) const {
    const QueueState& state = memory_.state;
    if (!shape_.stops) return false;
    if ((state.tail & ringing_bit) != 0 || (state.retired & xio::protocol::draining_bit) != 0) return true;
    const uint64_t tail = published(state.tail);
    const uint64_t end = memory_.links[tail % sizes_.sq];
    return ticket >= tail && tail < xio::protocol::tickets(state.reserved) && end - tail - 1 >= sizes_.depth;
  }

  std::string judge_stopped() override {
    const QueueState& state = memory_.state;
    if (state.broken != 0) return "a stop broke the queue";
    if ((state.tail & (ringing_bit | owed_bit)) != 0) return {};
    if (Policy::ringing != xio::Ringing::deferred && !shadow_ && shape_.waits &&
        memory_.sq_doorbell != published(state.tail) % sizes_.sq)
      return "something is published, nobody rings, and it is not announced";
    return {};
  }

  std::string verdict() override {
    if (memory_.sq_doorbell != device_.accepted % sizes_.sq && !shadow_)
      return "the last doorbell is not the last entry's";
    return {};
  }

  const Shape shape_;
  xio::nvme::Piece pieces_[4];
};

template <class P>
void run(const char* what, Shape shape) {
  say(what);
  explore<P>(enough, shape);
}
template <class P>
void run_whole(const char* what, Shape shape) {
  say(what);
  explore_whole<P>(enough, shape);
}

}  // namespace

TEMPLATE_TEST_CASE("Stores that are performed late", "", xio::Policy<>, Impatient, Policy<Deferred<2>>) {
  using P = Stalls<TestType>;
  run_whole<P>("2 waves x 1, submit and leave", {{4, 8, 4, 2}, 2, 1, true, false, false});
  run_whole<P>("2 waves x 1, wait", {{4, 8, 4, 2}, 2, 1, true});
  run_whole<P>("3 waves x 1, submit and leave", {{4, 8, 8, 3}, 3, 1, true, false, false});
  run_whole<P>("3 waves x 1, ring of 2", {{2, 4, 4, 1}, 3, 1, true});
  run_whole<P>("2 waves x 2, submit and leave", {{8, 8, 8, 4}, 2, 2, true, false, false});
  run_whole<P>("2 waves x 2, ring of 2", {{2, 4, 4, 1}, 2, 2, true});
  run_whole<P>("2 waves x 2, ring of 4, depth 3", {{4, 8, 8, 3}, 2, 2, true});
  run_whole<P>("a batch of 2 and a single, ring of 4", {{4, 8, 8, 3}, 2, 1, true, false, true, false, 2});
  run<P>("a batch of 2 x 2 and 2 singles, ring of 4", {{4, 8, 8, 3}, 2, 2, true, false, true, false, 2});
}

TEMPLATE_TEST_CASE("A wave that stops at any step", "", xio::Policy<>, Impatient, Policy<Deferred<2>>) {
  using P = Stalls<TestType>;
  run_whole<P>("stop: 2 waves x 1", {{4, 8, 4, 2}, 2, 1, false, true});
  run<P>("stop: 2 waves x 2, ring of 4", {{4, 8, 4, 2}, 2, 2, false, true});
  run_whole<P>("stop: 2 waves x 2, ring of 2", {{2, 4, 4, 1}, 2, 2, false, true});
  run<P>("stop: 3 waves x 1", {{4, 8, 8, 3}, 3, 1, false, true});
  run_whole<P>("stop: 3 waves x 1, ring of 2", {{2, 4, 4, 1}, 3, 1, false, true});
  run_whole<P>("stop: batch of 2 and a single", {{4, 8, 8, 3}, 2, 1, false, true, true, false, 2});
  run_whole<P>("stop, wait_any: 2 waves x 1", {{4, 8, 4, 2}, 2, 1, false, true, true, false, 1, 0, true});
  run_whole<P>("stop, drain: 2 waves x 1", {{4, 8, 4, 2}, 2, 1, false, true, true, false, 1, 0, false, true});
  run_whole<P>("stop, late stores: 2 waves x 1", {{4, 8, 4, 2}, 2, 1, true, true});
  run<P>("stop, late stores: 3 waves x 1", {{4, 8, 8, 3}, 3, 1, true, true});
}

TEMPLATE_TEST_CASE("A stopped wave before others that wait by count", "", Policy<xio::Notify>,
                   (Policy<Deferred<2>, xio::Notify>)) {
  using P = Stalls<TestType>;
  run_whole<P>("stop, count: 2 waves x 1", {{4, 8, 4, 2}, 2, 1, false, true});
  run_whole<P>("stop, count: 2 waves x 1, ring of 2", {{2, 4, 4, 1}, 2, 1, false, true});
}

TEST_CASE("Two waves with one operation each: all schedules of late stores, and of a stop") {
  using P = Stalls<xio::Policy<>>;
  explore_all<P>(Shape{{4, 8, 4, 2}, 2, 1, true});
  explore_all<P>(Shape{{2, 4, 4, 1}, 2, 1, false, true});
  explore_all<Stalls<Policy<Deferred<2>>>>(Shape{{2, 4, 4, 1}, 2, 1, true});
}
