// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Queues of soft-RoCE, made by verbs and then driven by storing entries. Nothing is here without the header of
/// libibverbs.

#include <xio/config.hpp>

#if __has_include(<infiniband/verbs.h>)

#include <rdma/ib_user_verbs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <xio/host/error.hpp>
#include <xio/host/rdma/device.hpp>
#include <xio/host/rdma/driver.hpp>
#include <xio/host/rdma/queue_pair.hpp>
#include <xio/host/rdma/resources.hpp>
#include <xio/host/rdma/rxe_rings.hpp>
#include <xio/host/wait.hpp>
#include <xio/vendors/rxe/layout.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

namespace detail {

/// The queues of other devices must not even be read: their mappings may be registers.
inline void require_rxe(const RdmaDevice& device) {
  if (rdma_driver(device.name()) != "rdma_rxe")
    throw Error("rxe: " + device.name() +
                " is not a soft-RoCE device; make one: rdma link add rxe0 type rxe netdev eth0");
}

}  // namespace detail

/// Makes the driver look at a send queue. Copyable; keeps the queue pair.
///
/// Receives need nothing of the kind: the driver finds them when a packet comes.
class RxeKick {
 public:
  explicit RxeKick(std::shared_ptr<ibv_qp> qp) : qp_(std::move(qp)) {}

  /// Sends what the send queue's entries ask for, as far as it goes at once; the driver does the rest by itself. The
  /// work is done in this call, which can last as long as entries keep coming.
  ///
  /// Returns 0 or an errno: EINVAL where the queue pair has not been connected. Usable from several threads at once.
  int send() const {
    // A request to post nothing: the entries are in the ring already.
    uint32_t response = 0;
    Command words{};
    words.command = IB_USER_VERBS_CMD_POST_SEND;
    words.in_words = sizeof words / 4;
    words.out_words = sizeof response / 4;
    words.response = reinterpret_cast<uintptr_t>(&response);
    words.qp_handle = qp_->handle;
    words.wqe_bytes = sizeof(ib_uverbs_send_wr);
    for (;;) {
      const ssize_t written = ::write(qp_->context->cmd_fd, &words, sizeof words);
      if (written == static_cast<ssize_t>(sizeof words)) return 0;
      if (written >= 0) return EIO;
      if (errno != EINTR) return errno;
    }
  }

 private:
  /// ib_uverbs_cmd_hdr and ib_uverbs_post_send.
  struct Command {
    uint32_t command;
    uint16_t in_words;
    uint16_t out_words;
    uint64_t response;
    uint32_t qp_handle;
    uint32_t entries;
    uint32_t pointers;
    uint32_t wqe_bytes;
  };
  static_assert(sizeof(Command) == sizeof(ib_uverbs_cmd_hdr) + sizeof(ib_uverbs_post_send), "as in ib_user_verbs.h");

  std::shared_ptr<ibv_qp> qp_;
};

/// A completion queue and its ring. The driver drops completions, and says "CQ error" as an event, where the ring is
/// full: store the consumer index often enough. No call is needed for it.
class RxeCompletionQueue {
 public:
  /// @param entries  at least so many
  RxeCompletionQueue(const RdmaDevice& device, uint32_t entries) : RxeCompletionQueue(make(device, entries)) {}

  const CompletionQueue& verbs_queue() const { return queue_; }
  /// Entries are rxe::Cqe, and a multiple of a cache line apart.
  const RxeRing& ring() const { return ring_; }

 private:
  using Made = std::pair<CompletionQueue, std::vector<DeviceMapping>>;

  static Made make(const RdmaDevice& device, uint32_t entries) {
    detail::require_rxe(device);
    return detail::with_new_mappings(device.context()->cmd_fd, 1, "a completion queue",
                                     [&] { return CompletionQueue(device, entries); });
  }
  explicit RxeCompletionQueue(Made made)
      : queue_(std::move(made.first)), ring_(check_ring(made.second[0], sizeof(rxe::Cqe), "completion queue")) {}

