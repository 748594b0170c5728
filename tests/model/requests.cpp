// SPDX-License-Identifier: MIT

/// @file
/// @brief Reservation requests and the bit that points to them, under every schedule of the waves that make them, of
/// those that claim one ticket, and of time: every claim that fits is served, and in the end there is neither request
/// nor bit. Also beside a wave that stops at any of its steps.

#include <xio/device/rdma/handle.hpp>

#include "model/explore.hpp"

namespace {

using namespace model;
using xio::Sharing;
using xio::arch::Scope;

/// Who takes part, and how many tickets there are.
struct Shape {
  uint32_t depth = 2;
  uint32_t several = 2;  ///< waves that claim the whole depth at once
  uint32_t singles = 1;  ///< waves that claim one ticket by claim_once(), which follow
  uint32_t taken = 1;    ///< tickets that somebody else has, who gives them back at some time
  uint32_t passes = 2;   ///< times that so much time passes that a request is half over
  uint32_t stops = ~0u;  ///< the wave that stops
};

struct Words {
  xio::QueueState state;
  uint64_t claims;
  uint64_t clock;
  uint64_t held;  ///< tickets of the wave that stops
};

/// What claims need of an engine.
template <class Format>
struct Claimant {
  static constexpr Sharing sharing = Sharing::grid;
  using Policy = xio::Policy<>;
  using Tickets = Format;
  Words& words;
  uint32_t most;

  xio::QueueState& state() const { return words.state; }
  uint64_t& claims() const { return words.claims; }
  uint32_t depth() const { return most; }
  static bool is_free(uint64_t) { return true; }
};

template <class Format>
class Requests : public Program {
 public:
  Requests(Explorer& explorer, const Shape& shape) : explorer_(explorer), shape_(shape) {
    words_.claims = Format::after(0, shape.taken, {});
  }
  uint32_t actors() const override { return waves() + 2; }
  void* memory() override { return &words_; }
  size_t memory_bytes() const override { return sizeof words_; }
  const uint64_t* clock() override { return &words_.clock; }
  uint32_t victim() const override { return shape_.stops; }
  bool like_previous(uint32_t actor) const override {
    const bool both = actor < waves() && (actor < shape_.several || actor > shape_.several);
    return both && actor != shape_.stops && actor - 1 != shape_.stops;
  }

  void run(uint32_t actor) override {
    if (actor < shape_.several) return claim_several(actor);
    if (actor < waves()) return claim_one(actor);
    if (actor == waves()) {
      give_back(shape_.taken);
    } else {
      for (uint32_t i = 0; i < shape_.passes; ++i)
        xio::arch::fetch_add<Scope::agent>(&words_.clock, xio::arch::clock_hz / 2000 + 1);
    }
  }

  std::string judge() override {
    if (words_.state.reservation != 0) return "a request was not taken back";
    if ((words_.claims & ~xio::protocol::ticket_bits) != 0) return "the bit of a request stays";
    if (Format::ticket(words_.claims, words_.state.retired) != words_.state.retired) return "tickets were lost";
    return {};
  }

 private:
  using Engine = Claimant<Format>;

  uint32_t waves() const { return shape_.several + shape_.singles; }
  Engine engine() { return {words_, shape_.depth}; }
  static xio::Group<Sharing::grid> group() { return xio::Group<Sharing::grid>(1); }

  /// As a wave that waits for several tickets does (room.hpp).
  void claim_several(uint32_t actor) {
    uint64_t reservation = 0;
    for (;;) {
      explorer_.mark(mix(1, reservation));
      const auto room = xio::protocol::begin_claim(engine());
      const auto claim =
          xio::protocol::claim_now<true>(engine(), group(), room, shape_.depth, shape_.depth, {}, reservation);
      if (claim.count != 0) hold(actor, claim, reservation);
      if (claim.count != 0 || gives_up(actor, shape_.depth)) {
        if (reservation != 0) xio::protocol::reserve(engine(), group(), 0, reservation);
        if (claim.count != 0) release(actor, claim);
        return;
      }
      reservation = xio::protocol::reserve(engine(), group(), shape_.depth, reservation);
      explorer_.mark(mix(2, reservation));
      xio::arch::pause(0);
    }
  }

  void claim_one(uint32_t actor) {
    for (;;) {
      explorer_.mark(3);
      const auto claim = xio::protocol::claim_once(engine(), group(), xio::protocol::begin_claim(engine()), 1, {});
      if (claim.count != 0) {
        hold(actor, claim, 0);
        return release(actor, claim);
      }
      if (gives_up(actor, 1)) return;
      explorer_.mark(4);
      xio::arch::pause(0);
    }
  }

  /// Only if the wave that has stopped has so many tickets that there is no room.
  bool gives_up(uint32_t actor, uint32_t wanted) {
    if (shape_.stops == ~0u || actor == shape_.stops || xio::arch::clock() < late) return false;
    return xio::arch::load<Scope::agent>(&words_.held) + wanted > shape_.depth;
  }

  void hold(uint32_t actor, const xio::protocol::Claim& claim, uint64_t reservation) {
    explorer_.require(claim.first + claim.count - words_.state.retired <= shape_.depth, "more tickets than there are");
    if (actor == shape_.stops) words_.held = claim.count;
    explorer_.mark(mix(5 + claim.count, reservation));
  }
  void release(uint32_t actor, const xio::protocol::Claim& claim) {
    give_back(claim.count);
    if (actor == shape_.stops) words_.held = 0;
  }
  void give_back(uint32_t count) { xio::arch::fetch_add<Scope::agent>(&words_.state.retired, uint64_t{count}); }

  Explorer& explorer_;
  const Shape shape_;
  Words words_{};
};

template <class Format>
void run(const char* what, const Shape& shape) {
  say(what);
  explore_all<Requests<Format>>(shape);
}

}  // namespace

TEMPLATE_TEST_CASE("Reservation requests, their bit and their time: all schedules", "", xio::protocol::PlainTickets,
                   xio::rdma::SequencedTickets) {
  run<TestType>("two that claim all", {2, 2, 0, 1, 4});
  run<TestType>("two that claim all, and a single", {2, 2, 1, 1, 2});
  run<TestType>("one that claims all, and two singles", {3, 1, 2, 1, 2});
}

TEST_CASE("A wave with a reservation request that stops at any step: all schedules") {
  using Plain = xio::protocol::PlainTickets;
  run<Plain>("stop: one that claims all, and two singles", {2, 1, 2, 1, 1, 0});
  run<Plain>("stop: two that claim all", {2, 2, 0, 1, 1, 0});
  run<Plain>("stop: two that claim all, and a single", {2, 2, 1, 1, 1, 0});
  run<Plain>("stop: one that claims all, and a single that stops", {2, 1, 1, 1, 1, 1});
}
