// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Vendor traits of ConnectX for the queue protocol (rdma-core, providers/mlx5/qp.c and cq.c).

/// @defgroup vendors_mlx5 ConnectX format
/// @ingroup vendors_rdma
/// Layouts, encoders, decoders and status codes of namespace xio::mlx5.

/// @namespace xio::mlx5
/// @brief Queues and queue formats of ConnectX.

#include <xio/config.hpp>
#include <xio/device/core/ring.hpp>
#include <xio/vendors/mlx5/decode.hpp>
#include <xio/vendors/mlx5/encode.hpp>
#include <xio/vendors/rdma/traits.hpp>

XIO_NAMESPACE_BEGIN

namespace mlx5 {
/// @addtogroup vendors_mlx5
/// @{

/// Properties that a queue pair was created with. Derive and hide a member to change it.
struct Options {
  static constexpr bool signature = false;   ///< entries carry a signature
  static constexpr uint32_t cqe_bytes = 64;  ///< 64 or 128
  /// Local invalidates are supported; each post then checks whether the preceding one was a local invalidate.
  static constexpr bool memory_operations = false;
  /// Bytes between two registers that doorbells alternate between: the halves of a BlueFlame register. 0: one register.
  static constexpr uint32_t doorbell_stride = 0;
  static constexpr bool collapsed = false;  ///< the send queue's completion queue is collapsed to one entry
};

/// ConnectX as a vendor of rdma::QueuePair.
template <class Variant = Options>
struct Vendor : rdma::VendorDefaults {
  static constexpr const char* name = "mlx5";
  using Send = SendEncoder<Variant::signature, Variant::memory_operations>;
  using Receive = ReceiveEncoder;
  using Completions = CompletionDecoder<Variant::cqe_bytes>;
  using Collapsed = CollapsedDecoder<Variant::cqe_bytes>;

  static constexpr bool wraps = true;
  static constexpr bool has_send_record = true;
  static constexpr uint32_t doorbell_stride = Variant::doorbell_stride;
  static constexpr bool has_cq_record = true;
  static constexpr bool has_collapsed_cq = Variant::collapsed;
  static constexpr bool has_nop = true;
  static constexpr bool has_local_invalidate = Variant::memory_operations;
  static constexpr bool fence_after_memory_operation = Variant::memory_operations;
  static constexpr bool has_receive_record = true;
  static constexpr bool has_flush_completions = true;
  static constexpr bool doorbell_repeats_entry = true;
  using Doorbell = uint64_t;

  /// log2 of the size of a unit in bytes.
  XIO_HOST_DEVICE static constexpr uint32_t unit_shift(const rdma::SendShape&) { return Send::unit_shift; }

  /// Send counter as stored in the doorbell record. `end`: producer counter after the last entry.
  XIO_HOST_DEVICE static constexpr uint32_t send_record(const rdma::SendShape&, uint64_t end) {
    return byte_swap(static_cast<uint32_t>(end)) & byte_swap(record_counter_mask);
  }
  /// Doorbell value that announces the entries before `end`, the last of which begins with `head`.
  XIO_HOST_DEVICE static constexpr Doorbell send_doorbell(const rdma::SendShape&, uint64_t /*end*/, uint64_t head) {
    return head;
  }
  XIO_HOST_DEVICE static constexpr uint32_t receive_record(const rdma::ReceiveShape&, uint64_t end) {
    return byte_swap(static_cast<uint32_t>(end)) & byte_swap(record_counter_mask);
  }
  /// Consumer index as stored in the completion queue's record.
  XIO_HOST_DEVICE static constexpr uint32_t cq_record(uint64_t head, uint32_t /*entries*/) {
    return Be32(static_cast<uint32_t>(head) & consumer_index_mask).raw;
  }

  /// Progress of the send queue after a completion. `known`: earlier progress, less than 65536 units behind.
  /// `read(offset)` returns 4 bytes of the send ring.
  template <class Read>
  XIO_HOST_DEVICE static constexpr rdma::Progress progress(const rdma::SendShape& shape, rdma::Progress known,
                                                           const rdma::WorkCompletion& completion, Read read) {
    const uint64_t first = ring::widen(known.units, completion.counter, record_counter_mask);
    const uint64_t offset = ring::slot(first, shape.entries - 1) << Send::unit_shift;
    const uint32_t segments = byte_swap(read(offset + XIO_OFFSETOF(ControlSegment, qpn_ds))) & max_segments;
    return {first + (segments + 3) / 4, 0};
  }
};

/// @}
}  // namespace mlx5

XIO_NAMESPACE_END
