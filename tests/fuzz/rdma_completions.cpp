// SPDX-License-Identifier: MIT

/// @file
/// @brief Arbitrary bytes in the completion memory of all RDMA vendors' queue pairs, among entries that an emulated
/// NIC writes as it should: nothing is read or written beyond the queue's memory, every call returns, counters stay
/// sane, and what was once said of an operation holds.

#include <map>
#include <tuple>
#include <vector>

#include <xio/device/rdma/queue_pair.hpp>
#include <xio/device/rdma/receive.hpp>
#include <xio/host/emulation/rdma/nic.hpp>

#include "fuzz/fuzz.hpp"
#include "fuzz/one_lane.hpp"

using xio::Sharing;
using xio::Status;
using xio::Token;

namespace {

using namespace fuzz;
namespace emulation = xio::emulation;
namespace rdma = xio::rdma;

bool is_final(Status status) {
  return status != Status::pending && status != Status::would_block && status != Status::timed_out;
}

template <class Kit, Sharing S>
class Run {
  using Vendor = typename Kit::Vendor;
  static constexpr uint32_t data_bytes = 4096;

 public:
  explicit Run(Input& input)
      : input_(input),
        data_(data_bytes),
        pair_(fabric_, config_of(input)),
        send_((pair_.limit_depth(depth_), pair_.handle())),
        receive_(pair_.receive_handle()) {
    pair_.model().connect(pair_.config().qpn);
    local_ = {reinterpret_cast<uint64_t>(data_.data()), data_bytes, fabric_.keys().add(data_.data(), data_bytes)};
    remote_ = {local_.base, data_bytes, local_.key};
  }

  void all() {
    for (uint32_t step = 0; step < 200 && !input_.is_used_up(); ++step) {
      one_step();
      check();
    }
    // What was said holds, also after everything else has arrived.
    pair_.model().pass();
    for (size_t i = 0; i < sent_.size(); ++i) judge(i, send_.wait(sent_[i].token, xio::Deadline{0}));
    for (size_t i = 0; i < posted_.size(); ++i) judge_receive(i, receive_.wait(posted_[i].token, xio::Deadline{0}));
    check();
  }

 private:
  emulation::RdmaQueueConfig config_of(Input& input) {
    emulation::RdmaQueueConfig config = Kit::config();
    // The whole of a page, behind which a sanitizer keeps watch.
    const uint32_t cqe_bytes = Kit::Wire::cqe_bytes;
    config.sq_units = 32u << (input.take() & 1);
    if (config.side_entries != 0) config.side_entries = config.sq_units;
    if (config.cq_entries != 1) config.cq_entries = 4096 / cqe_bytes * (config.sq_units < 4096 / cqe_bytes ? 1 : 4);
    config.rq_entries = 32;
    config.receive_cq_entries = 4096 / cqe_bytes * (cqe_bytes > 64 ? 2 : 1);
    const uint32_t most = Kit::depth(config);
    depth_ = 8 + input.take() % (most - 7);
    return config;
  }

  void one_step() {
    const xio::rdma::QueuePairHandle h = pair_.handle();
    switch (input_.take() & 15) {
      case 0:
      case 1:
      case 2: post(); break;
      case 3: post_receive(); break;
      case 4:
      case 5: pair_.model().pass(); break;
      case 6: scribble(pair_.memory().cq, h.cq.size, pair_.memory().cq_producer); break;
      case 7:
        scribble(pair_.memory().receive_cq, pair_.config().receive_cq_entries, pair_.memory().receive_cq_producer);
        break;
      case 8: copy_entry(); break;
      case 9: send_.drain(); break;
      case 10: (void)send_.quiet(xio::Deadline{0}); break;
      case 11: (void)send_.fence(xio::Deadline{0}); break;
      case 12: ask_receive(); break;
      default: ask(); break;
    }
  }

