// SPDX-License-Identifier: MIT

/// @file
/// @brief Statuses as values of errno.

#include <cerrno>
#include <string>

#include <xio/host/errno.hpp>
#include <xio/vendors/nvme/decode.hpp>

#include "catch.hpp"

using xio::Status;
using xio::host::errno_of;

TEST_CASE("every status has an errno, and only success has 0") {
  for (uint32_t i = 0; i < 128; ++i) {
    const auto code = static_cast<Status::Code>(i);
    if (std::string(name(code)) == "unknown") continue;
    CAPTURE(name(code));
    CHECK((errno_of(code) == 0) == (code == Status::ok));
    CHECK(errno_of(Status(code, 0xffff)) == errno_of(code));
  }
  CHECK(errno_of(Status::would_block) == EAGAIN);
  CHECK(errno_of(Status::timed_out) == ETIMEDOUT);
  CHECK(errno_of(Status::misaligned) == EINVAL);
  CHECK(errno_of(static_cast<Status::Code>(63)) == EIO);
}

TEST_CASE("statuses of NVMe have the errno that Linux reports") {
  namespace sc = xio::nvme::sc;
  const auto of = [](uint32_t value) {
    return errno_of(xio::nvme::to_status(xio::nvme::make_status_field(value, true)));
  };
  CHECK(of(sc::success) == 0);
  CHECK(of(sc::capacity_exceeded) == ENOSPC);
  CHECK(of(sc::namespace_not_ready) == EREMOTEIO);
  CHECK(of(sc::invalid_opcode) == EOPNOTSUPP);
  CHECK(of(sc::invalid_field) == EOPNOTSUPP);
  CHECK(of(sc::invalid_namespace_or_format) == EOPNOTSUPP);
  CHECK(of(sc::write_fault) == ENODATA);
  CHECK(of(sc::unrecovered_read_error) == ENODATA);
  CHECK(of(sc::deallocated_or_unwritten_block) == ENODATA);
  CHECK(of(sc::access_denied) == ENODATA);
  CHECK(of(sc::compare_failure) == ENODATA);
  CHECK(of(sc::guard_check_error) == EILSEQ);
  CHECK(of(sc::application_tag_check_error) == EILSEQ);
  CHECK(of(sc::reference_tag_check_error) == EILSEQ);
  CHECK(of(sc::reservation_conflict) == EBADE);
  CHECK(of(sc::internal_error) == EIO);
  CHECK(of(sc::data_transfer_error) == EIO);
}
