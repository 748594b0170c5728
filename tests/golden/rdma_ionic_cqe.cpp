// SPDX-License-Identifier: MIT
// Pensando: completions, by message number and by ring index.

#include <xio/vendors/ionic/decode.hpp>
#include <xio/vendors/ionic/encode.hpp>

#include "rdma_compare.hpp"
#include "rdma_ionic.hpp"
#include "rdma_wc.hpp"

namespace golden::rdma {

namespace {

namespace ionic = xio::ionic;
using Decoder = ionic::CompletionDecoder;

constexpr uint64_t first_receive = 0xb000;

/// The send queue of a queue pair, as it empties: operations are reported in the order in which they were posted.
class SendQueue {
 public:
  SendQueue(const Json& recorded, uint64_t mask, bool signal_all)
      : mask_(mask),
        consumer_(number_at(member(recorded, "before"), "sq_cons")),
        message_(number_at(recorded["before"], "sq_msn_cons")) {
    uint64_t index = consumer_;
    uint64_t message = message_;
    for (Request& request : posted_requests(recorded, signal_all)) {
      Outstanding one;
      one.first_unit = index++ & mask_;
      // Local operations have no number.
      const bool numbered = ionic::SendEncoder<>::has_message_number(request.work.operation);
      messages_left_ += numbered ? 1 : 0;
      one.message = numbered ? message++ & mask_ : no_message;
      one.request = std::move(request);
      queue_.push_back(std::move(one));
    }
  }

  uint64_t consumer() const { return consumer_; }
  uint64_t message() const { return message_; }

  /// False where the entry names a message that is not outstanding.
  bool take(const lib::WorkCompletion& completion) {
    if (flushed_) return true;
    if (completion.kind == lib::CompletionKind::ended) {
      flushed_ = true;
      return true;
    }
    const bool by_index = completion.counts == lib::Counter::entry;
    const uint64_t count = by_index ? 0 : ((completion.counter - 1 - message_) & mask_) + 1;
    if (count > messages_left_) return false;
    completion_ = completion;
    messages_left_ -= count;
    uint64_t left = count;
    for (Outstanding& one : queue_) {
      if (by_index ? one.first_unit != completion.counter : one.message == no_message || left == 0) continue;
      const bool last = by_index || --left == 0;
      one.done = true;
      if (last && !completion.status.is_ok()) failed_ = one.first_unit;
    }
    message_ = (message_ + count) & mask_;
    return true;
  }

  /// Reports what has ended, as long as there is room.
  void report(std::vector<Reported>& reports, uint64_t limit) {
    while (!queue_.empty() && reports.size() < limit) {
      const Outstanding& one = queue_.front();
      if (flushed_) {
        reports.push_back({one.request.wr_id, false, xio::Status::flushed, {}, true});
      } else if (!one.done) {
        return;
      } else if (failed_ == one.first_unit) {
        reports.push_back({one.request.wr_id, false, completion_.status, completion_});
        // What comes after a failure gets no entries.
        flushed_ = true;
      } else if (one.request.work.has(lib::work_flag::signaled)) {
        reports.push_back({one.request.wr_id, false, xio::Status(), completion_});
      }
      queue_.pop_front();
      consumer_ = (consumer_ + 1) & mask_;
    }
  }

 private:
  static constexpr uint64_t no_message = ~uint64_t{0};

