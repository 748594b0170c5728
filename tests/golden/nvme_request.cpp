// SPDX-License-Identifier: MIT
// What a case asks for: names and numbers of its parameters.

#include <algorithm>
#include <cctype>
#include <iterator>
#include <sstream>

#include <xio/vendors/nvme/opcodes.hpp>
#include <xio/vendors/nvme/opcodes_admin.hpp>

#include "nvme.hpp"

namespace golden::nvme {

namespace lib = xio::nvme;

namespace {

struct Name {
  const char* name;
  uint64_t value;
};

constexpr uint64_t of(lib::Opcode opcode) { return static_cast<uint64_t>(opcode); }
constexpr uint64_t of(lib::AdminOpcode opcode) { return static_cast<uint64_t>(opcode); }

constexpr Name io_names[] = {
    {"flush", of(lib::Opcode::flush)},
    {"write", of(lib::Opcode::write)},
    {"read", of(lib::Opcode::read)},
    {"write_uncorrectable", of(lib::Opcode::write_uncorrectable)},
    {"write_uncor", of(lib::Opcode::write_uncorrectable)},
    {"compare", of(lib::Opcode::compare)},
    {"write_zeroes", of(lib::Opcode::write_zeroes)},
    {"dataset_management", of(lib::Opcode::dataset_management)},
    {"dsm", of(lib::Opcode::dataset_management)},
    {"verify", of(lib::Opcode::verify)},
    {"reservation_register", of(lib::Opcode::reservation_register)},
    {"reservation_report", of(lib::Opcode::reservation_report)},
    {"reservation_acquire", of(lib::Opcode::reservation_acquire)},
    {"io_mgmt_recv", of(lib::Opcode::io_management_receive)},
    {"reservation_release", of(lib::Opcode::reservation_release)},
    {"copy", of(lib::Opcode::copy)},
    {"io_mgmt_send", of(lib::Opcode::io_management_send)},
    {"zone_mgmt_send", of(lib::Opcode::zone_management_send)},
    {"zone_management_send", of(lib::Opcode::zone_management_send)},
    {"zone_mgmt_recv", of(lib::Opcode::zone_management_receive)},
    {"zone_management_receive", of(lib::Opcode::zone_management_receive)},
    {"zone_append", of(lib::Opcode::zone_append)},
};

// In the order of their tests: a longer name before one that it begins with.
constexpr Name admin_prefixes[] = {
    {"delete_io_sq", of(lib::AdminOpcode::delete_io_sq)},
    {"create_io_sq", of(lib::AdminOpcode::create_io_sq)},
    {"delete_io_cq", of(lib::AdminOpcode::delete_io_cq)},
    {"create_io_cq", of(lib::AdminOpcode::create_io_cq)},
    {"get_log", of(lib::AdminOpcode::get_log_page)},
    {"identify", of(lib::AdminOpcode::identify)},
    {"abort", of(lib::AdminOpcode::abort)},
    {"set_feature", of(lib::AdminOpcode::set_features)},
    {"set_num_queues", of(lib::AdminOpcode::set_features)},
    {"get_feature", of(lib::AdminOpcode::get_features)},
    {"async_event", of(lib::AdminOpcode::async_event_request)},
    {"keep_alive", of(lib::AdminOpcode::keep_alive)},
    {"doorbell_buffer_config", of(lib::AdminOpcode::doorbell_buffer_config)},
};

// Names of flags in parameters. Control flags stand for bits 31:16 of command dword 12.
constexpr Name flag_names[] = {
    {"fua", 0x4000},
    {"lr", 0x8000},
    {"limited_retry", 0x8000},
    {"pract", 0x2000},
    {"prchk", 0x1c00},
    {"prchk_guard", 0x1000},
    {"prchk_app", 0x0800},
    {"prchk_ref", 0x0400},
    {"stc", 0x0100},
    {"deac", 0x0200},
    {"piremap", 0x0200},
    // Dataset management hints.
    {"freq_typical", 1},
    {"freq_rare", 2},
    {"freq_reads", 3},
    {"freq_writes", 4},
    {"freq_rw", 5},
    {"freq_once", 6},
    {"freq_prefetch", 7},
    {"freq_temp", 8},
    {"latency_none", 0},
    {"latency_idle", 0x10},
    {"latency_norm", 0x20},
    {"latency_low", 0x30},
    {"seq_req", 0x40},
    {"compressed", 0x80},
    // Dataset management attributes.
    {"idr", 1},
    {"idw", 2},
    {"ad", 4},
    {"deallocate", 4},
    {"integral_read", 1},
    {"integral_write", 2},
    // Zone actions.
    {"close", 1},
    {"finish", 2},
    {"open", 3},
    {"reset", 4},
    {"offline", 5},
    {"set_desc_ext", 0x10},
    {"zrwa_flush", 0x11},
    {"report", 0},
    {"report_zones", 0},
    {"extended_report", 1},
    {"extended_report_zones", 1},
    // Directive types.
    {"none", 0},
    {"streams", 1},
    {"data_placement", 2},
};

// Parameters that build() and the submission of a case take into account, where a case states a range of blocks.
constexpr const char* understood_keys[] = {"nsid",
                                           "slba",
                                           "zslba",
                                           "nlb",
                                           "nlb_zero_based",
                                           "control",
                                           "io_flags",
                                           "reftag",
                                           "apptag",
                                           "appmask",
                                           "dsm",
                                           "dspec",
                                           "dtype",
                                           "buffer",
                                           "buffer_compare",
                                           "iov",
                                           "sgl_mode",
                                           "lba_size",
                                           "qid",
                                           "entries",
                                           "dstrd",
                                           "count",
                                           "buffer_write",
                                           "shadow_doorbell",
                                           "delayed_doorbell"};

std::string lower(std::string text) {
  for (char& letter : text) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  return text;
}

std::optional<uint64_t> flags_from(const std::string& text) {
  uint64_t value = 0;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, '|');) {
    bool found = false;
    for (const Name& flag : flag_names) {
      if (lower(part) == flag.name) {
        value |= flag.value;
        found = true;
        break;
      }
    }
    if (!found) return std::nullopt;
  }
  return value;
}

}  // namespace