  void post() {
    const uint64_t before = pair_.posted();
    const uint8_t how = input_.take();
    const uint32_t bytes = 8u * (1 + (how >> 5));
    const auto here = local_.at(0, bytes);
    const auto there = remote_.at(2048, bytes);
    const xio::Deadline past{0};
    Token token;
    switch (how & 7) {
      case 0:
      case 1: token = send_.put(there, here, xio::Now{}); break;
      case 2: token = send_.get(here, there, xio::Now{}); break;
      case 3: token = send_.send(here, xio::Now{}); break;
      case 4: token = send_.put_immediate(there, here, 0x1234, past); break;
      case 5: token = send_.fetch_add(remote_.at(2048, 8), 1, local_.at(0, 8), past); break;
      case 6:
        if constexpr (Kit::has_inline) token = send_.put_value(remote_.at(2048, 8), 1, past);
        break;
      default: {
        // Unsignalled: somebody has to learn of its end otherwise.
        rdma::Work work;
        work.remote = there.address;
        work.rkey = there.rkey;
        token = send_.try_submit(work, rdma::OneSge{{here.address, here.length, here.key}});
        break;
      }
    }
    expect(token.count <= pair_.posted() - before, "what a token stands for was reserved");
    if (token.count != 0) sent_.push_back({token, {}, false});
  }

  void post_receive() {
    const Token token = receive_.post(local_.at(1024, 64), xio::Now{});
    if (token.count != 0) posted_.push_back({token, {}, false});
  }

  /// Bytes that mean nothing, and a producer index, where the vendor has one.
  void scribble(uint8_t* ring, uint32_t entries, uint32_t* producer) {
    is_scribbled_ = true;
    const size_t size = size_t{entries} * Kit::Wire::cqe_bytes;
    const uint8_t how = input_.take();
    const size_t at = (how & 1) != 0 ? input_.take<uint16_t>() % size
                                     : (pair_.send().cq_head + (how >> 6)) % entries * Kit::Wire::cqe_bytes;
    if (producer != nullptr && (how & 2) != 0) *producer = input_.take<uint32_t>() >> (input_.take() & 31);
    const std::vector<uint8_t> bytes = input_.bytes(Kit::Wire::cqe_bytes);
    for (size_t i = 0; i < bytes.size() && at + i < size; ++i) ring[at + i] = bytes[i];
  }

  /// An entry once more where the next one is looked for, with a byte of it changed; most often the last one.
  void copy_entry() {
    is_scribbled_ = true;
    const uint32_t entries = pair_.handle().cq.size;
    const uint32_t bytes = Kit::Wire::cqe_bytes;
    uint8_t* const ring = pair_.memory().cq;
    const uint64_t head = pair_.send().cq_head;
    const uint8_t back = input_.take();
    uint8_t* const to = ring + head % entries * bytes;
    const uint8_t* const from = ring + (head - 1 - ((back & 1) != 0 ? back >> 1 : 0u)) % entries * bytes;
    if (to != from) std::memcpy(to, from, bytes);
    to[input_.take() % bytes] = input_.take();
    if (pair_.memory().cq_producer != nullptr) ++*pair_.memory().cq_producer;
  }

  void ask() {
    if (sent_.empty()) return;
    const size_t which = input_.take() % sent_.size();
    const Token& token = sent_[which].token;
    judge(which, input_.flag() ? send_.test(token) : send_.wait(token, xio::Deadline{0}));
  }

  void ask_receive() {
    if (posted_.empty()) return;
    const size_t which = input_.take() % posted_.size();
    const Token& token = posted_[which].token;
    judge_receive(which, input_.flag() ? receive_.test(token) : receive_.wait(token, xio::Deadline{0}));
  }

  struct Asked {
    Token token;
    Status status;
    bool is_answered;
  };

