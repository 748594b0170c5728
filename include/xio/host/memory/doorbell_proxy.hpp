// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A thread that forwards doorbell words in memory, for devices whose registers kernels cannot access.

#include <sys/prctl.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/linux/service_thread.hpp>
#include <xio/host/memory.hpp>
#include <xio/host/wait.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_memory
/// @{

/// A doorbell word that changed.
struct DoorbellChange {
  uint32_t index;  ///< index of the word in the page
  uint32_t value;  ///< its current value
};

/// Polls a page of 32-bit doorbell words and forwards those that changed; one call forwards all changes of one poll.
///
/// A forwarded value is replaced by `taken`, so that ringing the same value again is detected: with shadow doorbells a
/// ring can repeat the last value exactly one lap later. Ringing threads never read the word.
///
/// Only watched words are polled. Doorbell values are absolute (tail or head), so values overwritten before a poll need
/// not be forwarded: one call covers them. A lap cannot be missed, since the device does not pass a tail that was not
/// forwarded. Stores to the words must be atomic; the ringing store must release the data that the device is to read.
///
/// While nothing changes, the thread yields, then sleeps for growing intervals up to `longest_sleep`, which bounds the
/// delay of the first doorbell after an idle period.
class DoorbellProxy {
 public:
  /// Called on the proxy's thread. An exception ends forwarding and is kept for error().
  using Forward = std::function<void(const DoorbellChange* changes, size_t count)>;

  /// Content of a word whose value was forwarded; never a valid doorbell value of any queue.
  static constexpr uint32_t taken = 0xffffffff;

  struct Options {
    std::chrono::microseconds patience{2000};      ///< idle time before the thread begins to sleep
    std::chrono::microseconds longest_sleep{200};  ///< upper bound of one sleep
  };

  /// Counters of the thread's work so far.
  struct Statistics {
    uint64_t words = 0;     ///< changed words forwarded
    uint64_t messages = 0;  ///< calls of the callback
    uint64_t looks = 0;     ///< polls of all watched words
  };

  /// @param words    the page; must outlive the proxy
  /// @param count    number of words
  /// @param forward  receives the changes, in index order
  ///
  /// The initial contents of the words count as forwarded. No word is watched yet.
  DoorbellProxy(uint32_t* words, size_t count, Forward forward) : DoorbellProxy(words, count, std::move(forward), {}) {}
  DoorbellProxy(uint32_t* words, size_t count, Forward forward, const Options& options)
      : words_(words),
        count_(count),
        forward_(std::move(forward)),
        options_(options),
        last_(count),
        watched_((count + 63) / 64) {
    for (size_t i = 0; i < count; ++i) last_[i] = __atomic_load_n(words + i, __ATOMIC_ACQUIRE);
    thread_ = start_service_thread([this] { run(); });
  }

  DoorbellProxy(const DoorbellProxy&) = delete;
  DoorbellProxy& operator=(const DoorbellProxy&) = delete;
  ~DoorbellProxy() { stop(); }

  /// Zeroes word `index` and begins to watch it. Call it before the queue is created: a new queue starts at zero.
  void watch(uint32_t index) {
    const std::lock_guard<std::mutex> lock(mutex_);
    check(index);
    unwatch_locked(index);
    last_[index] = 0;
    __atomic_store_n(words_ + index, 0u, __ATOMIC_RELEASE);
    watched_[index / 64].fetch_or(bit(index));
  }

  /// Stops watching word `index`; nothing is forwarded from it after the return.
  void unwatch(uint32_t index) {
    const std::lock_guard<std::mutex> lock(mutex_);
    check(index);
    unwatch_locked(index);
  }

  /// Ends the thread after one final poll. The destructor calls it too.
  void stop() {
    stopping_.store(true);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (thread_.joinable()) thread_.join();
  }

  Statistics statistics() const {
    Statistics now;
    now.words = words_forwarded_.load(std::memory_order_relaxed);
    now.messages = messages_.load(std::memory_order_relaxed);
    now.looks = looks_.load();
    return now;
  }

  /// Whether the callback has thrown; forwarding has then ended.
  bool failed() const { return failed_.load(); }
  /// Message of the exception that ended forwarding; empty if there was none.
  std::string error() const { return failed() ? error_ : std::string(); }

 private:
  static uint64_t bit(uint32_t index) { return uint64_t{1} << (index % 64); }

  void check(uint32_t index) const {
    if (index >= count_)
      throw Error("DoorbellProxy: word " + std::to_string(index) + " of a page of " + std::to_string(count_) +
                  "; make the page larger or use a lower queue number");
  }

  void unwatch_locked(uint32_t index) {
    if ((watched_[index / 64].fetch_and(~bit(index)) & bit(index)) == 0) return;
    if (!thread_.is_here()) return;  // a copy in a child of fork(): nothing polls there
    // A poll that began before the bit was cleared may still use the word; the second poll from now cannot.
    const uint64_t now = looks_.load();
    Backoff backoff;
    while (!finished_.load() && looks_.load() < now + 2) backoff.pause();
  }

  void run() {
    // The default timer slack would extend short sleeps by 50 microseconds.
    ::prctl(PR_SET_TIMERSLACK, 1000ul, 0ul, 0ul, 0ul);
    std::vector<DoorbellChange> changes;
    changes.reserve(count_);
    Backoff backoff(options_.patience, options_.longest_sleep);
    try {
      for (bool last_look = false; !last_look;) {
        last_look = stopping_.load();
        collect(changes);
        if (!changes.empty()) {
          forward_(changes.data(), changes.size());
          words_forwarded_.fetch_add(changes.size(), std::memory_order_relaxed);
          messages_.fetch_add(1, std::memory_order_relaxed);
          changes.clear();
          backoff.reset();
          looks_.fetch_add(1);
        } else {
          looks_.fetch_add(1);
          if (!last_look) backoff.pause();
        }
      }
    } catch (const std::exception& failure) {
      fail(failure.what());
    } catch (...) {
      fail("the callback threw an exception that is not a std::exception");
    }
    finished_.store(true);
  }

  void collect(std::vector<DoorbellChange>& changes) {
    for (size_t group = 0; group < watched_.size(); ++group) {
      for (uint64_t bits = watched_[group].load(); bits != 0; bits &= bits - 1) {
        const uint32_t index = static_cast<uint32_t>(group * 64) + static_cast<uint32_t>(__builtin_ctzll(bits));
        const uint32_t value = __atomic_load_n(words_ + index, __ATOMIC_ACQUIRE);
        if (value == taken || value == last_[index]) continue;
        uint32_t seen = value;
        if (!__atomic_compare_exchange_n(words_ + index, &seen, taken, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
          continue;  // a newer value; the next poll takes it
        }
        last_[index] = taken;
        changes.push_back({index, value});
      }
    }
  }

  void fail(const char* message) {
    error_ = message;
    failed_.store(true);
  }

  uint32_t* words_;
  size_t count_;
  Forward forward_;
  Options options_;
  std::vector<uint32_t> last_;                  // value of a word when its watch began; then used by the thread only
  std::vector<std::atomic<uint64_t>> watched_;  // one bit for each word
  std::mutex mutex_;                            // serialises watch, unwatch and stop
  std::string error_;                           // written before failed_ is set
  std::atomic<bool> stopping_{false};
  std::atomic<bool> failed_{false};
  std::atomic<bool> finished_{false};
  std::atomic<uint64_t> looks_{0};
  std::atomic<uint64_t> words_forwarded_{0};
  std::atomic<uint64_t> messages_{0};
  ServiceThread thread_;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
