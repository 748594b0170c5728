// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Which NVMe controller of this machine to open through vfio, and how; and its command-line form.

#include <cstddef>
#include <string>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/linux/pci.hpp>
#include <xio/host/spec.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

/// Kernel interface through which a device is opened.
enum class VfioInterface {
  automatic,  ///< group where the kernel offers it, else iommufd
  group,      ///< /dev/vfio/N with a type 1 IOMMU container
  iommufd,    ///< /dev/vfio/devices/vfioN with /dev/iommu; Linux 6.6 and later
};

/// Page size of the memory for queues and data.
enum class HugePages {
  none,       ///< ordinary pages
  automatic,  ///< 2 MiB if enough are reserved, else ordinary pages
  mib2,       ///< 2 MiB, or fail
  gib1,       ///< 1 GiB, or fail
};

/// How to open a controller.
struct VfioOptions {
  std::string address;                  ///< PCI address, as parse_pci_address() returns it
  size_t dma_bytes = size_t{64} << 20;  ///< memory for queues and data; locked while the controller is open
  HugePages huge_pages = HugePages::none;
  VfioInterface interface = VfioInterface::automatic;
};

namespace detail {

inline void set_vfio_option(VfioOptions& options, const std::string& key, const std::string& value) {
  const std::string kind = "vfio";
  if (key == "dma") {
    options.dma_bytes = spec_number(kind, key, value, uint64_t{1} << 20, uint64_t{1} << 40);
  } else if (key == "huge") {
    options.huge_pages = choose<HugePages>(
        kind, key, value,
        {{"no", HugePages::none}, {"auto", HugePages::automatic}, {"2M", HugePages::mib2}, {"1G", HugePages::gib1}});
  } else if (key == "interface") {
    options.interface = choose<VfioInterface>(
        kind, key, value,
        {{"auto", VfioInterface::automatic}, {"group", VfioInterface::group}, {"iommufd", VfioInterface::iommufd}});
  } else {
    throw Error("vfio: unknown key '" + key + "'; known: dma, huge, interface");
  }
}

}  // namespace detail

/// Parses `vfio:BDF[,key=value,...]`; throws Error with a one-line message for invalid input.
///
/// BDF is a PCI address, `0000:04:00.0` or `04:00.0`. Keys: `dma` bytes of memory for queues and data (K, M, G may
/// follow); `huge` no, auto, 2M, 1G; `interface` auto, group, iommufd.
inline VfioOptions parse_vfio_spec(const std::string& spec) {
  const std::string form = "vfio:BDF[,key=value,...]";
  const std::string prefix = "vfio:";
  if (spec.compare(0, prefix.size(), prefix) != 0) throw Error("vfio: '" + spec + "' is not of the form " + form);
  const std::string rest = spec.substr(prefix.size());
  const size_t comma = rest.find(',');
  const auto address = parse_pci_address(rest.substr(0, comma));
  if (!address)
    throw Error("vfio: '" + rest.substr(0, comma) + "' is not a PCI address as 0000:04:00.0 is; `lspci -D` shows them");
  VfioOptions options;
  options.address = *address;
  if (comma == std::string::npos) return options;
  if (comma + 1 == rest.size()) throw Error("vfio: nothing follows the last comma of '" + spec + "'");
  detail::parse_keys(
      "vfio", spec, rest.substr(comma + 1), "",
      [&options](const std::string& key, const std::string& value) { detail::set_vfio_option(options, key, value); });
  return options;
}

/// @}
}  // namespace host

XIO_NAMESPACE_END
