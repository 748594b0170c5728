// SPDX-License-Identifier: MIT
#include "tester/rdma/pulse.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstring>

#include <xio/host/error.hpp>
#include <xio/host/linux/service_thread.hpp>

#include "tester/cli/interrupt.hpp"

namespace tester {

namespace {

constexpr int between_beats_ms = 1000;

void raise(uint32_t& word) { __atomic_store_n(&word, 1u, __ATOMIC_RELEASE); }

}  // namespace

RdmaPulse::RdmaPulse(xio::host::Exchange& exchange, size_t queues)
    : exchange_(exchange), wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "eventfd"), mine_(queues), totals_(queues) {
  thread_ = xio::host::start_service_thread([this] { run(); });
}

RdmaPulse::~RdmaPulse() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    given_up_ = true;
  }
  wake();
  thread_.join();
}

void RdmaPulse::finish(const std::vector<RdmaTotals>& mine) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    mine_ = mine;
    finished_ = true;
  }
  wake();
  thread_.join();
  if (!error_.empty()) throw xio::host::Error(error_);
}

void RdmaPulse::wait_for_peer() {
  const auto is_set = [](const uint32_t& word) { return __atomic_load_n(&word, __ATOMIC_ACQUIRE) != 0; };
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return is_set(peer_done_) || is_set(abandoned_); });
}

void RdmaPulse::run() {
  // The kernel finds a descriptor at less cost if no other thread has the same table of them: the system calls that
  // ring doorbells are the other threads'. Where this is refused, they take longer.
  [[maybe_unused]] const int refused = ::unshare(CLONE_FILES);
  try {
    while (!swap()) {
      wait_for_news();
      const std::lock_guard<std::mutex> lock(mutex_);
      if (given_up_) return;
    }
  } catch (const std::exception& failure) {
    error_ = failure.what();
    tell(abandoned_);
    raise(stop_);
  }
}

/// Waits until either side has something to say, or for a beat. Nobody is woken in vain: on a machine with few
/// processors that would be part of what is measured.
void RdmaPulse::wait_for_news() {
  // A request to stop remains readable.
  pollfd entries[] = {{exchange_.descriptor(), POLLIN, 0},
                      {wake_.get(), POLLIN, 0},
                      {interrupted_ ? -1 : Interrupt::descriptor(), POLLIN, 0}};
  ::poll(entries, 3, between_beats_ms);
  uint64_t times = 0;
  [[maybe_unused]] const ssize_t taken = ::read(wake_.get(), &times, sizeof times);
}

void RdmaPulse::wake() const {
  const uint64_t one = 1;
  // Fails only if the event is already there.
  [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
}

/// Sets peer_done_ or abandoned_.
void RdmaPulse::tell(uint32_t& word) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    raise(word);
  }
  changed_.notify_all();
}

/// Exchanges one beat; returns true if both sides have finished.
bool RdmaPulse::swap() {
  interrupted_ = Interrupt::requested();
  if (interrupted_) raise(stop_);
  bool finished = false;
  const std::string mine = message(finished);
  // Both sides see the same two messages, so both send the same number of beats.
  return take(exchange_.trade(mine)) && finished;
}

std::string RdmaPulse::message(bool& finished) {
  const std::lock_guard<std::mutex> lock(mutex_);
  finished = finished_;
  const Beat beat{finished ? 1u : 0u, interrupted_ ? 1u : 0u};
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
    tell(peer_done_);
  }
  return true;
}

}  // namespace tester
