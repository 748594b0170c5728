// SPDX-License-Identifier: MIT

/// @file
/// @brief Encoders of NVMe commands with any arguments and setters, compared with entries that are put together here,
/// field by field at the places that the specification names.

#include <xio/vendors/nvme/encode_admin.hpp>
#include <xio/vendors/nvme/encode_more.hpp>

#include "fuzz/fuzz.hpp"

namespace nvme = xio::nvme;

namespace {

using fuzz::Input;

/// 64 bytes, little-endian, as the specification numbers them.
class Entry {
 public:
  /// Sets `width` bits from bit `low` of a command dword on; what does not fit is cut off.
  Entry& set(uint32_t dword, uint32_t low, uint32_t width, uint64_t value) {
    for (uint32_t bit = 0; bit < width; ++bit) {
      const uint32_t at = dword * 32 + low + bit;
      const auto mask = static_cast<uint8_t>(1u << at % 8);
      bytes_[at / 8] = static_cast<uint8_t>((bytes_[at / 8] & ~mask) | ((value >> bit & 1) != 0 ? mask : 0));
    }
    return *this;
  }
  /// Adds to what stands in a dword.
  Entry& add(uint32_t dword, uint64_t value) { return set(dword, 0, 32, get(dword) + value); }
  uint32_t get(uint32_t dword) const {
    uint32_t value = 0;
    for (uint32_t i = 0; i < 4; ++i) value |= uint32_t{bytes_[dword * 4 + i]} << 8 * i;
    return value;
  }
  bool is(uint32_t dword, uint32_t bit) const { return (get(dword) >> bit & 1) != 0; }

