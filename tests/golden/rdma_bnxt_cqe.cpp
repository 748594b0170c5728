// SPDX-License-Identifier: MIT
// NetXtreme-E: completions.

#include <algorithm>

#include <xio/vendors/bnxt/decode.hpp>

#include "rdma_bnxt.hpp"
#include "rdma_compare.hpp"
#include "rdma_wc.hpp"

namespace golden::rdma {

namespace {

namespace bnxt = xio::bnxt;
using Decoder = bnxt::CompletionDecoder;

constexpr uint64_t first_receive = 0xb000;

/// Queues of a queue pair, as they empty.
class Pair {
 public:
  Pair(const Json& recorded, uint32_t wqe_count, bool signal_all)
      : count_(wqe_count), next_(number_at(member(recorded, "before"), "sq_last_idx")), end_(next_) {
    for (Request& request : posted_requests(recorded, signal_all)) sends_.push_back(std::move(request));
    receives_left_ = number_at(recorded, "recvs_posted");
  }

  uint64_t next() const { return next_; }

  /// @throws Mismatch where an entry names something that was not posted
  void take(const lib::WorkCompletion& completion, std::vector<Reported>& reports) {
    switch (completion.kind) {
      case lib::CompletionKind::send:
        end_ = completion.counter % count_;
        completion_ = completion;
        if ((end_ + count_ - next_) % count_ > sends_.size()) throw Mismatch("an operation that was not posted");
        return;
      case lib::CompletionKind::receive:
        if (completion.counter >= receives_left_ + receives_taken_) throw Mismatch("a receive that was not posted");
        ++receives_taken_;
        --receives_left_;
        reports.push_back({first_receive + completion.counter, true, completion.status, completion});
        return;
      case lib::CompletionKind::ended: failed_ = ended_ = true; return;
      case lib::CompletionKind::nothing:
      case lib::CompletionKind::unknown: return;
    }
  }

  /// Reports what the entry ends, as long as there is room. Returns whether that was all of it.
  bool report(std::vector<Reported>& reports, uint64_t limit) {
    while (next_ != end_) {
      if (reports.size() == limit) return false;
      const Request request = pop();
      const bool last = next_ == end_;
      failed_ = failed_ || (last && !completion_.status.is_ok());
      if (failed_ || request.work.has(lib::work_flag::signaled)) {
        reports.push_back({request.wr_id, false, failed_ ? completion_.status : xio::Status(), completion_});
      }
    }
    return true;
  }

  /// What comes after a failure gets no entries.
  void flush(std::vector<Reported>& reports, uint64_t limit) {
    while (failed_ && !sends_.empty() && reports.size() < limit) {
      reports.push_back({pop().wr_id, false, xio::Status::flushed, {}, true});
      end_ = next_;
    }
    for (; ended_ && receives_left_ != 0 && reports.size() < limit; --receives_left_) {
      reports.push_back({first_receive + receives_taken_++, true, xio::Status::flushed, {}, true});
    }
  }

 private:
  Request pop() {
    Request request = sends_.front();
    sends_.pop_front();
    next_ = (next_ + 1) % count_;
    return request;
  }

  uint32_t count_;
  uint64_t next_;  ///< number of the first operation that has not ended
  uint64_t end_;   ///< number after the last that an entry ended
  lib::WorkCompletion completion_;
  bool failed_ = false;
  bool ended_ = false;
  std::deque<Request> sends_;
  uint64_t receives_left_ = 0;
  uint64_t receives_taken_ = 0;
};

/// Fills the ring as the case says, before its entries are put there.
void fill_background(const std::string& background, CompletionRing& ring, uint64_t head, uint64_t phase) {
  if (background == "all zero") return;
  if (background.find("slots below head: phase bit = current phase") != 0) {
    throw Mismatch("unknown background: " + background);
  }
  for (uint32_t slot = 0; slot < ring.entries(); ++slot) {
    ring.put(slot, Decoder::word_offset, bytes_of(uint64_t{slot < head ? phase : 1 - phase}));
  }
}

/// The provider does not report that a key was invalidated.
void screen(const Json& recorded) {
  constexpr uint64_t responder = 1;
  constexpr uint64_t invalidated = 4;
  for (const Bytes& entry : recorded_entries(recorded)) {
    const uint64_t word = little_endian(entry, 24, 4);
    if ((word >> 1 & 0xf) == responder && (word >> 16 & invalidated) != 0)
      throw Skipped{"driver_omits_invalidated_key"};
  }
}

}  // namespace

CompletionRing bnxt_completions(const Json& recorded) {
  const Json& before = member(recorded, "before");
  CompletionRing ring(number32(recorded, "cq_depth"), Decoder::entry_bytes, Decoder::initial_byte);
  fill_background(member(recorded, "cq_background").get<std::string>(), ring, number_at(before, "cq_head"),
                  number_at(before, "cq_phase"));
  ring.put_all(member(recorded, "cqes"));
  return ring;
}

void replay_bnxt_completion(const Json& file, const Json& recorded) {
  screen(recorded);
  const auto config = member(recorded, "config").get<std::string>();
  const Json& before = member(recorded, "before");
  const uint64_t head = number_at(before, "cq_head");
  const uint64_t phase = number_at(before, "cq_phase");
  const CompletionRing ring = bnxt_completions(recorded);

  const Json& info = member(member(file, "config_info"), config.c_str());
  const Json& made = member(member(file, "configs"), config.c_str());
  Pair pair(recorded, count32(info, "sq_wqe_count"), number_or(made, "sqsig", 0) != 0);
  const uint64_t start = head + (phase != 0 ? 0 : ring.entries());
  const uint64_t limit = number_at(recorded, "max_poll");
  uint64_t index = start;
  std::vector<Reported> reports;
  for (; reports.size() < limit; ++index) {
    const auto completion = ring.look<Decoder>(index);
    if (!completion) break;
    if (completion->kind != lib::CompletionKind::nothing) {
      expect_number("queue pair", number_at(recorded, "qp_handle"), completion->queue);
    }
    pair.take(*completion, reports);
    // An entry stays until all that it ends was reported.
    if (!pair.report(reports, limit)) break;
    pair.flush(reports, limit);
  }
  expect_reports(recorded, reports);

  const Json& after = member(recorded, "after");
  const bnxt::RingPosition at = bnxt::ring_position(index, ring.entries());
  expect_number("head after", number_at(after, "cq_head"), at.index);
  expect_number("epoch after", number_at(after, "cq_epoch"), at.epoch);
  expect_number("phase after", number_at(after, "cq_phase"), bnxt::expected_phase(at.epoch));
  expect_number("operations ended", number_at(after, "sq_last_idx"), pair.next());

  Memory memory;
  // The provider rings for each poll that took something, or puts it off.
  if (index != start && number_at(recorded, "deferred_db") == 0) {
    memory.store_register(
        "doorbell_page", bnxt::doorbell_offset,
        bytes_of(bnxt::doorbell_at(bnxt::DoorbellType::cq, number32(recorded, "cqn"), index, ring.entries())));
  }
  expect_registers(member(recorded, "events"), memory.take(), recorded);
}

}  // namespace golden::rdma
