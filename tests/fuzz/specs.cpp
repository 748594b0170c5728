// SPDX-License-Identifier: MIT

/// @file
/// @brief Any text as the description of a controller: it is understood, within the bounds that are documented and as
/// the same text written out again would be, or refused in one line.

#include <cctype>
#include <sstream>

#include <xio/host/emulation/nvme/emulated_spec.hpp>
#include <xio/host/nvme/fabric_spec.hpp>
#include <xio/host/nvme/kernel_shared_options.hpp>
#include <xio/host/nvme/qemu_options.hpp>
#include <xio/host/nvme/vfio_options.hpp>

#include "fuzz/fuzz.hpp"

namespace {

using namespace xio::host;
using fuzz::expect;

constexpr uint64_t kib = 1024;
constexpr uint64_t gib = kib * kib * kib;

bool is_power_of_two(uint64_t value) { return value != 0 && (value & (value - 1)) == 0; }

/// Calls `parse(text)`, and with what it gives `check`; an Error has to be one line that begins with `kind`.
template <class Parse, class Check>
void attempt(const std::string& kind, const std::string& text, Parse&& parse, Check&& check) {
  std::string refused;
  try {
    check(parse(text));
  } catch (const Error& error) {
    refused = error.what();
  }
  if (refused.empty()) return;
  expect(refused.compare(0, kind.size(), kind) == 0, "a refusal says of what: " + refused);
  // What the user wrote is repeated; nothing else brings a second line.
  const bool has_control = text.find_first_of("\n\r") != std::string::npos;
  expect(has_control || refused.find_first_of("\n\r") == std::string::npos, "a refusal is one line");
  expect(refused.size() <= 2 * text.size() + 400, "a refusal is short");
}

/// The text that says what `options` are.
std::string written(const QemuOptions& o) {
  std::ostringstream text;
  text << "qemu:lba=" << o.block_bytes << ",dma=" << o.dma_bytes;
  if (!o.image.empty()) text << ",image=" << o.image;
  if (o.size != 0) text << ",size=" << o.size;
  if (o.queues != 0) text << ",queues=" << o.queues;
  if (o.mdts >= 0) text << ",mdts=" << o.mdts;
  if (!o.binary.empty()) text << ",binary=" << o.binary;
  const char* const backends[] = {"file", "threads", "uring", "null", "null-zeroes"};
  const char* const protocols[] = {"auto", "remote", "qtest"};
  text << ",backend=" << backends[static_cast<int>(o.backend)];
  text << ",transport=" << protocols[static_cast<int>(o.protocol)];
  if (!o.device_options.empty()) text << ",device=" << o.device_options;
  return text.str();
}

void check_qemu(const QemuOptions& o) {
  expect(is_power_of_two(o.block_bytes) && o.block_bytes >= 512 && o.block_bytes <= 65536, "qemu: lba");
  expect(o.size % o.block_bytes == 0 && o.size <= kib * kib * gib, "qemu: size");
  expect(o.queues <= 511, "qemu: queues");
  expect(o.mdts >= -1 && o.mdts <= 15, "qemu: mdts");
  expect(o.dma_bytes >= 2 * kib * kib && o.dma_bytes <= kib * gib, "qemu: dma");
  expect(o.image.find(',') == std::string::npos && o.binary.find(',') == std::string::npos, "qemu: commas");
}

std::string written(const VfioOptions& o) {
  const char* const pages[] = {"no", "auto", "2M", "1G"};
  const char* const interfaces[] = {"auto", "group", "iommufd"};
  return "vfio:" + o.address + ",dma=" + std::to_string(o.dma_bytes) +
         ",huge=" + pages[static_cast<int>(o.huge_pages)] + ",interface=" + interfaces[static_cast<int>(o.interface)];
}

void check_vfio(const VfioOptions& o) {
  // A domain has four digits, or up to eight without a zero before them.
  expect(o.address.size() >= 12 && o.address.size() <= 16, "vfio: length of the address");
  expect(o.address.size() == 12 || o.address[0] != '0', "vfio: digits of the domain");
  const std::string rest = o.address.substr(o.address.size() - 8);
  expect(rest[0] == ':' && rest[3] == ':' && rest[6] == '.', "vfio: address");
  for (const char c : o.address) expect(std::isxdigit(c) != 0 || c == ':' || c == '.', "vfio: digits of the address");
  for (const char c : o.address) expect(std::isupper(c) == 0, "vfio: case of the address");
  expect(rest[4] <= '1' && rest[7] <= '7', "vfio: device and function");
  expect(o.dma_bytes >= kib * kib && o.dma_bytes <= kib * gib, "vfio: dma");
}

std::string written(const KernelSharedOptions& o) {
  const char* const ways[] = {"auto", "libnvme", "ioctl"};
  return o.path + ",dma=" + std::to_string(o.dma_bytes) + ",mounted=" + (o.read_mounted ? "read" : "refuse") +
         ",passthrough=" + ways[static_cast<int>(o.passthrough)];
}

void check_kernel_shared(const KernelSharedOptions& o) {
  expect(o.path.compare(0, 5, "/dev/") == 0 && o.path.find(',') == std::string::npos, "kernel-shared: path");
  expect(o.dma_bytes >= kib * kib && o.dma_bytes <= kib * gib, "kernel-shared: dma");
}

std::string written(const FabricOptions& o) {
  std::string text = "fabrics:traddr=" + o.address + ",trsvcid=" + o.service + ",nqn=" + o.subsystem +
                     ",hostnqn=" + o.host_name + ",hostid=" + o.host_id + ",queues=" + std::to_string(o.queues) +
                     ",keep_alive_tmo=" + std::to_string(o.keep_alive.count() / 1000);
  if (!o.local_address.empty()) text += ",host_traddr=" + o.local_address;
  return text;
}

void check_fabrics(const FabricOptions& o) {
  for (const std::string* const one : {&o.address, &o.service, &o.subsystem, &o.host_name})
    expect(!one->empty() && one->find(',') == std::string::npos, "fabrics: texts");
  expect(o.subsystem.size() <= 223 && o.host_name.size() <= 223, "fabrics: names");
  expect(o.host_id.size() == 36 && o.host_id[8] == '-' && o.host_id[23] == '-', "fabrics: hostid");
  for (const char c : o.host_id) expect((std::isxdigit(c) != 0 && std::isupper(c) == 0) || c == '-', "fabrics: digits");
  expect(o.queues >= 1 && o.queues <= 65535, "fabrics: queues");
  expect(o.keep_alive.count() >= 0 && o.keep_alive.count() <= 86400000, "fabrics: keep_alive_tmo");
}

std::string written(const xio::emulation::EmulatedSpec& spec) {
  const xio::emulation::NvmeConfig& c = spec.config;
  std::ostringstream text;
  std::string blocks;
  std::string sizes;
  std::string keys;
  std::string values;
  for (const auto& one : c.namespaces) {
    keys += (keys.empty() ? "" : "/") + std::to_string(one.key_values ? one.longest_key : 0);
    values += (values.empty() ? "" : "/") + std::to_string(one.longest_value);
    blocks += (blocks.empty() ? "" : "/") + std::to_string(one.block_bytes);
    sizes += (sizes.empty() ? "" : "/") + std::to_string(one.blocks * one.block_bytes);
  }
  text << "emulated:lba=" << blocks << ",size=" << sizes << ",keys=" << keys << ",values=" << values
       << ",queues=" << c.queues << ",mdts=" << unsigned{c.mdts} << ",mqes=" << c.mqes << ",dstrd=" << unsigned{c.dstrd}
       << ",mpsmin=" << unsigned{c.mpsmin} << ",cqr=" << c.contiguous_queues_required << ",sgl=" << c.sgl
       << ",dbbuf=" << c.shadow_doorbells << ",vwc=" << c.volatile_write_cache << ",aborts=" << c.aborts
       << ",cid_check=" << c.check_command_ids << ",poison=" << c.poison_fetched_entries
       << ",discard=" << c.discard_data << ",delay=" << spec.delay_least_us << "-" << spec.delay_most_us
       << ",reorder=" << spec.reorder << ",seed=" << spec.seed << ",serial=" << c.serial;
  return text.str();
}

void check_emulated(const xio::emulation::EmulatedSpec& spec) {
  const xio::emulation::NvmeConfig& c = spec.config;
  expect(c.queues >= 1 && c.queues <= 1024 && c.mqes >= 1 && c.mdts <= 16, "emulated: queues, mqes, mdts");
  expect(c.dstrd <= 8 && c.mpsmin <= 4 && c.mpsmax >= c.mpsmin, "emulated: dstrd, mpsmin");
  expect(c.serial.size() <= 20, "emulated: serial");
  expect(spec.delay_least_us <= spec.delay_most_us && spec.delay_most_us <= 60000000, "emulated: delay");
  expect(spec.reorder <= 65536, "emulated: reorder");
  expect(!c.namespaces.empty(), "emulated: namespaces");
  for (const auto& one : c.namespaces) {
    expect(is_power_of_two(one.block_bytes) && one.block_bytes >= 512 && one.block_bytes <= 65536, "emulated: lba");
    expect(one.blocks >= 1 && one.blocks * one.block_bytes <= kib * gib, "emulated: size");
    expect(one.longest_key >= 1 && one.longest_key <= 16, "emulated: keys");
  }
}

/// A number of bytes, read another way.
void check_numbers(const std::string& text) {
  const std::optional<uint64_t> bytes = parse_bytes(text);
  if (const std::optional<uint64_t> number = parse_number(text)) {
    expect(parse_number(std::to_string(*number)) == number && parse_number(to_hex(*number)) == number,
           "a number again");
    // Not octal, as it would be for C's functions.
    const int base = text.size() > 2 && (text[1] == 'x' || text[1] == 'X') ? 16 : 10;
    errno = 0;
    char* end = nullptr;
    expect(std::strtoull(text.c_str(), &end, base) == *number && errno == 0, "a number as C reads it");
    expect(end == text.c_str() + text.size(), "all of a number is read");
    expect(bytes == number, "bytes without a unit");
  } else if (bytes) {
    const std::string digits = text.substr(0, text.size() - 1);
    const size_t unit = std::string("kmgt").find(static_cast<char>(std::tolower(text.back())));
    expect(unit != std::string::npos, "a unit");
    const std::optional<uint64_t> plain = parse_number(digits);
    expect(plain.has_value() && *bytes >> (10 * (unit + 1)) == *plain, "bytes with a unit");
  }
}

template <class Parse, class Check>
void try_kind(const std::string& kind, const std::string& text, Parse parse, Check check) {
  attempt(kind, text, parse, [&](const auto& options) {
    check(options);
    const std::string again = written(options);
    expect(written(parse(again)) == again, "what was understood, written out, is understood the same: " + again);
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try_kind("qemu: ", text, parse_qemu_spec, check_qemu);
  try_kind("vfio: ", text, parse_vfio_spec, check_vfio);
  try_kind("kernel-shared: ", text, parse_kernel_shared_spec, check_kernel_shared);
  try_kind("fabrics: ", text, parse_fabric_spec, check_fabrics);
  try_kind("emulated", text, xio::emulation::parse_emulated_spec, check_emulated);
  check_numbers(text);
  return 0;
}
