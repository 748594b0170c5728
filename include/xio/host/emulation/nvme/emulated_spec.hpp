// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Parser for text specifications of the in-process NVMe controller: `emulated:lba=4096,size=64M,queues=8`.

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/emulation/nvme/config.hpp>
#include <xio/host/emulation/nvme/fault_plan.hpp>
#include <xio/host/error.hpp>
#include <xio/host/text.hpp>
#include <xio/vendors/nvme/encode_kv.hpp>
#include <xio/vendors/nvme/opcodes.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_nvme
/// @{

/// Commands that fail, with the status of the specification: `fail=read-281-100`.
struct EmulatedFailure {
  uint8_t opcode = 0;
  uint16_t status = 0;  ///< SC in 7:0, SCT in 10:8
  uint64_t every = 1;   ///< the first one and every `every`-th after it
};

/// Parsed specification of an emulated controller.
struct EmulatedSpec {
  NvmeConfig config;
  uint64_t delay_least_us = 0;  ///< delay of every I/O command, drawn uniformly from [least, most]; 0, 0: none
  uint64_t delay_most_us = 0;
  uint32_t reorder = 0;  ///< window of FaultPlan::reorder
  uint64_t seed = 1;
  std::vector<EmulatedFailure> failures;

  /// Applies delay, reordering, seed and failures to a plan.
  void apply(FaultPlan& plan) const {
    plan.seed(seed);
    plan.reorder(reorder);
    if (delay_most_us != 0) plan.delay_us(Match{}, delay_least_us, delay_most_us);
    for (const EmulatedFailure& one : failures) plan.fail(Match{}.with_opcode(one.opcode).each(one.every), one.status);
  }
};

namespace detail {

[[noreturn]] inline void refuse(const std::string& what) { throw host::Error("emulated: " + what); }

inline std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

/// Parses a number in [least, most], optionally followed by K, M, G or T.
inline uint64_t number(const std::string& key, const std::string& text, uint64_t least, uint64_t most) {
  const auto value = host::parse_bytes(text);
  if (!value || *value < least || *value > most)
    refuse(key + "=" + text + " is not accepted; expected a number from " + std::to_string(least) + " to " +
           std::to_string(most) + " (suffixes K, M, G, T)");
  return *value;
}

inline bool flag(const std::string& key, const std::string& text) { return number(key, text, 0, 1) != 0; }

/// Parses `read-281` or `read-281-100`: operation, status in hexadecimal, every how many.
inline EmulatedFailure failure(const std::string& text) {
  static constexpr struct {
    const char* name;
    uint8_t opcode;
  } operations[] = {{"read", uint8_t(nvme::Opcode::read)},       {"write", uint8_t(nvme::Opcode::write)},
                    {"flush", uint8_t(nvme::Opcode::flush)},     {"trim", uint8_t(nvme::Opcode::dataset_management)},
                    {"compare", uint8_t(nvme::Opcode::compare)}, {"zeroes", uint8_t(nvme::Opcode::write_zeroes)},
                    {"store", uint8_t(nvme::KvOpcode::store)},   {"retrieve", uint8_t(nvme::KvOpcode::retrieve)},
                    {"delete", uint8_t(nvme::KvOpcode::remove)}, {"exist", uint8_t(nvme::KvOpcode::exist)}};
  const std::vector<std::string> parts = split(text, '-');
  EmulatedFailure one;
  if (parts.size() == 2 || parts.size() == 3) {
    const std::string& digits = parts[1];
    const bool is_status = digits.size() == 3 && digits.find_first_not_of("0123456789abcdefABCDEF") == digits.npos;
    one.status = is_status ? static_cast<uint16_t>(std::stoul(digits, nullptr, 16)) : 0;
    if (parts.size() == 3) one.every = number("fail", parts[2], 1, uint64_t{1} << 40);
    for (const auto& [name, opcode] : operations) {
      if (parts[0] != name || one.status == 0 || one.status > 0x7ff) continue;
      one.opcode = opcode;
      return one;
    }
  }
  refuse("fail=" + text +
         " is not accepted; expected read, write, flush, trim, compare, zeroes, store, retrieve, delete or exist, a "
         "status in three hexadecimal digits, and every how many fail: read-281-100");
}

}  // namespace detail

