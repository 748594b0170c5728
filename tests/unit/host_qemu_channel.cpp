// SPDX-License-Identifier: MIT

/// @file
/// @brief The conversations with QEMU against a scripted other side: order, deadlines, failures.

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <xio/host/nvme/qemu_monitor.hpp>
#include <xio/host/nvme/qemu_qtest.hpp>
#include <xio/host/nvme/qemu_remote.hpp>

#include "catch.hpp"
#include "unit/host_support.hpp"

using namespace xio::host;
using host_tests::contains;
using host_tests::error_of;

namespace {

constexpr std::chrono::milliseconds reply_limit{20000};
constexpr std::chrono::milliseconds impatience{50};

/// The other end of a connection, run by a thread; `serve` gets the descriptor.
class Peer {
 public:
  explicit Peer(std::function<void(int)> serve) {
    auto [ours, theirs] = make_socket_pair();
    ours_ = std::move(ours);
    thread_ = std::thread([serve = std::move(serve), fd = std::move(theirs)]() mutable {
      serve(fd.get());
      fd.reset();
    });
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer() { thread_.join(); }
  FileDescriptor take() { return std::move(ours_); }

 private:
  FileDescriptor ours_;
  std::thread thread_;
};

bool read_all(int fd, void* to, size_t bytes) {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = ::read(fd, at, bytes);
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

/// The texts are shorter than any socket's buffer.
void write_all(int fd, const std::string& text) {
  const ssize_t sent = ::send(fd, text.data(), text.size(), MSG_NOSIGNAL);
  static_cast<void>(sent);  // the main thread finds out
}

std::string read_line(int fd) {
  std::string line;
  char c = 0;
  while (read_all(fd, &c, 1) && c != '\n') line += c;
  return line;
}

/// Swallows everything until the connection is closed.
void ignore_all(int fd) {
  char buffer[4096];
  while (::read(fd, buffer, sizeof buffer) > 0) {
  }
}

/// Answers test protocol lines like a memory whose words hold their own address.
void serve_qtest(int fd, std::vector<std::string>& lines) {
  for (;;) {
    const std::string line = read_line(fd);
    if (line.empty()) return;
    lines.push_back(line);
    const bool reads = line.compare(0, 4, "read") == 0;
    write_all(fd, reads ? "OK " + line.substr(6) + "\n" : "OK\n");
  }
}

struct RemoteMessage {
  int32_t command;
  uint32_t padding;
  uint64_t bytes;
  uint64_t address;
  uint64_t value;
  uint32_t size;
  uint32_t memory;
};

/// Answers memory accesses of the multi-process protocol: reads give the address.
void serve_remote(int fd, std::vector<RemoteMessage>& messages) {
  RemoteMessage message{};
  while (read_all(fd, &message, 40)) {
    messages.push_back(message);
    const uint64_t reply[3] = {1, 8, message.address};
    if (::send(fd, reply, sizeof reply, MSG_NOSIGNAL) != sizeof reply) return;
  }
}

}  // namespace

TEST_CASE("the test protocol's lines", "[host][qemu]") {
  std::vector<std::string> lines;
  {
    Peer peer([&](int fd) { serve_qtest(fd, lines); });
    QemuQtestChannel channel(peer.take(), reply_limit, 4);
    CHECK(channel.read(0x1234, 4) == 0x1234);
    CHECK(channel.read(0xfedcba9876543210, 8) == 0xfedcba9876543210);
    channel.write(0x10, 0x20, 4);
    channel.write(0x18, 0xffffffffffffffff, 8);
    channel.config_write(0x10, 0xe0000000, 4);
    channel.config_write(0x06, 0x12, 2);
  }
  CHECK(lines == std::vector<std::string>{"readl 0x1234", "readq 0xfedcba9876543210", "writel 0x10 0x20",
                                          "writeq 0x18 0xffffffffffffffff", "outl 0xcf8 0x80002010",
                                          "outl 0xcfc 0xe0000000", "outl 0xcf8 0x80002004", "outw 0xcfe 0x12"});
}

TEST_CASE("posted writes stay in order with what follows, whatever their number", "[host][qemu]") {
  constexpr uint32_t count = 20000;
  constexpr uint32_t few = 5;
  const auto post_all = [](QemuChannel& channel) {
    std::vector<PostedWrite> writes;
    for (uint32_t i = 0; i < count; ++i) {
      writes.push_back({0x1000 + uint64_t{i}, i});
      if (writes.size() == 1 + i % 100) {
        channel.post(writes.data(), writes.size());
        writes.clear();
      }
    }
    channel.post(writes.data(), writes.size());
    CHECK(channel.read(0x77, 4) == 0x77);
    // So few replies are not collected in passing: the next answer must not be taken from them.
    for (uint32_t i = 0; i < few; ++i) {
      const PostedWrite write{0x2000 + uint64_t{i}, i};
      channel.post(&write, 1);
    }
    CHECK(channel.read(0x88, 4) == 0x88);
    CHECK_FALSE(channel.broken());
  };
  SECTION("qtest") {
    std::vector<std::string> lines;
    {
      Peer peer([&](int fd) { serve_qtest(fd, lines); });
      QemuQtestChannel channel(peer.take(), reply_limit, 4);
      post_all(channel);
    }
    REQUIRE(lines.size() == count + few + 2);
    for (uint32_t i = 0; i < count; ++i) REQUIRE(lines[i] == "writel " + to_hex(0x1000 + i) + " " + to_hex(i));
  }
  SECTION("remote") {
    std::vector<RemoteMessage> messages;
    {
      Peer peer([&](int fd) { serve_remote(fd, messages); });
      QemuRemoteChannel channel(peer.take(), reply_limit);
      post_all(channel);
    }
    REQUIRE(messages.size() == count + few + 2);
    for (uint32_t i = 0; i < count; ++i) {
      REQUIRE(messages[i].command == 4);
      REQUIRE(messages[i].bytes == 24);
      REQUIRE(messages[i].address == 0x1000 + i);
      REQUIRE(messages[i].value == i);
      REQUIRE(messages[i].size == 4);
      REQUIRE((messages[i].memory & 0xff) == 1);
    }
    CHECK(messages.back().command == 5);
  }
}

TEST_CASE("a silent other side is an error after the deadline, and the connection is given up", "[host][qemu]") {
  const auto check = [](QemuChannel& channel) {
    CHECK(contains(error_of([&] { channel.read(0, 4); }), "QEMU has not answered within 50 ms"));
    CHECK(channel.broken());
    CHECK(contains(error_of([&] { channel.read(0, 4); }), "has already failed"));
    const PostedWrite write{0, 0};
    CHECK(contains(error_of([&] { channel.post(&write, 1); }), "has already failed"));
  };
  Peer peer(ignore_all);
  SECTION("qtest") {
    QemuQtestChannel channel(peer.take(), impatience, 4);
    check(channel);
  }
  SECTION("remote") {
    QemuRemoteChannel channel(peer.take(), impatience);
    check(channel);
  }
}

TEST_CASE("a socket that is never read fills up: an error, not a hang", "[host][qemu]") {
  auto [ours, theirs] = make_socket_pair();
  QemuRemoteChannel channel(std::move(ours), impatience);
  const std::vector<PostedWrite> writes(32);
  std::string message;
  for (int i = 0; i < 100000 && message.empty(); ++i)
    message = error_of([&] { channel.post(writes.data(), writes.size()); });
  CHECK(contains(message, "QEMU has not answered within 50 ms"));
}

TEST_CASE("the end of the other side is an error, and no signal", "[host][qemu]") {
  auto [ours, theirs] = make_socket_pair();
  QemuQtestChannel channel(std::move(ours), reply_limit, 4);
  theirs.reset();
  CHECK(contains(error_of([&] { channel.write(0, 0, 4); }), "QEMU"));
  CHECK(channel.broken());
}

TEST_CASE("answers that are not understood are errors", "[host][qemu]") {
  Peer peer([](int fd) {
    char request[64];
    if (::read(fd, request, sizeof request) > 0) write_all(fd, "FAIL Unknown command 'readl'\n                  \n");
    ignore_all(fd);
  });
  SECTION("qtest") {
    QemuQtestChannel channel(peer.take(), reply_limit, 4);
    CHECK(contains(error_of([&] { channel.read(0, 4); }), "answers 'FAIL Unknown command 'readl''"));
  }
  SECTION("remote") {
    QemuRemoteChannel channel(peer.take(), reply_limit);
    CHECK(contains(error_of([&] { channel.read(0, 4); }), "has an unknown format; use transport=qtest"));
  }
}

TEST_CASE("memory is shared with its descriptor", "[host][qemu]") {
  std::vector<unsigned char> bytes(16 + 192);
  int received = -1;
  const FileDescriptor file(::memfd_create("shared", MFD_CLOEXEC), "memfd");
  REQUIRE(::ftruncate(file.get(), 12345) == 0);
  {
    Peer peer([&](int fd) {
      alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
      iovec part{bytes.data(), 16};
      msghdr envelope{};
      envelope.msg_iov = &part;
      envelope.msg_iovlen = 1;
      envelope.msg_control = control;
      envelope.msg_controllen = sizeof control;
      if (::recvmsg(fd, &envelope, MSG_CMSG_CLOEXEC) != 16) return;
      const cmsghdr* rights = CMSG_FIRSTHDR(&envelope);
      if (rights != nullptr) std::memcpy(&received, CMSG_DATA(rights), sizeof received);
      read_all(fd, bytes.data() + 16, 192);
    });
    QemuRemoteChannel channel(peer.take(), reply_limit);
    channel.share_memory(file.get(), 0x7fff00000000, 12345);
  }
  const FileDescriptor owner(received, "received descriptor");
  struct stat info{};
  REQUIRE(::fstat(owner.get(), &info) == 0);
  CHECK(info.st_size == 12345);
  uint64_t words[26];
  std::memcpy(words, bytes.data(), sizeof words);
  CHECK(words[0] == 0);  // command, padding
  CHECK(words[1] == 192);
  CHECK(words[2] == 0x7fff00000000);
  CHECK(words[10] == 12345);
  CHECK(words[18] == 0);
}

TEST_CASE("the members of a JSON object are found", "[host][qemu]") {
  const std::string text =
      R"({"timestamp": {"seconds": 1, "event": "inner"}, "list": [1, {"id": 9}], "event": "a \"b\" }{,", "id": 7 , "x": {}})";
  CHECK(detail::json::member(text, "event") == R"("a \"b\" }{,")");
  CHECK(detail::json::unquote(detail::json::member(text, "event")) == "a \"b\" }{,");
  CHECK(detail::json::member(text, "id") == "7");
  CHECK(detail::json::member(text, "list") == R"([1, {"id": 9}])");
  CHECK(detail::json::member(text, "x") == "{}");
  CHECK(detail::json::member(text, "inner").empty());
  CHECK(detail::json::member(text, "seconds").empty());
  for (const char* odd : {"", "{", "{\"", "{\"a", "{\"a\"", "{\"a\":", "{}", "null", "{\"a\": \"", "{\"id\": \"\\"})
    CHECK_NOTHROW(detail::json::member(odd, "id"));
  CHECK(detail::json::quote("a\"b\\c\n") == R"("a\"b\\c\u000a")");
  CHECK(detail::json::unquote(R"("x\r\ny\t\\")") == "x\r\ny\t\\");
}

