// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Vendor traits of NVMe for the queue protocol.

#include <xio/config.hpp>
#include <xio/device/arch/arch.hpp>
#include <xio/vendors/nvme/decode.hpp>
#include <xio/vendors/nvme/layout.hpp>
#include <xio/vendors/nvme/require_vendor.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup vendors_nvme
/// @{

/// Access to NVMe completions for the queue protocol.
struct CompletionFormat {
  using Entry = Cqe;

  XIO_DEVICE_INLINE static uint64_t look(const Cqe* entry) {
    return arch::load<arch::Scope::system>(reinterpret_cast<const uint64_t*>(entry) + 1);
  }
  /// look(), which later loads of the entry follow.
  XIO_DEVICE_INLINE static uint64_t observe(const Cqe* entry) {
    return arch::observe<arch::Scope::system>(reinterpret_cast<const uint64_t*>(entry) + 1);
  }
  XIO_HOST_DEVICE static constexpr bool valid(uint64_t word, bool phase) {
    constexpr uint32_t phase_bit = 0x10000;  // of the upper dword
    const auto upper = static_cast<uint32_t>(word >> 32);
    return (upper & phase_bit) == (phase ? phase_bit : 0);
  }
  XIO_HOST_DEVICE static constexpr uint32_t key(uint64_t word) { return static_cast<uint32_t>(word >> 32) & 0xffff; }
  XIO_HOST_DEVICE static constexpr uint64_t status(uint64_t word) { return word >> 49; }
  /// The other bits, such as "more" and the retry delay, do not indicate an error.
  XIO_HOST_DEVICE static constexpr bool is_error(uint64_t status) { return (status & 0x7ff) != 0; }
  XIO_DEVICE_INLINE static uint64_t result(const Cqe* entry) {
    return arch::load<arch::Scope::system>(reinterpret_cast<const uint64_t*>(entry));
  }
  XIO_HOST_DEVICE static constexpr Status decode(uint16_t status_field) { return to_status(status_field); }
};

/// NVMe as a vendor of the queue protocol.
struct Traits {
  static constexpr const char* name = "nvme";
  using Entry = Sqe;
  using Completion = Cqe;
  using Completions = CompletionFormat;

  static constexpr uint8_t completion_initial_byte = 0;  ///< fill byte of a completion ring before its first use
  static constexpr bool first_lap_phase = expected_phase(0);

  /// Whether an entry belongs to lap `lap` of the completion ring.
  XIO_HOST_DEVICE static constexpr bool is_new(const Cqe& entry, uint64_t lap) {
    return phase(entry) == expected_phase(lap);
  }
  /// The library's status of an entry.
  XIO_HOST_DEVICE static constexpr Status status(const Cqe& entry) { return to_status(status_field(entry)); }
};
static_assert(require_vendor<Traits>(), "nvme::Traits must meet the requirements of a vendor");

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
