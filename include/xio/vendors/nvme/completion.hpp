// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Access to NVMe completions in their ring.

#include <xio/config.hpp>
#include <xio/device/arch/arch.hpp>
#include <xio/vendors/nvme/decode.hpp>
#include <xio/vendors/nvme/layout.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup vendors_nvme
/// @{

/// Access to NVMe completions for the queue protocol.
struct CompletionFormat {
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

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
