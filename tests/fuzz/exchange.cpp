// SPDX-License-Identifier: MIT

/// @file
/// @brief Arbitrary bytes from the other side of an RDMA exchange, in any pieces: each trade gives what the bytes say,
/// or an Error, and the tester's session on top of it comes to an end.

#include <sys/socket.h>

#include <memory>
#include <optional>

#include <xio/host/rdma/address.hpp>
#include <xio/host/rdma/exchange.hpp>

#include "fuzz/fuzz.hpp"
#include "tester/cli/errors.hpp"
#include "tester/rdma/plan.hpp"
#include "tester/rdma/role.hpp"
#include "tester/rdma/session.hpp"

namespace {

using namespace fuzz;
using xio::host::Error;
using xio::host::Exchange;
using xio::host::FileDescriptor;

constexpr std::chrono::milliseconds patience{10000};

/// One end for the library; what the other end has sent is all there.
struct Ends {
  FileDescriptor ours;
  FileDescriptor theirs;
  Ends() {
    int ends[2];
    expect(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "a pair of sockets");
    ours = FileDescriptor(ends[0], "socket");
    theirs = FileDescriptor(ends[1], "socket");
  }
  void send(const std::string& bytes) const {
    const ssize_t sent = ::send(theirs.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    expect(sent == static_cast<ssize_t>(bytes.size()), "the socket holds an input");
  }
  void end() const { ::shutdown(theirs.get(), SHUT_WR); }
};

std::string framed(const std::string& piece) {
  std::string text("1oix", 4);
  const auto bytes = static_cast<uint32_t>(piece.size());
  text.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  return text + piece;
}

/// The pieces in a text, read as the format is written down: "1oix", length, so many bytes.
class Pieces {
 public:
  explicit Pieces(std::string text) : text_(std::move(text)) {}
  std::optional<std::string> next() {
    uint32_t bytes = 0;
    if (text_.size() - at_ < 8 || text_.compare(at_, 4, "1oix") != 0) return std::nullopt;
    std::memcpy(&bytes, text_.data() + at_ + 4, sizeof bytes);
    if (bytes > 1u << 20 || text_.size() - at_ - 8 < bytes) return std::nullopt;
    at_ += 8 + size_t{bytes};
    return text_.substr(at_ - bytes, bytes);
  }

 private:
  std::string text_;
  size_t at_ = 0;
};

/// The exchange alone.
void trade(Input& input) {
  std::string kinds;
  for (uint32_t left = input.take() & 7; left != 0; --left) kinds += static_cast<char>(input.take() & 3);
  const bool well_framed = input.flag();
  std::string sent;
  if (well_framed) {
    for (const char kind : kinds) {
      const std::vector<uint8_t> bytes = input.bytes(kind == 0 ? sizeof(xio::host::QueuePairAddress) : input.take());
      sent += framed(std::string(bytes.begin(), bytes.end()));
    }
  } else {
    sent = input.text();
  }
  const Ends ends;
  ends.send(sent);
  ends.end();
  Exchange exchange(FileDescriptor(::dup(ends.ours.get()), "socket"), patience);
  Pieces pieces(sent);
  try {
    for (const char kind : kinds) {
      const std::optional<std::string> due = pieces.next();
      if (kind == 0) {
        const xio::host::QueuePairAddress got = exchange.trade(xio::host::QueuePairAddress{});
        expect(due && due->size() == sizeof got && std::memcmp(&got, due->data(), sizeof got) == 0, "a struct");
      } else if (kind == 1) {
        exchange.meet();
        expect(due && due->empty(), "a meeting");
      } else {
        const std::string got = exchange.trade(std::string(size_t{static_cast<uint8_t>(kind)} * 100, 'x'));
        expect(due && *due == got, "a text");
      }
    }
  } catch (const Error& error) {
    expect(error.what()[0] != '\0', "an error says why");
  }
}

/// Queue pairs that do nothing, at once.
class IdleLink final : public tester::RdmaLink {
 public:
  xio::rdma::QueuePairHandle queue(uint32_t) override { return {}; }
  xio::rdma::ReceiveQueueHandle receives(uint32_t) override { return {}; }
  xio::host::QueuePairAddress address(uint32_t) const override { return {}; }
  void connect(uint32_t, const xio::host::QueuePairAddress&) override {}
  tester::RdmaKeys add_memory(void*, uint64_t) override { return {}; }
  void start() override {}
  void run(const tester::RdmaPhase&) override {}
  tester::RdmaSeen seen() const override { return {}; }
};

/// The tester's session: what the other side says after it has agreed is the fuzzer's.
void session(Input& input) {
  tester::RdmaOptions options;
  options.role = input.flag() ? tester::RdmaRole::client : tester::RdmaRole::server;
  options.verb = tester::RdmaVerb::write;
  options.num_queues = 1 + (input.take() & 3);
  options.iterations = 4;
  options.deadline_ms = 10000;
  options.connect_ms = 10000;
  options.verify = input.flag();
  tester::RdmaProvider provider;
  provider.name = provider.where = "idle";
  provider.units = [](tester::RdmaVerb, bool, uint32_t, bool) { return 1u; };
  provider.open = [](const tester::RdmaLinkShape&, const tester::ExecutorMemory&) {
    return std::make_unique<IdleLink>();
  };

  const Ends ends;
  const uint8_t first = input.take();
  if (first < 0xf0) {
    ends.send(framed(tester::agreement_of(options)));
    // As far as this goes the other side may behave: addresses, memory, a meeting, beats, an ending.
    const uint32_t polite = first % 6;
    const std::string totals(size_t{options.num_queues} * sizeof(tester::RdmaTotals), '\1');
    const uint32_t finished[2] = {1, 0};
    const std::string beat(reinterpret_cast<const char*>(finished), sizeof finished);
    const std::string parts[] = {std::string(options.num_queues * sizeof(xio::host::QueuePairAddress), '\0'),
                                 std::string(sizeof(xio::host::PeerMemory), '\0'), std::string(), beat + totals,
                                 std::string(8, '\0')};
    for (uint32_t i = 0; i < polite; ++i) ends.send(framed(parts[i]));
    if ((first & 0x40) != 0) {
      const std::vector<uint8_t> bytes = input.bytes(input.take<uint16_t>() & 1023);
      ends.send(framed(std::string(bytes.begin(), bytes.end())));
    }
  }
  ends.send(input.text());
  ends.end();
  try {
    const tester::RdmaPlan plan = tester::make_plan(options, provider, 64);
    tester::RdmaSession one(options, Exchange(FileDescriptor(::dup(ends.ours.get()), "socket"), patience));
    const tester::RdmaResult result = one.measure(provider, plan, true);
    expect(result.statuses.size() <= 4096 && result.runs.size() <= 4096, "no more comes than was sent");
  } catch (const Error& error) {
    expect(error.what()[0] != '\0', "an error says why");
  } catch (const tester::Failed& failure) {
    expect(failure.what()[0] != '\0', "a failure says why");
  } catch (const tester::BadInput& failure) {
    expect(failure.what()[0] != '\0', "a refusal says why");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  if (input.flag()) {
    trade(input);
  } else {
    session(input);
  }
  return 0;
}
