// SPDX-License-Identifier: MIT

/// @file
/// @brief Namespaces with metadata, in every form that QEMU has: they are refused, or their data is right; and nothing
/// is ever written to bus address 0, where commands without an address for metadata would have it.

#include <cstring>
#include <string>
#include <vector>

#include "catch.hpp"
#include "qemu/host_support.hpp"

using namespace xio::host;
using host_tests::contains;
using host_tests::error_of;
using host_tests::options_for;
using host_tests::QemuController;
namespace nvme = xio::nvme;

namespace {

/// How the blocks of a namespace are formatted.
struct Format {
  uint32_t nsid = 0;
  uint32_t metadata = 0;  ///< bytes of each block
  bool extended = false;  ///< behind its data
  uint32_t type = 0;      ///< of protection information
  bool first = false;     ///< which is the first 8 bytes of the metadata
  std::string text() const {
    return "ms=" + std::to_string(metadata) + ",mset=" + std::to_string(extended) + ",pi=" + std::to_string(type) +
           ",pil=" + std::to_string(first);
  }
};

/// One without metadata, then all others.
std::vector<Format> all_formats() {
  std::vector<Format> all = {{1}};
  const auto add = [&](uint32_t metadata, bool extended, uint32_t type, bool first) {
    all.push_back({static_cast<uint32_t>(all.size()) + 1, metadata, extended, type, first});
  };
  for (const bool extended : {false, true}) {
    for (const uint32_t metadata : {8u, 16u}) {
      add(metadata, extended, 0, false);
      for (uint32_t type = 1; type <= 3; ++type)
        for (const bool first : {false, true}) add(metadata, extended, type, first);
    }
  }
  return all;
}

QemuOptions with_formats(QemuProtocol protocol, const std::vector<Format>& formats) {
  QemuOptions options = options_for(protocol);
  for (const Format& one : formats) {
    QemuNamespace space;
    space.nsid = one.nsid;
    space.size = 1 << 20;
    if (one.metadata != 0) space.device = one.text();
    options.namespaces.push_back(space);
  }
  return options;
}

/// The first bytes of the bus, which are memory by qtest alone: who writes there is seen.
class LowMemory {
 public:
  explicit LowMemory(QemuNvme& qemu) : qemu_(qemu) { renew(); }
  /// Something else than what a write may have taken from there, and a read would bring back.
  void renew() {
    mark_ += 0x0101010101010000;
    for (uint64_t at = 0; seen() && at < bytes; at += 8) qemu_.write_bus64(at, mark_ + at);
  }
  bool untouched() {
    for (uint64_t at = 0; seen() && at < bytes; at += 8)
      if (qemu_.read_bus64(at) != mark_ + at) return false;
    return true;
  }

 private:
  static constexpr uint64_t bytes = 512;
  bool seen() const { return !qemu_.uses_remote(); }
  QemuNvme& qemu_;
  uint64_t mark_ = 0;
};

/// Moves eight blocks to the drive and back; whether they are the same.
/// @param dress  adds to a read or write what this namespace wants
template <class Dress>
bool keeps_data(const NvmeController& controller, const NvmeQueue& queue, LowMemory& low, Dress&& dress) {
  nvme::Queue<xio::Sharing::thread> io(queue.handle());
  const DmaBuffer data = controller.allocate(8192);
  auto* const bytes = data.as<unsigned char>();
  for (size_t i = 0; i < 4096; ++i) bytes[i] = static_cast<unsigned char>(i * 7 + queue.qid());
  constexpr uint64_t lba = 24;
  CHECK(host_tests::run(io, dress(nvme::write(lba, 8)), nvme::ContiguousPages{data.bus()}).is_ok());
  CHECK(low.untouched());
  low.renew();
  CHECK(host_tests::run(io, dress(nvme::read(lba, 8)), nvme::ContiguousPages{data.bus() + 4096}).is_ok());
  CHECK(low.untouched());
  low.renew();
  return std::memcmp(bytes, bytes + 4096, 4096) == 0;
}

}  // namespace

TEST_CASE("a namespace with metadata is refused, or its data is right", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  const QemuProtocol protocol = GENERATE(QemuProtocol::remote, QemuProtocol::qtest);
  INFO(host_tests::protocol_name(protocol));
  const std::vector<Format> formats = all_formats();
  QemuController machine(with_formats(protocol, formats));
  NvmeController& controller = machine.controller;
  LowMemory low(*machine.qemu);
  for (const Format& one : formats) {
    INFO("namespace " << one.nsid << ": " << one.text());
    const NamespaceInfo info = controller.identify_namespace(one.nsid);
    CHECK(info.metadata_bytes == one.metadata);
    CHECK(info.extended_blocks == one.extended);
    CHECK(info.protection_type == one.type);
    QueueOptions options;
    options.nsid = one.nsid;
    NvmeQueue queue;
    const std::string refusal = error_of([&] { queue = controller.create_queue(options); });
    if (refusal.empty()) {
      const bool same = keeps_data(controller, queue, low, [](const nvme::Command& command) { return command; });
      CHECK(same);
    }
    CHECK(refusal.empty() == (one.metadata == 0));
    if (!refusal.empty()) {
      CHECK(contains(refusal, "namespace " + std::to_string(one.nsid) + (one.extended ? " mixes " : " keeps ") +
                                  std::to_string(one.metadata) + " bytes of metadata"));
      CHECK(contains(refusal, "protection type " + std::to_string(one.type)) == (one.type != 0));
    }
    CHECK(low.untouched());
  }
}

TEST_CASE("callers who give every command its metadata may have such a namespace", "[qemu]") {
  if (host_tests::qemu_is_missing()) return;
  const QemuProtocol protocol = GENERATE(QemuProtocol::remote, QemuProtocol::qtest);
  INFO(host_tests::protocol_name(protocol));
  const std::vector<Format> formats = all_formats();
  QemuController machine(with_formats(protocol, formats));
  NvmeController& controller = machine.controller;
  LowMemory low(*machine.qemu);
  const DmaBuffer tuples = controller.allocate(4096);
  for (const Format& one : formats) {
    INFO("namespace " << one.nsid << ": " << one.text());
    QueueOptions options;
    options.nsid = one.nsid;
    options.metadata_by_caller = true;
    if (one.extended) {
      CHECK(contains(error_of([&] { controller.create_queue(options); }), "mixes"));
      continue;
    }
    const NvmeQueue queue = controller.create_queue(options);
    // Eight bytes that are all protection information need no memory; others do.
    const bool made = one.type != 0;
    const bool told = one.metadata > 8 || (one.metadata != 0 && !made);
    std::memset(tuples.data(), 0x77, tuples.size());
    CHECK(keeps_data(controller, queue, low, [&](nvme::Command command) {
      if (made) command = command.protection_action().reference_tag(static_cast<uint32_t>(command.lba()));
      if (told) command = command.metadata(tuples.bus());
      return command;
    }));
    CHECK(low.untouched());
  }
}
