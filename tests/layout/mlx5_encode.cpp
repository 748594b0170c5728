// SPDX-License-Identifier: MIT
// ConnectX: what the encoder stores, byte for byte; what the decoder makes of data in a completion.
// Entries: recorded from rdma-core 65's providers on plain memory. ".." are bytes that the provider left as they were.

#include <xio/vendors/mlx5/decode.hpp>
#include <xio/vendors/mlx5/encode.hpp>

#include "catch.hpp"
#include "layout/recorded_post.hpp"

namespace mlx5 = xio::mlx5;
using namespace xio::rdma::work_flag;
using recorded::stores;
using xio::Status;
using xio::rdma::InlineBytes;
using xio::rdma::NoPayload;
using xio::rdma::OneSge;
using xio::rdma::Operation;
using xio::rdma::SendShape;
using xio::rdma::Work;

namespace {

using Plain = mlx5::SendEncoder<false>;
using Signed = mlx5::SendEncoder<true>;
constexpr SendShape with_qpn(uint32_t qpn) { return {qpn, 128, 6, 4, 124, 0, 0}; }
constexpr SendShape base = with_qpn(109517);
constexpr SendShape last_qpn = with_qpn(0xfffffe);

static_assert(
    stores<Plain>(base, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(256), {0},
                  "0000000801abcd0300000008000000007f12345678a0bc0000c0ffee000000000000010000aabb017e00a1b2c3d4e000"));
static_assert(
    stores<Plain>(base, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(64, 129), {0},
                  "0000000801abcd0400000008000000007f12345678a0bc0000c0ffee000000000000004000aabb017e00a1b2c3d4e0000000"
                  "008100abbc027e00a1b2c3d5e018"));
static_assert(
    stores<Plain>(base, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(64, 129, 194), {0},
                  "0000000801abcd0500000008000000007f12345678a0bc0000c0ffee000000000000004000aabb017e00a1b2c3d4e0000000"
                  "008100abbc027e00a1b2c3d5e018000000c200acbd037e00a1b2c3d6e030"));
static_assert(
    stores<Plain>(base, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(64, 129, 194, 259), {0},
                  "0000000801abcd0600000008000000007f12345678a0bc0000c0ffee000000000000004000aabb017e00a1b2c3d4e0000000"
                  "008100abbc027e00a1b2c3d5e018000000c200acbd037e00a1b2c3d6e0300000010300adbe047e00a1b2c3d7e048"));
static_assert(stores<Plain>(base, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(), {0},
                            "0000000801abcd0200000008000000007f12345678a0bc0000c0ffee00000000"));
static_assert(stores<Plain>(
    base, {Operation::put_immediate, signaled, recorded::rkey, 0x11223344, recorded::remote}, pieces(256), {0},
    "0000000901abcd0300000008112233447f12345678a0bc0000c0ffee000000000000010000aabb017e00a1b2c3d4e000"));
static_assert(stores<Plain>(base, {Operation::put_immediate, signaled, recorded::rkey, 0x11223344, recorded::remote},
                            pieces(0), {0}, "0000000901abcd0200000008112233447f12345678a0bc0000c0ffee00000000"));
static_assert(stores<Plain>(base, {Operation::put_immediate, signaled, recorded::rkey, 0x11223344, recorded::remote},
                            pieces(), {0}, "0000000901abcd0200000008112233447f12345678a0bc0000c0ffee00000000"));
static_assert(
    stores<Plain>(base, {Operation::get, signaled, recorded::rkey, 0, recorded::remote}, pieces(256), {0},
                  "0000001001abcd0300000008000000007f12345678a0bc0000c0ffee000000000000010000aabb017e00a1b2c3d4e000"));
static_assert(stores<Plain>(base, {Operation::get, signaled, recorded::rkey, 0, recorded::remote}, pieces(0), {0},
                            "0000001001abcd0200000008000000007f12345678a0bc0000c0ffee00000000"));
static_assert(stores<Plain>(base, {Operation::get, signaled, recorded::rkey, 0, recorded::remote}, pieces(), {0},
                            "0000001001abcd0200000008000000007f12345678a0bc0000c0ffee00000000"));
static_assert(stores<Plain>(base, {Operation::send, signaled}, pieces(256), {0},
                            "0000000a01abcd0200000008000000000000010000aabb017e00a1b2c3d4e000"));
static_assert(stores<Plain>(base, {Operation::send, signaled | solicited}, pieces(256), {0},
                            "0000000a01abcd020000000a000000000000010000aabb017e00a1b2c3d4e000"));
static_assert(stores<Plain>(base, {Operation::send, fence | solicited}, pieces(256), {0},
                            "0000000a01abcd0200000082000000000000010000aabb017e00a1b2c3d4e000"));
static_assert(stores<Plain>(base, {Operation::send, signaled}, pieces(), {0}, "0000000a01abcd010000000800000000"));
static_assert(stores<Plain>(base, {Operation::send_immediate, signaled, 0, 0x11223344}, pieces(256), {0},
                            "0000000b01abcd0200000008112233440000010000aabb017e00a1b2c3d4e000"));
static_assert(stores<Plain>(base, {Operation::send_immediate, signaled, 0, 0x11223344}, pieces(0), {0},
                            "0000000b01abcd010000000811223344"));
static_assert(stores<Plain>(base, {Operation::send_invalidate, signaled, 0, 0x0badf00d}, pieces(256), {0},
                            "0000000101abcd02000000080badf00d0000010000aabb017e00a1b2c3d4e000"));
static_assert(stores<Plain>(base, {Operation::send_invalidate, signaled, 0, 0x0badf00d}, pieces(), {0},
                            "0000000101abcd01000000080badf00d"));
static_assert(
    stores<Plain>(base, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(16, 0, 48), {0},
                  "0000000801abcd0400000008000000007f12345678a0bc0000c0ffee000000000000001000aabb017e00a1b2c3d4e0000000"
                  "003000acbd037e00a1b2c3d6e030"));
static_assert(stores<Plain>(
    base,
    {Operation::compare_swap, signaled, recorded::rkey, 0, recorded::remote, 0x1112131415161718, 0x0102030405060708},
    pieces(8), {0},
    "0000001101abcd0400000008000000007f12345678a0bc0000c0ffee00000000111213141516171801020304050607080000"
    "000800aabb017e00a1b2c3d4e000"));
static_assert(
    stores<Plain>(base,
                  {Operation::compare_swap, signaled | fence, recorded::rkey, 0, recorded::remote, 0x1112131415161718,
                   0x0102030405060708},
                  pieces(8), {0},
                  "0000001101abcd0400000088000000007f12345678a0bc0000c0ffee00000000111213141516171801020304050607080000"
                  "000800aabb017e00a1b2c3d4e000"));
static_assert(stores<Plain>(
    base, {Operation::fetch_add, signaled, recorded::rkey, 0, recorded::remote, 0x2122232425262728}, pieces(8), {0},
    "0000001201abcd0400000008000000007f12345678a0bc0000c0ffee000000002122232425262728................0000"
    "000800aabb017e00a1b2c3d4e000"));
static_assert(stores<Plain>(base, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, block(0, 0x00), {0},
                            "0000000801abcd0200000008000000007f12345678a0bc0000c0ffee00000000"));
static_assert(stores<Plain>(base, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, block(1, 0x14), {0},
                            "0000000801abcd0300000008000000007f12345678a0bc0000c0ffee000000008000000114"));
static_assert(stores<Plain>(base, {Operation::send, signaled}, block(1, 0x14), {0},
                            "0000000a01abcd0200000008000000008000000114"));
static_assert(stores<Plain>(base, {Operation::send, signaled}, block(8, 0x8b), {0},
                            "0000000a01abcd020000000800000000800000088b9299a0a7aeb5bc"));
static_assert(stores<Plain>(base, {Operation::put_immediate, signaled, recorded::rkey, 0x11223344, recorded::remote},
                            block(1, 0x14), {0},
                            "0000000901abcd0300000008112233447f12345678a0bc0000c0ffee000000008000000114"));
static_assert(stores<Plain>(base, {Operation::send_immediate, signaled, 0, 0x11223344}, block(1, 0x14), {0},
                            "0000000b01abcd0200000008112233448000000114"));
static_assert(
    stores<Plain>(base, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(256), {124},
                  "00007c0801abcd0300000008000000007f12345678a0bc0000c0ffee000000000000010000aabb017e00a1b2c3d4e000"));
static_assert(
    stores<Plain>(last_qpn, {Operation::put, 0, recorded::rkey, 0, recorded::remote}, pieces(256), {0},
                  "00000008fffffe0300000000000000007f12345678a0bc0000c0ffee000000000000010000aabb017e00a1b2c3d4e000"));
static_assert(
    stores<Plain>(last_qpn, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, block(20, 0x36), {0},
                  "00000008fffffe0400000008000000007f12345678a0bc0000c0ffee0000000080000014363d444b525960676e757c838a91"
                  "989fa6adb4bb"));
static_assert(stores<Plain>(
    last_qpn, {Operation::compare_swap, 0, recorded::rkey, 0, recorded::remote, 0x000000000000000a, 0x0000000000000009},
    pieces(8), {0},
    "00000011fffffe0400000000000000007f12345678a0bc0000c0ffee00000000000000000000000a00000000000000090000"
    "000800aabb017e00a1b2c3d4e000"));
static_assert(
    stores<Signed>(base, {Operation::put, 0, recorded::rkey, 0, recorded::remote}, pieces(256), {0},
                   "0000000801abcd03a2000000000000007f12345678a0bc0000c0ffee000000000000010000aabb017e00a1b2c3d4e000"));
static_assert(stores<Signed>(
    base, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, pieces(256, 256, 256, 256), {0},
    "0000000801abcd0644000008000000007f12345678a0bc0000c0ffee000000000000010000aabb017e00a1b2c3d4e0000000"
    "010000abbc027e00a1b2c3d5e0180000010000acbd037e00a1b2c3d6e0300000010000adbe047e00a1b2c3d7e048"));
static_assert(stores<Signed>(
    base, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, block(20, 0x36), {0},
    "0000000801abcd0446000008000000007f12345678a0bc0000c0ffee0000000080000014363d444b525960676e757c838a91"
    "989fa6adb4bb"));
static_assert(stores<Signed>(
    base, {Operation::compare_swap, 0, recorded::rkey, 0, recorded::remote, 0x000000000000000a, 0x0000000000000009},
    pieces(8), {0},
    "0000001101abcd04b6000000000000007f12345678a0bc0000c0ffee00000000000000000000000a00000000000000090000"
    "000800aabb017e00a1b2c3d4e000"));

// The doorbell repeats the first 8 bytes of the entry.
constexpr uint64_t bell() {
  xio::rdma::ArraySink<4> sink;
  return Plain::encode(base, {Operation::put, signaled, recorded::rkey, 0, recorded::remote}, OneSge{{0, 1, 0}}, {3},
                       sink);
}
static_assert(bell() == 0x03cdab0108030000);

}  // namespace

TEST_CASE("ConnectX: what cannot be posted") {
  const RecordedPieces many = pieces(1, 1, 1, 1, 1);
  CHECK(Plain::check(base, {}, many.list()) == Status::out_of_range);
  CHECK(Plain::check(base, {}, block(125, 0).data()) == Status::out_of_range);
  CHECK(Plain::check(base, {Operation::get}, block(8, 0).data()) == Status::invalid_argument);
  CHECK(Plain::check(base, {Operation::fetch_add}, pieces(4, 4).list()) == Status::invalid_argument);
}

TEST_CASE("ConnectX: a message that is stored in its completion is no success") {
  const auto decode = [](uint8_t last) {
    return mlx5::CompletionDecoder<64>::decode(uint64_t{last} << 56, [](uint32_t) { return uint64_t{0}; }).status;
  };
  CHECK(decode(0x20) == Status::ok);
  CHECK(decode(0x20 | mlx5::inline_scatter_32) == Status::unsupported);
  CHECK(decode(0x30 | mlx5::inline_scatter_64) == Status::unsupported);
}
