// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Lengths that entries encode as a number of dwords.

#include <xio/config.hpp>
#include <xio/vendors/nvme/encode.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup vendors_nvme
/// @{

namespace detail {

/// A length in bytes, a multiple of 4, as the number of dwords less one.
XIO_DEVICE constexpr uint32_t last_dword(uint32_t bytes) { return bytes / 4 - 1; }
/// CommandWords::data of a command whose entry holds last_dword(bytes).
XIO_DEVICE constexpr uint32_t data_of_dwords(uint32_t bytes) {
  if (bytes == 0 || bytes % 4 != 0) return data_size::impossible;
  return bytes <= data_size::largest ? bytes : data_size::unknown;
}

}  // namespace detail

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