  uint64_t mask_;
  uint64_t consumer_;
  uint64_t message_;
  uint64_t messages_left_ = 0;  ///< operations with a number that have not ended
  std::deque<Outstanding> queue_;
  lib::WorkCompletion completion_;
  std::optional<uint64_t> failed_;
  bool flushed_ = false;
};

/// Fills the ring as the case says, before its entries are put there.
void fill_background(const std::string& background, CompletionRing& ring, uint64_t head, uint64_t color) {
  if (background == "all zero") return;
  if (background.find("slots below cq_prod: color = current") != 0) throw Mismatch("unknown background: " + background);
  for (uint32_t slot = 0; slot < ring.entries(); ++slot) {
    const uint64_t bit = slot < head ? color : 1 - color;
    ring.put(slot, Decoder::entry_bytes - 1, Bytes{static_cast<uint8_t>(bit)});
  }
}

/// Entries that the provider and the library take differently.
void screen(const Json& recorded) {
  constexpr uint64_t receive = 1;
  constexpr uint64_t error = 2;
  for (const Bytes& entry : recorded_entries(recorded)) {
    const uint64_t word = big_endian(entry, 28, 4);
    const uint64_t type = word >> 5 & 7;
    if ((word & error) != 0 && big_endian(entry, 24, 4) == 0) throw Skipped{"error_without_status"};
    const uint64_t posted = number_at(recorded, "recvs_posted");
    if (type == receive && posted != 0 && little_endian(entry, 0, 2) >= posted) {
      throw Skipped{"receive_never_posted"};
    }
  }
}

}  // namespace

CompletionRing ionic_completions(const Json& recorded) {
  const Json& before = member(recorded, "before");
  CompletionRing ring(number32(recorded, "cq_mask") + 1, Decoder::entry_bytes, Decoder::initial_byte);
  fill_background(member(recorded, "cq_background").get<std::string>(), ring, number_at(before, "cq_prod"),
                  number_at(before, "cq_color"));
  ring.put_all(member(recorded, "cqes"));
  return ring;
}

void replay_ionic_completion(const Json& file, const Json& recorded) {
  screen(recorded);
  const auto config = member(recorded, "config").get<std::string>();
  const Json& info = member(member(file, "config_info"), config.c_str());
  const Json& made = member(member(file, "configs"), config.c_str());
  const Json& before = member(recorded, "before");
  const uint64_t head = number_at(before, "cq_prod");
  const uint64_t color = number_at(before, "cq_color");
  const CompletionRing ring = ionic_completions(recorded);

  SendQueue sends(recorded, number_at(info, "sq_mask"), number_or(made, "sqsig", 0) != 0);
  const uint64_t limit = number_at(recorded, "max_poll");
  uint64_t index = head + (color != 0 ? 0 : ring.entries());
  std::vector<Reported> reports;
  bool stopped = false;
  for (; reports.size() < limit; ++index) {
    const auto completion = ring.look<Decoder>(index);
    if (!completion) break;
    // The library's completion queues belong to one queue pair; a driver's may have entries of others.
    if (completion->qpn != number_at(recorded, "qpn")) continue;
    if (completion->kind == lib::CompletionKind::receive && number_at(recorded, "recvs_posted") != 0) {
      reports.push_back({first_receive + completion->counter, true, completion->status, *completion});
    } else if (completion->kind == lib::CompletionKind::send || completion->kind == lib::CompletionKind::ended) {
      stopped = !sends.take(*completion);
      sends.report(reports, limit);
    } else {
      stopped = completion->kind != lib::CompletionKind::nothing;
    }
    // The provider stops there, and stops there again; it fails the poll where that comes to nothing else.
    if (stopped) break;
  }
  expect_reports(recorded, reports, stopped && reports.empty());

  const Json& after = member(recorded, "after");
  expect_number("CQ index after", number_at(after, "cq_prod"), index & (ring.entries() - 1));
  expect_number("color after", number_at(after, "cq_color"), (index & ring.entries()) == 0);
  expect_number("SQ consumer after", number_at(after, "sq_cons"), sends.consumer());
  expect_number("messages ended", number_at(after, "sq_msn_cons"), sends.message());

  Memory memory;
  // The provider rings when it must.
  if (static_cast<int64_t>(number_at(before, "cq_reserve")) <= 0) {
    memory.store_register("doorbell_page", number_at(made, "cq_qtype") * ionic::doorbell_stride,
                          bytes_of(ionic::doorbell_at(number32(made, "cqn"), index, ring.entries())));
  }
  expect_registers(member(recorded, "events"), memory.take(), recorded);
}

}  // namespace golden::rdma
