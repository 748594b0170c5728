// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Commands of namespaces that store values under keys (NVM Express Key Value Command Set Specification 1.0,
/// section 3.2).
///
///     const auto command = nvme::kv::store(nvme::kv::Key::of(block_hash), 65536);
///
/// Dwords 2, 3, 14 and 15 hold the key, dword 10 the size of the value or of the buffer, dword 11 the key's length in
/// bits 7:0 and options in bits 15:8.

#include <xio/config.hpp>
#include <xio/vendors/nvme/encode.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {

/// Commands of the Key Value Command Set. Other sets use the same numbers: 01h is Write there, 02h Read.
/// @ingroup vendors_nvme
enum class KvOpcode : uint8_t { store = 0x01, retrieve = 0x02, list = 0x06, remove = 0x10, exist = 0x14 };

namespace kv {
/// @addtogroup vendors_nvme
/// @{

/// Longest key that a command carries, in bytes.
constexpr uint32_t longest_key = 16;

/// Options of commands, combined.
namespace option {
/// @addtogroup vendors_nvme
/// @{
constexpr uint32_t must_exist = 1u << 0;      ///< Store: only over the value of a key that exists
constexpr uint32_t must_not_exist = 1u << 1;  ///< Store: only under a new key
constexpr uint32_t uncompressed = 1u << 2;    ///< Store: the device must not compress the value
constexpr uint32_t as_stored = 1u << 0;       ///< Retrieve: the device does not decompress the value
/// @}
}  // namespace option

/// A key of 1 to 16 bytes: its bytes 0 to 7 and 8 to 15 as little-endian words. Those beyond `bytes` are 0.
/// @snippet kv_queue.cpp key
struct Key {
  uint64_t low = 0;
  uint64_t high = 0;
  uint32_t bytes = 0;

  /// A number, as 8 bytes in little-endian order.
  XIO_HOST_DEVICE static constexpr Key of(uint64_t number) { return {number, 0, 8}; }
  /// 16 bytes: a hash, for example.
  XIO_HOST_DEVICE static constexpr Key of(uint64_t low, uint64_t high) { return {low, high, 16}; }
  /// A copy of `length` bytes; more than 16 make a key that no command can carry.
  XIO_HOST_DEVICE static constexpr Key copy(const char* from, uint32_t length) {
    Key key;
    key.bytes = length;
    for (uint32_t i = 0; i < length && i < longest_key; ++i) {
      (i < 8 ? key.low : key.high) |= uint64_t{static_cast<uint8_t>(from[i])} << (8 * (i % 8));
    }
    return key;
  }
  /// Byte `index`, 0 to 15.
  XIO_HOST_DEVICE constexpr uint8_t byte(uint32_t index) const {
    return static_cast<uint8_t>((index < 8 ? low : high) >> (8 * (index % 8)));
  }
};

XIO_DEVICE constexpr bool operator==(const Key& a, const Key& b) {
  return a.low == b.low && a.high == b.high && a.bytes == b.bytes;
}
XIO_DEVICE constexpr bool operator!=(const Key& a, const Key& b) { return !(a == b); }

namespace detail {
/// @param shortest least length of a key, in bytes
XIO_DEVICE constexpr Command command(KvOpcode opcode, const Key& key, uint32_t shortest, uint32_t size,
                                     uint32_t options) {
  Command result;
  result.cdw0 = static_cast<uint32_t>(opcode);
  result.set = CommandSet::key_value;
  result.named = Blocks::none;
  result.cdw2 = static_cast<uint32_t>(key.low);
  result.cdw3 = static_cast<uint32_t>(key.low >> 32);
  result.cdw10 = size;
  result.cdw11 = (options & 0xff) << 8 | (key.bytes & 0xff);
  result.cdw14 = static_cast<uint32_t>(key.high);
  result.cdw15 = static_cast<uint32_t>(key.high >> 32);
  const bool carried = key.bytes >= shortest && key.bytes <= longest_key && size <= data_size::largest;
  result.data = carried ? size : data_size::impossible;
  return result;
}
}  // namespace detail

/// Stores `bytes` of data under a key; 0: an empty value.
/// @param options of namespace option: must_exist, must_not_exist, uncompressed
/// @snippet kv_queue.cpp commands
XIO_DEVICE constexpr Command store(const Key& key, uint32_t bytes, uint32_t options = 0) {
  return detail::command(KvOpcode::store, key, 1, bytes, options);
}
/// Fetches a value into a buffer of `bytes`; a longer value is cut. Dword 0 of the completion is the size of the whole
/// value, so that a buffer of 0 bytes asks for its size.
/// @snippet kv_queue.cpp commands
XIO_DEVICE constexpr Command retrieve(const Key& key, uint32_t bytes, uint32_t options = 0) {
  return detail::command(KvOpcode::retrieve, key, 1, bytes, options);
}
/// Fetches as many keys as fit in a buffer of `bytes` (key_list.hpp reads it): `from` and those that follow in the
/// device's order, or all from the first one if `from` has no bytes.
/// @snippet kv_queue.cpp commands
XIO_DEVICE constexpr Command list(const Key& from, uint32_t bytes) {
  return detail::command(KvOpcode::list, from, 0, bytes, 0);
}
/// Deletes a key and its value.
/// @snippet kv_queue.cpp commands
XIO_DEVICE constexpr Command remove(const Key& key) { return detail::command(KvOpcode::remove, key, 1, 0, 0); }
/// Asks whether a key exists: succeeds, or ends with Status::unwritten.
/// @snippet kv_queue.cpp commands
XIO_DEVICE constexpr Command exist(const Key& key) { return detail::command(KvOpcode::exist, key, 1, 0, 0); }

/// @}
}  // namespace kv
}  // namespace nvme

XIO_NAMESPACE_END
