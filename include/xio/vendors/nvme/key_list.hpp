// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What a List command returns: a number of keys, and each with its length, on 4 bytes (NVM Express Key Value
/// Command Set Specification 1.0, section 3.2.3).

#include <xio/config.hpp>
#include <xio/vendors/nvme/encode_kv.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
namespace kv {
/// @addtogroup vendors_nvme
/// @{

/// Reads the keys of a List command's buffer, one after the other. A key that does not lie in the buffer ends the list,
/// whatever number the device reported.
/// @snippet kv_queue.cpp list
class KeyList {
 public:
  /// @param buffer aligned to 4 bytes
  XIO_HOST_DEVICE KeyList(const void* buffer, uint32_t bytes)
      : at_(static_cast<const uint32_t*>(buffer)), words_(bytes / 4), left_(bytes < 4 ? 0 : *at_) {
    if (words_ != 0) skip(1);
  }
  /// Keys that the device reported and that next() has not returned.
  XIO_HOST_DEVICE uint32_t left() const { return left_; }
  /// Sets `key` to the next one; false: there is none.
  XIO_HOST_DEVICE bool next(Key& key) {
    if (left_ == 0 || words_ == 0) return false;
    const uint32_t length = *at_ & 0xffff;
    const uint32_t taken = (2 + length + 3) / 4;
    if (length == 0 || length > longest_key || taken > words_) return false;
    key = Key{};
    key.bytes = length;
    for (uint32_t i = 0; i < length; ++i) {
      const uint32_t byte = i + 2;
      const uint64_t value = at_[byte / 4] >> (8 * (byte % 4)) & 0xff;
      (i < 8 ? key.low : key.high) |= value << (8 * (i % 8));
    }
    skip(taken);
    --left_;
    return true;
  }

 private:
  XIO_HOST_DEVICE void skip(uint32_t words) {
    at_ += words;
    words_ -= words;
  }

  const uint32_t* at_;
  uint32_t words_;  // that are left
  uint32_t left_;   // keys
};

/// @}
}  // namespace kv
}  // namespace nvme

XIO_NAMESPACE_END
