// SPDX-License-Identifier: MIT
// Completion queue entries and their status: every field in its place, every code with a name and a meaning.

#include <set>
#include <string>

#include <xio/vendors/nvme/completion.hpp>
#include <xio/vendors/nvme/decode.hpp>
#include <xio/vendors/nvme/status_names.hpp>

#include "catch.hpp"

namespace nvme = xio::nvme;
using xio::Status;

namespace {

uint16_t field(uint32_t sct, uint32_t sc) { return nvme::make_status_field(sct << 8 | sc); }
bool is_named(uint32_t sct, uint32_t sc) { return std::string(nvme::status_name(sct, sc)) != "reserved status"; }

struct Meaning {
  uint32_t status;
  Status::Code code;
};

constexpr Meaning meanings[] = {
    {nvme::sc::invalid_opcode, Status::invalid_command},
    {nvme::sc::invalid_field, Status::invalid_command},
    {nvme::sc::command_id_conflict, Status::invalid_command},
    {nvme::sc::data_transfer_error, Status::bad_address},
    {nvme::sc::aborted_power_loss, Status::aborted},
    {nvme::sc::internal_error, Status::internal_error},
    {nvme::sc::abort_requested, Status::aborted},
    {nvme::sc::aborted_sq_deletion, Status::aborted},
    {nvme::sc::aborted_failed_fused, Status::flushed},
    {nvme::sc::aborted_missing_fused, Status::invalid_command},
    {nvme::sc::invalid_namespace_or_format, Status::invalid_command},
    {nvme::sc::prp_offset_invalid, Status::invalid_command},
    {nvme::sc::operation_denied, Status::access_denied},
    {nvme::sc::sanitize_in_progress, Status::not_ready},
    {nvme::sc::namespace_write_protected, Status::access_denied},
    {nvme::sc::command_interrupted, Status::aborted},
    {nvme::sc::transient_transport_error, Status::path_error},
    {nvme::sc::lba_out_of_range, Status::capacity},
    {nvme::sc::capacity_exceeded, Status::capacity},
    {nvme::sc::namespace_not_ready, Status::not_ready},
    {nvme::sc::reservation_conflict, Status::conflict},
    {nvme::sc::format_in_progress, Status::not_ready},
    {nvme::sc::completion_queue_invalid, Status::invalid_command},
    {nvme::sc::invalid_queue_identifier, Status::invalid_command},
    {nvme::sc::invalid_queue_size, Status::invalid_command},
    {nvme::sc::invalid_queue_deletion, Status::conflict},
    {nvme::sc::async_event_limit_exceeded, Status::not_ready},
    {nvme::sc::conflicting_attributes, Status::invalid_command},
    {nvme::sc::invalid_protection_information, Status::invalid_command},
    {nvme::sc::write_to_read_only_range, Status::access_denied},
    {nvme::sc::zone_boundary_error, Status::zone_error},
    {nvme::sc::zone_is_full, Status::zone_error},
    {nvme::sc::invalid_zone_state_transition, Status::zone_error},
    {nvme::sc::write_fault, Status::write_error},
    {nvme::sc::unrecovered_read_error, Status::read_error},
    {nvme::sc::guard_check_error, Status::integrity_error},
    {nvme::sc::application_tag_check_error, Status::integrity_error},
    {nvme::sc::reference_tag_check_error, Status::integrity_error},
    {nvme::sc::storage_tag_check_error, Status::integrity_error},
    {nvme::sc::compare_failure, Status::compare_failed},
    {nvme::sc::access_denied, Status::access_denied},
    {nvme::sc::deallocated_or_unwritten_block, Status::unwritten},
    {nvme::sc::internal_path_error, Status::path_error},
    {nvme::sc::ana_inaccessible, Status::path_error},
    {nvme::sc::host_path_error, Status::path_error},
    {nvme::sc::aborted_by_host, Status::aborted},
    {0x017, Status::device_error},
    {0x0c0, Status::device_error},
    {0x1ff, Status::device_error},
    {0x200, Status::device_error},
    {0x400, Status::device_error},
    {0x700, Status::device_error},
};

}  // namespace