  void judge(size_t which, Status status) {
    Asked& one = sent_[which];
    if (!is_final(status)) {
      expect(!one.is_answered, "what has ended stays ended");
      return;
    }
    if (status == Status::broken) return;
    if (!is_scribbled_) expect(status.is_ok() || status.from_device(), "a NIC that behaves ends operations");
    // A queue that failed says so of what it had not told of yet.
    if (one.is_answered && one.status != status) {
      std::fprintf(stderr, "operation %llu: %s, and later %s\n", static_cast<unsigned long long>(one.token.last),
                   name(one.status.code), name(status.code));
      expect(false, "an operation ends once");
    }
    one.status = status;
    one.is_answered = true;
  }

  void judge_receive(size_t which, const rdma::Received& received) {
    Asked& one = posted_[which];
    if (!is_final(received.status)) {
      expect(!one.is_answered, "what has arrived stays arrived");
      return;
    }
    if (received.status == Status::broken || received.status == Status::expired) return;
    if (one.is_answered) expect(one.status == received.status, "a receive ends once");
    one.status = received.status;
    one.is_answered = true;
  }

  void check() {
    const xio::QueueState& s = pair_.state();
    const rdma::SendState& more = pair_.send();
    expect(s.retired >= retired_, "what has ended stays ended");
    retired_ = s.retired;
    const uint64_t reserved = pair_.posted();
    expect(s.retired <= reserved, "no more has ended than was posted");
    expect(reserved - s.retired <= depth_, "no more is in flight than the depth");
    expect(s.acknowledged <= more.cq_head, "what is acknowledged was read");
    if constexpr (!Vendor::has_collapsed_cq) {
      expect(more.cq_head - s.acknowledged < pair_.config().cq_entries, "the ring does not fill up unacknowledged");
    }
    expect((s.retired & xio::protocol::draining_bit) == 0, "nobody is left draining");
    expect(more.failed_end <= reserved + 1, "what failed was posted");
    const rdma::ReceiveQueueHandle r = pair_.receive_handle();
    expect(r.state->queue.retired <= r.state->queue.reserved || r.state->queue.broken != 0,
           "no more arrived than was posted");
    expect((r.state->queue.retired & xio::protocol::draining_bit) == 0, "nobody is left draining receives");
    if (!is_scribbled_) expect(s.broken == 0 && r.state->queue.broken == 0, "a NIC that behaves breaks nothing");
  }

  Input& input_;
  std::vector<uint8_t> data_;
  uint32_t depth_ = 0;
  emulation::RdmaFabric fabric_;
  emulation::RdmaQueuePair<Kit> pair_;
  rdma::QueuePair<Vendor, S> send_;
  rdma::ReceiveQueue<Vendor, S> receive_;
  xio::Region local_{};
  rdma::RemoteMemory remote_{};
  std::vector<Asked> sent_;
  std::vector<Asked> posted_;
  uint64_t retired_ = 0;
  bool is_scribbled_ = false;
};

struct CollapsedMlx5 : xio::mlx5::Options {
  static constexpr bool collapsed = true;
};
struct CollapsedIonic : xio::ionic::Options {
  static constexpr bool collapsed = true;
};
struct VariableBnxt : xio::bnxt::Options {
  static constexpr xio::bnxt::WqeMode mode = xio::bnxt::WqeMode::variable;
};

/// Adds a run for each of some kits.
template <Sharing S, class... Kit>
void add(std::vector<void (*)(Input&)>& runs, std::tuple<Kit...>) {
  (runs.push_back([](Input& input) { Run<Kit, S>(input).all(); }), ...);
}

std::vector<void (*)(Input&)> all_runs() {
  std::vector<void (*)(Input&)> runs;
  add<Sharing::thread>(runs, emulation::RdmaKits{});
  add<Sharing::thread>(runs, std::tuple<emulation::Mlx5Kit<CollapsedMlx5>, emulation::IonicKit<CollapsedIonic>,
                                        emulation::BnxtKit<VariableBnxt>>{});
  add<Sharing::grid>(runs, emulation::RdmaKits{});
  return runs;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<void (*)(Input&)> runs = all_runs();
  const OneLane lane;
  Input input(data, size);
  const uint8_t kind = input.take();
  runs[kind % runs.size()](input);
  return 0;
}