RecordedWords words_of_entry(const Bytes& entry) {
  if (entry.size() != 64) throw Mismatch("a submission queue entry of " + std::to_string(entry.size()) + " bytes");
  const auto word = [&](size_t offset, size_t bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; ++i) value |= static_cast<uint64_t>(entry[offset + i]) << (8 * i);
    return value;
  };
  const auto dword = [&](size_t offset) { return static_cast<uint32_t>(word(offset, 4)); };
  RecordedWords words;
  words.opcode = entry[0];
  words.flags = entry[1];
  words.nsid = dword(4);
  words.cdw2 = dword(8);
  words.cdw3 = dword(12);
  words.mptr = word(16, 8);
  words.cdw10 = dword(40);
  words.cdw11 = dword(44);
  words.cdw12 = dword(48);
  words.cdw13 = dword(52);
  words.cdw14 = dword(56);
  words.cdw15 = dword(60);
  return words;
}

void Request::forget_stated() {
  const bool range = stated({"slba", "zslba"}) && stated({"nlb", "nlb_zero_based"});
  if (admin || !range) return;
  // A parameter that is not understood here may be behind any of the words.
  for (const auto& [key, value] : params.items()) {
    const auto known = [&name = key](const char* const understood) { return name == understood; };
    if (std::none_of(std::begin(understood_keys), std::end(understood_keys), known)) return;
  }
  const uint32_t nsid = recorded.nsid;
  recorded = RecordedWords{};
  recorded.nsid = nsid;
}

std::optional<uint64_t> Request::stated(std::initializer_list<const char*> keys) const {
  for (const char* const key : keys) {
    const auto found = params.find(key);
    if (found != params.end() && is_number(*found)) return number(*found);
  }
  return std::nullopt;
}

uint64_t Request::get(std::initializer_list<const char*> keys, uint64_t unstated) const {
  return stated(keys).value_or(unstated);
}

uint64_t Request::get_flags(std::initializer_list<const char*> keys, uint64_t unstated) const {
  for (const char* const key : keys) {
    const auto found = params.find(key);
    if (found == params.end()) continue;
    if (is_number(*found)) return number(*found);
    if (found->is_string()) {
      if (const auto flags = flags_from(found->get<std::string>())) return *flags;
    }
  }
  return unstated;
}

std::optional<uint8_t> opcode_of(const std::string& name, bool& admin) {
  const std::string wanted = lower(name);
  for (const Name& known : io_names) {
    if (wanted == known.name) {
      admin = false;
      return static_cast<uint8_t>(known.value);
    }
  }
  for (const Name& known : admin_prefixes) {
    if (wanted.rfind(known.name, 0) == 0) {
      admin = true;
      return static_cast<uint8_t>(known.value);
    }
  }
  return std::nullopt;
}

}  // namespace golden::nvme
