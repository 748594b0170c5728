// SPDX-License-Identifier: MIT

/// @file
/// @brief Arbitrary bytes in NVMe completion memory, between calls of every kind: nothing is read or written beyond the
/// queue's memory, every call returns, counters and doorbells stay sane, and no operation ends otherwise than an entry
/// said.

#include <map>

#include "fuzz/nvme_queue.hpp"

namespace nvme = xio::nvme;
using xio::Sharing;
using xio::Status;
using xio::Token;

namespace {

using namespace fuzz;

template <Sharing S>
class Run {
  using Policy = xio::Policy<xio::Notify>;
  static constexpr bool is_shared = xio::is_shared<S>;

 public:
  explicit Run(Input& input) : input_(input), memory_(input), queue_(with_room(memory_.handle)) {}

  void all() {
    for (uint32_t step = 0; step < 200 && !input_.is_used_up(); ++step) {
      one_step();
      catch_up();
    }
  }

 private:
  /// So that nothing is refused or split.
  static const nvme::QueueHandle& with_room(nvme::QueueHandle& handle) {
    handle.namespace_blocks = 0;
    handle.max_blocks = 8;
    handle.block_shift = 9;
    return handle;
  }

  void one_step() {
    switch (input_.take() & 15) {
      case 0:
      case 1: submit(); break;
      case 2: scribble(); break;
      case 3:
      case 4:
      case 5: write_entry(); break;
      case 6: queue_.drain(); break;
      case 7: process(); break;
      case 8: ask_all(); break;
      case 9: ask_any(); break;
      case 10: {
        const Status status = queue_.fence(xio::Deadline{0});
        catch_up();
        expect(!status.is_ok() || in_flight_.empty() || is_broken_, "a fence holds until everything has ended");
        break;
      }
      case 11: {
        const Status status = queue_.quiet(xio::Deadline{0});
        catch_up();
        expect(!status.is_ok() || in_flight_.empty() || is_broken_, "quiet() holds until everything has ended");
        break;
      }
      case 12: {
        const nvme::ErrorSummary errors = queue_.errors();
        expect(errors.count <= failed_, "errors that nobody has asked for are errors");
        break;
      }
      case 13: batch(); break;
      default: ask(); break;
    }
  }

  void submit() {
    const nvme::ContiguousPages pages{0x100000};
    const uint64_t before = xio::protocol::tickets(memory_.state.reserved);
    const auto command = nvme::read(input_.take(), 1 + (input_.take() & 7));
    const Token token = input_.flag()
                            ? queue_.submit(command, pages, xio::Deadline{0}, xio::Options().notify(notification_))
                            : queue_.try_submit(command, pages);
    catch_up();
    enter(before, token);
  }

  void batch() {
    std::vector<nvme::Piece> pieces(1 + (input_.take() & 7), nvme::Piece{1, 0x100000, 1});
    const uint64_t before = xio::protocol::tickets(memory_.state.reserved);
    const Token token = queue_.submit_batch(nvme::Opcode::read, pieces.data(), static_cast<uint32_t>(pieces.size()),
                                            xio::Deadline{0}, xio::Options().notify(notification_));
    catch_up();
    enter(before, token);
  }

  void enter(uint64_t before, const Token& token) {
    const uint64_t after = xio::protocol::tickets(memory_.state.reserved);
    expect_same(token.count, after - before, "tickets of a token");
    for (uint64_t ticket = before; ticket < after; ++ticket) {
      const bool is_new = in_flight_.emplace(ticket & memory_.handle.slot_mask, ticket).second;
      expect(is_new, "an identifier is not used again while it is in flight");
    }
    expect(is_broken_ || in_flight_.size() <= memory_.handle.depth, "no more are in flight than the depth");
    if (token.count != 0) tokens_.push_back(token);
  }

  /// Bytes that mean nothing, anywhere in the ring.
  void scribble() {
    auto* const ring = reinterpret_cast<uint8_t*>(memory_.cq.data());
    const size_t size = memory_.cq.size() * sizeof(nvme::Cqe);
    const size_t at = input_.take<uint16_t>() % size;
    const std::vector<uint8_t> bytes = input_.bytes(input_.take() & 31);
    for (size_t i = 0; i < bytes.size() && at + i < size; ++i) ring[at + i] = bytes[i];
  }

  /// An entry that looks new, of something in flight or not.
  void write_entry() {
    const nvme::QueueHandle& h = memory_.handle;
    const uint8_t how = input_.take();
    const uint64_t index = memory_.state.retired + ((how & 0xc0) == 0xc0 ? input_.take() & 3 : written_++ % 4);
    nvme::Cqe& entry = memory_.cq[index & h.cq_mask];
    entry.dw0 = input_.take();
    entry.sqhd = input_.take<uint16_t>();
    entry.cid = input_.take<uint16_t>();
    if ((how & 7) != 0 && !in_flight_.empty()) {
      auto one = in_flight_.begin();
      std::advance(one, entry.cid % in_flight_.size());
      entry.cid = static_cast<uint16_t>(one->first);
    }
    const bool phase = index / (h.cq_mask + 1) % 2 == 0;
    const uint16_t field = (how & 0x18) == 0 ? input_.take<uint16_t>() : 0;
    entry.status = static_cast<uint16_t>(field << 1 | static_cast<uint16_t>(phase));
    if ((how & 0x20) == 0) written_ = 0;
  }

