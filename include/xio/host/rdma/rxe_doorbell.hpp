// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The doorbell of a soft-RoCE queue pair as a word in memory, for kernels. Empty without the header of
/// libibverbs.

#include <xio/config.hpp>

#if __has_include(<infiniband/verbs.h>)

#include <atomic>
#include <memory>

#include <xio/host/memory/doorbell_proxy.hpp>
#include <xio/host/memory/served_doorbell.hpp>
#include <xio/host/rdma/rxe.hpp>
#include <xio/host/wait.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_rdma
/// @{

/// Which thread makes the system call that kicks a soft-RoCE queue pair.
enum class RungBy {
  caller,  ///< the thread that rings: for kernels compiled for the CPU
  thread   ///< a separate thread that polls the word: for kernels on a GPU, and for foreign code
};

/// Kicks one queue pair whenever a value is stored to a word. Not movable.
///
/// Store the entries, then the producer index of the send ring with release, then the same index to the word with
/// release. The driver ignores the word's value; several consecutive rings may become one kick. With RungBy::caller the
/// store alone has no effect: rdma::QueuePair then calls arch::serve_doorbell(), which returns when the driver has sent
/// what it can send immediately.
///
/// It keeps the queue pair alive, and survives its resets: a kick that the driver rejects is counted and dropped.
class RxeDoorbell {
 public:
  explicit RxeDoorbell(const RxeQueuePair& queue_pair, RungBy by = RungBy::thread,
                       const DoorbellProxy::Options& options = {})
      : kick_(queue_pair.kick()) {
    if (by == RungBy::caller) {
      served_ = std::make_unique<ServedDoorbell>([](void* self) { static_cast<RxeDoorbell*>(self)->kick(); }, this);
      word_ = served_->word();
      return;
    }
    proxy_ = std::make_unique<DoorbellProxy>(
        word_, 1, [this](const DoorbellChange* changes, size_t) { forward(changes->value); }, options);
    proxy_->watch(0);
    // The proxy counts 0 as forwarded, but here 0 can be the first index that is rung.
    __atomic_store_n(word_, primer, __ATOMIC_RELEASE);
    for (Backoff backoff; __atomic_load_n(word_, __ATOMIC_ACQUIRE) == primer;) backoff.pause();
  }
  RxeDoorbell(const RxeDoorbell&) = delete;
  RxeDoorbell& operator=(const RxeDoorbell&) = delete;

  uint32_t* word() { return word_; }
  /// Number of kicks so far.
  uint64_t kicks() const { return kicks_.load(); }
  /// Number of kicks that the driver rejected: the queue pair was not connected.
  uint64_t refused() const { return refused_.load(); }
  /// errno of the last rejected kick; 0 if there was none.
  int last_error() const { return last_error_.load(); }

 private:
  static constexpr uint32_t primer = 0xfffffffe;

  void forward(uint32_t value) {
    if (value != primer) kick();
  }
  void kick() {
    kicks_.fetch_add(1);
    // Returns only when nothing is left to send: one kick can last as long as entries keep arriving.
    const int error = kick_.send();
    if (error == 0) return;
    last_error_.store(error);
    refused_.fetch_add(1);
  }

  RxeKick kick_;
  alignas(64) uint32_t own_ = 0;
  uint32_t* word_ = &own_;
  std::atomic<uint64_t> kicks_{0};
  std::atomic<uint64_t> refused_{0};
  std::atomic<int> last_error_{0};
  std::unique_ptr<ServedDoorbell> served_;
  std::unique_ptr<DoorbellProxy> proxy_;  // the last member, since its thread uses the others
};

/// @}
}  // namespace host

XIO_NAMESPACE_END

#endif
