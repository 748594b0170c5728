// SPDX-License-Identifier: MIT
// "sqe": requests posted to a submission queue, compared as a controller finds them when the doorbell is rung.

#include <cctype>
#include <iterator>

#include <xio/vendors/nvme/encode_admin.hpp>
#include <xio/vendors/nvme/prp.hpp>

#include "nvme.hpp"
#include "nvme_bench.hpp"

namespace golden::nvme {

namespace {

// What the cases that do not say it use.
constexpr uint64_t default_qid = 3;
constexpr uint64_t default_entries = 16;
constexpr uint64_t default_block_bytes = 512;
constexpr uint64_t page_bytes = 4096;
constexpr uint32_t page_shift = 12;
/// Most entries of a PRP list of the recorded driver, which has no chains.
constexpr uint64_t driver_list_entries = 503;

/// One submission of a case.
struct Step {
  lib::Command command;
  uint64_t bytes = 0;
  uint64_t buffer = 0;
  std::vector<lib::Segment> pieces;  ///< instead of `buffer`, where the data is scattered
  bool sgl = false;
  bool announce = true;
};

template <class Queue>
xio::Token submit(Queue& queue, const Step& step) {
  // Recorded entries without an address are what they are, whatever their commands move.
  if (step.bytes == 0 || (step.buffer == 0 && step.pieces.empty()))
    return queue.try_submit(step.command, lib::DataPointer{});
  if (!step.pieces.empty()) {
    const lib::SegmentList list{step.pieces.data(), static_cast<uint32_t>(step.pieces.size())};
    return step.sgl ? queue.try_submit(step.command, lib::as_sgl(list)) : queue.try_submit(step.command, list);
  }
  const lib::ContiguousPages pages{step.buffer};
  const lib::QueueHandle& handle = queue.handle();
  expect_number("bytes that the command moves", step.bytes, lib::data_bytes(step.command, handle.block_shift));
  return step.sgl ? queue.try_submit(step.command, lib::as_sgl(pages)) : queue.try_submit(step.command, pages);
}

/// Never rings by itself.
using Patient = xio::Policy<xio::Deferred<1u << 30>>;

template <class Policy, class Doorbell>
void post(Bench& bench, const Step& step, bool flush) {
  lib::Queue<xio::Sharing::thread, xio::Policy<Policy, xio::RingBy<Bench::Watched<Doorbell>>>> queue(bench.handle());
  (void)submit(queue, step);
  if (flush) queue.ring();
}

void post(Bench& bench, const Step& step, bool shadow, bool patient) {
  const bool flush = patient && step.announce;
  if (shadow) {
    patient ? post<Patient, xio::ShadowDoorbell>(bench, step, flush)
            : post<xio::Policy<>, xio::ShadowDoorbell>(bench, step, flush);
  } else {
    patient ? post<Patient, xio::MmioDoorbell>(bench, step, flush)
            : post<xio::Policy<>, xio::MmioDoorbell>(bench, step, flush);
  }
}

void store_le(Bytes& entry, size_t offset, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) entry[offset + i] = static_cast<uint8_t>(value >> (8 * i));
}

/// A recorded entry with what every driver chooses for itself replaced by our choice: the command identifier, and the
/// address of the list.
Bytes with_our_choices(const Json& recorded, const Bench& bench, uint32_t cid) {
  Bytes entry = from_hex(member(recorded, "hex").get<std::string>());
  if (entry.size() != sizeof(lib::Sqe))
    throw Mismatch("a recorded entry of " + std::to_string(entry.size()) + " bytes");
  store_le(entry, 2, cid, 2);
  const uint64_t list = bench.handle().lists_bus + uint64_t{cid} * bench.handle().list_bytes;
  if (recorded.contains("prp_list")) store_le(entry, 32, list, 8);
  if (recorded.contains("sgl_segment")) store_le(entry, 24, list, 8);
  return entry;
}

void expect_lists(const Json& recorded, const Fetched& fetched) {
  if (recorded.contains("prp_list")) {
    const Json& entries = member(recorded["prp_list"], "entries");
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i >= fetched.list.size()) throw Mismatch("the recorded list is longer than the list memory");
      expect_number("PRP list entry " + std::to_string(i), number(entries[i]), fetched.list[i]);
    }
  }
  if (recorded.contains("sgl_segment")) {
    const Bytes expected = from_hex(member(recorded["sgl_segment"], "hex").get<std::string>());
    const auto* const from = reinterpret_cast<const uint8_t*>(fetched.list.data());
    if (expected.size() > fetched.list.size() * 8)
      throw Mismatch("the recorded segment is longer than the list memory");
    expect_bytes("SGL segment", expected, Bytes(from, from + expected.size()));
  }
}