/// Parses `emulated` or `emulated:key=value,...`. Throws host::Error with a one-line message for invalid input.
///
/// | key | meaning | default |
/// |---|---|---|
/// | `lba` | logical block size in bytes, or a list with one per namespace: `512/4096` | 512 |
/// | `size` | capacity of each namespace in bytes, or a list: `64M/1G` | 64M |
/// | `keys` | longest key in bytes of a namespace that stores values, 1 to 16, or a list; 0: it has blocks | 0 |
/// | `values` | longest value in bytes, or a list | 64K |
/// | `queues` | I/O queue pairs | 64 |
/// | `mdts` `mqes` `dstrd` `mpsmin` `cqr` | capabilities as in NvmeConfig | 7 2047 0 0 1 |
/// | `vsl` `wzsl` | limits of Verify and Write Zeroes, as in NvmeConfig | 0 0 |
/// | `sgl` `dbbuf` `vwc` `aborts` | features, 0 or 1 | 1 1 1 0 |
/// | `cid_check` `poison` `discard` | NvmeConfig::check_command_ids, poison_fetched_entries, discard_data | 1 0 0 |
/// | `delay` | delay of each I/O command in microseconds, `20` or `5-50` | 0 |
/// | `reorder` | window of random completion order | 0 |
/// | `seed` | seed of delays and reordering | 1 |
/// | `fail` | commands that fail, joined by `/`: `read-281-100` is every 100th read, with status 281h; also write,
/// flush, trim, compare, zeroes, store, retrieve, delete, exist | |
/// | `serial` | serial number | |
/// | `quirks` | deviations of real controllers, names of nvme_quirks joined by `/`: `nvme-1.0/no-head` | |
///
/// K, M, G and T may follow a number.
inline EmulatedSpec parse_emulated_spec(const std::string& text) {
  const std::string name = "emulated";
  if (text.compare(0, name.size(), name) != 0 || (text.size() > name.size() && text[name.size()] != ':'))
    detail::refuse("'" + text + "' is not of the form emulated[:key=value,...]");
  EmulatedSpec spec;
  NvmeConfig& config = spec.config;
  std::vector<std::string> blocks{"512"};
  std::vector<std::string> sizes{"64M"};
  std::vector<std::string> keys{"0"};
  std::vector<std::string> values{"64K"};
  std::set<std::string> seen;
  const std::string rest = text.size() > name.size() ? text.substr(name.size() + 1) : std::string();
  for (const std::string& part : rest.empty() ? std::vector<std::string>() : detail::split(rest, ',')) {
    const size_t equals = part.find('=');
    if (equals == std::string::npos || equals == 0) detail::refuse("'" + part + "' is not of the form key=value");
    const std::string key = part.substr(0, equals);
    const std::string value = part.substr(equals + 1);
    if (!seen.insert(key).second) detail::refuse(key + " is given twice");
    const auto number = [&](uint64_t least, uint64_t most) { return detail::number(key, value, least, most); };
    const auto flag = [&] { return detail::flag(key, value); };
    if (key == "lba")
      blocks = detail::split(value, '/');
    else if (key == "size")
      sizes = detail::split(value, '/');
    else if (key == "keys")
      keys = detail::split(value, '/');
    else if (key == "values")
      values = detail::split(value, '/');
    else if (key == "queues")
      config.queues = static_cast<uint32_t>(number(1, 1024));
    else if (key == "mdts")
      config.mdts = static_cast<uint8_t>(number(0, 16));
    else if (key == "vsl")
      config.vsl = static_cast<uint8_t>(number(0, 32));
    else if (key == "wzsl")
      config.wzsl = static_cast<uint8_t>(number(0, 32));
    else if (key == "mqes")
      config.mqes = static_cast<uint16_t>(number(1, 65535));
    else if (key == "dstrd")
      config.dstrd = static_cast<uint8_t>(number(0, 8));
    else if (key == "mpsmin")
      config.mpsmin = static_cast<uint8_t>(number(0, 4));
    else if (key == "cqr")
      config.contiguous_queues_required = flag();
    else if (key == "sgl")
      config.sgl = flag();
    else if (key == "dbbuf")
      config.shadow_doorbells = flag();
    else if (key == "vwc")
      config.volatile_write_cache = flag();
    else if (key == "aborts")
      config.aborts = flag();
    else if (key == "cid_check")
      config.check_command_ids = flag();
    else if (key == "poison")
      config.poison_fetched_entries = flag();
    else if (key == "discard")
      config.discard_data = flag();
    else if (key == "reorder")
      spec.reorder = static_cast<uint32_t>(number(0, 65536));
    else if (key == "seed")
      spec.seed = number(0, ~uint64_t{0});
    else if (key == "fail")
      for (const std::string& one : detail::split(value, '/')) spec.failures.push_back(detail::failure(one));
    else if (key == "serial")
      config.serial = value;
    else if (key == "quirks")
      for (const std::string& one : detail::split(value, '/')) {
        if (!add_quirk(one, config.quirks)) detail::refuse("unknown quirk '" + one + "'; known: " + nvme_quirk_names());
      }
    else if (key == "delay") {
      const std::vector<std::string> ends = detail::split(value, '-');
      if (ends.size() > 2) detail::refuse("delay=" + value + " is not accepted; expected microseconds, as 20 or 5-50");
      spec.delay_least_us = detail::number(key, ends.front(), 0, 60000000);
      spec.delay_most_us = detail::number(key, ends.back(), spec.delay_least_us, 60000000);
    } else {
      detail::refuse(
          "unknown key '" + key +
          "'; known: lba, size, keys, values, queues, mdts, vsl, wzsl, mqes, dstrd, mpsmin, cqr, sgl, dbbuf, vwc, "
          "aborts, cid_check, poison, discard, delay, reorder, seed, fail, serial, quirks");
    }
  }
  const size_t count = std::max({blocks.size(), sizes.size(), keys.size(), values.size()});
  for (const auto* list : {&blocks, &sizes, &keys, &values})
    if (list->size() != 1 && list->size() != count)
      detail::refuse("lba, size, keys and values list different numbers of namespaces");
  const auto of = [](const std::vector<std::string>& list, size_t i) { return list[list.size() == 1 ? 0 : i]; };
  config.namespaces.clear();
  for (size_t i = 0; i < count; ++i) {
    NvmeNamespaceConfig one;
    one.nsid = static_cast<uint32_t>(i + 1);
    one.block_bytes = static_cast<uint32_t>(detail::number("lba", of(blocks, i), 512, 65536));
    if ((one.block_bytes & (one.block_bytes - 1)) != 0)
      detail::refuse("lba=" + std::to_string(one.block_bytes) +
                     " is not accepted; expected a power of two from 512 to 65536");
    const uint64_t bytes = detail::number("size", of(sizes, i), one.block_bytes, uint64_t{1} << 40);
    one.blocks = bytes / one.block_bytes;
    const uint64_t longest_key = detail::number("keys", of(keys, i), 0, nvme::kv::longest_key);
    one.key_values = longest_key != 0;
    if (one.key_values) one.longest_key = static_cast<uint32_t>(longest_key);
    one.longest_value = static_cast<uint32_t>(detail::number("values", of(values, i), 0, 0xffffffff));
    config.namespaces.push_back(one);
  }
  check(config);
  return spec;
}

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
