// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Checks that bus addresses reported for GPU memory lie in the GPU's BARs.

#include <string>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/linux/page_map.hpp>
#include <xio/host/linux/pci.hpp>
#include <xio/host/text.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_memory
/// @{

/// Throws Error if a page does not lie in a memory BAR of the GPU.
///
/// Drivers have silently moved buffers into host memory: I/O then works, and measures the wrong thing. Valid only where
/// bus addresses are physical (no IOMMU, or an identity domain); addresses that an IOMMU translates prove nothing.
inline void require_gpu_memory(const PciFunction& gpu, const PageMap& map) {
  const std::vector<PciBar> bars = gpu.bars();
  std::string known;
  for (const PciBar& bar : bars)
    if (bar.is_memory()) known += (known.empty() ? "" : ", ") + to_hex(bar.first) + " to " + to_hex(bar.last);
  if (known.empty())
    throw Error("GPU " + gpu.address() + " has no BAR in sysfs: cannot check that memory belongs to it");
  for (const uint64_t page : map.pages()) {
    bool inside = false;
    for (const PciBar& bar : bars)
      inside = inside || (bar.is_memory() && page >= bar.first && page + (PageMap::page_bytes() - 1) <= bar.last);
    if (!inside)
      throw Error("bus address " + to_hex(page) + " is not in memory of GPU " + gpu.address() + " (" + known +
                  "): the driver keeps this buffer in host memory; allocate less GPU memory, or ask for host memory");
  }
  if (map.empty()) throw Error("no bus addresses to compare with GPU " + gpu.address());
}

/// What is known of memory that a GPU's runtime reports as GPU memory.
enum class GpuMemoryKnowledge {
  in_bar,         ///< every page lies in a BAR of the GPU
  device_mapping  ///< it is memory of some device, as required; the kernel does not expose its addresses
};

/// Checks the pages behind the CPU's address of GPU memory before a device gets them. Throws Error if one of them is
/// host memory: see require_gpu_memory().
/// @param data  a multiple of the page size
inline GpuMemoryKnowledge check_gpu_memory(const PciFunction& gpu, const void* data, size_t bytes,
                                           const std::string& file = PageMap::process_file) {
  GpuMemoryKnowledge known = GpuMemoryKnowledge::in_bar;
  for (const uint64_t entry : PageMap::entries_of_process(data, bytes, file)) {
    if (PageMap::is_present(entry))
      require_gpu_memory(gpu, PageMap::contiguous(PageMap::address_in(entry), 1));
    else
      known = GpuMemoryKnowledge::device_mapping;
  }
  return known;
}

/// @}
}  // namespace host

XIO_NAMESPACE_END