  /// What the queue took since the last look, in the order of the ring: as many as it says, all of them new.
  void catch_up() {
    const nvme::QueueHandle& h = memory_.handle;
    const xio::QueueState& s = memory_.state;
    expect(s.retired - taken_ <= h.cq_mask + 1, "no more entries are taken than the ring has");
    last_taken_.clear();
    for (; taken_ < s.retired; ++taken_) {
      const nvme::Cqe& entry = memory_.cq[taken_ & h.cq_mask];
      const bool phase = taken_ / (h.cq_mask + 1) % 2 == 0;
      expect_same(phase, entry.status & 1, "phase of an entry that was taken");
      const auto one = in_flight_.find(entry.cid);
      expect(one != in_flight_.end(), "a completion of nothing is not taken");
      const auto field = static_cast<uint16_t>(entry.status >> 1);
      results_[one->second] = {field, uint64_t{entry.dw1} << 32 | entry.dw0};
      last_taken_.push_back(one->second);
      if ((field & 0x7ff) != 0) ++failed_;
      in_flight_.erase(one);
    }
    if (s.broken != 0 && !is_broken_) {
      const nvme::Cqe& entry = memory_.cq[taken_ & h.cq_mask];
      expect_same((taken_ / (h.cq_mask + 1) % 2 == 0), entry.status & 1, "what breaks a queue has come");
      expect(in_flight_.count(entry.cid) == 0, "nothing but a completion of nothing breaks the queue");
      is_broken_ = true;
    }
    expect(!is_broken_ || s.broken != 0, "a broken queue stays so");
    expect(s.retired <= xio::protocol::tickets(s.reserved), "no more have ended than were submitted");
    expect(s.acknowledged <= s.retired, "what is acknowledged was read");
    expect(s.retired - s.acknowledged <= h.cq_mask, "the ring does not fill up unacknowledged");
    expect((s.retired & xio::protocol::draining_bit) == 0, "nobody is left draining");
    expect(notification_.failed <= notification_.done, "failures are ends");
    expect(notification_.done <= results_.size(), "only operations that ended are told of");
    memory_.check_doorbells();
    expect_same(s.acknowledged & h.cq_mask, memory_.cq_doorbell, "the doorbell says what was acknowledged");
  }

  void process() {
    if constexpr (!is_shared) {
      std::vector<nvme::Completion> handed;
      const uint32_t most = 1 + (input_.take() & 7);
      const uint32_t taken =
          queue_.process_completions([&](const nvme::Completion& one) { handed.push_back(one); }, most);
      catch_up();
      expect(taken <= most, "no more than were wanted");
      expect_same(last_taken_.size(), handed.size(), "each completion is handed over once");
      for (size_t i = 0; i < handed.size(); ++i) {
        const nvme::Completion& one = handed[i];
        expect_same(last_taken_[i], one.ticket, "ticket of a completion that is handed over");
        expect_same(results_.at(one.ticket).field, one.status_field, "its status");
        expect_same(results_.at(one.ticket).value, one.result, "its result");
        expect_same(one.ticket & memory_.handle.slot_mask, one.slot, "its identifier");
      }
    }
  }

  void ask() {
    if (tokens_.empty()) return;
    const Token token = tokens_[input_.take() % tokens_.size()];
    const Status status = input_.flag() ? queue_.test(token) : queue_.wait(token, xio::Deadline{0});
    catch_up();
    judge(token, status);
  }

  void ask_all() {
    const Status status = queue_.wait_all(tokens_.data(), static_cast<uint32_t>(tokens_.size()), xio::Deadline{0});
    catch_up();
    if (!status.is_ok()) return;
    for (const Token& token : tokens_) judge(token, status);
  }

  void ask_any() {
    uint32_t which = ~0u;
    const Status status =
        queue_.wait_any(tokens_.data(), static_cast<uint32_t>(tokens_.size()), xio::Deadline{0}, which);
    catch_up();
    if (tokens_.empty()) {
      expect(status == Status::invalid_argument, "one of none");
      return;
    }
    expect(which < tokens_.size(), "one of those that were asked for");
    judge(tokens_[which], status);
  }

  void judge(const Token& token, Status status) const {
    if (status == Status::pending || status == Status::would_block || status == Status::timed_out) return;
    if (status == Status::broken) {
      expect(is_broken_, "only a broken queue is broken");
      return;
    }
    bool error = false;
    bool known = true;
    for (uint64_t ticket = token.last + 1 - token.count; ticket <= token.last; ++ticket) {
      const auto result = results_.find(ticket);
      known = known && result != results_.end();
      if (result == results_.end()) continue;
      error = error || (result->second.field & 0x7ff) != 0;
      if (status.from_device() && result->second.field == status.vendor) return;
    }
    if (status == Status::expired) {
      const bool lapped = results_.size() > memory_.handle.slot_mask - memory_.handle.depth;
      expect(lapped || is_broken_, "a token lasts for a lap");
      return;
    }
    expect(known, "nothing ends that no entry told of");
    expect(status.is_ok(), "a status is one that an entry said");
    expect(!error, "what failed is not ok");
  }

  struct Result {
    uint16_t field;
    uint64_t value;
  };

  Input& input_;
  NvmeQueueMemory memory_;
  nvme::Queue<S, Policy> queue_;
  xio::Notification notification_{};
  std::vector<Token> tokens_;
  std::map<uint64_t, uint64_t> in_flight_;  ///< tickets by identifier
  std::map<uint64_t, Result> results_;      ///< of every ticket that an entry ended
  std::vector<uint64_t> last_taken_;
  uint64_t taken_ = 0;
  uint64_t failed_ = 0;
  uint64_t written_ = 0;
  bool is_broken_ = false;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const OneLane lane;
  Input input(data, size);
  if (input.flag()) {
    Run<Sharing::thread>(input).all();
  } else {
    Run<Sharing::grid>(input).all();
  }
  return 0;
}
