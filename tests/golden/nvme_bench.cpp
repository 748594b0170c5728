// SPDX-License-Identifier: MIT

#include "nvme_bench.hpp"

namespace golden::nvme {

namespace {

// Far enough around a queue's two doorbells to catch a store that goes astray.
DoorbellWindow make_window(uint64_t first, uint64_t last, uint8_t fill) {
  constexpr uint64_t margin = 4096;
  DoorbellWindow window;
  window.base = first < margin ? 0 : (first - margin) & ~uint64_t{63};
  window.memory = AlignedMemory(last + margin - window.base, 64, fill);
  return window;
}

/// Runs of bytes that differ.
std::vector<Event> differences(Event::Kind kind, uint64_t base, const uint8_t* before, const uint8_t* now,
                               size_t bytes) {
  std::vector<Event> events;
  for (size_t i = 0; i < bytes; ++i) {
    if (before[i] == now[i]) continue;
    if (events.empty() || events.back().offset + events.back().bytes.size() != base + i) {
      events.push_back(Event{kind, base + i, {}});
    }
    events.back().bytes.push_back(now[i]);
  }
  return events;
}

}  // namespace

Bench* Bench::active_ = nullptr;

bool operator==(const Event& a, const Event& b) {
  return a.kind == b.kind && a.offset == b.offset && a.bytes == b.bytes;
}

std::string to_text(const std::vector<Event>& events) {
  std::string text;
  for (const Event& event : events) {
    text += event.kind == Event::Kind::mmio ? " register " : " shadow ";
    text += hex_number(event.offset) + "=" + to_hex(event.bytes);
  }
  return text.empty() ? " none" : text;
}

Bench::Bench(const BenchOptions& options) : options_(options) {
  number_within("entries of a queue", options.entries, 2, 65536);
  number_within("number of a queue", options.qid, 0, 65535);
  number_within("doorbell stride", options.dstrd, 0, 15);
  number_within("completion slots", options.slots, 0, 65536);
  number_within("bytes of a list", options.list_bytes, 8, 64u << 20);
  const uint64_t tail = lib::sq_tail_slot(options.qid, options.dstrd);
  const uint64_t head = lib::cq_head_slot(options.qid, options.dstrd);
  uint32_t slots = 32;
  while (slots < options.slots || slots < 2 * options.entries) slots *= 2;
  sq_ = AlignedMemory(options.entries * sizeof(lib::Sqe), 4096, fill);
  cq_ = AlignedMemory(options.entries * sizeof(lib::Cqe), 4096, 0);
  slots_ = AlignedMemory(slots * sizeof(xio::nvme::CompletionSlot), 64, 0);
  failures_ = AlignedMemory(xio::nvme::failure_log_bytes(64), 64, 0);
  lists_ = AlignedMemory(size_t{slots} * options.list_bytes, 64, fill);
  state_ = AlignedMemory(sizeof(xio::QueueState) + xio::link_bytes(options.entries), 64, 0);
  doorbells_ = make_window(tail, head, fill);
  shadow_ = make_window(tail, head, 0);
  event_ = make_window(tail, head, 0);

  handle_.sq = sq_.as<lib::Sqe>();
  handle_.cq = cq_.as<lib::Cqe>();
  handle_.sq_doorbell = doorbells_.word(tail);
  handle_.cq_doorbell = doorbells_.word(head);
  handle_.sq_shadow = shadow_.word(tail);
  handle_.cq_shadow = shadow_.word(head);
  handle_.sq_event_index = event_.word(tail);
  handle_.cq_event_index = event_.word(head);
  handle_.state = state_.as<xio::QueueState>();
  handle_.slots = slots_.as<xio::nvme::CompletionSlot>();
  handle_.failures = failures_.as<xio::nvme::FailureLog>();
  handle_.failure_entries = 64;
  handle_.sq_mask = options.entries - 1;
  handle_.cq_mask = options.entries - 1;
  handle_.slot_mask = slots - 1;
  handle_.depth = options.entries - 1;
  handle_.nsid = 1;
  handle_.page_shift = options.page_shift;
  handle_.block_shift = options.block_shift;
  handle_.max_blocks = 65536;
  handle_.list_bytes = options.list_bytes;
  handle_.lists = lists_.as<uint64_t>();
  handle_.lists_bus = options.lists_bus;
  handle_.qid = options.qid;
  handle_.abi = XIO_ABI_NUMBER;
  handle_.handle_bytes = sizeof(lib::QueueHandle);
  counts_before_ = xio::arch::operation_counts;
  active_ = this;
}

Bench::~Bench() { active_ = nullptr; }

uint64_t Bench::slot_offset(bool submission) const {
  return submission ? lib::sq_tail_slot(options_.qid, options_.dstrd) : lib::cq_head_slot(options_.qid, options_.dstrd);
}

void Bench::start_at(uint32_t tail, uint32_t head) {
  number_within("tail", tail, 0, options_.entries - 1);
  number_within("head", head, 0, options_.entries - 1);
  xio::protocol::begin_at(state(), tail < head ? uint64_t{tail} + options_.entries : tail);
  state().retired = head;
  state().acknowledged = head;
  fetched_tail_ = tail;
}

Fetched Bench::fetch(uint32_t slot) const {
  number_within("slot", slot, 0, options_.entries - 1);
  const uint8_t* const entry = sq_.data() + size_t{slot} * sizeof(lib::Sqe);
  Fetched fetched{slot, Bytes(entry, entry + sizeof(lib::Sqe)), {}};
  const uint32_t cid = entry[2] | static_cast<uint32_t>(entry[3]) << 8;
  if (cid <= handle_.slot_mask) {
    const auto* const list = lists_.as<uint64_t>(size_t{cid} * options_.list_bytes);
    fetched.list.assign(list, list + options_.list_bytes / 8);
  }
  return fetched;
}

bool Bench::untouched(uint32_t slot) const {
  const uint8_t* const entry = sq_.data() + size_t{slot} * sizeof(lib::Sqe);
  return std::all_of(entry, entry + sizeof(lib::Sqe), [](uint8_t byte) { return byte == fill; });
}

std::vector<Event> Bench::take_events() { return std::exchange(events_, {}); }
std::vector<Fetched> Bench::take_fetched() { return std::exchange(fetched_, {}); }

void Bench::before_ring(const xio::DoorbellTarget& target, uint32_t value) {
  shadow_before_.assign(shadow_.memory.data(), shadow_.memory.data() + shadow_.memory.size());
  counts_at_ring_ = xio::arch::operation_counts;
  if (target.word != handle_.sq_doorbell) return;
  ordered_ = ordered_ && counts_at_ring_.releases > counts_before_.releases;
  for (; fetched_tail_ != value && fetched_.size() <= options_.entries;
       fetched_tail_ = (fetched_tail_ + 1) % options_.entries) {
    fetched_.push_back(fetch(fetched_tail_));
  }
}

void Bench::after_ring() {
  const auto& counts = xio::arch::operation_counts;
  const auto shadow = differences(Event::Kind::shadow, shadow_.base, shadow_before_.data(), shadow_.memory.data(),
                                  shadow_.memory.size());
  events_.insert(events_.end(), shadow.begin(), shadow.end());

  // Whole words: the sentinel of the fill is no value of a doorbell.
  const Bytes sentinel(4, fill);
  bool rung = false;
  for (size_t i = 0; i + 4 <= doorbells_.memory.size(); i += 4) {
    uint8_t* const word = doorbells_.memory.data() + i;
    if (std::equal(sentinel.begin(), sentinel.end(), word)) continue;
    events_.push_back(Event{Event::Kind::mmio, doorbells_.base + i, Bytes(word, word + 4)});
    std::copy(sentinel.begin(), sentinel.end(), word);
    rung = true;
  }
  if (!shadow.empty()) ordered_ = ordered_ && counts.full_fences == counts_at_ring_.full_fences + 1;
  ordered_ = ordered_ && counts.mmio_stores == counts_at_ring_.mmio_stores + (rung ? 1 : 0);
  counts_before_ = counts;
}

void expect_events(const Json& recorded, const std::vector<Event>& seen) {
  std::vector<Event> expected;
  for (const Json& event : recorded) {
    const auto kind = member(event, "ev").get<std::string>();
    if (kind == "barrier") continue;
    const auto region = member(event, "region").get<std::string>();
    const bool mmio = kind == "mmio_store" && region == "doorbells";
    if (!mmio && !(kind == "mem_changed" && region == "shadow_doorbells")) {
      throw Mismatch("an event of unknown kind: " + event.dump());
    }
    const Bytes bytes = from_hex(member(event, "hex").get<std::string>());
    expect_number("length of a recorded event", number_or(event, mmio ? "size" : "len", bytes.size()), bytes.size());
    expected.push_back(Event{mmio ? Event::Kind::mmio : Event::Kind::shadow, number_at(event, "off"), bytes});
  }
  if (expected == seen) return;
  throw Mismatch("doorbell events\n      expected" + to_text(expected) + "\n      actual  " + to_text(seen));
}

}  // namespace golden::nvme
