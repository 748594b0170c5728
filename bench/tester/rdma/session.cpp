// SPDX-License-Identifier: MIT
#include "tester/rdma/session.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>

#include <xio/host/error.hpp>
#include <xio/host/text.hpp>

#include "tester/cli/errors.hpp"
#include "tester/cli/interrupt.hpp"
#include "tester/rdma/pulse.hpp"
#include "tester/rdma/role.hpp"

namespace tester {

namespace {

using std::chrono::milliseconds;
using xio::host::Exchange;

constexpr size_t longest_line = 1000;         // longest line of the other side's report
constexpr uint32_t most_reported = 5;         // most foreign connections that are reported
constexpr uint32_t least_silence_ms = 10000;  // shortest silence that counts as loss of the other side

/// State after a run, which determines whether another may follow.
struct Ending {
  uint32_t failed;
  uint32_t interrupted;
};

/// Results that a side sends to the other at the end; statuses, runs and texts follow.
struct Findings {
  uint64_t submitted, completed, failed, batches, received, checked, wrong_count;
  double seconds;
  uint32_t gave_up, statuses, runs;
};

Exchange find_peer(const RdmaOptions& o) {
  const milliseconds limit(o.connect_ms);
  if (o.role == RdmaRole::client) {
    try {
      return Exchange::connect(o.server_host, o.port, limit);
    } catch (const xio::host::Error& failure) {
      throw Failed(std::string(failure.what()) + " (--server-host, --port, --connect-deadline)");
    }
  }
  const std::vector<std::string> hosts = o.listen.empty() ? std::vector<std::string>{"127.0.0.1"} : o.listen;
  xio::host::ExchangeServer server = [&] {
    try {
      return xio::host::ExchangeServer(o.port, hosts);
    } catch (const xio::host::Error& failure) {
      throw BadInput("--port " + std::to_string(o.port) + ", --listen: " + failure.what());
    }
  }();
  if (o.json != "-") {
    std::string where;
    for (const std::string& host : hosts) where += (where.empty() ? "" : " and ") + host;
    std::printf("waiting on port %u of %s for the client\n", static_cast<unsigned>(server.port()), where.c_str());
    std::fflush(stdout);
  }
  uint32_t refused = 0;
  xio::host::PeerFilter filter;
  filter.is_known = is_agreement;
  filter.on_refused = [&](const std::string& reason) {
    if (++refused <= most_reported) std::fprintf(stderr, "not the client: %s; still waiting\n", reason.c_str());
    if (refused == most_reported) std::fprintf(stderr, "further connections of this kind are not reported\n");
  };
  try {
    return server.accept(limit, filter);
  } catch (const xio::host::Error& failure) {
    throw Failed(std::string(failure.what()) + " (--connect-deadline)");
  }
}

template <class T>
void append(std::string& text, const T* from, size_t count) {
  if (count != 0) text.append(reinterpret_cast<const char*>(from), count * sizeof(T));
}

/// Parser of a text written by another process.
class Reader {
 public:
  explicit Reader(const std::string& text) : text_(text) {}
  template <class T>
  T next() {
    T value;
    if (text_.size() - at_ < sizeof value) throw xio::host::Error("the other side's report is too short");
    std::memcpy(static_cast<void*>(&value), text_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::string rest() const { return text_.substr(at_); }

 private:
  const std::string& text_;
  size_t at_ = 0;
};

std::string findings_of(const RdmaResult& r) {
  const Findings head{r.submitted,
                      r.completed,
                      r.failed,
                      r.batches,
                      r.received,
                      r.checked,
                      r.wrong_count,
                      r.seconds,
                      r.gave_up ? 1u : 0u,
                      static_cast<uint32_t>(r.statuses.size()),
                      static_cast<uint32_t>(r.runs.size())};
  std::string text;
  append(text, &head, 1);
  append(text, r.statuses.data(), r.statuses.size());
  append(text, r.runs.data(), r.runs.size());
  for (const std::string& one : r.wrong) text += one + "\n";
  return text;
}

}  // namespace

RdmaSession::RdmaSession(const RdmaOptions& options) : RdmaSession(options, find_peer(options)) {}

RdmaSession::RdmaSession(const RdmaOptions& options, Exchange exchange)
    : options_(options), exchange_(std::move(exchange)) {
  try {
    agree();
  } catch (const xio::host::Error& failure) {
    throw Failed(failure.what());
  }
}

void RdmaSession::agree() {
  const std::string mine = agreement_of(options_);
  require_agreement(mine, exchange_.trade(mine));
}

void RdmaSession::connect(RdmaLink& link, RdmaRunner& runner) {
  RdmaPhase& phase = runner.phase();
  std::vector<xio::host::QueuePairAddress> addresses;
  for (uint32_t i = 0; i < options_.num_queues; ++i) addresses.push_back(link.address(i));
  std::string mine;
  append(mine, addresses.data(), addresses.size());
  const std::string theirs = exchange_.trade(mine);
  Reader reader(theirs);
  for (uint32_t i = 0; i < options_.num_queues; ++i) link.connect(i, reader.next<xio::host::QueuePairAddress>());
  phase.remote = xio::host::in_kernels(exchange_.trade(xio::host::for_peers(phase.remote)));
  link.start();
}

/// Returns true if another run may follow.
bool RdmaSession::run_once(RdmaRunner& runner, RdmaResult& result) {
  runner.prepare();
  exchange_.meet();
  const auto setup_limit = milliseconds(options_.connect_ms);
  exchange_.set_limit(milliseconds(std::max(options_.deadline_ms, least_silence_ms)));
  RdmaPulse pulse(exchange_, options_.num_queues);
  RdmaPhase& phase = runner.phase();
  phase.stop = pulse.stop();
  phase.peer_done = pulse.peer_done();
  phase.abandoned = pulse.abandoned();
  phase.totals = pulse.totals();
  runner.execute(result, [&] { pulse.wait_for_peer(); });
  pulse.finish(runner.totals());
  const Ending mine{result.failed != 0 || result.gave_up ? 1u : 0u, Interrupt::requested() ? 1u : 0u};
  const Ending theirs = exchange_.trade(mine);
  exchange_.set_limit(setup_limit);
  interrupted_there_ = theirs.interrupted != 0 || pulse.peer_interrupted();
  interrupted_ = mine.interrupted != 0 || interrupted_there_;
  return mine.failed == 0 && theirs.failed == 0 && mine.interrupted == 0 && theirs.interrupted == 0;
}

/// Adds the other side's findings to `result`.
void RdmaSession::merge(RdmaResult& result) {
  const std::string theirs = exchange_.trade(findings_of(result));
  Reader reader(theirs);
  const auto head = reader.next<Findings>();
  result.submitted += head.submitted;
  result.completed += head.completed;
  result.failed += head.failed;
  result.batches += head.batches;
  result.received += head.received;
  result.checked += head.checked;
  result.wrong_count += head.wrong_count;
  result.gave_up = result.gave_up || head.gave_up != 0;
  for (uint32_t i = 0; i < head.statuses; ++i) result.add(reader.next<StatusCount>());
  std::vector<RdmaRun> runs;
  for (uint32_t i = 0; i < head.runs; ++i) runs.push_back(reader.next<RdmaRun>());
  // The requester has measured the time.
  if (options_.role == RdmaRole::server) {
    result.seconds = head.seconds;
    result.runs = runs;
  }
  const std::string lines = reader.rest();
  for (size_t at = 0; at < lines.size();) {
    const size_t end = std::min(lines.find('\n', at), lines.size());
    result.wrong.push_back(xio::host::printable(lines.substr(at, end - at), longest_line));
    at = end + 1;
  }
}

RdmaResult RdmaSession::measure(const RdmaProvider& provider, const RdmaPlan& plan, bool last) {
  RdmaResult result;
  result.plan = plan;
  result.repeated = options_.duration > 0 || (options_.infinite && last);
  const RdmaMemory memory = memory_for(options_, plan);
  const std::unique_ptr<RdmaLink> link = provider.open(plan.shape, memory.executor);
  RdmaRunner runner(options_, plan, result.repeated, *link, memory);
  try {
    connect(*link, runner);
    for (uint32_t i = 0; i < options_.runs; ++i)
      if (!run_once(runner, result)) break;
    merge(result);
  } catch (const xio::host::Error& failure) {
    result.lost = failure.what();
  }
  return result;
}

}  // namespace tester
