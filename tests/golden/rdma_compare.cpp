// SPDX-License-Identifier: MIT

#include "rdma_compare.hpp"

#include <algorithm>

namespace golden::rdma {

namespace {

constexpr const char* const rings[] = {"sq", "rq", "msn_table", "psn_table"};
constexpr uint64_t segment_bytes = 16;

[[noreturn]] void fail_at(const std::string& region, uint64_t offset, const std::string& expected,
                          const std::string& actual) {
  throw Mismatch(region + ", byte " + std::to_string(offset) + "\n      expected " + expected + "\n      actual   " +
                 actual);
}

/// Every recorded byte must be there. We may store more to segments that the driver stored to, and zeros to the rest of
/// the `entries`, which it leaves as it was.
void expect_region(const std::string& region, const ByteMap& expected, const ByteMap& actual,
                   const std::set<uint64_t>& entries) {
  std::set<uint64_t> segments;
  for (const auto& [offset, byte] : expected) {
    segments.insert(offset / segment_bytes);
    const auto found = actual.find(offset);
    if (found == actual.end()) fail_at(region, offset, hex_number(byte), "not stored");
    if (found->second != byte) fail_at(region, offset, hex_number(byte), hex_number(found->second));
  }
  for (const auto& [offset, byte] : actual) {
    const uint64_t segment = offset / segment_bytes;
    if (segments.count(segment) != 0 || (entries.count(segment) != 0 && byte == 0)) continue;
    fail_at(region, offset, "not stored", hex_number(byte));
  }
}

/// A driver may store part of an entry before it refuses the request. No device ever looks at it.
ByteMap without_refused(const ByteMap& bytes, const Posted& posted) {
  ByteMap kept;
  for (const auto& [offset, byte] : bytes) {
    if ((offset + posted.ring_size - posted.ring_start) % posted.ring_size < posted.ring_bytes) kept[offset] = byte;
  }
  return kept;
}

}  // namespace

ByteMap recorded_bytes(const Json& chunks) {
  ByteMap bytes;
  for (const Json& chunk : chunks) {
    const uint64_t offset = number_at(chunk, "off");
    const Bytes content = from_hex(member(chunk, "hex").get<std::string>());
    const Bytes mask = chunk.contains("mask") ? from_hex(chunk["mask"].get<std::string>()) : Bytes{};
    for (size_t i = 0; i < content.size(); ++i) {
      if (mask.empty() || mask.at(i) != 0) bytes[offset + i] = content[i];
    }
  }
  return bytes;
}

void collect(const std::vector<Store>& stores, std::map<std::string, ByteMap>& memory) {
  for (const Store& store : stores) {
    if (store.is_register) continue;
    for (size_t i = 0; i < store.bytes.size(); ++i) memory[store.region][store.offset + i] = store.bytes[i];
  }
}

void add_entries(const Posted& posted, std::set<uint64_t>& entries) {
  for (uint64_t done = 0; done < posted.ring_bytes; done += segment_bytes) {
    entries.insert((posted.ring_start + done) % posted.ring_size / segment_bytes);
  }
}

void expect_regions(const Json& recorded, const std::map<std::string, ByteMap>& memory,
                    const std::set<uint64_t>& entries, const Posted* refused, const std::vector<Store>& own_fields) {
  for (const char* const region : rings) {
    ByteMap expected = recorded_bytes(list_or_empty(recorded, region));
    const bool has_entries = std::string(region) == "sq" || std::string(region) == "rq";
    if (refused && has_entries) expected = without_refused(expected, *refused);
    for (const Store& field : own_fields) {
      if (field.region != region) continue;
      for (size_t i = 0; i < field.bytes.size(); ++i) expected[field.offset + i] = field.bytes[i];
    }
    const auto found = memory.find(region);
    expect_region(region, expected, found == memory.end() ? ByteMap{} : found->second,
                  has_entries ? entries : std::set<uint64_t>{});
  }
}

void expect_records(const Json& events, const std::map<std::string, ByteMap>& memory) {
  std::map<std::string, ByteMap> expected;
  for (const Json& event : events) {
    if (event.value("ev", "") != "mem_changed" || !event.contains("hex")) continue;
    const auto region = member(event, "region").get<std::string>();
    if (std::any_of(std::begin(rings), std::end(rings), [&](const char* ring) { return region == ring; })) continue;
    const Bytes bytes = from_hex(event["hex"].get<std::string>());
    for (size_t i = 0; i < bytes.size(); ++i) expected[region][number_at(event, "off") + i] = bytes[i];
  }
  for (const auto& [region, bytes] : expected) {
    const auto found = memory.find(region);
    for (const auto& [offset, byte] : bytes) {
      if (found == memory.end() || found->second.count(offset) == 0) {
        fail_at(region, offset, hex_number(byte), "not stored");
      }
      if (found->second.at(offset) != byte) {
        fail_at(region, offset, hex_number(byte), hex_number(found->second.at(offset)));
      }
    }
  }
}

void expect_state(const Json& after, const Json& state) {
  for (const auto& [key, value] : after.items()) {
    if (!state.contains(key)) throw Mismatch("\"after\" has an unknown member \"" + key + "\"");
    if (key == "db_record") {
      expect_bytes(key, from_hex(value.get<std::string>()), from_hex(state[key].get<std::string>()));
    } else {
      expect_number("\"" + key + "\" after", number(value), number(state[key]));
    }
  }
}

void expect_outcome(const Json& recorded, const Posted& posted, size_t requests) {
  const bool taken = member(recorded, "ret").get<int64_t>() == 0;
  if (taken != posted.status.is_ok()) {
    throw Mismatch(taken ? std::string("refused: ") + xio::name(posted.status.code)
                         : "taken, where the driver refuses it");
  }
  expect_number("requests taken", taken ? requests : number_or(recorded, "bad_wr_index", 0), posted.accepted);
}

void expect_registers(const Json& events, const std::vector<Store>& stores, const Json& recorded) {
  auto next = stores.begin();
  const auto skip_memory = [&] {
    while (next != stores.end() && !next->is_register) ++next;
  };
  for (const Json& event : events) {
    if (event.value("ev", "") != "mmio_store") continue;
    skip_memory();
    const Bytes bytes = from_hex(member(event, "hex").get<std::string>());
    const std::string what = member(event, "region").get<std::string>() + " + " + hex_number(number_at(event, "off"));
    if (next == stores.end()) throw Mismatch("no store to register " + what + ", expected " + to_hex(bytes));
    const std::string ours = next->region + " + " + hex_number(next->offset);
    if (what != ours) throw Mismatch("a register\n      expected " + what + "\n      actual   " + ours);
    Bytes mask;
    if (next->source) {
      const ByteMap ring = recorded_bytes(list_or_empty(recorded, next->source->region.c_str()));
      for (size_t i = 0; i < bytes.size(); ++i) mask.push_back(ring.count(next->source->offset + i) != 0 ? 0xff : 0);
    }
    expect_bytes("register " + what, bytes, next->bytes, mask);
    ++next;
  }
  skip_memory();
  if (next != stores.end()) {
    throw Mismatch("register " + next->region + " + " + hex_number(next->offset) +
                   " was stored to, too: " + to_hex(next->bytes));
  }
}

}  // namespace golden::rdma
