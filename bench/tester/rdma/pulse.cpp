// SPDX-License-Identifier: MIT
#include "tester/rdma/pulse.hpp"

#include <chrono>
#include <cstring>

#include <xio/host/error.hpp>
#include <xio/host/linux/service_thread.hpp>

#include "tester/cli/interrupt.hpp"

namespace tester {

namespace {

constexpr std::chrono::milliseconds between_looks{20};
// A message costs as much as two operations of a software device, which share the processors.
constexpr int looks_per_beat = 10;

void raise(uint32_t& word) { __atomic_store_n(&word, 1u, __ATOMIC_RELEASE); }

}  // namespace

RdmaPulse::RdmaPulse(xio::host::Exchange& exchange, size_t queues)
    : exchange_(exchange), mine_(queues), totals_(queues) {
  thread_ = xio::host::start_service_thread([this] { run(); });
}

RdmaPulse::~RdmaPulse() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    given_up_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void RdmaPulse::finish(const std::vector<RdmaTotals>& mine) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    mine_ = mine;
    finished_ = true;
  }
  changed_.notify_all();
  thread_.join();
  if (!error_.empty()) throw xio::host::Error(error_);
}

void RdmaPulse::run() {
  try {
    while (!swap()) {
      std::unique_lock<std::mutex> lock(mutex_);
      const bool was_finished = finished_;
      for (int look = 0; look < looks_per_beat && finished_ == was_finished; ++look) {
        changed_.wait_for(lock, between_looks, [&] { return given_up_ || finished_ != was_finished; });
        if (given_up_) return;
        // Whatever a side has to say, it says at once, and the other one answers.
        if (exchange_.has_news() || Interrupt::requested()) break;
      }
    }
  } catch (const std::exception& failure) {
    error_ = failure.what();
    raise(abandoned_);
    raise(stop_);
  }
}

/// Exchanges one beat; returns true if both sides have finished.
bool RdmaPulse::swap() {
  if (Interrupt::requested()) raise(stop_);
  bool finished = false;
  const std::string mine = message(finished);
  // Both sides see the same two messages, so both send the same number of beats.
  return take(exchange_.trade(mine)) && finished;
}

std::string RdmaPulse::message(bool& finished) {
  const std::lock_guard<std::mutex> lock(mutex_);
  finished = finished_;
  const Beat beat{finished ? 1u : 0u, Interrupt::requested() ? 1u : 0u};
  std::string text(sizeof beat + mine_.size() * sizeof(RdmaTotals), '\0');
  std::memcpy(&text[0], &beat, sizeof beat);
  std::memcpy(&text[sizeof beat], mine_.data(), mine_.size() * sizeof(RdmaTotals));
  return text;
}

bool RdmaPulse::take(const std::string& theirs) {
  Beat beat{};
  if (theirs.size() != sizeof beat + totals_.size() * sizeof(RdmaTotals))
    throw xio::host::Error("the other side reports a different run; do both sides run the same version?");
  std::memcpy(&beat, theirs.data(), sizeof beat);
  if (beat.stop != 0) {
    peer_interrupted_ = true;
    raise(stop_);
  }
  if (beat.finished == 0) return false;
  // Written once: the kernel may read them concurrently.
  if (__atomic_load_n(&peer_done_, __ATOMIC_RELAXED) == 0) {
    std::memcpy(static_cast<void*>(totals_.data()), theirs.data() + sizeof beat, totals_.size() * sizeof(RdmaTotals));
    raise(peer_done_);
  }
  return true;
}

}  // namespace tester
