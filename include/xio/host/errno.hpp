// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Statuses as values of errno, for interfaces in C.

#include <cerrno>

#include <xio/config.hpp>
#include <xio/device/core/status.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_support
/// @{

/// Errno of a status; 0 for Status::ok. For interfaces in C.
///
/// Statuses of a device become what Linux's block layer reports for them: nvme_error_status() in
/// drivers/nvme/host/core.c, then blk_errors in block/blk-core.c (Linux 6.6). Where a code of the library stands for
/// several of NVMe, it is the value of the code named like it: Status::capacity, ENOSPC, includes blocks beyond the end
/// of the namespace. Refusals of the library are EINVAL, as of a system call with such arguments.
constexpr int errno_of(Status status) {
  switch (status.code) {
    case Status::ok: return 0;
    case Status::would_block: return EAGAIN;
    case Status::timed_out: return ETIMEDOUT;
    case Status::broken: return ENODEV;  // BLK_STS_OFFLINE
    case Status::pending: return EINPROGRESS;
    case Status::invalid_argument:
    case Status::out_of_range:
    case Status::misaligned:
    case Status::layout_mismatch: return EINVAL;
    case Status::unsupported:
    case Status::invalid_command: return EOPNOTSUPP;  // BLK_STS_NOTSUPP
    case Status::capacity: return ENOSPC;             // BLK_STS_NOSPC
    case Status::not_ready:
    case Status::remote_error: return EREMOTEIO;  // BLK_STS_TARGET
    case Status::conflict: return EBADE;          // BLK_STS_RESV_CONFLICT
    case Status::read_error:
    case Status::write_error:
    case Status::unwritten:
    case Status::compare_failed:
    case Status::access_denied: return ENODATA;   // BLK_STS_MEDIUM
    case Status::integrity_error: return EILSEQ;  // BLK_STS_PROTECTION
    case Status::path_error:
    case Status::retry_exceeded:
    case Status::receiver_not_ready: return ENOLINK;  // BLK_STS_TRANSPORT
    case Status::expired:
    case Status::bad_address:
    case Status::aborted:
    case Status::flushed:
    case Status::internal_error:
    case Status::zone_error:
    case Status::length_error:
    case Status::device_error: break;
  }
  return EIO;  // BLK_STS_IOERR
}

/// @}
}  // namespace host

XIO_NAMESPACE_END
