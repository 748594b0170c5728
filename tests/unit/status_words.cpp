// SPDX-License-Identifier: MIT

/// @file
/// @brief Statuses and tokens in one word.

#include <cstdint>
#include <string>

#include <xio/device/core/token.hpp>

#include "catch.hpp"

using xio::Status;
using xio::Token;

namespace {

/// All codes that have a name.
template <class Each>
void every_code(Each&& each) {
  for (uint32_t i = 0; i < 128; ++i)
    if (const auto code = static_cast<Status::Code>(i); std::string(name(code)) != "unknown") each(code);
}

constexpr Token token_of(uint64_t last, uint32_t count) {
  Token token;
  token.last = last;
  token.count = count;
  return token;
}

}  // namespace

TEST_CASE("a status is the same after a word") {
  STATIC_REQUIRE(Status().pack() == 0);
  STATIC_REQUIRE(Status(Status::read_error, 0x4281).pack() == (0x42810000u | Status::read_error));
  uint32_t codes = 0;
  every_code([&](Status::Code code) {
    ++codes;
    for (const uint32_t vendor : {0u, 1u, 0x4281u, 0xffffu}) {
      const Status status(code, static_cast<uint16_t>(vendor));
      CHECK(Status::unpack(status.pack()) == status);
    }
  });
  CHECK(codes == 32);
}

TEST_CASE("a token is the same after a word") {
  STATIC_REQUIRE(token_of(5, 1).pack() == 5);
  STATIC_REQUIRE(token_of(5, 3).pack() == (uint64_t{2} << 48 | 5));
  for (const uint64_t last : {uint64_t{0}, uint64_t{1}, uint64_t{0xffffffff}, (uint64_t{1} << 48) - 1}) {
    for (const uint32_t count : {1u, 2u, 255u, 16383u, 16384u}) {
      CAPTURE(last, count);
      const Token token = token_of(last, count);
      const Token again = Token::unpack(token.pack());
      CHECK((token.pack() >> 62) == 0);
      CHECK(again.last == last);
      CHECK(again.count == count);
      CHECK(again.status.is_ok());
    }
  }
}

TEST_CASE("a refused token keeps its status in a word") {
  every_code([](Status::Code code) {
    const Token token = Token::refused(Status(code, 0x8123));
    CHECK((token.pack() >> 63) == 1);
    CHECK_FALSE(Token::unpack(token.pack()).submitted());
    CHECK(Token::unpack(token.pack()).status == token.status);
  });
  CHECK_FALSE(Token::unpack(Token().pack()).submitted());
}

TEST_CASE("what does not fit into the word of a token stays an error, and in flight") {
  Token token = token_of(70000, 4);
  token.status = Status(Status::write_error, 0x280);
  Token again = Token::unpack(token.pack());
  CHECK(again.last == 70000);
  CHECK(again.count == 4);
  CHECK(again.status == Status::device_error);
  CHECK(again.pack() == token.pack());

  again = Token::unpack(token_of(70000, 16385).pack());
  CHECK(again.last == 70000);
  CHECK(again.count == 16384);
}
