// SPDX-License-Identifier: MIT
// Submission queue entries that another driver stored (nvme.json in tests/golden/data.tar.xz), encoded by the compiler:
// that this file compiles is the test.

#include <xio/vendors/nvme/encode.hpp>
#include <xio/vendors/nvme/encode_admin.hpp>
#include <xio/vendors/nvme/pages.hpp>
#include <xio/vendors/nvme/prp.hpp>
#include <xio/vendors/nvme/sgl.hpp>

#include "catch.hpp"

namespace nvme = xio::nvme;

namespace {

constexpr uint32_t digit(char c) { return static_cast<uint32_t>(c <= '9' ? c - '0' : c - 'a' + 10); }

/// Dword `index` of an entry written as hexadecimal bytes in memory order.
constexpr uint32_t dword(const char (&hex)[129], uint32_t index) {
  uint32_t value = 0;
  for (uint32_t byte = 0; byte < 4; ++byte) {
    const uint32_t at = 8 * index + 2 * byte;
    value |= (digit(hex[at]) << 4 | digit(hex[at + 1])) << (8 * byte);
  }
  return value;
}

constexpr uint64_t qword(const char (&hex)[129], uint32_t index) {
  return uint64_t{dword(hex, index + 1)} << 32 | dword(hex, index);
}

constexpr bool same(const nvme::Sqe& entry, const char (&hex)[129]) {
  return entry.cdw0 == dword(hex, 0) && entry.nsid == dword(hex, 1) && entry.cdw2 == dword(hex, 2) &&
         entry.cdw3 == dword(hex, 3) && entry.mptr == qword(hex, 4) && entry.prp1 == qword(hex, 6) &&
         entry.prp2 == qword(hex, 8) && entry.cdw10 == dword(hex, 10) && entry.cdw11 == dword(hex, 11) &&
         entry.cdw12 == dword(hex, 12) && entry.cdw13 == dword(hex, 13) && entry.cdw14 == dword(hex, 14) &&
         entry.cdw15 == dword(hex, 15);
}

constexpr uint64_t buffer = 0x7f0012340000;
constexpr uint64_t some_lba = 0x123456789;

/// A command of namespace 1 with PRPs for `bytes` bytes at `address`, and identifier 11, as the recorded driver chose
/// it.
constexpr nvme::Sqe with_prps(const nvme::Command& command, uint64_t address, uint32_t bytes, uint64_t list_bus = 0) {
  uint64_t words[16] = {};
  nvme::DataPointer data;
  const nvme::ListMemory list{words, list_bus, sizeof words};
  const xio::Status status = nvme::build_prps(nvme::ContiguousPages{address}, 0, bytes, 12, list, data);
  return status.is_ok() ? nvme::encode(command.nsid(1), 11, data) : nvme::Sqe{};
}

constexpr nvme::Sqe without_data(const nvme::Command& command) { return nvme::encode(command.nsid(1), 11); }
constexpr nvme::Sqe admin(const nvme::Command& command, uint64_t prp1 = 0, uint64_t prp2 = 0) {
  return nvme::encode(command, 23, {prp1, prp2});
}
constexpr uint64_t admin_buffer = 0x7f0000aa0000;

// Reads, writes and their relatives.
static_assert(same(with_prps(nvme::read(some_lba, 1), buffer + 0x200, 512),
                   "02000b00010000000000000000000000000000000000000000023412007f0000"
                   "0000000000000000896745230100000000000000000000000000000000000000"));
static_assert(same(with_prps(nvme::read(some_lba, 8), buffer + 0xffc, 4096),
                   "02000b000100000000000000000000000000000000000000fc0f3412007f0000"
                   "00103412007f0000896745230100000007000000000000000000000000000000"));
static_assert(same(with_prps(nvme::read(some_lba, 16), buffer, 8192),
                   "02000b00010000000000000000000000000000000000000000003412007f0000"
                   "00103412007f000089674523010000000f000000000000000000000000000000"));
static_assert(same(with_prps(nvme::read(some_lba, 16), buffer + 0x10, 8192, 0x555555a75048),
                   "02000b00010000000000000000000000000000000000000010003412007f0000"
                   "4850a7555555000089674523010000000f000000000000000000000000000000"));
static_assert(same(with_prps(nvme::write(some_lba, 8), buffer + 4, 4096),
                   "01000b00010000000000000000000000000000000000000004003412007f0000"
                   "00103412007f0000896745230100000007000000000000000000000000000000"));
static_assert(same(with_prps(nvme::compare(some_lba, 16), buffer, 8192),
                   "05000b00010000000000000000000000000000000000000000003412007f0000"
                   "00103412007f000089674523010000000f000000000000000000000000000000"));
static_assert(same(with_prps(nvme::zone_append(some_lba, 1), buffer, 512),
                   "7d000b00010000000000000000000000000000000000000000003412007f0000"
                   "0000000000000000896745230100000000000000000000000000000000000000"));
static_assert(same(with_prps(nvme::read(0xffffffff, 8), buffer, 4096),
                   "02000b00010000000000000000000000000000000000000000003412007f0000"
                   "0000000000000000ffffffff0000000007000000000000000000000000000000"));
static_assert(same(with_prps(nvme::read(0x100000000, 8), buffer, 4096),
                   "02000b00010000000000000000000000000000000000000000003412007f0000"
                   "0000000000000000000000000100000007000000000000000000000000000000"));

// Flags.
static_assert(same(with_prps(nvme::write(7, 1).force_unit_access(), buffer, 512),
                   "01000b00010000000000000000000000000000000000000000003412007f0000"
                   "0000000000000000070000000000000000000040000000000000000000000000"));
static_assert(same(with_prps(nvme::write(7, 1).limited_retry(), buffer, 512),
                   "01000b00010000000000000000000000000000000000000000003412007f0000"
                   "0000000000000000070000000000000000000080000000000000000000000000"));
static_assert(same(with_prps(nvme::write(7, 1).protection_action(), buffer, 512),
                   "01000b00010000000000000000000000000000000000000000003412007f0000"
                   "0000000000000000070000000000000000000020000000000000000000000000"));
static_assert(same(with_prps(nvme::write(7, 1).protection_check(nvme::cdw12::check_guard |
                                                                nvme::cdw12::check_application_tag |
                                                                nvme::cdw12::check_reference_tag),
                             buffer, 512),
                   "01000b00010000000000000000000000000000000000000000003412007f0000"
                   "000000000000000007000000000000000000001c000000000000000000000000"));
static_assert(same(with_prps(nvme::write(7, 1).force_unit_access().limited_retry(), buffer, 512),
                   "01000b00010000000000000000000000000000000000000000003412007f0000"
                   "00000000000000000700000000000000000000c0000000000000000000000000"));

// Commands without data.
static_assert(same(without_data(nvme::write_zeroes(0x1000, 65536)),
                   "08000b0001000000000000000000000000000000000000000000000000000000"
                   "00000000000000000010000000000000ffff0000000000000000000000000000"));
static_assert(same(without_data(nvme::write_zeroes(0x1000, 8).deallocate()),
                   "08000b0001000000000000000000000000000000000000000000000000000000"
                   "0000000000000000001000000000000007000002000000000000000000000000"));
static_assert(same(nvme::encode(nvme::flush().nsid(0xabcdef01), 11),
                   "00000b0001efcdab000000000000000000000000000000000000000000000000"
                   "0000000000000000000000000000000000000000000000000000000000000000"));
static_assert(same(without_data(nvme::write_uncorrectable(0x77, 3)),
                   "04000b0001000000000000000000000000000000000000000000000000000000"
                   "0000000000000000770000000000000002000000000000000000000000000000"));
static_assert(same(without_data(nvme::verify(0x99, 5)),
                   "0c000b0001000000000000000000000000000000000000000000000000000000"
                   "0000000000000000990000000000000004000000000000000000000000000000"));

// A fused pair.
static_assert(same(with_prps(nvme::compare(9, 1).fused_first(), buffer, 512),
                   "05010b00010000000000000000000000000000000000000000003412007f0000"
                   "0000000000000000090000000000000000000000000000000000000000000000"));
static_assert(same(nvme::encode(nvme::write(9, 1).nsid(1).fused_second(), 10, {buffer + 0x1000, 0}),
                   "01020a00010000000000000000000000000000000000000000103412007f0000"
                   "0000000000000000090000000000000000000000000000000000000000000000"));

// SGLs, and ranges.
static_assert(same(nvme::encode(nvme::write(0x55, 8).nsid(1), 11, nvme::sgl_data_block(buffer + 3, 4096)),
                   "01400b00010000000000000000000000000000000000000003003412007f0000"
                   "0010000000000000550000000000000007000000000000000000000000000000"));
static_assert(same(nvme::encode(nvme::read(0x55, 8).nsid(1), 11, nvme::sgl_last_segment(0x555556f33048, 2)),
                   "02400b0001000000000000000000000000000000000000004830f35655550000"
                   "2000000000000030550000000000000007000000000000000000000000000000"));
static_assert(same(nvme::encode(nvme::deallocate(1).nsid(1), 11, {0x55555715c000, 0}),
                   "09000b00010000000000000000000000000000000000000000c0155755550000"
                   "0000000000000000000000000400000000000000000000000000000000000000"));
static_assert(
    same(nvme::encode(nvme::dataset_management(1, nvme::dsm::integral_read | nvme::dsm::integral_write).nsid(1), 11,
                      {0x5555571e7000, 0}),
         "09000b00010000000000000000000000000000000000000000701e5755550000"
         "0000000000000000000000000300000000000000000000000000000000000000"));

// Admin commands.
static_assert(same(admin(nvme::identify_controller(), admin_buffer),
                   "0600170000000000000000000000000000000000000000000000aa00007f0000"
                   "0000000000000000010000000000000000000000000000000000000000000000"));
static_assert(same(admin(nvme::identify_namespace(1), admin_buffer),
                   "0600170001000000000000000000000000000000000000000000aa00007f0000"
                   "0000000000000000000000000000000000000000000000000000000000000000"));
static_assert(same(admin(nvme::identify_active_namespaces(), admin_buffer),
                   "0600170000000000000000000000000000000000000000000000aa00007f0000"
                   "0000000000000000020000000000000000000000000000000000000000000000"));
static_assert(same(admin(nvme::set_number_of_queues(16, 16)),
                   "0900170000000000000000000000000000000000000000000000000000000000"
                   "0000000000000000070000000f000f0000000000000000000000000000000000"));
static_assert(same(admin(nvme::create_io_cq({3, 16}), 0x555557377000),
                   "0500170000000000000000000000000000000000000000000070375755550000"
                   "000000000000000003000f000100000000000000000000000000000000000000"));
static_assert(same(admin(nvme::create_io_sq({3, 16, 3}), 0x55555741b000),
                   "01001700000000000000000000000000000000000000000000b0415755550000"
                   "000000000000000003000f000100030000000000000000000000000000000000"));
static_assert(same(admin(nvme::create_io_sq({1, 1024, 1}), 0x555557460000),
                   "0100170000000000000000000000000000000000000000000000465755550000"
                   "00000000000000000100ff030100010000000000000000000000000000000000"));
static_assert(same(admin(nvme::delete_io_cq(1)),
                   "0400170000000000000000000000000000000000000000000000000000000000"
                   "0000000000000000010000000000000000000000000000000000000000000000"));
static_assert(same(admin(nvme::delete_io_sq(3)),
                   "0000170000000000000000000000000000000000000000000000000000000000"
                   "0000000000000000030000000000000000000000000000000000000000000000"));
static_assert(same(admin(nvme::doorbell_buffer_config(), admin_buffer, admin_buffer + 0x1000),
                   "7c00170000000000000000000000000000000000000000000000aa00007f0000"
                   "0010aa00007f0000000000000000000000000000000000000000000000000000"));

}  // namespace

TEST_CASE("the comparison of golden entries can fail") {
  const char wrong[] =
      "0c000b0001000000000000000000000000000000000000000000000000000000"
      "0000000000000000990000000000000004000000000000000000000000000001";
  CHECK_FALSE(same(without_data(nvme::verify(0x99, 5)), wrong));
}
