// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The discovery log of a target: which subsystems it has, and where. Empty without the headers of libibverbs
/// and librdmacm.

#include <xio/config.hpp>

#if __has_include(<infiniband/verbs.h>) && __has_include(<rdma/rdma_cma.h>)

#include <vector>

#include <xio/host/nvme/fabric_controller.hpp>
#include <xio/host/nvme/fabric_log.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

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
  return detail::read_discovery_log(options.address, read);
}

/// @}
}  // namespace host

XIO_NAMESPACE_END

#endif