TEST_CASE("the parts of a status lie where the specification says") {
  nvme::Cqe entry{};
  entry.status = 0b1'0'10'011'10000101'1;  // Do not retry, no more, delay 2, type 3, code 85h, phase.
  CHECK(nvme::phase(entry));
  CHECK(nvme::status_code(nvme::status_field(entry)) == 0x85);
  CHECK(nvme::status_code_type(nvme::status_field(entry)) == 3);
  CHECK(nvme::retry_delay(nvme::status_field(entry)) == 2);
  CHECK_FALSE(nvme::more(nvme::status_field(entry)));
  CHECK(nvme::do_not_retry(nvme::status_field(entry)));
  CHECK(nvme::make_status_field(0x385, true, false, 2) == nvme::status_field(entry));
  CHECK(nvme::make_status_field(0x004, false, true) == 0x2004);
}

TEST_CASE("the phase of new entries alternates, beginning with 1 on zeroed memory") {
  CHECK_FALSE(nvme::phase(nvme::Cqe{}));
  for (uint64_t lap = 0; lap < 4; ++lap) CHECK(nvme::expected_phase(lap) == (lap % 2 == 0));
}

TEST_CASE("every status has a meaning") {
  for (const Meaning& meaning : meanings) {
    INFO("status " << meaning.status << ", " << nvme::status_name(meaning.status));
    CHECK(nvme::to_status(static_cast<uint16_t>(meaning.status)).code == meaning.code);
  }
}

TEST_CASE("no error is taken for success, and the field is kept") {
  for (uint32_t value = 0; value < 0x8000; ++value) {
    const auto raw = static_cast<uint16_t>(value);
    const Status status = nvme::to_status(raw);
    const bool good = (value & 0x7ff) == 0;
    if (status.is_ok() != good || status.vendor != raw || status.from_device() == good ||
        nvme::retryable(status) != (!good && (value & 0x4000) == 0) || nvme::more(status) != ((value & 0x2000) != 0)) {
      FAIL("status field " << value);
    }
  }
}

TEST_CASE("the library's own answers are neither retryable nor explained by a log page") {
  for (const Status::Code code : {Status::would_block, Status::timed_out, Status::broken, Status::misaligned}) {
    CHECK_FALSE(nvme::retryable(Status(code)));
    CHECK_FALSE(nvme::more(Status(code)));
  }
}

TEST_CASE("named codes are those of the specification, each with a name of its own") {
  std::set<std::string> names;
  size_t named = 0;
  for (uint32_t sct = 0; sct < 4; ++sct) {
    for (uint32_t sc = 0; sc < 0xc0; ++sc) {
      REQUIRE(nvme::status_name(sct, sc) != nullptr);
      if (!is_named(sct, sc)) continue;
      ++named;
      names.insert(nvme::status_name(sct, sc));
    }
    CHECK(std::string(nvme::status_name(sct, 0xc0)) == "vendor specific status");
  }
  CHECK(named == names.size());
  // Generic 00h to 2Ah without 17h, 80h to 89h.
  for (uint32_t sc = 0; sc < 0xc0; ++sc)
    CHECK(is_named(0, sc) == ((sc <= 0x2a && sc != 0x17) || (sc >= 0x80 && sc <= 0x89)));
  // Media 80h to 88h; paths 00h to 03h, 60h, 70h, 71h.
  for (uint32_t sc = 0; sc < 0xc0; ++sc) CHECK(is_named(2, sc) == (sc >= 0x80 && sc <= 0x88));
  for (uint32_t sc = 0; sc < 0xc0; ++sc) CHECK(is_named(3, sc) == (sc <= 3 || sc == 0x60 || sc == 0x70 || sc == 0x71));
  // Command specific.
  for (uint32_t sc = 0; sc < 0xc0; ++sc) {
    const bool expected = (sc <= 0x3b && sc != 0x17) || sc == 0x7f || (sc >= 0x80 && sc <= 0x89) || sc == 0x90 ||
                          sc == 0x91 || (sc >= 0xb6 && sc <= 0xbf);
    INFO("command specific " << sc);
    CHECK(is_named(1, sc) == expected);
  }
  CHECK(std::string(nvme::status_name(7, 0x12)) == "vendor specific status");
  CHECK(std::string(nvme::status_name(5, 0)) == "reserved status");
  CHECK(std::string(nvme::status_name(field(1, 2))) == "invalid queue size");
  CHECK(std::string(nvme::status_name(0x4000u | field(0, 0x80))) == "LBA out of range");
  CHECK(std::string(nvme::status_type_name(2)) == "media and data integrity");
  CHECK(std::string(nvme::status_type_name(4)) == "reserved");
}