void expect_entry(const Json& recorded, const Bench& bench, const Fetched& fetched) {
  expect_number("slot", number_at(recorded, "slot"), fetched.slot);
  const uint32_t cid = fetched.entry[2] | static_cast<uint32_t>(fetched.entry[3]) << 8;
  const Bytes mask = recorded.contains("mask") ? from_hex(recorded["mask"].get<std::string>()) : Bytes{};
  expect_bytes("entry in slot " + std::to_string(fetched.slot), with_our_choices(recorded, bench, cid), fetched.entry,
               mask);
  expect_lists(recorded, fetched);
}

/// Ranges that a case lists are laid out by the library's struct as in its buffer.
void expect_ranges(const Json& params) {
  if (!params.contains("ranges") || !params.contains("range_buffer_hex")) return;
  std::vector<lib::DsmRange> ranges;
  for (const Json& range : params["ranges"]) {
    ranges.push_back(lib::DsmRange{number_in<uint32_t>(number_or(range, "attributes", 0)),
                                   number_in<uint32_t>(number_at(range, "length_lba")), number_at(range, "slba")});
  }
  const auto* const bytes = reinterpret_cast<const uint8_t*>(ranges.data());
  const Bytes laid_out(bytes, bytes + ranges.size() * sizeof(lib::DsmRange));
  expect_bytes("range buffer", from_hex(params["range_buffer_hex"].get<std::string>()), laid_out);
}

BenchOptions options_of(const Json& params, uint64_t largest) {
  BenchOptions options;
  const uint64_t entries = number_or(params, "entries", default_entries);
  const uint64_t block = number_or(params, "lba_size", default_block_bytes);
  if (!is_power_of_two(entries) || entries < 2) throw Skipped{"ring_not_power_of_two"};
  if (!is_power_of_two(block)) throw Skipped{"block_not_power_of_two"};
  options.entries = number_in<uint32_t>(entries);
  options.qid = number_in<uint32_t>(number_or(params, "qid", default_qid));
  options.dstrd = number_in<uint32_t>(number_or(params, "dstrd", 0));
  options.block_shift = log2_of(number_within("bytes of a block", block, 1, 1u << 20));
  options.page_shift = page_shift;
  const uint64_t offset = options.lists_bus % page_bytes;
  const uint64_t pieces = list_or_empty(params, "iov").size();
  const uint64_t prps = lib::needed_list_bytes(static_cast<uint32_t>(largest), page_shift, offset);
  const uint64_t needed = std::max<uint64_t>(prps, lib::needed_sgl_bytes(pieces));
  // Whole pages, so that the list of every command starts at the same place within its page.
  options.list_bytes = static_cast<uint32_t>(std::max(needed + page_bytes - 1, page_bytes) / page_bytes * page_bytes);
  return options;
}

Step step_of(const Request& request, const Json& params) {
  Step step;
  step.command = build(request);
  step.bytes = data_bytes(step.command, false, number_or(params, "lba_size", default_block_bytes));
  step.buffer = number_or(params, "buffer", 0);
  if (params.contains("range_buffer_addr")) step.buffer = number(params["range_buffer_addr"]);
  step.sgl = number_or(params, "sgl_mode", 0) != 0;
  for (const Json& piece : list_or_empty(params, "iov")) {
    step.pieces.push_back(lib::Segment{number_at(piece, "addr"), number_at(piece, "len")});
  }
  step.announce = (step.command.cdw0 & lib::fused_first_bit) == 0;
  return step;
}

/// The parts of a fused command's name, "COMPARE(fuse first)+WRITE(fuse second)", or the one name.
std::vector<std::string> parts_of(const std::string& command) {
  std::vector<std::string> parts;
  size_t from = 0;
  for (size_t plus = 0; plus != std::string::npos; from = plus + 1) {
    plus = command.find('+', from);
    parts.push_back(command.substr(from, plus == std::string::npos ? plus : plus - from));
  }
  return parts;
}

Request request_of(const Json& recorded, const std::string& name, size_t index) {
  const Json& entries = list_or_empty(recorded, "sq");
  Request request;
  request.command = name.substr(0, name.find('('));
  request.params = recorded.contains("params") ? recorded["params"] : Json::object();
  const auto opcode = opcode_of(request.command, request.admin);
  if (index < entries.size()) {
    request.recorded = words_of_entry(from_hex(member(entries[index], "hex").get<std::string>()));
    request.admin = entries[index].value("queue", "") == "admin";
    request.opcode = opcode.value_or(request.recorded.opcode);
  } else {
    if (!opcode) throw Skipped{"operation_not_offered"};
    request.opcode = *opcode;
  }
  request.forget_stated();
  return request;
}

