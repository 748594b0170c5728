// SPDX-License-Identifier: MIT

/// @file
/// @brief The swap of connection data by TCP, over the loopback device: pairing, sizes, deadlines, odd other sides.

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <xio/host/rdma/address.hpp>
#include <xio/host/rdma/exchange.hpp>
#include <xio/host/text.hpp>

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
  CHECK(
      contains(error_of([&, end = &ours] { end->trade(mine + "1"); }), "a message has 1048577 bytes, at most 1048576"));
}

TEST_CASE("every wait for the other side has an end", "[host][rdma]") {
  auto [silent, ours] = make_pair_of_ends(impatience);
  CHECK(contains(error_of([end = &ours] { end->meet(); }), "has not answered within 50 ms"));
  ExchangeServer server(0, local);
  CHECK(contains(error_of([&] { server.accept(impatience); }), "no client has connected to port"));
  uint16_t port = 0;
  {
    port = ExchangeServer(0, local).port();
  }
  const std::string refused = error_of([&] { Exchange::connect(local, port, impatience); });
  CHECK(contains(refused, "no server responds at 127.0.0.1 port " + std::to_string(port) + " within 50 ms"));
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
  CHECK(contains(answer_to("GET / HTTP/1.1\r\n", false), "not an xio program of this version"));
  CHECK(contains(answer_to("xio1" + length(4) + "abcd", false), "not an xio program of this version"));
  CHECK(contains(answer_to(magic + length(0xffffffff), false), "not an xio program of this version"));
  CHECK(contains(answer_to(magic + length(3) + "abc", false), "sent 3 bytes where 4 were expected"));
  CHECK(contains(answer_to(magic + length(4) + "abc", false), "has not answered within 50 ms"));
  CHECK(contains(answer_to(magic + length(4) + "abc", true), "has closed the connection"));
  CHECK(contains(answer_to("", true), "has closed the connection"));
  auto [first, second] = make_pair_of_ends(patience);
  std::thread other([end = &second] { end->trade(std::string("x")); });
  CHECK(contains(error_of([end = &first] { end->meet(); }), "called trade() instead of meet()"));
  other.join();
}

namespace {

/// Somebody who connects and says so much; the socket stays open as long as the object lives.
FileDescriptor knock(uint16_t port, const std::string& words, const char* host = "127.0.0.1") {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  ::inet_pton(AF_INET, host, &address.sin_addr);
  FileDescriptor fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return FileDescriptor();
  if (!words.empty() && ::send(fd.get(), words.data(), words.size(), MSG_NOSIGNAL) < 0)
    throw_system_error("send", errno);
  return fd;
}

/// What somebody was told until his connection ended.
std::string heard(const FileDescriptor& fd) {
  std::string all;
  char buffer[256];
  for (ssize_t got = 0; (got = ::recv(fd.get(), buffer, sizeof buffer, 0)) > 0;)
    all.append(buffer, static_cast<size_t>(got));
  return all;
}

std::string piece(const std::string& content) {
  const auto bytes = static_cast<uint32_t>(content.size());
  return "1oix" + std::string(reinterpret_cast<const char*>(&bytes), sizeof bytes) + content;
}

}  // namespace

TEST_CASE("a server goes on after strangers, and none of them can make others wait", "[host][rdma]") {
  ExchangeServer server(0, local);
  std::vector<FileDescriptor> strangers;
  for (const std::string& words : {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(300, '\xff'),
                                   piece("something else"), std::string("1oix\xff\xff\xff\xff"), std::string("1oix"),
                                   piece("hello, but not all of it").substr(0, 20), std::string()})
    strangers.push_back(knock(server.port(), words));
  knock(server.port(), "gone before anybody looked");
  knock(server.port(), "");
  std::string seen;
  std::thread client(
      [&] { seen = Exchange::connect(local, server.port(), patience).trade(std::string("hello, it is me")); });
  std::vector<std::string> refused;
  PeerFilter policy;
  policy.patience = patience;  // those who are silent stay silent for longer than this takes
  policy.is_known = [](const std::string& first) { return first == "hello, it is me"; };
  policy.on_refused = [&](const std::string& reason) { refused.push_back(reason); };
  const auto began = std::chrono::steady_clock::now();
  Exchange exchange = server.accept(patience, policy);
  CHECK(exchange.trade(std::string("welcome")) == "hello, it is me");
  CHECK(std::chrono::steady_clock::now() - began < patience);
  client.join();
  CHECK(seen == "welcome");
  // Nobody else got a byte; all of them were let go of.
  for (const FileDescriptor& one : strangers) CHECK(heard(one).empty());
  for (const std::string& reason : refused) {
    CAPTURE(reason);
    CHECK(contains(reason, "exchange: the peer "));
    CHECK(printable(reason) == reason);
  }
}

