// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Result of a submission: identifies an operation in flight, or holds the reason why there is none.

#include <xio/device/core/status.hpp>

XIO_NAMESPACE_BEGIN
/// @addtogroup kernel_core
/// @{

/// Identifies one operation, or consecutive operations that were submitted together. Trivially copyable.
///
/// A token of a refused operation has `count == 0`; waiting for it returns `status` immediately, so a caller can check
/// in one place. A token may be waited for any number of times until it is too old (Status::expired).
/// @snippet com.cpp Token
struct [[nodiscard]] Token {
  uint64_t last = 0;   ///< ticket of the last command, counted from the queue's creation
  uint32_t count = 0;  ///< number of consecutive commands that end with `last`; 0: refused
  Status status;       ///< why it was refused; otherwise the first error already known

  /// Whether the token denotes an operation.
  XIO_HOST_DEVICE constexpr bool submitted() const { return count != 0; }

  /// A token that denotes no operation.
  XIO_HOST_DEVICE static constexpr Token refused(Status why) {
    Token token;
    token.status = why;
    return token;
  }

  /// The token in one word, for interfaces that pass one: bit 63 set: refused, Status::pack() in bits 31:0; otherwise
  /// the ticket in bits 47:0, the count minus 1 in bits 61:48 and in bit 62 whether an error is already known. A call
  /// with the unpacked token gives what it gives with this one, with two exceptions: an error that is already known (of
  /// the first parts of a command longer than the queue) becomes Status::device_error; and of more than 16384
  /// operations, which no NVMe queue has in flight, the last 16384 are judged.
  /// @snippet com.cpp pack
  XIO_HOST_DEVICE constexpr uint64_t pack() const {
    if (!submitted()) return refusal | status.pack();
    const uint32_t kept = count < most_packed ? count : most_packed;
    return (status.is_ok() ? 0 : known_error) | uint64_t{kept - 1} << ticket_bits | (last & ticket_mask);
  }
  /// The inverse of pack().
  XIO_HOST_DEVICE static constexpr Token unpack(uint64_t word) {
    if ((word & refusal) != 0) return refused(Status::unpack(static_cast<uint32_t>(word)));
    Token token;
    token.last = word & ticket_mask;
    token.count = static_cast<uint32_t>(word >> ticket_bits & (most_packed - 1)) + 1;
    if ((word & known_error) != 0) token.status = Status::device_error;
    return token;
  }

 private:
  static constexpr uint32_t ticket_bits = 48;  // queues end before a ticket has more
  static constexpr uint64_t ticket_mask = (uint64_t{1} << ticket_bits) - 1;
  static constexpr uint32_t most_packed = 16384;
  static constexpr uint64_t known_error = uint64_t{1} << 62;
  static constexpr uint64_t refusal = uint64_t{1} << 63;
};
static_assert(sizeof(Token) == 16, "a token fits four registers");

/// @}
XIO_NAMESPACE_END
