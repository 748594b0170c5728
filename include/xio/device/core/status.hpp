// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What became of an operation: one small value for the library's own answers and for every device's.

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

/// Outcome of a call or of an operation. Trivially copyable, 4 bytes.
///
/// `code` is the same for all vendors; `vendor` holds the device's own status as it came (NVMe: status field without
/// the phase bit, see xio/vendors/nvme/decode.hpp; RDMA: the syndrome), or 0 where the library itself answers.
struct [[nodiscard]] Status {
  enum Code : uint16_t {
    ok = 0,

    // The library's own answers.
    would_block,       ///< no room now; nothing was changed; try again after a completion
    timed_out,         ///< the deadline passed; the operation is still in flight and keeps its buffer
    expired,           ///< so many operations have failed since that how this one ended is not on record
    broken,            ///< the queue pair cannot be used until the host recovers it
    invalid_argument,  ///< refused before it reached the device
    out_of_range,      ///< address or length outside of what the handle allows; refused before it reached the device
    misaligned,        ///< buffer address not usable by the device; refused before it reached the device
    unsupported,       ///< this queue or device does not offer the operation
    layout_mismatch,   ///< host and kernel were compiled against different layouts

    // Answers of a device.
    invalid_command = 64,  ///< opcode, field, namespace or key that the device refuses
    bad_address,           ///< the device could not reach the memory it was given
    aborted,               ///< aborted, or its queue was deleted
    flushed,               ///< not executed, because an earlier operation of the queue failed
    not_ready,             ///< device or namespace not ready now
    internal_error,        ///< device internal error
    capacity,              ///< out of space, or past the capacity
    conflict,              ///< reservation, lock or command ordering conflict
    read_error,            ///< unrecovered read error of the medium
    write_error,           ///< write fault of the medium
    integrity_error,       ///< end-to-end protection check failed
    compare_failed,        ///< compare found different data
    access_denied,         ///< denied by the device or by the remote side
    unwritten,             ///< deallocated or unwritten block
    zone_error,            ///< zoned namespaces: boundary, state or write pointer
    path_error,            ///< path or transport error
    retry_exceeded,        ///< transport retries exhausted
    receiver_not_ready,    ///< receiver-not-ready retries exhausted
    length_error,          ///< local length error
    remote_error,          ///< remote operation error
    device_error,          ///< any other status; see `vendor`
  };

  Code code = ok;
  uint16_t vendor = 0;

  constexpr Status() = default;
  XIO_HOST_DEVICE constexpr Status(Code c, uint16_t v = 0) : code(c), vendor(v) {}

  /// True on success.
  XIO_HOST_DEVICE constexpr bool is_ok() const { return code == ok; }
  /// True where a device answered, and its answer was not success.
  XIO_HOST_DEVICE constexpr bool from_device() const { return code >= invalid_command; }

  XIO_HOST_DEVICE friend constexpr bool operator==(Status a, Status b) {
    return a.code == b.code && a.vendor == b.vendor;
  }
  XIO_HOST_DEVICE friend constexpr bool operator!=(Status a, Status b) { return !(a == b); }
  XIO_HOST_DEVICE friend constexpr bool operator==(Status a, Code b) { return a.code == b; }
  XIO_HOST_DEVICE friend constexpr bool operator!=(Status a, Code b) { return a.code != b; }
};
static_assert(sizeof(Status) == 4, "a status fits a register");

/// Name of a code as the enumerator is spelled.
XIO_DEVICE constexpr const char* name(Status::Code code) {
  switch (code) {
    case Status::ok: return "ok";
    case Status::would_block: return "would_block";
    case Status::timed_out: return "timed_out";
    case Status::expired: return "expired";
    case Status::broken: return "broken";
    case Status::invalid_argument: return "invalid_argument";
    case Status::out_of_range: return "out_of_range";
    case Status::misaligned: return "misaligned";
    case Status::unsupported: return "unsupported";
    case Status::layout_mismatch: return "layout_mismatch";
    case Status::invalid_command: return "invalid_command";
    case Status::bad_address: return "bad_address";
    case Status::aborted: return "aborted";
    case Status::flushed: return "flushed";
    case Status::not_ready: return "not_ready";
    case Status::internal_error: return "internal_error";
    case Status::capacity: return "capacity";
    case Status::conflict: return "conflict";
    case Status::read_error: return "read_error";
    case Status::write_error: return "write_error";
    case Status::integrity_error: return "integrity_error";
    case Status::compare_failed: return "compare_failed";
    case Status::access_denied: return "access_denied";
    case Status::unwritten: return "unwritten";
    case Status::zone_error: return "zone_error";
    case Status::path_error: return "path_error";
    case Status::retry_exceeded: return "retry_exceeded";
    case Status::receiver_not_ready: return "receiver_not_ready";
    case Status::length_error: return "length_error";
    case Status::remote_error: return "remote_error";
    case Status::device_error: return "device_error";
  }
  return "unknown";
}

namespace detail {

/// Codes of numbers below `Count`, as `Of` says.
template <uint32_t Count>
struct CodeTable {
  uint8_t code[Count];
};

template <class Number, Status::Code (*Of)(Number), uint32_t Count>
XIO_DEVICE constexpr CodeTable<Count> make_code_table() {
  CodeTable<Count> table{};
  for (uint32_t i = 0; i < Count; ++i) table.code[i] = static_cast<uint8_t>(Of(static_cast<Number>(i)));
  return table;
}

/// What `Of` says of a number below `Count`. For an AMD GPU clang makes hundreds of instructions of a switch, under
/// masks that take many registers, and a byte load of this; nvcc would build the table on the stack, and is better with
/// the switch.
template <class Number, Status::Code (*Of)(Number), uint32_t Count>
XIO_DEVICE constexpr Status::Code look_up_code(Number number) {
#if XIO_TABLES_ARE_CONSTANT
  constexpr CodeTable<Count> table = make_code_table<Number, Of, Count>();
  return static_cast<Status::Code>(table.code[static_cast<uint32_t>(number)]);
#else
  return Of(number);
#endif
}

}  // namespace detail

XIO_NAMESPACE_END