  CompletionQueue queue_;
  RxeRing ring_;
};

/// A queue pair and its rings. Movable.
///
/// The indices of the rings survive reset(): whoever stores entries goes on where the producer index is.
class RxeQueuePair {
 public:
  RxeQueuePair(const RdmaDevice& device, const ProtectionDomain& domain, const RxeCompletionQueue& send_cq,
               const RxeCompletionQueue& receive_cq, const QueuePairOptions& options = {})
      : RxeQueuePair(make(device, domain, send_cq, receive_cq, options), options) {}

  VerbsQueuePair& verbs_queue() { return queue_; }
  const VerbsQueuePair& verbs_queue() const { return queue_; }
  /// Entries are rxe::SendWqe, with pointers or inline bytes behind.
  const RxeRing& send_ring() const { return send_ring_; }
  /// Entries are rxe::ReceiveWqe, with pointers behind. Storing the producer index posts them.
  const RxeRing& receive_ring() const { return receive_ring_; }
  /// Makes the driver take what lies in the send ring.
  RxeKick kick() const { return RxeKick(queue_.shared()); }

  /// Ends what is outstanding, waits until the driver has given all of it back, and resets. Then connect again. Each
  /// entry writes a completion, of status "flushed" unless it was done: have room for them. A reset alone would drop
  /// the entries without a completion.
  void recover(std::chrono::milliseconds limit) {
    // Needed in the error state too: what was stored since is not looked at by itself.
    queue_.fail();
    const Timeout deadline(limit);
    for (Backoff backoff; send_ring_.used() != 0 || receive_ring_.used() != 0; backoff.pause()) {
      if (deadline.passed())
        throw Error("rxe: queue pair " + std::to_string(queue_.qpn()) + " still holds " +
                    std::to_string(send_ring_.used()) + " operations and " + std::to_string(receive_ring_.used()) +
                    " receives after " + deadline.text() + "; make a new one");
    }
    queue_.reset();
  }

 private:
  using Made = std::pair<VerbsQueuePair, std::vector<DeviceMapping>>;

  static Made make(const RdmaDevice& device, const ProtectionDomain& domain, const RxeCompletionQueue& send_cq,
                   const RxeCompletionQueue& receive_cq, const QueuePairOptions& options) {
    detail::require_rxe(device);
    return detail::with_new_mappings(device.context()->cmd_fd, 2, "a queue pair", [&] {
      return VerbsQueuePair(device, domain, send_cq.verbs_queue(), receive_cq.verbs_queue(), options);
    });
  }
  /// The driver makes the send queue first: its offset in the device file is the lower one.
  RxeQueuePair(Made made, const QueuePairOptions& options)
      : queue_(std::move(made.first)),
        send_ring_(check_ring(made.second[0], send_entry_bytes(options), "send queue")),
        receive_ring_(check_ring(made.second[1], sizeof(rxe::ReceiveWqe) + options.receive_sges * sizeof(rxe::Sge),
                                 "receive queue")) {
    if (send_ring_.capacity() < options.send_entries || receive_ring_.capacity() < options.receive_entries)
      throw Error("rxe: the rings of queue pair " + std::to_string(queue_.qpn()) + " hold " +
                  std::to_string(send_ring_.capacity()) + " and " + std::to_string(receive_ring_.capacity()) +
                  " entries; they are not what was asked for");
  }

  static size_t send_entry_bytes(const QueuePairOptions& options) {
    const size_t pointers = options.send_sges * sizeof(rxe::Sge);
    return sizeof(rxe::SendWqe) + (pointers > options.inline_bytes ? pointers : options.inline_bytes);
  }

  VerbsQueuePair queue_;
  RxeRing send_ring_;
  RxeRing receive_ring_;
};

}  // namespace host

XIO_NAMESPACE_END

#endif
