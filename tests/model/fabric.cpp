// SPDX-License-Identifier: MIT

/// @file
/// @brief NVMe over RDMA under every schedule of one or two waves, a NIC and a target that answers in any order: SENDs
/// and receives that are in use are not overwritten, answers find a receive, every token gets its own answer. Also
/// with commands that fail, and with a target that is lost.

#include "model/explore.hpp"
#include "model/fabric_device.hpp"

namespace {

using namespace model;
using xio::Deferred;
using Mlx5 = xio::emulation::Mlx5Kit<>;
using Rxe = xio::emulation::RxeKit<>;

constexpr uint64_t enough = 3000;

struct Shape {
  FabricSizes sizes;
  uint32_t waves = 2;
  uint32_t each = 1;
  bool weak = false;
  bool fails = false;  ///< reads of odd blocks
  bool lost = false;   ///< the target, at any time
};

/// Each wave submits some reads, one after the other, and waits for them in reverse order.
template <class Kit, class... Tags>
class Reads : public FabricProgram<Kit> {
  using Base = FabricProgram<Kit>;
  using Base::explorer_;

 public:
  Reads(Explorer& explorer, const Shape& shape) : Base(explorer, shape.sizes, shape.waves), shape_(shape) {}
  bool weak() const override { return shape_.weak; }
  /// A wait notes that the queue is broken, and ends in the next round.
  bool unmarked() const override { return shape_.lost; }
  bool like_previous(uint32_t actor) const override { return actor < shape_.waves && !shape_.fails; }

 protected:
  bool may_lose_peer() const override { return shape_.lost; }
  uint16_t status_of(uint64_t block) const override { return shape_.fails && block % 2 == 1 ? 0x281 : 0; }

  void wave(uint32_t number) override {
    typename Base::template Queue<Tags...> queue(this->nvme_handle());
    Token tokens[8];
    uint64_t known = 1;
    for (uint32_t i = 0; i < shape_.each; ++i) {
      explorer_.mark_call(known);
      tokens[i] = this->read(queue, number * shape_.each + i);
      explorer_.require(tokens[i].submitted() || shape_.lost, "a submission was refused");
      known = mix(known, tokens[i].last << 1 | uint64_t{tokens[i].submitted()});
    }
    for (uint32_t i = shape_.each; i-- > 0;) {
      explorer_.mark_call(mix(known, i));
      if (tokens[i].submitted()) look_at_end(queue, tokens[i], number * shape_.each + i);
    }
  }

 private:
  template <class Q>
  void look_at_end(Q& queue, const Token& token, uint64_t block) {
    const Status status = queue.wait(token, this->forever());
    if (this->status_of(block) != 0) {
      explorer_.require(status == Status(Status::read_error, 0x281) || (shape_.lost && !status.is_ok()),
                        "an error did not reach the waiter");
      return;
    }
    explorer_.require(status.is_ok() || shape_.lost, "a wait failed");
    if (!status.is_ok()) return;
    explorer_.require(this->done(block), "a wait ended before its answer");
    uint64_t result = 0;
    const bool known = queue.result(token, result).is_ok();
    explorer_.require(known || shape_.waves * shape_.each > this->slots, "a result is not known any more");
    explorer_.require(!known || result == this->result_of(block), "a token got another's answer");
  }

  std::string verdict() override {
    const QueueState& state = this->memory_.more.state;
    if (state.retired != this->target_.accepted) return "not all answers were taken";
    return state.error_count == 0 ? "" : "errors are counted that somebody was told of";
  }

  const Shape shape_;
};

/// So many states that a minute is enough at night, too.
template <class P>
void run(const char* what, const Shape& shape) {
  say(what);
  explore_with<P>(at_night() ? Limits{1000000, 25000} : Limits{enough, enough / 40}, shape);
}
template <class P>
void run_whole(const char* what, const Shape& shape) {
  say(what);
  explore_whole<P>(enough, shape);
}

}  // namespace

TEMPLATE_TEST_CASE("a wave alone sends more capsules than a ring holds", "[H24]", Mlx5, Rxe) {
  run_whole<Reads<TestType>>("1 wave x 6", {{1, 2, 4}, 1, 6});
  run<Reads<TestType>>("1 wave x 6, late", {{1, 2, 4}, 1, 6, true});
}

TEMPLATE_TEST_CASE("waves share a queue over RDMA", "[H24]", Mlx5, Rxe) {
  run_whole<Reads<TestType>>("2 waves x 1, one in flight", {{1, 2, 4}});
  run<Reads<TestType>>("2 waves x 2, one in flight", {{1, 2, 4}, 2, 2});
  run<Reads<TestType>>("2 waves x 2, late", {{1, 2, 4}, 2, 2, true});
  run<Reads<TestType>>("2 waves x 2, errors", {{1, 2, 4}, 2, 2, false, true});
}

TEMPLATE_TEST_CASE("waves whose target is lost at any time", "", Mlx5, Rxe) {
  run<Reads<TestType>>("1 wave x 3, lost", {{1, 2, 4}, 1, 3, false, false, true});
  run<Reads<TestType>>("2 waves x 1, lost", {{1, 2, 4}, 2, 1, false, false, true});
  run<Reads<TestType>>("2 waves x 2, lost", {{1, 2, 4}, 2, 2, false, false, true});
}

TEST_CASE("waves with two commands over RDMA in flight, answered in any order", "[H24]") {
  run<Reads<Mlx5>>("1 wave x 6, two in flight", {{2, 4, 4}, 1, 6});
  run<Reads<Mlx5>>("2 waves x 1, two in flight", {{2, 4, 4}});
  run<Reads<Mlx5>>("2 waves x 3, two in flight", {{2, 4, 4}, 2, 3});
  run<Reads<Mlx5>>("2 waves x 2, errors", {{2, 4, 4}, 2, 2, false, true});
  run<Reads<Mlx5>>("2 waves x 2, lost", {{2, 4, 4}, 2, 2, false, false, true});
}

TEST_CASE("waves that send over RDMA with few completions, or ring late", "[H24]") {
  run_whole<Reads<Mlx5>>("1 wave x 6, every second one signalled", {{1, 2, 4, 2}, 1, 6});
  run<Reads<Mlx5>>("2 waves x 2, every second one signalled", {{1, 2, 4, 2}, 2, 2});
  run_whole<Reads<Mlx5, Deferred<2>>>("1 wave x 6, deferred", {{1, 2, 4}, 1, 6});
  run<Reads<Mlx5, Deferred<2>>>("2 waves x 2, deferred", {{1, 2, 4}, 2, 2});
}