TEST_CASE("the monitor pairs answers with questions", "[host][qemu]") {
  std::vector<std::string> requests;
  {
    Peer peer([&](int fd) {
      write_all(fd, R"({"QMP": {"version": {"qemu": {"micro": 22, "minor": 2, "major": 7}, "package": ""}}})"
                    "\r\n");
      const auto next = [&] { requests.push_back(read_line(fd)); };
      next();
      write_all(fd, "{\"return\": {}, \"id\": 1}\r\n");
      next();
      // An event, whose data even looks like an answer, and a late answer come first.
      write_all(fd, "{\"event\": \"STOP\", \"data\": {\"return\": 1, \"id\": 2}}\r\n{\"return\": 5, \"id\": 1}\r\n");
      write_all(fd, "{\"id\": 2, \"return\": \"line one\\r\\n\"}\r\n");
      next();
      write_all(fd, "{\"id\": 3, \"error\": {\"class\": \"GenericError\", \"desc\": \"Property 'x' not found\"}}\r\n");
      ignore_all(fd);
    });
    QemuMonitor monitor(peer.take(), reply_limit);
    CHECK(monitor.version() == "7.2.22");
    CHECK(monitor.human("qemu-io drive0 \"break read_aio A\"") == "line one\r\n");
    CHECK(contains(error_of([&] { monitor.set_property("/a", "x", "4"); }),
                   "QEMU refuses qom-set: Property 'x' not found"));
  }
  REQUIRE(requests.size() == 3);
  CHECK(requests[0] == R"({"execute":"qmp_capabilities","id":1})");
  CHECK(
      requests[1] ==
      R"({"execute":"human-monitor-command","arguments":{"command-line":"qemu-io drive0 \"break read_aio A\""},"id":2})");
  CHECK(requests[2] == R"({"execute":"qom-set","arguments":{"path":"/a","property":"x","value":4},"id":3})");
}

TEST_CASE("a monitor that says nothing is an error", "[host][qemu]") {
  Peer peer(ignore_all);
  CHECK(contains(error_of([&] { QemuMonitor monitor(peer.take(), impatience); }), "has not answered within 50 ms"));
}