TEST_CASE("each of those who connect has a deadline of his own", "[host][rdma]") {
  ExchangeServer server(0, local);
  const FileDescriptor silent = knock(server.port(), "");
  const FileDescriptor slow = knock(server.port(), "1oi");
  std::vector<std::string> refused;
  PeerFilter policy;
  policy.patience = impatience;
  policy.is_known = [](const std::string&) { return true; };
  policy.on_refused = [&](const std::string& reason) { refused.push_back(reason); };
  CHECK(contains(error_of([&] { server.accept(10 * impatience, policy); }), "no client has connected to port"));
  REQUIRE(refused.size() == 2);
  CHECK(contains(refused[0], "has not sent its first message within 50 ms"));
  // More of them than are listened to at once.
  policy.patience = patience;
  std::string seen;
  std::thread waiting([&] { seen = server.accept(patience, policy).trade(std::string()); });
  std::vector<FileDescriptor> many;
  for (uint32_t i = 0; i < 100; ++i) many.push_back(knock(server.port(), ""));
  const FileDescriptor known = knock(server.port(), piece("it is me"));
  waiting.join();
  CHECK(seen == "it is me");
}

TEST_CASE("a server listens where it is told, and else for its own machine alone", "[host][rdma]") {
  const char* const other = "127.0.0.2";
  ExchangeServer alone;
  CHECK(knock(alone.port(), ""));
  CHECK_FALSE(knock(alone.port(), "", other));
  ExchangeServer elsewhere(0, other);
  CHECK(knock(elsewhere.port(), "", other));
  CHECK_FALSE(knock(elsewhere.port(), ""));
  ExchangeServer both(0, std::vector<std::string>{other, local});
  const FileDescriptor first = knock(both.port(), piece("a"), other);
  CHECK(both.accept(patience).trade(std::string()) == "a");
  const FileDescriptor second = knock(both.port(), piece("b"));
  CHECK(both.accept(patience).trade(std::string()) == "b");
  ExchangeServer all(0, "0.0.0.0");
  CHECK(knock(all.port(), "", other));
  CHECK(contains(error_of([] { ExchangeServer nowhere(0, "192.0.2.7"); }), "of 192.0.2.7; choose another one"));
}

TEST_CASE("text of others is shown without what a terminal would obey", "[host]") {
  CHECK(printable("plain") == "plain");
  CHECK(printable(std::string("a\x1b[2J\0\n\\ \xff", 9)) == "a\\x1b[2J\\x00\\x0a\\\\ ");
  CHECK(printable("\xff\x7f") == "\\xff\\x7f");
  CHECK(printable(std::string(300, 'x')) == std::string(200, 'x') + "...");
  CHECK(printable("abc", 2) == "ab...");
}

TEST_CASE("memory keeps what a peer must know of it", "[host][rdma]") {
  for (const bool atomics : {false, true}) {
    const xio::rdma::RemoteMemory kernels{0x1000, 4096, 7, atomics};
    const xio::rdma::RemoteMemory back = in_kernels(for_peers(kernels));
    CHECK(back.base == 0x1000);
    CHECK(back.length == 4096);
    CHECK(back.rkey == 7);
    CHECK(back.atomics == atomics);
  }
}
