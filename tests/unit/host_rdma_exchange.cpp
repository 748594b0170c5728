// SPDX-License-Identifier: MIT

/// @file
/// @brief The swap of connection data by TCP, over the loopback device: pairing, sizes, deadlines, odd other sides.

#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <thread>

#include <xio/host/rdma/address.hpp>
#include <xio/host/rdma/exchange.hpp>

#include "catch.hpp"
#include "unit/host_support.hpp"

using namespace xio::host;
using host_tests::contains;
using host_tests::error_of;

namespace {

constexpr std::chrono::milliseconds patience{20000};
constexpr std::chrono::milliseconds impatience{50};
const std::string local = "127.0.0.1";

/// Two connected ends; the second one has the limit that a test wants.
std::pair<Exchange, Exchange> make_pair_of_ends(std::chrono::milliseconds limit) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw_system_error("socketpair", errno);
  FileDescriptor first(ends[0], "socket");
  FileDescriptor second(ends[1], "socket");
  return {Exchange(std::move(first), patience), Exchange(std::move(second), limit)};
}

/// What an end that is asked for 4 bytes says when the other side sends these bytes and no more.
std::string answer_to(const std::string& bytes, bool then_close) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw_system_error("socketpair", errno);
  Exchange ours(FileDescriptor(ends[0], "socket"), impatience);
  FileDescriptor theirs(ends[1], "socket");
  if (::send(theirs.get(), bytes.data(), bytes.size(), 0) < 0) throw_system_error("send", errno);
  if (then_close) ::shutdown(theirs.get(), SHUT_WR);
  return error_of([&] { ours.trade(uint32_t{1}); });
}

}  // namespace

TEST_CASE("two sides swap structs and texts", "[host][rdma]") {
  ExchangeServer server(0, local);
  REQUIRE(server.port() != 0);
  const QueuePairAddress first{0x11, 0x22, 1024, 3, {{1, 2, 3}}};
  const QueuePairAddress second{0x44, 0x55, 4096, 6, {{9, 8, 7}}};
  QueuePairAddress seen;
  std::string text;
  std::thread client([&] {
    Exchange exchange = Exchange::connect(local, server.port(), patience);
    seen = exchange.trade(second);
    exchange.meet();
    text = exchange.trade(std::string("from the client"));
  });
  Exchange exchange = server.accept(patience);
  const QueuePairAddress theirs = exchange.trade(first);
  exchange.meet();
  CHECK(exchange.trade(std::string()) == "from the client");
  client.join();
  CHECK(theirs.qpn == 0x44);
  CHECK(theirs.psn == 0x55);
  CHECK(theirs.mtu == 4096);
  CHECK(theirs.gid == second.gid);
  CHECK(seen.qpn == 0x11);
  CHECK(seen.lid == 3);
  CHECK(seen.gid == first.gid);
  CHECK(text.empty());
}

TEST_CASE("the client may come first", "[host][rdma]") {
  uint16_t port = 0;
  {
    port = ExchangeServer(0, local).port();
  }
  std::string seen;
  std::thread client([&] { seen = Exchange::connect(local, port, patience).trade(std::string("a")); });
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  ExchangeServer server(port, local);
  CHECK(server.accept(patience).trade(std::string("b")) == "a");
  client.join();
  CHECK(seen == "b");
}

TEST_CASE("pieces that are larger than the sockets hold", "[host][rdma]") {
  auto [ours, theirs] = make_pair_of_ends(patience);
  const std::string mine(Exchange::largest, 'm');
  const std::string yours(Exchange::largest - 1, 'y');
  std::string seen;
  std::thread other([&, end = &theirs] { seen = end->trade(yours); });
  CHECK(ours.trade(mine) == yours);
  other.join();
  CHECK(seen == mine);
  CHECK(contains(error_of([&, end = &ours] { end->trade(mine + "1"); }), "a piece has 1048577 bytes, at most 1048576"));
}

TEST_CASE("every wait for the other side has an end", "[host][rdma]") {
  auto [silent, ours] = make_pair_of_ends(impatience);
  CHECK(contains(error_of([end = &ours] { end->meet(); }), "has not answered within 50 ms"));
  ExchangeServer server(0, local);
  CHECK(contains(error_of([&] { server.accept(impatience); }), "nobody has connected to port"));
  uint16_t port = 0;
  {
    port = ExchangeServer(0, local).port();
  }
  const std::string refused = error_of([&] { Exchange::connect(local, port, impatience); });
  CHECK(contains(refused, "nobody answers at 127.0.0.1 port " + std::to_string(port) + " within 50 ms"));
  CHECK(contains(refused, "Connection refused"));
}

TEST_CASE("a port that is taken, a name that is not known", "[host][rdma]") {
  ExchangeServer server(0, local);
  CHECK(contains(error_of([&] { ExchangeServer other(server.port(), local); }), "choose another one"));
  CHECK(contains(error_of([] { Exchange::connect("no such host", 1, impatience); }), "no address for 'no such host'"));
}

TEST_CASE("other sides that are not understood", "[host][rdma]") {
  const std::string magic("1oix", 4);
  const auto length = [](uint32_t bytes) { return std::string(reinterpret_cast<const char*>(&bytes), sizeof bytes); };
  CHECK(answer_to(magic + length(4) + "abcd", false).empty());
  CHECK(contains(answer_to("GET / HTTP/1.1\r\n", false), "no xio program of this version"));
  CHECK(contains(answer_to("xio1" + length(4) + "abcd", false), "no xio program of this version"));
  CHECK(contains(answer_to(magic + length(0xffffffff), false), "no xio program of this version"));
  CHECK(contains(answer_to(magic + length(3) + "abc", false), "gave 3 bytes where 4 were expected"));
  CHECK(contains(answer_to(magic + length(4) + "abc", false), "has not answered within 50 ms"));
  CHECK(contains(answer_to(magic + length(4) + "abc", true), "has closed the connection"));
  CHECK(contains(answer_to("", true), "has closed the connection"));
  auto [first, second] = make_pair_of_ends(patience);
  std::thread other([end = &second] { end->trade(std::string("x")); });
  CHECK(contains(error_of([end = &first] { end->meet(); }), "swaps where this one meets"));
  other.join();
}
