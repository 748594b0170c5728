// SPDX-License-Identifier: MIT
// "cqe": completions lie in a ring; the library drains it, files them, and acknowledges.

#include <xio/host/simt/simt.hpp>
#include <xio/vendors/nvme/decode.hpp>

#include "nvme.hpp"
#include "nvme_bench.hpp"

namespace golden::nvme {

namespace {

/// Fills the completion ring as the case says, before its completions are put there.
void fill_background(const std::string& background, lib::Cqe* ring, uint32_t entries, uint32_t head, uint32_t phase) {
  if (background.find("zero") != std::string::npos) return;
  if (background.find("slots below head") == std::string::npos) throw Mismatch("unknown background: " + background);
  for (uint32_t slot = 0; slot < entries; ++slot) {
    ring[slot].status = static_cast<uint16_t>(slot < head ? phase : 1 - phase);
  }
}

void put_completion(const Json& recorded, lib::Cqe* ring, uint32_t entries) {
  const Bytes bytes = from_hex(member(recorded, "hex").get<std::string>());
  const uint64_t slot = number_at(recorded, "slot");
  if (bytes.size() != sizeof(lib::Cqe) || slot >= entries) throw Mismatch("a malformed completion: " + recorded.dump());
  std::memcpy(&ring[slot], bytes.data(), bytes.size());
}

/// Takes completions with a wave of `lanes` lanes, once, or as long as there are any.
template <class Doorbell>
uint32_t drain(Bench& bench, uint32_t lanes, bool all) {
  using Queue = lib::Queue<xio::Sharing::wave, xio::Policy<xio::RingBy<Bench::Watched<Doorbell>>>>;
  uint32_t taken = 0;
  const auto kernel = [](const lib::QueueHandle& handle, uint32_t* result) {
    Queue queue(handle);
    const uint32_t count = queue.drain();
    if (xio::arch::lane() == 0) *result = count;
  };
  for (uint32_t now = 1; now != 0;) {
    xio::simt::Grid grid;
    grid.blocks = 1;
    grid.threads_per_block = lanes;
    grid.wave_size = 64;
    xio::simt::launch(grid, kernel, bench.handle(), &now);
    taken += now;
    if (!all) break;
  }
  return taken;
}

/// Compares one completion: as the entry decodes, and as the library filed it for the operation's owner.
void expect_completion(const Json& expected, const lib::Cqe& entry, const xio::nvme::CompletionSlot& slot) {
  const uint16_t field = lib::status_field(entry);
  for (const auto& [key, value] : expected.items()) {
    uint64_t actual = 0;
    if (key == "cid") {
      actual = entry.cid;
    } else if (key == "sc") {
      actual = lib::status_code(field);
    } else if (key == "sct") {
      actual = lib::status_code_type(field);
    } else if (key == "crd") {
      actual = lib::retry_delay(field);
    } else if (key == "more") {
      actual = lib::more(field);
    } else if (key == "dnr") {
      actual = lib::do_not_retry(field);
    } else if (key == "sqhd") {
      actual = entry.sqhd;
    } else if (key == "sqid") {
      actual = entry.sqid;
    } else if (key == "dw0") {
      actual = entry.dw0;
    } else if (key == "dw1") {
      actual = entry.dw1;
    } else {
      throw Mismatch("a completion with an unknown field \"" + key + "\"");
    }
    expect_number(key, number(value), actual);
  }
  expect_number("status field as filed", field, slot.word & 0x7fff);
  expect_number("result as filed", uint64_t{entry.dw1} << 32 | entry.dw0, slot.result);

  const xio::Status status = lib::to_status(field);
  const bool good = number_or(expected, "sc", 0) == 0 && number_or(expected, "sct", 0) == 0;
  expect_number("success as a status", good, status.is_ok());
  expect_number("may be retried", !good && number_or(expected, "dnr", 0) == 0, lib::retryable(status));
  expect_number("more information", number_or(expected, "more", 0), lib::more(status));
}

/// Rings of one poll beyond the first wave's reach count as one, as long as they go forward.
std::vector<Event> merged(std::vector<Event> events, uint32_t taken) {
  if (taken > 64) {
    while (events.size() > 1 && events[events.size() - 2].kind == events.back().kind &&
           events[events.size() - 2].offset == events.back().offset) {
      events.erase(events.end() - 2);
    }
  }
  return events;
}

}  // namespace

void replay_completion(const Json& recorded) {
  const uint64_t entries = number_at(recorded, "entries");
  if (!is_power_of_two(entries) || entries < 2) throw Skipped{"ring_not_power_of_two"};
  const Json& before = member(recorded, "before");
  const auto head = number_in<uint32_t>(number_at(before, "cq_head"));
  const auto phase = number_in<uint32_t>(number_at(before, "phase"));
  const Json& submitted = list_or_empty(recorded, "submitted_cids");

  BenchOptions options;
  options.entries = number_in<uint32_t>(entries);
  number_within("head", head, 0, entries - 1);
  options.qid = number_in<uint32_t>(number_or(recorded, "qid", 3));
  options.dstrd = number_in<uint32_t>(number_or(recorded, "dstrd", 0));
  options.list_bytes = 8;
  for (const Json& cid : submitted)
    options.slots = std::max(options.slots, uint32_t{number_in<uint16_t>(number(cid))} + 1);
  Bench bench(options);
  fill_background(member(recorded, "cq_background").get<std::string>(), bench.cq(), options.entries, head, phase);
  for (const Json& completion : member(recorded, "cqes")) put_completion(completion, bench.cq(), options.entries);

  // Every identifier that was not submitted belongs to an operation that has ended.
  const uint64_t slots = uint64_t{bench.handle().slot_mask} + 1;
  for (uint64_t i = 0; i < slots; ++i) bench.slots()[i].word = slots << 16;
  for (const Json& cid : submitted) bench.slots()[number(cid)].word = 0;
  bench.state().retired = bench.state().acknowledged = head + (phase != 0 ? 0 : entries);
  bench.state().reserved = bench.state().retired + slots;
  bench.shadow(false) = number_in<uint32_t>(number_or(before, "shadow_value", 0));
  bench.event_index(false) = number_in<uint32_t>(number_or(before, "eventidx", 0));

  bool shadow = number_or(recorded, "shadow_doorbell", 0) != 0;
  for (const Json& event : list_or_empty(recorded, "events")) {
    shadow = shadow || event.value("region", "") == "shadow_doorbells";
  }
  const auto limit = number_in<uint32_t>(number_or(recorded, "max_completions", 0));
  const uint32_t lanes = limit != 0 ? std::min(limit, 64u) : 64;
  const uint32_t taken = shadow ? drain<xio::ShadowDoorbell>(bench, lanes, limit == 0)
                                : drain<xio::MmioDoorbell>(bench, lanes, limit == 0);

  if (recorded.contains("ret")) expect_number("completions taken", number(recorded["ret"]), taken);
  const Json& completions = member(recorded, "completions");
  size_t known = 0;
  uint64_t sq_head = number_or(before, "sq_head", 0);
  for (uint32_t i = 0; i < taken; ++i) {
    const lib::Cqe entry = xio::XioComDequeue(bench.handle().cq + xio::ring::slot(head + i, bench.handle().cq_mask));
    sq_head = entry.sqhd;
    const bool ours =
        std::any_of(submitted.begin(), submitted.end(), [&](const Json& c) { return number(c) == entry.cid; });
    if (!ours) continue;
    if (known >= completions.size()) throw Mismatch("more completions than recorded");
    expect_completion(completions[known++], entry, bench.slots()[entry.cid]);
  }
  expect_number("number of completions", completions.size(), known);

  const Json& after = member(recorded, "after");
  const uint64_t retired = bench.state().retired;
  expect_number("CQ head after", number_at(after, "cq_head"), xio::ring::slot(retired, bench.handle().cq_mask));
  expect_number("phase after", number_at(after, "phase"), xio::ring::phase(retired, bench.handle().cq_mask));
  expect_number("SQ head after", number_or(after, "sq_head", sq_head), sq_head);
  expect_events(list_or_empty(recorded, "events"), merged(bench.take_events(), taken));
}

}  // namespace golden::nvme
