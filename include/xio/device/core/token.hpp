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
};
static_assert(sizeof(Token) == 16, "a token fits four registers");

/// @}
XIO_NAMESPACE_END
