// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What a queue protocol has to know about NVMe queues.

#include <xio/config.hpp>
#include <xio/vendors/nvme/decode.hpp>
#include <xio/vendors/nvme/layout.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {

/// NVMe as a vendor of the queue protocol.
struct Traits {
  using Entry = Sqe;
  using Completion = Cqe;

  static constexpr uint32_t entry_bytes = sizeof(Sqe);
  static constexpr uint32_t completion_bytes = sizeof(Cqe);
  static constexpr uint32_t slots_per_entry = 1;
  static constexpr uint32_t max_ring_entries = 65536;  ///< CAP.MQES + 1 may be less; admin queues: 4096

  static constexpr bool in_order_completion = false;  ///< completions name their command, and come in any order
  static constexpr uint32_t identifier_bits = 16;     ///< command identifier
  static constexpr uint32_t head_bits = 16;           ///< SQ head in a completion: an index into the ring

  static constexpr uint8_t completion_initial_byte = 0;  ///< memory of a completion ring before its first use
  static constexpr bool first_lap_phase = expected_phase(0);

  static constexpr uint32_t doorbell_bytes = 4;
  static constexpr bool doorbell_is_index = true;      ///< the new tail or head, 0 to entries - 1, not a count
  static constexpr bool full_ring_is_one_less = true;  ///< tail == head means empty
  static constexpr bool completion_doorbell = true;    ///< the device must be told how far the completions were read
  static constexpr bool signals_every_operation = true;

  /// Whether an entry belongs to lap `lap` of the completion ring.
  XIO_HOST_DEVICE static constexpr bool is_new(const Cqe& entry, uint64_t lap) {
    return phase(entry) == expected_phase(lap);
  }
  /// The library's status of an entry.
  XIO_HOST_DEVICE static constexpr Status status(const Cqe& entry) { return to_status(status_field(entry)); }
};

}  // namespace nvme

XIO_NAMESPACE_END
