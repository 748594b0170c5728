// SPDX-License-Identifier: MIT

/// @file
/// @brief The queue protocol under every schedule of two or three waves and a device: no entry is lost, no identifier
/// used twice, doorbells only go forward and never ahead of the entries, completions are taken once, refusals leave no
/// trace.

#include "model/device.hpp"
#include "model/explore.hpp"

namespace {

using namespace model;
using xio::Deferred;
using xio::Policy;
using xio::Sharing;
using xio::nvme::Queue;

constexpr uint64_t enough = 60000;

/// Each wave submits some reads, one after the other, and waits for them in reverse order.
template <class Policy, class Doorbell = xio::MmioDoorbell>
class SubmitAndWait : public QueueProgram {
 public:
  SubmitAndWait(Explorer& explorer, const Sizes& sizes, uint32_t waves, uint32_t each, bool shadow = false)
      : QueueProgram(explorer, sizes, waves), each_(each) {
    shadow_ = shadow;
  }
  bool like_previous(uint32_t actor) const override { return actor < waves_; }

 protected:
  void wave(uint32_t number) override {
    Queue<Sharing::grid, xio::Policy<Policy, xio::RingBy<Doorbell>>> queue(handle());
    Token tokens[4];
    uint64_t known = 1;
    for (uint32_t i = 0; i < each_; ++i) {
      explorer_.mark_call(known);
      tokens[i] = read(queue, number * each_ + i, forever());
      explorer_.require(tokens[i].submitted(), "a submission was refused");
      known = mix(known, tokens[i].last);
    }
    for (uint32_t i = each_; i-- > 0;) {
      explorer_.mark_call(mix(known, i));
      explorer_.require(queue.wait(tokens[i], forever()).is_ok(), "a wait failed");
      uint64_t result = 0;
      explorer_.require(queue.result(tokens[i], result).is_ok(), "a result is not known any more");
      explorer_.require(result == (number * each_ + i) * 1000 + 7, "a token got another's completion");
    }
  }
  std::string verdict() override {
    const QueueState& state = memory_.state;
    if (state.retired != device_.accepted) return "not all completions were taken";
    if (state.tail != device_.accepted << 1) return "not everything was published, or somebody rings for ever";
    if (state.error_count != 0) return "errors were counted";
    if (Policy::ringing == xio::Ringing::deferred && state.rung != device_.accepted)
      return "not everything was announced";
    if (memory_.sq_doorbell != device_.accepted % sizes_.sq && !shadow_)
      return "the last doorbell is not the last entry's";
    return {};
  }

  const uint32_t each_;
};

}  // namespace

TEMPLATE_TEST_CASE("two waves, two operations each, on rings that both fill", "[H10][H17]", xio::Policy<>,
                   Policy<Deferred<2>>, Policy<Deferred<100>>) {
  explore_whole<SubmitAndWait<TestType>>(enough, Sizes{4, 8, 4, 2}, 2u, 2u);
  explore_whole<SubmitAndWait<TestType>>(enough, Sizes{2, 4, 4, 1}, 2u, 2u);
  explore<SubmitAndWait<TestType>>(enough, Sizes{4, 8, 8, 3}, 2u, 2u);
}

TEST_CASE("two waves on small rings: all schedules", "[H10][H17]") {
  explore_all<SubmitAndWait<xio::Policy<>>>(Sizes{2, 4, 4, 1}, 2u, 1u);
  explore_all<SubmitAndWait<xio::Policy<>>>(Sizes{4, 8, 4, 2}, 2u, 1u);
  explore_all<SubmitAndWait<Policy<Deferred<2>>>>(Sizes{2, 4, 4, 1}, 2u, 1u);
  explore_all<SubmitAndWait<xio::Policy<>>>(Sizes{2, 4, 4, 1}, 2u, 2u);
}

TEMPLATE_TEST_CASE("three waves, one operation each", "[H10][H17]", xio::Policy<>, Policy<Deferred<2>>) {
  explore_whole<SubmitAndWait<TestType>>(enough / 4, Sizes{2, 4, 4, 1}, 3u, 1u);
  explore<SubmitAndWait<TestType>>(enough / 4, Sizes{4, 4, 4, 2}, 3u, 1u);
  explore<SubmitAndWait<TestType>>(enough / 4, Sizes{4, 4, 8, 3}, 3u, 1u);
}

TEST_CASE("shadow doorbells: no kick is lost between a device that falls asleep and two waves", "[H34]") {
  using P = SubmitAndWait<xio::Policy<>, xio::ShadowDoorbell>;
  explore<P>(enough, Sizes{4, 8, 4, 2}, 2u, 2u, true);
  explore<P>(enough, Sizes{4, 8, 8, 3}, 2u, 1u, true);
  explore<SubmitAndWait<Policy<Deferred<2>>, xio::ShadowDoorbell>>(enough / 4, Sizes{4, 8, 4, 2}, 2u, 2u, true);
}