 private:
  uint8_t bytes_[64]{};
};

/// A command as the library has it, and as it should become.
struct Pair {
  nvme::Command command;
  Entry entry;
  bool has_range = false;
};

void set_range(Entry& entry, uint64_t lba, uint32_t blocks) {
  entry.set(10, 0, 32, lba).set(11, 0, 32, lba >> 32).set(12, 0, 16, blocks - 1);
}

/// Commands that name a range of blocks.
Pair take_block_command(Input& input) {
  const uint64_t lba = input.wide();
  const uint32_t blocks = 1 + input.take<uint16_t>();
  Pair pair;
  pair.has_range = true;
  uint8_t opcode = 0;
  switch (input.up_to<uint8_t>(6)) {
    case 0: pair.command = nvme::write(lba, blocks), opcode = 0x01; break;
    case 1: pair.command = nvme::read(lba, blocks), opcode = 0x02; break;
    case 2: pair.command = nvme::write_uncorrectable(lba, blocks), opcode = 0x04; break;
    case 3: pair.command = nvme::compare(lba, blocks), opcode = 0x05; break;
    case 4: pair.command = nvme::write_zeroes(lba, blocks), opcode = 0x08; break;
    case 5: pair.command = nvme::verify(lba, blocks), opcode = 0x0c; break;
    default: pair.command = nvme::zone_append(lba, blocks), opcode = 0x7d; break;
  }
  pair.entry.set(0, 0, 8, opcode);
  set_range(pair.entry, lba, blocks);
  return pair;
}

Pair take_other_command(Input& input) {
  Pair pair;
  Entry& e = pair.entry;
  const uint64_t lba = input.wide();
  const uint32_t ranges = 1 + input.take();
  const uint32_t dwords = 1 + input.take<uint16_t>();
  const uint8_t small = input.take();
  const bool yes = input.flag();
  const bool also = input.flag();
  switch (input.up_to<uint8_t>(11)) {
    case 0: pair.command = nvme::flush(); break;
    case 1:
      pair.command = nvme::dataset_management(ranges, small & 7);
      e.set(0, 0, 8, 0x09).set(10, 0, 8, ranges - 1).set(11, 0, 3, small);
      break;
    case 2:
      pair.command = nvme::deallocate(ranges);
      e.set(0, 0, 8, 0x09).set(10, 0, 8, ranges - 1).set(11, 2, 1, 1);
      break;
    case 3:
      pair.command = nvme::copy(lba, ranges, 0);
      e.set(0, 0, 8, 0x19).set(10, 0, 32, lba).set(11, 0, 32, lba >> 32).set(12, 0, 8, ranges - 1);
      break;
    case 4: {
      const nvme::ZoneSendAction actions[] = {nvme::ZoneSendAction::close, nvme::ZoneSendAction::finish,
                                              nvme::ZoneSendAction::open, nvme::ZoneSendAction::reset,
                                              nvme::ZoneSendAction::offline};
      pair.command = nvme::zone_management_send({actions[small % 5], lba, yes, also});
      e.set(0, 0, 8, 0x79).set(10, 0, 32, lba).set(11, 0, 32, lba >> 32);
      e.set(13, 0, 8, 1u + small % 5).set(13, 8, 1, yes).set(13, 9, 1, also);
      break;
    }
    case 5:
      pair.command = nvme::zone_management_receive(
          {yes ? nvme::ZoneReceiveAction::extended_report : nvme::ZoneReceiveAction::report, lba, dwords * 4, small,
           also});
      e.set(0, 0, 8, 0x7a).set(10, 0, 32, lba).set(11, 0, 32, lba >> 32).set(12, 0, 32, dwords - 1);
      e.set(13, 0, 8, yes).set(13, 8, 8, small).set(13, 16, 1, also);
      break;
    case 6:
      pair.command = nvme::reservation_register(small, yes, small >> 3);
      e.set(0, 0, 8, 0x0d).set(10, 0, 3, small).set(10, 3, 1, yes).set(10, 30, 2, small >> 3);
      break;
    case 7:
      pair.command = nvme::reservation_acquire(small, ranges, yes);
      e.set(0, 0, 8, 0x11).set(10, 0, 3, small).set(10, 3, 1, yes).set(10, 8, 8, ranges);
      break;
    case 8:
      pair.command = nvme::reservation_release(small, ranges, yes);
      e.set(0, 0, 8, 0x15).set(10, 0, 3, small).set(10, 3, 1, yes).set(10, 8, 8, ranges);
      break;
    case 9:
      pair.command = nvme::reservation_report(dwords * 4, yes);
      e.set(0, 0, 8, 0x0e).set(10, 0, 32, dwords - 1).set(11, 0, 1, yes);
      break;
    case 10:
      pair.command = nvme::io_management_receive(small, static_cast<uint32_t>(lba & 0xffff), dwords * 4);
      e.set(0, 0, 8, 0x12).set(10, 0, 8, small).set(10, 16, 16, lba).set(11, 0, 32, dwords - 1);
      break;
    default:
      pair.command = nvme::io_management_send(small, static_cast<uint32_t>(lba & 0xffff));
      e.set(0, 0, 8, 0x1d).set(10, 0, 8, small).set(10, 16, 16, lba);
      break;
  }
  return pair;
}

Pair take_admin_command(Input& input) {
  Pair pair;
  Entry& e = pair.entry;
  const uint32_t qid = input.take<uint16_t>();
  const uint32_t other = input.take<uint16_t>();
  const uint32_t entries = 2 + input.up_to<uint16_t>(65534);
  const uint32_t value = input.take<uint32_t>();
  const uint64_t wide = input.wide();
  const uint8_t small = input.take();
  const bool yes = input.flag();
  const bool also = input.flag();
  switch (input.up_to<uint8_t>(10)) {
    case 0:
      pair.command = nvme::create_io_cq({qid, entries, yes, also, other});
      e.set(0, 0, 8, 0x05).set(10, 0, 16, qid).set(10, 16, 16, entries - 1);
      e.set(11, 0, 1, yes).set(11, 1, 1, also).set(11, 16, 16, other);
      break;
    case 1:
      pair.command = nvme::create_io_sq({qid, entries, other, yes, small, value & 0xffff});
      e.set(0, 0, 8, 0x01).set(10, 0, 16, qid).set(10, 16, 16, entries - 1);
      e.set(11, 0, 1, yes).set(11, 1, 2, small).set(11, 16, 16, other).set(12, 0, 16, value);
      break;
    case 2:
      pair.command = yes ? nvme::delete_io_sq(qid) : nvme::delete_io_cq(qid);
      e.set(0, 0, 8, yes ? 0x00 : 0x04).set(10, 0, 16, qid);
      break;
    case 3:
      pair.command = nvme::identify({static_cast<nvme::Cns>(small), value, other,
                                     static_cast<nvme::CommandSet>(qid & 3), entries, static_cast<uint32_t>(wide)});
      e.set(0, 0, 8, 0x06).set(1, 0, 32, value).set(10, 0, 8, small).set(10, 16, 16, other);
      e.set(11, 0, 16, entries).set(11, 24, 8, qid & 3).set(14, 0, 7, wide);
      break;
    case 4:
      pair.command = nvme::set_features(static_cast<nvme::FeatureId>(small), value, yes);
      e.set(0, 0, 8, 0x09).set(10, 0, 8, small).set(10, 31, 1, yes).set(11, 0, 32, value);
      break;
    case 5:
      pair.command = nvme::get_features(static_cast<nvme::FeatureId>(small), static_cast<nvme::FeatureSelect>(qid & 3));
      e.set(0, 0, 8, 0x0a).set(10, 0, 8, small).set(10, 8, 3, qid & 3);
      break;
    case 6:
      pair.command = nvme::set_number_of_queues(1 + qid % 65535, 1 + other % 65535);
      e.set(0, 0, 8, 0x09).set(10, 0, 8, 0x07).set(11, 0, 16, qid % 65535).set(11, 16, 16, other % 65535);
      break;
    case 7: {
      const uint32_t dwords = 1 + value % 0x3fffffff;
      nvme::LogPageRequest log;
      log.log = static_cast<nvme::LogId>(small);
      log.bytes = dwords * 4;
      log.offset = wide & ~uint64_t{3};
      log.nsid = entries;
      log.specific = qid;
      log.specific_identifier = other;
      log.retain_event = yes;
      log.index_offset = also;
      pair.command = nvme::get_log_page(log);
      e.set(0, 0, 8, 0x02).set(1, 0, 32, entries);
      e.set(10, 0, 8, small).set(10, 8, 7, qid).set(10, 15, 1, yes).set(10, 16, 16, dwords - 1);
      e.set(11, 0, 16, (dwords - 1) >> 16).set(11, 16, 16, other);
      e.set(12, 0, 32, log.offset).set(13, 0, 32, log.offset >> 32).set(14, 23, 1, also);
      break;
    }
    case 8:
      pair.command = nvme::abort(qid, other);
      e.set(0, 0, 8, 0x08).set(10, 0, 16, qid).set(10, 16, 16, other);
      break;
    case 9:
      pair.command = yes ? nvme::async_event_request() : nvme::keep_alive();
      e.set(0, 0, 8, yes ? 0x0c : 0x18);
      break;
    default:
      pair.command = nvme::doorbell_buffer_config();
      e.set(0, 0, 8, 0x7c);
      break;
  }
  return pair;
}

/// Changes both by one setter.
void apply_setter(Input& input, Pair& pair) {
  nvme::Command& c = pair.command;
  Entry& e = pair.entry;
  const uint32_t value = input.take<uint32_t>();
  const uint32_t other = input.take<uint16_t>();
  // Those of commands with ranges set bits that mean something else in others, and do it all the same.
  switch (input.up_to<uint8_t>(16)) {
    case 0: c = c.nsid(value), e.set(1, 0, 32, value); break;
    case 1: c = c.force_unit_access(), e.set(12, 30, 1, 1); break;
    case 2: c = c.limited_retry(), e.set(12, 31, 1, 1); break;
    case 3: c = c.protection_action(), e.set(12, 29, 1, 1); break;
    case 4:
      c = c.protection_check((value & 1 ? nvme::cdw12::check_guard : 0) |
                             (value & 2 ? nvme::cdw12::check_application_tag : 0) |
                             (value & 4 ? nvme::cdw12::check_reference_tag : 0));
      if ((value & 1) != 0) e.set(12, 28, 1, 1);
      if ((value & 2) != 0) e.set(12, 27, 1, 1);
      if ((value & 4) != 0) e.set(12, 26, 1, 1);
      break;
    case 5: c = c.storage_tag_check(), e.set(12, 24, 1, 1); break;
    case 6: c = c.deallocate(), e.set(12, 25, 1, 1); break;
    case 7: c = c.remap_reference_tag(), e.set(12, 25, 1, 1); break;
    case 8: c = c.hints(value), e.set(13, 0, 8, value); break;
    case 9: c = c.directive(value, other), e.set(12, 20, 4, value).set(13, 16, 16, other); break;
    case 10: c = c.reference_tag(value), e.set(14, 0, 32, value); break;
    case 11: c = c.application_tag(value, other), e.set(15, 0, 16, value).set(15, 16, 16, other); break;
    case 12: {
      const uint64_t bus = uint64_t{value} << 16 | other;
      c = c.metadata(bus), e.set(4, 0, 32, bus).set(5, 0, 32, bus >> 32);
      break;
    }
    case 13:
      if (e.is(0, 8) || e.is(0, 9)) break;
      if ((value & 1) != 0) {
        c = c.fused_first(), e.set(0, 8, 2, 1);
      } else {
        c = c.fused_second(), e.set(0, 8, 2, 2);
      }
      break;
    case 14: {
      if (!pair.has_range) break;
      const uint64_t lba = input.wide();
      c = c.range(lba, other + 1), set_range(e, lba, other + 1);
      break;
    }
    case 15: {
      if (!pair.has_range) break;
      const uint64_t lba = uint64_t{e.get(11)} << 32 | e.get(10);
      const bool counts_blocks = e.is(12, 29) || e.is(12, 26);
      c = c.piece(value, other + 1), set_range(e, lba + value, other + 1);
      if (counts_blocks) e.add(14, value);
      break;
    }
    default: {
      const uint32_t number = other % 16;
      // The number of blocks is kept apart until the entry is made: see CommandWords.
      if (pair.has_range && number == 12) break;
      c = c.dword(number, value);
      if (number == 2 || number == 3 || number >= 10) e.set(number, 0, 32, value);
      break;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  const uint8_t kind = input.take();
  Pair pair = kind % 3 == 0   ? take_block_command(input)
              : kind % 3 == 1 ? take_other_command(input)
                              : take_admin_command(input);
  for (uint8_t left = kind >> 4; left != 0; --left) apply_setter(input, pair);

  const uint32_t cid = input.take<uint16_t>();
  nvme::DataPointer where;
  where.prp1 = input.wide();
  where.prp2 = input.wide();
  where.sgl = input.flag();
  pair.entry.set(0, 14, 2, where.sgl).set(0, 16, 16, cid);
  pair.entry.set(6, 0, 32, where.prp1).set(7, 0, 32, where.prp1 >> 32);
  pair.entry.set(8, 0, 32, where.prp2).set(9, 0, 32, where.prp2 >> 32);

  const nvme::Sqe made = nvme::encode(pair.command, cid, where);
  uint32_t words[16];
  static_assert(sizeof made == sizeof words, "an entry has 64 bytes");
  std::memcpy(words, &made, sizeof words);
  for (uint32_t i = 0; i < 16; ++i) {
    fuzz::expect_same(pair.entry.get(i), words[i], ("command dword " + std::to_string(i)).c_str());
  }
  return 0;
}