bool names_blocks(const lib::Command& command) {
  return lib::addresses_blocks(command) || command.opcode() == static_cast<uint8_t>(lib::Opcode::zone_append);
}

std::vector<Step> steps_of(const Json& recorded) {
  const auto command = member(recorded, "command").get<std::string>();
  const std::vector<std::string> parts = parts_of(command);
  std::vector<Step> steps;
  if (parts.size() == 1) {
    const Request request = request_of(recorded, parts[0], 0);
    const Step step = step_of(request, request.params);
    const uint64_t count = number_within("count", number_or(request.params, "count", 1), 1, 65536);
    // Each of its pages is looked at.
    number_within("bytes of all requests", count * step.bytes, 0, uint64_t{1} << 34);
    for (uint64_t i = 0; i < count; ++i) {
      // A row of requests: each continues where the one before ended.
      Step next = step;
      if (i != 0 && names_blocks(step.command)) {
        next.command = step.command.range(step.command.lba() + i * step.command.blocks(), step.command.blocks());
      }
      steps.push_back(next);
    }
    return steps;
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    Request request = request_of(recorded, parts[i], i);
    std::string buffer = "buffer_" + request.command;
    for (char& letter : buffer) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    if (request.params.contains(buffer)) request.params["buffer"] = request.params[buffer];
    Step step = step_of(request, request.params);
    if (parts[i].find("(fuse first)") != std::string::npos) step.command = step.command.fused_first();
    if (parts[i].find("(fuse second)") != std::string::npos) step.command = step.command.fused_second();
    step.announce = (step.command.cdw0 & lib::fused_first_bit) == 0;
    steps.push_back(step);
  }
  return steps;
}

bool rings_register(const Json& events) {
  return std::any_of(events.begin(), events.end(),
                     [](const Json& event) { return event.value("ev", "") == "mmio_store"; });
}

const char* const event_lists[] = {"events_first", "events_second", "events_third"};

void replay_io(const Json& recorded) {
  const Json params = recorded.contains("params") ? recorded["params"] : Json::object();
  expect_ranges(params);
  std::vector<Step> steps = steps_of(recorded);
  uint64_t largest = 0;
  for (const Step& step : steps) largest = std::max(largest, step.bytes);

  Bench bench(options_of(params, largest));
  const Json before = recorded.contains("before") ? recorded["before"] : Json::object();
  const uint32_t tail = number_in<uint32_t>(number_or(before, "sq_tail", 0));
  bench.start_at(tail, number_in<uint32_t>(number_or(before, "sq_head", tail)));
  const bool shadow = number_or(params, "shadow_doorbell", 0) != 0;
  bench.shadow(true) = number_in<uint32_t>(number_or(before, "shadow_value", 0));
  bench.event_index(true) = number_in<uint32_t>(number_or(before, "eventidx", 0));

  const bool delayed = number_or(params, "delayed_doorbell", 0) != 0;
  // A driver that delays its doorbells rings when it next polls; the record shows whether it came to that.
  const bool rung_later = delayed && rings_register(list_or_empty(recorded, "events"));
  const bool fused = std::any_of(steps.begin(), steps.end(), [](const Step& step) { return !step.announce; });
  std::vector<Event> events;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (delayed) steps[i].announce = rung_later && i + 1 == steps.size();
    post(bench, steps[i], shadow, delayed || fused);
    const std::vector<Event> seen = bench.take_events();
    const bool listed = i < std::size(event_lists) && recorded.contains(event_lists[i]);
    if (listed) expect_events(recorded[event_lists[i]], seen);
    if (!listed) events.insert(events.end(), seen.begin(), seen.end());
  }
  // Entries that were not announced yet are in the ring all the same.
  std::vector<Fetched> fetched = bench.take_fetched();
  const uint32_t end = static_cast<uint32_t>(bench.state().reserved) & bench.handle().sq_mask;
  for (uint32_t slot = (tail + static_cast<uint32_t>(fetched.size())) & bench.handle().sq_mask; slot != end;
       slot = (slot + 1) & bench.handle().sq_mask) {
    fetched.push_back(bench.fetch(slot));
  }

  if (recorded.contains("sq")) {
    const Json& entries = recorded["sq"];
    const bool scattered = !steps[0].pieces.empty() && !steps[0].sgl;
    if (scattered && fetched.empty() && entries.size() > steps.size()) throw Skipped{"driver_splits_scattered_data"};
    if (entries.empty() && !steps[0].sgl && largest > driver_list_entries * page_bytes)
      throw Skipped{"driver_list_limit"};
    expect_number("number of entries", entries.size(), fetched.size());
    for (size_t i = 0; i < entries.size(); ++i) expect_entry(entries[i], bench, fetched[i]);
  }
  for (uint32_t slot = 0; slot <= bench.handle().sq_mask; ++slot) {
    const bool ours = std::any_of(fetched.begin(), fetched.end(), [&](const Fetched& f) { return f.slot == slot; });
    if (!ours && !bench.untouched(slot)) throw Mismatch("slot " + std::to_string(slot) + " was written, too");
  }
  if (recorded.contains("after")) expect_number("SQ tail after", number_or(recorded["after"], "sq_tail", end), end);
  if (recorded.contains("events")) expect_events(recorded["events"], events);
  if (recorded.contains("mmio_required")) {
    const bool rung =
        std::any_of(events.begin(), events.end(), [](const Event& e) { return e.kind == Event::Kind::mmio; });
    expect_number("register store needed", number(recorded["mmio_required"]), rung);
  }
  if (!bench.ordered()) throw Mismatch("a doorbell was stored without the release or fence that it needs");
}

