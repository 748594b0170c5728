// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Vendor traits of NetXtreme-E for the queue protocol (rdma-core, providers/bnxt_re/verbs.c and db.c).

/// @defgroup vendors_bnxt NetXtreme-E format
/// @ingroup vendors_rdma
/// Layouts, encoders, decoders and status codes of namespace xio::bnxt.

/// @namespace xio::bnxt
/// @brief Queues and queue formats of NetXtreme-E.

#include <xio/config.hpp>
#include <xio/vendors/bnxt/decode.hpp>
#include <xio/vendors/bnxt/encode.hpp>
#include <xio/vendors/rdma/traits.hpp>

XIO_NAMESPACE_BEGIN

namespace bnxt {
/// @addtogroup vendors_bnxt
/// @{

/// Properties that a queue pair was created with. Derive and hide a member to change it.
struct Options {
  static constexpr WqeMode mode = WqeMode::fixed;
  static constexpr SideTableKind side_table = SideTableKind::msn;
  static constexpr bool power_of_two = true;  ///< whether the send ring has a power-of-two number of units
};

/// NetXtreme-E as a vendor of rdma::QueuePair.
template <class Variant = Options>
struct Vendor : rdma::VendorDefaults {
  static constexpr const char* name = "bnxt";
  using Send = SendEncoder<Variant::mode>;
  using Receive = ReceiveEncoder;
  /// CompletionDecoder for queues with a power-of-two number of entries, which rdma::CompletionQueueHandle requires.
  struct Completions : CompletionDecoder {
    XIO_HOST_DEVICE static constexpr bool is_new(uint64_t word, uint64_t index, uint32_t entries) {
      return CompletionDecoder::is_new<true>(word, index, entries);
    }
  };
  using Table = SideTable<Variant::side_table>;

  static constexpr bool power_of_two = Variant::power_of_two;
  static constexpr bool wraps = Variant::mode == WqeMode::variable;
  static constexpr bool counts_operations = Variant::mode == WqeMode::variable;
  static constexpr bool has_side_table = true;
  static constexpr bool has_cq_doorbell = true;
  static constexpr bool has_receive_doorbell = true;
  using Doorbell = uint64_t;
  using CqDoorbell = uint64_t;

  /// log2 of the size of a unit in bytes.
  XIO_HOST_DEVICE static constexpr uint32_t unit_shift(const rdma::SendShape&) { return Send::unit_shift; }

  /// Doorbell value that announces the units before `end`.
  XIO_HOST_DEVICE static constexpr Doorbell send_doorbell(const rdma::SendShape& shape, uint64_t end, uint64_t) {
    return doorbell_at<power_of_two>(DoorbellType::sq, shape.qpn, end, shape.entries);
  }
  /// Doorbell value that announces the receives before `end`.
  XIO_HOST_DEVICE static constexpr Doorbell receive_doorbell(const rdma::ReceiveShape& shape, uint64_t end) {
    return doorbell_at(DoorbellType::rq, shape.qpn, end, shape.entries);
  }
  /// Doorbell value that releases the completions before `head` to the device.
  XIO_HOST_DEVICE static constexpr CqDoorbell cq_doorbell(uint32_t cqn, uint64_t head, uint32_t entries) {
    return doorbell_at<true>(DoorbellType::cq, cqn, head, entries);
  }
  /// Index of a unit in doorbells and side tables.
  XIO_HOST_DEVICE static constexpr uint32_t doorbell_index(const rdma::SendShape& shape, uint64_t index) {
    return ring_position<power_of_two>(index, shape.entries).index;
  }

  /// Progress of the send queue after a completion. `known`: earlier progress, less than one lap behind. `read(offset)`
  /// returns 4 bytes of the send ring. In variable mode a completion counts entries, modulo the number of slots, and
  /// their sizes are read from the ring.
  template <class Read>
  XIO_HOST_DEVICE static constexpr rdma::Progress progress(const rdma::SendShape& shape, rdma::Progress known,
                                                           const rdma::WorkCompletion& completion, Read read) {
    if constexpr (Variant::mode == WqeMode::fixed) {
      const uint32_t before = ring_position<power_of_two>(known.units, shape.entries).index;
      // After the last entry of the ring, some devices report the number of entries, others 0.
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
      // More than the ring can hold: matches nothing in flight.
      return {left == 0 ? known.units : ~uint64_t{0} >> 1, known.operations};
    }
  }
};

/// @}
}  // namespace bnxt

XIO_NAMESPACE_END
