// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Flags of a vendor's traits, with the values that most vendors have.

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {
/// @addtogroup vendors_rdma
/// @{

/// Base of a vendor's traits, which state only the flags that differ; require_vendor.hpp lists the other members.
struct VendorDefaults {
  static constexpr bool power_of_two = true;        ///< the send ring has a power-of-two number of units
  static constexpr bool wraps = false;              ///< an entry may continue at the start of the ring
  static constexpr bool counts_operations = false;  ///< progress() uses Progress::operations

  static constexpr bool has_nop = false;               ///< Operation::nop is supported
  static constexpr bool has_inline = true;             ///< entries can hold data: InlineBytes, InlineValue
  static constexpr bool has_local_invalidate = false;  ///< Operation::local_invalidate is supported
  static constexpr bool fence_after_memory_operation =
      false;                                            ///< entries depend on whether the one before changed a key
  static constexpr bool has_flush_completions = false;  ///< entries after a failed one also have completions

  // How entries are announced: at least one of the two.
  static constexpr bool has_send_record = false;
  static constexpr bool has_send_doorbell = true;
  static constexpr bool doorbell_repeats_entry = false;  ///< send_doorbell() needs the last entry's first 8 bytes
  static constexpr bool doorbell_is_served = false;      ///< a host thread serves the word: arch::serve_doorbell()
  static constexpr uint32_t doorbell_stride = 0;         ///< bytes between two registers used in turn; 0: one register

  static constexpr bool has_receive_record = false;    ///< how receives are announced
  static constexpr bool has_receive_doorbell = false;  ///< how receives are announced
  static constexpr bool has_cq_record = false;         ///< how read completions are released to the device
  static constexpr bool has_cq_doorbell = false;       ///< how read completions are released to the device
  static constexpr bool has_collapsed_cq = false;      ///< the vendor has a `Collapsed`, and uses it
  static constexpr bool has_side_table = false;        ///< the vendor has a `Table`
};

/// @}
}  // namespace rdma

XIO_NAMESPACE_END
