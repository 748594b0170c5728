// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The discovery log of a target: which subsystems it has, and where. Empty without the headers of libibverbs
/// and librdmacm.

#include <xio/config.hpp>

#if __has_include(<infiniband/verbs.h>) && __has_include(<rdma/rdma_cma.h>)

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include <xio/host/nvme/fabric_controller.hpp>

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

/// Reads the discovery log of the target at an address, or of the discovery subsystem that the options name. Throws
/// Error as the constructor of FabricController, or if the log changes while it is read, several times.
inline std::vector<FabricTarget> discover(FabricOptions options) {
  if (options.subsystem.empty()) options.subsystem = nvme::fabrics::discovery_nqn;
  options.keep_alive = std::chrono::milliseconds(0);
  FabricController controller(options);
  const auto read = [&](uint64_t offset, void* to, size_t bytes) {
    nvme::LogPageRequest request;
    request.log = nvme::LogId::discovery;
    request.bytes = static_cast<uint32_t>(bytes);
    request.offset = offset;
    request.nsid = 0;
    controller.execute(nvme::get_log_page(request), {static_cast<unsigned char*>(to), bytes});
  };
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
      throw Error("fabrics: the discovery log of " + options.address + " has an unknown format");
    std::vector<FabricTarget> targets(header.entries);
    for (size_t k = 0; k < targets.size(); ++k) {
      FabricTarget& target = targets[k];
      read(sizeof header + k * sizeof target.entry, &target.entry, sizeof target.entry);
      target.address = text(target.entry.address, sizeof target.entry.address);
      target.service = text(target.entry.service, sizeof target.entry.service);
      target.subsystem = text(target.entry.subsystem, sizeof target.entry.subsystem);
    }
    const uint64_t before = header.generation;
    read(0, &header, sizeof header);
    if (header.generation == before) return targets;
  }
  throw Error("fabrics: the discovery log of " + options.address + " changed each time it was read; try again");
}

/// @}
}  // namespace host

XIO_NAMESPACE_END

#endif
