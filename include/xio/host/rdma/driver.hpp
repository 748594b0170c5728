// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Kernel driver of an RDMA device. Needs no verbs.

#include <unistd.h>

#include <string>

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// Name of the driver of a verbs device: "rdma_rxe" for soft-RoCE, else the driver of its PCI or platform device, such
/// as "mlx5_core"; empty if there is no such device, or its driver is unknown.
/// @param folder  where the kernel lists RDMA devices
inline std::string rdma_driver(const std::string& device, const std::string& folder = "/sys/class/infiniband") {
  if (device.empty() || device.find('/') != std::string::npos) return {};
  const std::string of_device = folder + "/" + device;
  // Names the underlying network device; no other driver has this file.
  if (::access((of_device + "/parent").c_str(), F_OK) == 0) return "rdma_rxe";
  char target[4096];
  const ssize_t length = ::readlink((of_device + "/device/driver").c_str(), target, sizeof target);
  if (length <= 0 || static_cast<size_t>(length) == sizeof target) return {};
  const std::string path(target, static_cast<size_t>(length));
  return path.substr(path.rfind('/') + 1);
}

}  // namespace host

XIO_NAMESPACE_END
