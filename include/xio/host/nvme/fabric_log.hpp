// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Entries of a target's discovery log, which may be anything. Needs no RDMA.

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/text.hpp>
#include <xio/vendors/nvme/fabrics.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

/// A port of a subsystem, as the discovery log names it. The texts can be shown: see printable().
struct FabricTarget {
  nvme::fabrics::DiscoveryEntry entry{};
  std::string address;    ///< for FabricOptions::address
  std::string service;    ///< for FabricOptions::service
  std::string subsystem;  ///< for FabricOptions::subsystem

  /// Whether it is a subsystem with namespaces, behind RDMA: one for a FabricController.
  bool usable() const {
    return entry.transport == static_cast<uint8_t>(nvme::fabrics::TransportType::rdma) &&
           entry.subsystem_type == static_cast<uint8_t>(nvme::fabrics::SubsystemType::nvm);
  }
};

namespace detail {

/// Reads the discovery log page. Throws what `read` throws, and Error if the page changes each time, or cannot be one.
/// @param address  for the message
/// @param read     void(uint64_t offset, void* to, size_t bytes)
template <class Read>
std::vector<FabricTarget> read_discovery_log(const std::string& address, const Read& read) {
  const auto text = [](const char* field, uint32_t bytes) {
    const auto* const data = reinterpret_cast<const uint8_t*>(field);
    const std::string whole(field, nvme::trimmed(data, bytes).bytes);
    return printable(whole.substr(0, whole.find('\0')), nvme::fabrics::nqn_field_bytes);
  };
  constexpr int tries = 5;
  constexpr uint64_t most = 65536;  // as many as there are numbers of ports
  for (int i = 0; i < tries; ++i) {
    nvme::fabrics::DiscoveryHeader header{};
    read(0, &header, sizeof header);
    if (header.format != 0 || header.entries > most)
      throw Error("fabrics: the discovery log of " + address + " has an unknown format");
    std::vector<FabricTarget> targets;
    for (uint64_t k = 0; k < header.entries; ++k) {
      FabricTarget target;
      read(sizeof header + k * sizeof target.entry, &target.entry, sizeof target.entry);
      target.address = text(target.entry.address, sizeof target.entry.address);
      target.service = text(target.entry.service, sizeof target.entry.service);
      target.subsystem = text(target.entry.subsystem, sizeof target.entry.subsystem);
      targets.push_back(target);
    }
    const uint64_t before = header.generation;
    read(0, &header, sizeof header);
    if (header.generation == before) return targets;
  }
  throw Error("fabrics: the discovery log of " + address + " changed each time it was read; try again");
}

}  // namespace detail

/// @}
}  // namespace host

XIO_NAMESPACE_END
