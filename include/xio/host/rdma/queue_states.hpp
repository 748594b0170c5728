// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Memory layout of a queue pair's mutable state.

#include <xio/device/rdma/handle.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// The mutable state of both sides of a queue pair: a non-owning view of zeroed memory, aligned to 64 bytes. The
/// executor of kernels may access the same memory at another address.
class RdmaQueueStates {
 public:
  RdmaQueueStates() = default;
  /// @param send_entries    units of the send ring
  /// @param receive_entries entries of the receive ring; 0: there is none
  RdmaQueueStates(void* memory, uint32_t send_entries, uint32_t receive_entries)
      : memory_(static_cast<unsigned char*>(memory)), send_entries_(send_entries), receive_entries_(receive_entries) {}

  static size_t bytes(uint32_t send_entries, uint32_t receive_entries) {
    const RdmaQueueStates from_zero(nullptr, send_entries, receive_entries);
    return from_zero.slots_at() + receive_entries * sizeof(rdma::ReceiveSlot);
  }

  QueueState* send() const { return at<QueueState>(0); }
  rdma::SendState* more() const { return at<rdma::SendState>(more_at()); }
  rdma::ReceiveState* receive() const { return at<rdma::ReceiveState>(receive_at()); }
  rdma::ReceiveSlot* slots() const { return at<rdma::ReceiveSlot>(slots_at()); }

 private:
  static size_t lines(size_t bytes) { return (bytes + 63) / 64 * 64; }
  size_t more_at() const { return sizeof(QueueState) + lines(rdma::send_link_bytes(send_entries_)); }
  size_t receive_at() const { return more_at() + sizeof(rdma::SendState); }
  size_t slots_at() const { return receive_at() + sizeof(rdma::ReceiveState) + lines(link_bytes(receive_entries_)); }
  template <class T>
  T* at(size_t offset) const {
    return reinterpret_cast<T*>(memory_ + offset);
  }

  unsigned char* memory_ = nullptr;
  uint32_t send_entries_ = 0;
  uint32_t receive_entries_ = 0;
};

}  // namespace host

XIO_NAMESPACE_END
