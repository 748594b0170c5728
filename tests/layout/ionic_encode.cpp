// SPDX-License-Identifier: MIT
// Pensando DSC: what the encoder stores, byte for byte.
// Entries: recorded from rdma-core 65's providers on plain memory. ".." are bytes that the provider left as they were.

#include <xio/vendors/ionic/encode.hpp>

#include "catch.hpp"
#include "layout/recorded_post.hpp"

namespace ionic = xio::ionic;
using namespace xio::rdma::work_flag;
using recorded::fills;
using xio::Status;
using xio::rdma::InlineBytes;
using xio::rdma::NoPayload;
using xio::rdma::OneSge;
using xio::rdma::Operation;
using xio::rdma::SendShape;
using xio::rdma::Work;

namespace {

using First = ionic::SendEncoder<ionic::Version::v1>;
using Second = ionic::SendEncoder<ionic::Version::v2>;
using Spec8 = ionic::SendEncoder<ionic::Version::v1, ionic::SpecFormat::up_to_8>;
using Spec16 = ionic::SendEncoder<ionic::Version::v1, ionic::SpecFormat::up_to_16>;
using Express = ionic::SendEncoder<ionic::Version::v1, ionic::SpecFormat::none, true>;
constexpr SendShape with(uint32_t entries, uint32_t shift, uint32_t max_sges) {
  return {2208451, entries, shift, max_sges, (1u << shift) - 32, 0, 3};
}
constexpr SendShape bytes64 = with(64, 6, 2);
constexpr SendShape bytes128 = with(32, 7, 6);
constexpr SendShape bytes256 = with(32, 8, 14);
constexpr SendShape deep = with(65536, 6, 2);
constexpr SendShape express64 = with(64, 6, 1);
constexpr SendShape express128 = with(32, 7, 5);

static_assert(
    fills<First>(bytes128, {Operation::put, 0, recorded::rkey, 0, recorded::remote}, pieces(256), {0},
                 "000000000000000004010010000000007f12345678a0bc0000c0ffee000001007e00a1b2c3d4e0000000010000aabb01"));
static_assert(
    fills<First>(bytes128, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(0), {0},
                 "000000000000000004010018000000007f12345678a0bc0000c0ffee000000007e00a1b2c3d4e0000000000000aabb01"));
static_assert(
    fills<First>(bytes128, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(64, 129), {0},
                 "000000000000000004020018000000007f12345678a0bc0000c0ffee000000c17e00a1b2c3d4e0000000004000aabb017e00"
                 "a1b2c3d5e0180000008100abbc02"));
static_assert(
    fills<First>(bytes128, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(64, 129, 194), {0},
                 "000000000000000004030018000000007f12345678a0bc0000c0ffee000001837e00a1b2c3d4e0000000004000aabb017e00"
                 "a1b2c3d5e0180000008100abbc027e00a1b2c3d6e030000000c200acbd03"));
static_assert(fills<First>(
    bytes128, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(64, 129, 194, 259), {0},
    "000000000000000004040018000000007f12345678a0bc0000c0ffee000002867e00a1b2c3d4e0000000004000aabb017e00"
    "a1b2c3d5e0180000008100abbc027e00a1b2c3d6e030000000c200acbd037e00a1b2c3d7e0480000010300adbe04"));
static_assert(fills<First>(bytes128, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(), {0},
                           "000000000000000004000018000000007f12345678a0bc0000c0ffee"));
static_assert(fills<First>(
    bytes128, {Operation::put_immediate, signaled, recorded::rkey, 0x11223344, recorded::remote}, pieces(256), {0},
    "000000000000000005010018112233447f12345678a0bc0000c0ffee000001007e00a1b2c3d4e0000000010000aabb01"));
static_assert(fills<First>(
    bytes128, {Operation::put_immediate, signaled, recorded::rkey, 0x11223344, recorded::remote}, pieces(0), {0},
    "000000000000000005010018112233447f12345678a0bc0000c0ffee000000007e00a1b2c3d4e0000000000000aabb01"));
static_assert(fills<First>(bytes128, {Operation::put_immediate, signaled, recorded::rkey, 0x11223344, recorded::remote},
                           pieces(), {0}, "000000000000000005000018112233447f12345678a0bc0000c0ffee"));
static_assert(
    fills<First>(bytes128, {Operation::get, signaled, recorded::rkey, 0, recorded::remote}, pieces(0), {0},
                 "000000000000000003010018000000007f12345678a0bc0000c0ffee000000007e00a1b2c3d4e0000000000000aabb01"));
static_assert(
    fills<First>(bytes128, {Operation::get, signaled, recorded::rkey, 0, recorded::remote}, pieces(1), {0},
                 "000000000000000003010018000000007f12345678a0bc0000c0ffee000000017e00a1b2c3d4e0000000000100aabb01"));
static_assert(fills<First>(bytes128, {Operation::get, signaled, recorded::rkey, 0, recorded::remote}, pieces(), {0},
                           "000000000000000003000018000000007f12345678a0bc0000c0ffee"));
static_assert(
    fills<First>(bytes128, {Operation::send, signaled}, pieces(256), {0},
                 "00000000000000000001001800000000000000000000000000000000000001007e00a1b2c3d4e0000000010000aabb01"));
static_assert(
    fills<First>(bytes128, {Operation::send, signaled | solicited}, pieces(256), {0},
                 "00000000000000000001001a00000000000000000000000000000000000001007e00a1b2c3d4e0000000010000aabb01"));
static_assert(
    fills<First>(bytes128, {Operation::send, fence | solicited}, pieces(256), {0},
                 "00000000000000000001001300000000000000000000000000000000000001007e00a1b2c3d4e0000000010000aabb01"));
static_assert(fills<First>(bytes128, {Operation::send, signaled}, pieces(), {0}, "000000000000000000000018"));
static_assert(
    fills<First>(bytes128, {Operation::send_immediate, signaled, 0, 0x11223344}, pieces(256), {0},
                 "00000000000000000201001811223344000000000000000000000000000001007e00a1b2c3d4e0000000010000aabb01"));
static_assert(
    fills<First>(bytes128, {Operation::send_immediate, signaled, 0, 0x11223344}, pieces(0), {0},
                 "00000000000000000201001811223344000000000000000000000000000000007e00a1b2c3d4e0000000000000aabb01"));
static_assert(fills<First>(bytes128, {Operation::send_immediate, signaled, 0, 0x11223344}, pieces(), {0},
                           "00000000000000000200001811223344"));
static_assert(
    fills<First>(bytes128, {Operation::send_invalidate, signaled, 0, 0x0badf00d}, pieces(256), {0},
                 "0000000000000000010100180badf00d000000000000000000000000000001007e00a1b2c3d4e0000000010000aabb01"));
static_assert(
    fills<Second>(bytes128, {Operation::put, 0, recorded::rkey, 0, recorded::remote}, pieces(256), {0},
                  "000000000000000021010010000000007f12345678a0bc0000c0ffee000001007e00a1b2c3d4e0000000010000aabb01"));
static_assert(
    fills<Second>(bytes128, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(0), {0},
                  "000000000000000021010018000000007f12345678a0bc0000c0ffee000000007e00a1b2c3d4e0000000000000aabb01"));
static_assert(
    fills<Second>(bytes128, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(64, 129), {0},
                  "000000000000000021020018000000007f12345678a0bc0000c0ffee000000c17e00a1b2c3d4e0000000004000aabb017e00"
                  "a1b2c3d5e0180000008100abbc02"));
static_assert(
    fills<Second>(bytes128, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(64, 129, 194), {0},
                  "000000000000000021030018000000007f12345678a0bc0000c0ffee000001837e00a1b2c3d4e0000000004000aabb017e00"
                  "a1b2c3d5e0180000008100abbc027e00a1b2c3d6e030000000c200acbd03"));
static_assert(fills<Second>(
    bytes128, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(64, 129, 194, 259), {0},
    "000000000000000021040018000000007f12345678a0bc0000c0ffee000002867e00a1b2c3d4e0000000004000aabb017e00"
    "a1b2c3d5e0180000008100abbc027e00a1b2c3d6e030000000c200acbd037e00a1b2c3d7e0480000010300adbe04"));
static_assert(fills<Second>(bytes128, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(), {0},
                            "000000000000000021000018000000007f12345678a0bc0000c0ffee"));
static_assert(fills<Second>(
    bytes128, {Operation::put_immediate, signaled, recorded::rkey, 0x11223344, recorded::remote}, pieces(256), {0},
    "000000000000000061010018112233447f12345678a0bc0000c0ffee000001007e00a1b2c3d4e0000000010000aabb01"));
static_assert(fills<Second>(
    bytes128, {Operation::put_immediate, signaled, recorded::rkey, 0x11223344, recorded::remote}, pieces(0), {0},
    "000000000000000061010018112233447f12345678a0bc0000c0ffee000000007e00a1b2c3d4e0000000000000aabb01"));
static_assert(
    fills<Second>(bytes128, {Operation::get, signaled, recorded::rkey, 0, recorded::remote}, pieces(256), {0},
                  "000000000000000002010018000000007f12345678a0bc0000c0ffee000001007e00a1b2c3d4e0000000010000aabb01"));
static_assert(
    fills<Second>(bytes128, {Operation::get, signaled, recorded::rkey, 0, recorded::remote}, pieces(0), {0},
                  "000000000000000002010018000000007f12345678a0bc0000c0ffee000000007e00a1b2c3d4e0000000000000aabb01"));
static_assert(fills<Second>(bytes128, {Operation::get, signaled, recorded::rkey, 0, recorded::remote}, pieces(), {0},
                            "000000000000000002000018000000007f12345678a0bc0000c0ffee"));
static_assert(
    fills<Second>(bytes128, {Operation::send, signaled}, pieces(256), {0},
                  "00000000000000002001001800000000000000000000000000000000000001007e00a1b2c3d4e0000000010000aabb01"));
static_assert(fills<First>(bytes256, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, block(1, 0x14),
                           {0}, "00000000000000000400001c000000007f12345678a0bc0000c0ffee0000000114"));
static_assert(fills<First>(bytes256, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, block(8, 0x8b),
                           {0}, "00000000000000000400001c000000007f12345678a0bc0000c0ffee000000088b9299a0a7aeb5bc"));
static_assert(fills<First>(bytes256, {Operation::send, signaled}, block(1, 0x14), {0},
                           "00000000000000000000001c000000000000000000000000000000000000000114"));
static_assert(
    fills<Second>(bytes64, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(256), {0},
                  "000000000000000021010018000000007f12345678a0bc0000c0ffee000001007e00a1b2c3d4e0000000010000aabb01"));
static_assert(
    fills<Second>(bytes64, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(64, 129), {0},
                  "000000000000000021020018000000007f12345678a0bc0000c0ffee000000c17e00a1b2c3d4e0000000004000aabb017e00"
                  "a1b2c3d5e0180000008100abbc02"));
static_assert(fills<Second>(
    bytes64, {Operation::put_immediate, signaled, recorded::rkey, 0x11223344, recorded::remote}, pieces(256), {0},
    "000000000000000061010018112233447f12345678a0bc0000c0ffee000001007e00a1b2c3d4e0000000010000aabb01"));
static_assert(
    fills<Second>(bytes64, {Operation::get, signaled, recorded::rkey, 0, recorded::remote}, pieces(256), {0},
                  "000000000000000002010018000000007f12345678a0bc0000c0ffee000001007e00a1b2c3d4e0000000010000aabb01"));
static_assert(
    fills<Second>(bytes64, {Operation::send, fence | solicited}, pieces(256), {0},
                  "00000000000000002001001300000000000000000000000000000000000001007e00a1b2c3d4e0000000010000aabb01"));
static_assert(
    fills<Second>(bytes64, {Operation::send, signaled}, pieces(64, 129), {0},
                  "00000000000000002002001800000000000000000000000000000000000000c17e00a1b2c3d4e0000000004000aabb017e00"
                  "a1b2c3d5e0180000008100abbc02"));
static_assert(fills<Express>(
    express64, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(256), {0},
    "000000000000000004010018000000007f12345678a0bc0000c0ffee000001007e00a1b2c3d4e0000000010000aabb010000"
    "000000000000010058c3b22103"));
static_assert(fills<Express>(
    express64, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(), {0},
    "000000000000000004000018000000007f12345678a0bc0000c0ffee00000000000000000000000000000000000000000000"
    "000000000000010058c3b22103"));
static_assert(fills<Express>(
    express64, {Operation::get, signaled, recorded::rkey, 0, recorded::remote}, pieces(256), {0},
    "000000000000000003010018000000007f12345678a0bc0000c0ffee000001007e00a1b2c3d4e0000000010000aabb010000"
    "000000000000010058c3b22103"));
static_assert(fills<Express>(
    express64, {Operation::send, fence | solicited}, pieces(256), {0},
    "00000000000000000001001300000000000000000000000000000000000001007e00a1b2c3d4e0000000010000aabb010000"
    "000000000000010058c3b22103"));
static_assert(fills<Express>(
    express64, {Operation::send_immediate, signaled, 0, 0x11223344}, pieces(256), {0},
    "00000000000000000201001811223344000000000000000000000000000001007e00a1b2c3d4e0000000010000aabb010000"
    "000000000000010058c3b22103"));
static_assert(fills<Express>(
    express128, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(256), {0},
    "000000000000000004010018000000007f12345678a0bc0000c0ffee000001007e00a1b2c3d4e0000000010000aabb010000"
    "0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
    "0000000000000000000000000000000000000000010058c3b22103"));
static_assert(fills<Express>(
    express128, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(64, 129), {0},
    "000000000000000004020018000000007f12345678a0bc0000c0ffee000000c17e00a1b2c3d4e0000000004000aabb017e00"
    "a1b2c3d5e0180000008100abbc02000000000000000000000000000000000000000000000000000000000000000000000000"
    "0000000000000000000000000000000000000000010058c3b22103"));
static_assert(fills<Express>(
    express128, {Operation::put_immediate, signaled, recorded::rkey, 0x11223344, recorded::remote}, pieces(256), {0},
    "000000000000000005010018112233447f12345678a0bc0000c0ffee000001007e00a1b2c3d4e0000000010000aabb010000"
    "0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
    "0000000000000000000000000000000000000000010058c3b22103"));
static_assert(fills<Express>(
    express128, {Operation::get, signaled, recorded::rkey, 0, recorded::remote}, pieces(64, 129), {0},
    "000000000000000003020018000000007f12345678a0bc0000c0ffee000000c17e00a1b2c3d4e0000000004000aabb017e00"
    "a1b2c3d5e0180000008100abbc02000000000000000000000000000000000000000000000000000000000000000000000000"
    "0000000000000000000000000000000000000000010058c3b22103"));
static_assert(fills<Express>(
    express128, {Operation::send_immediate, signaled, 0, 0x11223344}, pieces(256), {0},
    "00000000000000000201001811223344000000000000000000000000000001007e00a1b2c3d4e0000000010000aabb010000"
    "0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
    "0000000000000000000000000000000000000000010058c3b22103"));
static_assert(
    fills<Spec8>(bytes128, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(100), {0},
                 "000000000000000004010018000000007f12345678a0bc0000c0ffee000000647e00a1b2c3d4e0000000006400aabb01"));
static_assert(
    fills<Spec8>(bytes128, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(100, 101), {0},
                 "000000000000000004020018000000007f12345678a0bc0000c0ffee000000c97e00a1b2c3d4e0000000006400aabb017e00"
                 "a1b2c3d5e0180000006500abbc02"));
static_assert(
    fills<Spec8>(bytes128, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(100, 101, 102), {0},
                 "000000000000000004031018000000007f12345678a0bc0000c0ffee0000012f000000640000006500000066000000000000"
                 "00000000000000000000000000007e00a1b2c3d4e0000000006400aabb017e00a1b2c3d5e0180000006500abbc027e00a1b2"
                 "c3d6e0300000006600acbd03"));
static_assert(
    fills<Spec16>(bytes256, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(100, 101), {0},
                  "000000000000000004020018000000007f12345678a0bc0000c0ffee000000c97e00a1b2c3d4e0000000006400aabb017e00"
                  "a1b2c3d5e0180000006500abbc02"));
static_assert(
    fills<Spec16>(bytes256, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(100, 101, 102), {0},
                  "000000000000000004031018000000007f12345678a0bc0000c0ffee0000012f000000640000006500000066000000000000"
                  "00000000000000000000000000007e00a1b2c3d4e0000000006400aabb017e00a1b2c3d5e0180000006500abbc027e00a1b2"
                  "c3d6e0300000006600acbd03"));
static_assert(
    fills<Spec16>(bytes256, {Operation::put, signaled, recorded::rkey, 0, recorded::remote},
                  pieces(100, 101, 102, 103, 104, 105, 106, 107), {0},
                  "000000000000000004081018000000007f12345678a0bc0000c0ffee0000033c000000640000006500000066000000670000"
                  "0068000000690000006a0000006b7e00a1b2c3d4e0000000006400aabb017e00a1b2c3d5e0180000006500abbc027e00a1b2"
                  "c3d6e0300000006600acbd037e00a1b2c3d7e0480000006700adbe047e00a1b2c3d8e0600000006800aebf057e00a1b2c3d9"
                  "e0780000006900afc0067e00a1b2c3dae0900000006a00b0c1077e00a1b2c3dbe0a80000006b00b1c208"));
static_assert(
    fills<Spec16>(bytes256, {Operation::put, signaled, recorded::rkey, 0, recorded::remote},
                  pieces(100, 101, 102, 103, 104, 105, 106, 107, 108), {0},
                  "000000000000000004092018000000007f12345678a0bc0000c0ffee000003a8006400650066006700680069006a006b006c"
                  "00000000000000000000000000007e00a1b2c3d4e0000000006400aabb017e00a1b2c3d5e0180000006500abbc027e00a1b2"
                  "c3d6e0300000006600acbd037e00a1b2c3d7e0480000006700adbe047e00a1b2c3d8e0600000006800aebf057e00a1b2c3d9"
                  "e0780000006900afc0067e00a1b2c3dae0900000006a00b0c1077e00a1b2c3dbe0a80000006b00b1c2087e00a1b2c3dce0c0"
                  "0000006c00b2c309"));
static_assert(
    fills<Spec16>(bytes256, {Operation::put, signaled, recorded::rkey, 0, recorded::remote},
                  pieces(100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111), {0},
                  "0000000000000000040c2018000000007f12345678a0bc0000c0ffee000004f2006400650066006700680069006a006b006c"
                  "006d006e006f00000000000000007e00a1b2c3d4e0000000006400aabb017e00a1b2c3d5e0180000006500abbc027e00a1b2"
                  "c3d6e0300000006600acbd037e00a1b2c3d7e0480000006700adbe047e00a1b2c3d8e0600000006800aebf057e00a1b2c3d9"
                  "e0780000006900afc0067e00a1b2c3dae0900000006a00b0c1077e00a1b2c3dbe0a80000006b00b1c2087e00a1b2c3dce0c0"
                  "0000006c00b2c3097e00a1b2c3dde0d80000006d00b3c40a7e00a1b2c3dee0f00000006e00b4c50b7e00a1b2c3dfe1080000"
                  "006f00b5c60c"));
static_assert(
    fills<First>(deep, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(256, 256), {65535},
                 "ffff00000000000004020018000000007f12345678a0bc0000c0ffee000002007e00a1b2c3d4e0000000010000aabb017e00"
                 "a1b2c3d5e0180000010000abbc02"));

// Doorbells: the index after the entry.
template <class Encoder>
constexpr uint64_t bell(const SendShape& shape, uint64_t index) {
  xio::rdma::ArraySink<16> sink;
  return Encoder::encode(shape, {}, NoPayload{}, {index}, sink);
}
static_assert(bell<First>(bytes128, 0) == 0x21b2c3'000001 && bell<First>(bytes128, 31) == 0x21b2c3'000000);
static_assert(bell<First>(deep, 65535) == 0x21b2c3'000000);

// Receives.
constexpr xio::rdma::ReceiveShape receives_of{2208451, 32, 7, 4};
static_assert(
    recorded::receives<ionic::ReceiveEncoder<>>(receives_of, pieces(128, 129), {},
                                                "0000000000000000000200000000010100000000000000000000000000000000"
                                                "7e00a1b2c3d4e0000000008000aabb017e00a1b2c3d5e0180000008100abbc02"
                                                "0000000000000000000000000000000000000000000000000000000000000000"
                                                "0000000000000000000000000000000000000000000000000000000000000000"));
static_assert(recorded::receives<ionic::ReceiveEncoder<ionic::SpecFormat::up_to_8>>(
    receives_of, pieces(256, 256, 256), {},
    "0000000000000000000310000000030000000000000000000000000000000000"
    "0000010000000100000001000000000000000000000000000000000000000000"
    "7e00a1b2c3d4e0000000010000aabb017e00a1b2c3d5e0180000010000abbc02"
    "7e00a1b2c3d6e0300000010000acbd0300000000000000000000000000000000"));

}  // namespace

TEST_CASE("Pensando: what cannot be posted") {
  CHECK(First::check(bytes128, {Operation::put, solicited}, NoPayload{}) == Status::invalid_argument);
  CHECK(First::check(bytes128, {Operation::put_immediate, solicited}, NoPayload{}) == Status::ok);
  CHECK(First::check(bytes128, {}, pieces(1, 1, 1, 1, 1, 1).list()) == Status::ok);
  CHECK(First::check(bytes128, {}, pieces(1, 1, 1, 1, 1, 1, 1).list()) == Status::out_of_range);
  CHECK(First::check(bytes128, {}, block(97, 0).data()) == Status::out_of_range);
  CHECK(First::check(bytes128, {Operation::get}, block(8, 0).data()) == Status::invalid_argument);
  CHECK(First::check(bytes128, {Operation::fetch_add}, pieces(16).list()) == Status::invalid_argument);
  CHECK(First::check(bytes128, {Operation::fetch_add}, pieces(4, 4).list()) == Status::invalid_argument);
  CHECK(First::check(bytes128, {}, pieces(1u << 30, 1u << 30).list()) == Status::ok);
  CHECK(First::check(bytes128, {}, pieces(1u << 30, (1u << 30) + 1).list()) == Status::out_of_range);
  CHECK(Express::check(express64, {}, block(24, 0).data()) == Status::ok);
  CHECK(Express::check(express64, {}, block(25, 0).data()) == Status::out_of_range);
  // The doorbell would lie on the pointer's key.
  CHECK(Express::check(express64, {Operation::fetch_add}, pieces(8).list()) == Status::unsupported);
  CHECK(Express::check(express128, {Operation::fetch_add}, pieces(8).list()) == Status::ok);
  CHECK(Spec16::check(bytes256, {}, pieces(65536, 8, 8, 8, 8, 8, 8, 8, 8).list()) == Status::out_of_range);
  CHECK(Spec16::check(bytes256, {}, pieces(65536, 8, 8, 8, 8, 8, 8, 8).list()) == Status::ok);
  CHECK(Spec8::check(bytes256, {}, pieces(8, 8, 8, 8, 8, 8, 8, 8, 8).list()) == Status::out_of_range);
  // Lengths before the pointers take the room of two of them.
  CHECK(Spec8::check(bytes128, {}, pieces(8, 8, 8, 8, 8).list()) == Status::out_of_range);
}
