// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Queues of soft-RoCE, created by verbs and then driven by storing entries. Empty without the header of
/// libibverbs.

#include <xio/config.hpp>

#if __has_include(<infiniband/verbs.h>)

#include <rdma/ib_user_verbs.h>
#include <sys/syscall.h>
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
/// @addtogroup host_rdma
/// @{

namespace detail {

/// Throws unless the device is soft-RoCE: queues of other devices must not even be read, since their mappings may be
/// registers.
inline void require_rxe(const RdmaDevice& device) {
  if (rdma_driver(device.name()) != "rdma_rxe")
    throw Error("rxe: " + device.name() +
                " is not a soft-RoCE device; make one: rdma link add rxe0 type rxe netdev eth0");
}

}  // namespace detail

/// Makes the driver process a send queue. Copyable; keeps the queue pair alive.
///
/// Receives need no kick: the driver finds them when a packet arrives.
class RxeKick {
 public:
  explicit RxeKick(std::shared_ptr<ibv_qp> qp) : qp_(std::move(qp)), fd_(qp_->context->cmd_fd) {
    // A request to post nothing: the entries are already in the ring.
    request_.command = IB_USER_VERBS_CMD_POST_SEND;
    request_.in_words = sizeof request_ / 4;
    request_.out_words = sizeof response / 4;
    request_.response = reinterpret_cast<uintptr_t>(&response);
    request_.qp_handle = qp_->handle;
    request_.wqe_bytes = sizeof(ib_uverbs_send_wr);
  }

  /// Sends the operations in the send queue as far as possible immediately; the driver does the rest on its own. The
  /// work is done in this call, which can last as long as entries keep arriving.
  ///
  /// Returns 0 or an errno: EINVAL if the queue pair is not connected. Usable from several threads.
  int send() const {
    for (;;) {
      // Not write(): in a process with several threads that is a cancellation point, which costs more.
      const long written = ::syscall(SYS_write, fd_, &request_, sizeof request_);
      if (written == static_cast<long>(sizeof request_)) return 0;
      if (written >= 0) return EIO;
      if (errno != EINTR) return errno;
    }
  }

 private:
  /// Layout of ib_uverbs_cmd_hdr and ib_uverbs_post_send.
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
  int fd_;
  Command request_{};
  /// The number of the entry that was refused: there are none in the request. Of all objects and threads; nobody reads
  /// it.
  inline static uint32_t response = 0;
};

/// A completion queue and its ring. When the ring is full, the driver drops completions and reports the event "CQ
/// error": store the consumer index often enough. Storing it needs no system call.
class RxeCompletionQueue {
 public:
  /// @param entries  minimum number
  RxeCompletionQueue(const RdmaDevice& device, uint32_t entries) : RxeCompletionQueue(make(device, entries)) {}

  const CompletionQueue& verbs_queue() const { return queue_; }
  /// Ring of rxe::Cqe; the distance between entries is a multiple of a cache line.
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
/// The indices of the rings survive reset(): continue storing entries at the producer index.
class RxeQueuePair {
 public:
  RxeQueuePair(const RdmaDevice& device, const ProtectionDomain& domain, const RxeCompletionQueue& send_cq,
               const RxeCompletionQueue& receive_cq, const QueuePairOptions& options = {})
      : RxeQueuePair(make(device, domain, send_cq, receive_cq, options), options) {}

  VerbsQueuePair& verbs_queue() { return queue_; }
  const VerbsQueuePair& verbs_queue() const { return queue_; }
  /// Ring of rxe::SendWqe, each followed by scatter/gather elements or inline bytes.
  const RxeRing& send_ring() const { return send_ring_; }
  /// Ring of rxe::ReceiveWqe, each followed by scatter/gather elements. Storing the producer index posts them.
  const RxeRing& receive_ring() const { return receive_ring_; }
  /// Returns the kick that makes the driver process the send ring.
  RxeKick kick() const { return RxeKick(queue_.shared()); }

  /// Ends all outstanding operations, waits until the driver has completed them, and resets. Then connect again. Each
  /// entry writes a completion, of status "flushed" unless it was executed: the completion queues need space for them.
  /// A reset alone would drop the entries without completions.
  void recover(std::chrono::milliseconds limit) {
    // Needed in the error state too: the driver does not process entries stored since then on its own.
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
  /// The driver maps the send queue first: its offset in the device file is the lower one.
  RxeQueuePair(Made made, const QueuePairOptions& options)
      : queue_(std::move(made.first)),
        send_ring_(check_ring(made.second[0], send_entry_bytes(options), "send queue")),
        receive_ring_(check_ring(made.second[1], sizeof(rxe::ReceiveWqe) + options.receive_sges * sizeof(rxe::Sge),
                                 "receive queue")) {
    if (send_ring_.capacity() < options.send_entries || receive_ring_.capacity() < options.receive_entries)
      throw Error("rxe: the rings of queue pair " + std::to_string(queue_.qpn()) + " hold " +
                  std::to_string(send_ring_.capacity()) + " and " + std::to_string(receive_ring_.capacity()) +
                  " entries, fewer than requested");
  }

  static size_t send_entry_bytes(const QueuePairOptions& options) {
    const size_t pointers = options.send_sges * sizeof(rxe::Sge);
    return sizeof(rxe::SendWqe) + (pointers > options.inline_bytes ? pointers : options.inline_bytes);
  }

  VerbsQueuePair queue_;
  RxeRing send_ring_;
  RxeRing receive_ring_;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END

#endif
