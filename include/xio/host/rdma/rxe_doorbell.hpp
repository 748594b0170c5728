// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The doorbell of a soft-RoCE queue pair as a word in memory, for code that cannot make system calls. Nothing
/// is here without the header of libibverbs.

#include <xio/config.hpp>

#if __has_include(<infiniband/verbs.h>)

#include <atomic>
#include <memory>
#include <string>

#include <xio/host/memory/doorbell_proxy.hpp>
#include <xio/host/rdma/rxe.hpp>
#include <xio/host/wait.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// A thread that kicks one queue pair whenever a value is stored to a word. Not movable.
///
/// Store the entries, then the producer index of the send ring with release, then the same index to the word with
/// release. The value of the word means nothing to the driver; several rings that follow each other become one kick.
///
/// It keeps the queue pair, and survives its resets: a kick that the driver refuses is counted and dropped.
class RxeDoorbell {
 public:
  /// @param word  where to look; null: a word of its own. Outlives this object, and nobody else stores to it yet.
  explicit RxeDoorbell(const RxeQueuePair& queue_pair, uint32_t* word = nullptr,
                       const DoorbellProxy::Options& options = {})
      : kick_(queue_pair.kick()),
        word_(word == nullptr ? &own_ : word),
        proxy_(word_, 1, [this](const DoorbellChange* changes, size_t) { forward(changes->value); }, options) {
    proxy_.watch(0);
    // The proxy begins with 0 as seen, but here 0 can be the first index that is rung.
    __atomic_store_n(word_, primer, __ATOMIC_RELEASE);
    for (Backoff backoff; __atomic_load_n(word_, __ATOMIC_ACQUIRE) == primer;) backoff.pause();
  }
  RxeDoorbell(const RxeDoorbell&) = delete;
  RxeDoorbell& operator=(const RxeDoorbell&) = delete;

  uint32_t* word() { return word_; }
  /// Kicks so far.
  uint64_t kicks() const { return kicks_.load(); }
  /// Kicks that the driver has refused: the queue pair was not connected.
  uint64_t refused() const { return refused_.load(); }
  /// errno of the last refusal; 0 where there was none.
  int last_error() const { return last_error_.load(); }

 private:
  static constexpr uint32_t primer = 0xfffffffe;

  void forward(uint32_t value) {
    if (value == primer) return;
    kicks_.fetch_add(1);
    // Returns only when there is nothing to send: one kick can last as long as entries keep coming.
    const int error = kick_.send();
    if (error == 0) return;
    last_error_.store(error);
    refused_.fetch_add(1);
  }

  RxeKick kick_;
  alignas(64) uint32_t own_ = 0;
  uint32_t* word_;
  std::atomic<uint64_t> kicks_{0};
  std::atomic<uint64_t> refused_{0};
  std::atomic<int> last_error_{0};
  DoorbellProxy proxy_;  // the last: its thread uses the others
};

}  // namespace host

XIO_NAMESPACE_END

#endif
