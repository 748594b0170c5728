// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Outcomes of operations as errors of errno.h, which fio counts and compares with ignore_error.

#include <cerrno>

#include <xio/device/core/status.hpp>

namespace fio {

/// The error that fio is told; 0 for Status::ok.
inline int errno_of(xio::Status status) {
  using xio::Status;
  switch (status.code) {
    case Status::ok: return 0;
    case Status::invalid_argument:
    case Status::out_of_range:
    case Status::misaligned:
    case Status::invalid_command: return EINVAL;
    case Status::would_block: return EAGAIN;
    case Status::timed_out: return ETIMEDOUT;
    case Status::unsupported: return EOPNOTSUPP;
    case Status::capacity: return ENOSPC;
    case Status::integrity_error:
    case Status::compare_failed: return EILSEQ;
    case Status::access_denied: return EACCES;
    case Status::conflict:
    case Status::not_ready: return EBUSY;
    default: return EIO;
  }
}

}  // namespace fio