/// Admin commands: data pointer of the one page, queue or pair of pages that a case names.
lib::DataPointer admin_pointer(const Request& request, const lib::Command& command) {
  const uint64_t buffer = number_or(request.params, "buffer", 0);
  lib::DataPointer data;
  switch (static_cast<lib::AdminOpcode>(request.opcode)) {
    case lib::AdminOpcode::create_io_sq: data.prp1 = number_at(request.params, "sq_phys"); return data;
    case lib::AdminOpcode::create_io_cq: data.prp1 = number_at(request.params, "cq_phys"); return data;
    case lib::AdminOpcode::doorbell_buffer_config:
      data.prp1 = buffer;
      data.prp2 = buffer + page_bytes;
      return data;
    case lib::AdminOpcode::set_features:
    case lib::AdminOpcode::get_features: return data;  // Those of the cases answer in the completion.
    default: break;
  }
  const auto bytes = static_cast<uint32_t>(data_bytes(command, true, 0));
  if (bytes == 0 || buffer == 0) return data;
  const xio::Status status =
      lib::build_prps(lib::ContiguousPages{buffer}, 0, bytes, page_shift, lib::ListMemory{}, data);
  if (!status.is_ok())
    throw Mismatch(std::string("the data of an admin command was refused: ") + xio::name(status.code));
  return data;
}

/// The admin queue is the host's: it posts with the primitives, one command at a time.
void replay_admin(const Json& recorded) {
  const Json& entries = member(recorded, "sq");
  const Request request = request_of(recorded, member(recorded, "command").get<std::string>(), 0);
  BenchOptions options;
  options.qid = 0;
  options.dstrd = number_in<uint32_t>(number_or(request.params, "dstrd", 0));
  options.entries = 32;
  Bench bench(options);
  const lib::QueueHandle& queue = bench.handle();
  const Json before = recorded.contains("before") ? recorded["before"] : Json::object();
  const auto tail = number_in<uint32_t>(number_or(before, "sq_tail", number_at(entries.at(0), "slot")));
  bench.start_at(tail, tail);

  const lib::Command command = build(request);
  const auto cid = number_in<uint32_t>(number_or(entries[0], "cid", 0));
  xio::XioComEnqueue(lib::encode(command, cid, admin_pointer(request, command)), queue.sq + tail);
  xio::arch::release_system();
  Bench::Watched<xio::MmioDoorbell>::ring({queue.sq_doorbell, nullptr, nullptr},
                                          xio::ring::slot(tail + 1, queue.sq_mask));

  const std::vector<Fetched> fetched = bench.take_fetched();
  expect_number("number of entries", entries.size(), fetched.size());
  expect_entry(entries[0], bench, fetched[0]);
  if (recorded.contains("events")) expect_events(recorded["events"], bench.take_events());
}

}  // namespace

void replay_submission(const Json& recorded) {
  const Json& entries = list_or_empty(recorded, "sq");
  const bool admin = !entries.empty() && entries[0].value("queue", "") == "admin";
  admin ? replay_admin(recorded) : replay_io(recorded);
}

}  // namespace golden::nvme
