// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Statuses and tokens that the lanes of a group pass to each other.

#include <xio/device/core/token.hpp>
#include <xio/device/queue/group.hpp>

XIO_NAMESPACE_BEGIN

namespace protocol {
/// @addtogroup kernel_queue
/// @{

/// Packs the status of a failed operation into one word.
XIO_DEVICE constexpr uint32_t pack(Status status) { return status.pack(); }
XIO_DEVICE constexpr Status unpack(uint32_t packed) { return Status::unpack(packed); }

/// The first of the lanes' faults, in all lanes; Status::ok: none has one.
template <Sharing S>
XIO_DEVICE_INLINE Status first_fault(Group<S> group, Status fault) {
  const uint64_t faulty = group.members(!fault.is_ok());
  if (XIO_LIKELY(faulty == 0)) return Status::ok;
  return unpack(group.from_lane(pack(fault), arch::first_lane(faulty)));
}

/// Whether all lanes of the group pass the same arguments of a batch. Lanes that disagree on them would claim and post
/// different entries.
template <Sharing S, class Operation>
XIO_DEVICE_INLINE bool agree(Group<S> group, Operation operation, uint32_t count) {
  if constexpr (S == Sharing::thread) {
    return true;
  } else {
    const uint64_t own = uint64_t{count} << 32 | static_cast<uint32_t>(operation);
    return !group.any(own != group.from_leader(own));
  }
}

/// The leader's status, in all lanes.
template <Sharing S>
XIO_DEVICE_INLINE Status from_leader(Group<S> group, Status status) {
  return unpack(group.from_leader(pack(status)));
}

/// The leader's token, in all lanes.
template <Sharing S>
XIO_DEVICE_INLINE Token from_leader(Group<S> group, Token token) {
  token.last = group.from_leader(token.last);
  token.count = group.from_leader(token.count);
  token.status = from_leader(group, token.status);
  return token;
}

/// @}
}  // namespace protocol

XIO_NAMESPACE_END
