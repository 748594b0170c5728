// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Which NVMe controller of the kernel's driver to share, and how; and its command-line form.

#include <cstddef>
#include <string>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/spec.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// Mechanism that passes admin commands to the kernel.
enum class Passthrough {
  automatic,  ///< libnvme if it is installed, else ioctl
  libnvme,    ///< libnvme, or fail
  ioctl,      ///< NVME_IOCTL_ADMIN_CMD itself
};

/// How to share a controller.
struct KernelSharedOptions {
  /// Node of the controller (/dev/nvme0) or of one of its namespaces, by any name that leads there. Only a name below
  /// /dev/disk/by-id allows writes: the numbers of /dev/nvme0n1 change between boots.
  std::string path;
  size_t dma_bytes = size_t{16} << 20;  ///< memory for queues and data, in huge pages of 2 MiB
  bool read_mounted = false;            ///< reads only, even if a namespace is mounted or otherwise in use
  Passthrough passthrough = Passthrough::automatic;
};

namespace detail {

inline void set_kernel_shared_option(KernelSharedOptions& options, const std::string& key, const std::string& value) {
  const std::string kind = "kernel-shared";
  if (key == "dma") {
    options.dma_bytes = spec_number(kind, key, value, uint64_t{1} << 20, uint64_t{1} << 40);
  } else if (key == "mounted") {
    options.read_mounted = choose<bool>(kind, key, value, {{"refuse", false}, {"read", true}});
  } else if (key == "passthrough") {
    options.passthrough = choose<Passthrough>(
        kind, key, value,
        {{"auto", Passthrough::automatic}, {"libnvme", Passthrough::libnvme}, {"ioctl", Passthrough::ioctl}});
  } else {
    throw Error(kind + ": unknown key '" + key + "'; known: dma, mounted, passthrough");
  }
}

}  // namespace detail

/// Parses `/dev/...[,key=value,...]`; throws Error with a one-line message for invalid input.
///
/// Keys: `dma` bytes of memory for queues and data (K, M, G may follow); `mounted` refuse, read; `passthrough` auto,
/// libnvme, ioctl.
inline KernelSharedOptions parse_kernel_shared_spec(const std::string& spec) {
  if (spec.compare(0, 5, "/dev/") != 0)
    throw Error("kernel-shared: '" + spec + "' is not of the form /dev/nvmeN[,key=value,...]");
  KernelSharedOptions options;
  const size_t comma = spec.find(',');
  options.path = spec.substr(0, comma);
  if (comma == std::string::npos) return options;
  if (comma + 1 == spec.size()) throw Error("kernel-shared: nothing follows the last comma of '" + spec + "'");
  detail::parse_keys("kernel-shared", spec, spec.substr(comma + 1), "",
                     [&options](const std::string& key, const std::string& value) {
                       detail::set_kernel_shared_option(options, key, value);
                     });
  return options;
}

}  // namespace host

XIO_NAMESPACE_END
