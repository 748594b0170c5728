// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Waves that wait for each other's operations.

#include <scenarios/kernels/job.hpp>

namespace scenarios {

/// A thread's turns with the same lanes of the wave after its own, whose operation it waits for, and of the wave
/// before, which waits for its own. The last wave is before the first. Each round: begin(), post, exchange(), wait,
/// end().
class Turns {
  static constexpr xio::arch::Scope scope = xio::arch::Scope::agent;

 public:
  XIO_DEVICE Turns(Turn* turns, uint32_t lanes) : turns_(turns), lanes_(lanes), self_(thread_number()) {}

  XIO_DEVICE uint32_t next() const { return (self_ + xio::arch::wave_size()) % lanes_; }
  /// Whether the thread's wave takes completions before it waits for the next one: every second wave does.
  XIO_DEVICE bool drains_first() const { return self_ / xio::arch::wave_size() % 2 == 1; }

  /// Waits until the wave before has compared the previous round's data.
  XIO_DEVICE xio::Status begin(uint32_t round, xio::Deadline limit) const {
    return reached((self_ + lanes_ - xio::arch::wave_size()) % lanes_, uint64_t{2} * round, limit);
  }
  /// Passes on the thread's own operation, and returns that of the next wave.
  XIO_DEVICE xio::Token exchange(uint32_t round, const xio::Token& own, xio::Deadline limit) const {
    xio::arch::store<scope>(&turns_[self_].ticket, own.last);
    xio::arch::publish<scope>(&turns_[self_].step, uint64_t{2} * round + 1);
    xio::Token token;
    token.status = reached(next(), uint64_t{2} * round + 1, limit);
    token.last = xio::arch::load<scope>(&turns_[next()].ticket);
    token.count = token.status.is_ok();
    return token;
  }
  XIO_DEVICE void end(uint32_t round) const { xio::arch::publish<scope>(&turns_[self_].step, uint64_t{2} * round + 2); }

 private:
  XIO_DEVICE xio::Status reached(uint32_t thread, uint64_t step, xio::Deadline limit) const {
    return xio::poll_until([&] { return xio::arch::observe<scope>(&turns_[thread].step) >= step; }, limit);
  }

  Turn* turns_;
  uint32_t lanes_;
  uint32_t self_;
};

/// The first status that is not success.
template <uint32_t N>
XIO_DEVICE xio::Status first_of(const xio::Status (&statuses)[N]) {
  for (const xio::Status& one : statuses)
    if (!one.is_ok()) return one;
  return xio::Status();
}

}  // namespace scenarios
