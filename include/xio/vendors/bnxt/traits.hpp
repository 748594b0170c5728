// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What the queue protocol has to know about NetXtreme-E (rdma-core, providers/bnxt_re/verbs.c and db.c).

#include <xio/config.hpp>
#include <xio/vendors/bnxt/decode.hpp>
#include <xio/vendors/bnxt/encode.hpp>

XIO_NAMESPACE_BEGIN

namespace bnxt {
/// @addtogroup vendors_bnxt
/// @{

/// How a queue pair was made. Derive and hide a member to change it.
struct Options {
  static constexpr WqeMode mode = WqeMode::fixed;
  static constexpr SideTableKind side_table = SideTableKind::msn;
  static constexpr bool power_of_two = true;  ///< whether the send ring has a power of two of units
};

/// NetXtreme-E as a vendor of rdma::QueuePair.
template <class Variant = Options>
struct Vendor {
  static constexpr const char* name = "bnxt";
  using Send = SendEncoder<Variant::mode>;
  using Receive = ReceiveEncoder;
  /// CompletionDecoder for queues with a power of two of entries, as rdma::CompletionQueueHandle says of them.
  struct Completions : CompletionDecoder {
    XIO_HOST_DEVICE static constexpr bool is_new(uint64_t word, uint64_t index, uint32_t entries) {
      return CompletionDecoder::is_new<true>(word, index, entries);
    }
  };
  using Table = SideTable<Variant::side_table>;

  static constexpr bool power_of_two = Variant::power_of_two;
  static constexpr bool wraps = Variant::mode == WqeMode::variable;
  static constexpr bool counts_operations =
      Variant::mode == WqeMode::variable;  ///< progress() looks at Progress::operations
  static constexpr bool has_side_table = true;
  static constexpr bool has_send_record = false;
  static constexpr bool has_send_doorbell = true;
  static constexpr bool doorbell_is_served = false;
  static constexpr uint32_t doorbell_stride = 0;
  static constexpr bool has_cq_record = false;
  static constexpr bool has_collapsed_cq = false;
  static constexpr bool has_cq_doorbell = true;
  static constexpr bool has_receive_record = false;
  static constexpr bool has_receive_doorbell = true;
  static constexpr bool has_flush_completions = false;
  static constexpr bool doorbell_repeats_entry = false;
  static constexpr bool has_nop = false;  ///< Operation::nop is offered
  static constexpr bool fence_after_memory_operation = false;
  using Doorbell = uint64_t;
  using CqDoorbell = uint64_t;

  /// log2 of the bytes of a unit.
  XIO_HOST_DEVICE static constexpr uint32_t unit_shift(const rdma::SendShape&) { return Send::unit_shift; }

  /// What rings for the units before `end`.
  XIO_HOST_DEVICE static constexpr Doorbell send_doorbell(const rdma::SendShape& shape, uint64_t end, uint64_t) {
    return doorbell_at<power_of_two>(DoorbellType::sq, shape.qpn, end, shape.entries);
  }
  /// What rings for the receives before `end`.
  XIO_HOST_DEVICE static constexpr Doorbell receive_doorbell(const rdma::ReceiveShape& shape, uint64_t end) {
    return doorbell_at(DoorbellType::rq, shape.qpn, end, shape.entries);
  }
  /// What tells that the completions before `head` were read.
  XIO_HOST_DEVICE static constexpr CqDoorbell cq_doorbell(uint32_t cqn, uint64_t head, uint32_t entries) {
    return doorbell_at<true>(DoorbellType::cq, cqn, head, entries);
  }
  /// Index that doorbells and tables name a unit by.
  XIO_HOST_DEVICE static constexpr uint32_t doorbell_index(const rdma::SendShape& shape, uint64_t index) {
    return ring_position<power_of_two>(index, shape.entries).index;
  }

  /// How far the queue got, by a completion. `known`: how far it had got, less than one lap before. `read(offset)`
  /// gives 4 bytes of the send ring. In variable mode a completion counts
  /// entries, modulo the slots, and the ring tells their sizes.
  template <class Read>
  XIO_HOST_DEVICE static constexpr rdma::Progress progress(const rdma::SendShape& shape, rdma::Progress known,
                                                           const rdma::WorkCompletion& completion, Read read) {
    if constexpr (Variant::mode == WqeMode::fixed) {
      const uint32_t before = ring_position<power_of_two>(known.units, shape.entries).index;
      // After the last entry of the ring some devices say "all of them", and others 0.
      const uint32_t after = completion.counter == shape.entries ? 0 : completion.counter;
      return {known.units + (after >= before ? after - before : after + shape.entries - before), 0};
    } else {
      const uint32_t before = ring_position<power_of_two>(known.operations, shape.entries).index;
      const uint32_t after = completion.counter % shape.entries;
      uint32_t left = after >= before ? after - before : after + shape.entries - before;
      while (left != 0 && left <= shape.entries / header_slots) {
        const uint32_t slot = ring_position<power_of_two>(known.units, shape.entries).index;
        const uint32_t slots = read(slot * slot_bytes) >> 16 & 0xff;
        known.units += slots;
        ++known.operations;
        --left;
      }
      // More than the ring can hold: nothing that is in flight.
      return {left == 0 ? known.units : ~uint64_t{0} >> 1, known.operations};
    }
  }
};

/// @}
}  // namespace bnxt

XIO_NAMESPACE_END
