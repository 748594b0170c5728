// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief One GPU as an HSA agent, for two features that HIP does not offer: GPU addresses of registers, and dma-bufs.

#include <cstdio>
#include <string>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/gpu/hsa_library.hpp>
#include <xio/host/gpu/runtime.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_memory
/// @{

/// The GPU at a PCI address, and fine-grained host memory. Usable from several threads. Not movable.
class HsaAgent {
 public:
  /// Throws Error if HSA does not know the GPU.
  /// @param pci_address  `DDDD:BB:DD.F` in lower case
  explicit HsaAgent(const std::string& pci_address, const std::vector<std::string>& files = HsaLibrary::usual_files())
      : library_(files) {
    check(library_.init(), "hsa_init");
    try {
      find(pci_address);
    } catch (...) {
      library_.shut_down();
      throw;
    }
  }
  HsaAgent(const HsaAgent&) = delete;
  HsaAgent& operator=(const HsaAgent&) = delete;
  ~HsaAgent() { library_.shut_down(); }

  /// Compilation target of its kernels, without features: "gfx942".
  std::string name() const {
    char text[64] = {};  // HSA's own limit
    check(library_.agent_get_info(gpu_, hsa::agent_info_name, text), "hsa_agent_get_info");
    text[sizeof text - 1] = '\0';
    return text;
  }

  /// Maps pages of this process, which may be registers, and returns the GPU's address of them.
  void* lock(void* data, size_t bytes) {
    void* gpu = nullptr;
    check(library_.memory_lock_to_pool(data, bytes, &gpu_, 1, pool_, 0, &gpu), "hsa_amd_memory_lock_to_pool");
    return gpu;
  }
  void unlock(void* data) noexcept { library_.memory_unlock(data); }

  DmaBufExport export_dma_buf(void* gpu, size_t bytes) const {
    if (library_.portable_export_dmabuf == nullptr)
      throw Error("this HSA runtime has no hsa_amd_portable_export_dmabuf; install a newer ROCm");
    int fd = -1;
    DmaBufExport made;
    check(library_.portable_export_dmabuf(gpu, bytes, &fd, &made.offset), "hsa_amd_portable_export_dmabuf");
    made.fd = FileDescriptor(fd, "dma-buf");
    made.bytes = bytes;
    return made;
  }

 private:
  void check(int status, const char* call) const {
    if (status == hsa::success || status == hsa::info_break) return;
    const char* text = nullptr;
    if (library_.status_string(status, &text) != hsa::success || text == nullptr) text = "unknown error";
    throw Error(std::string(call) + ": " + text);
  }

  void find(const std::string& pci_address) {
    struct Search {
      const HsaLibrary& library;
      const std::string& wanted;
      std::vector<hsa::Agent> cpus;
      hsa::Agent gpu{0};
      bool found = false;
    } search{library_, pci_address, {}, {0}, false};
    const auto on_agent = [](hsa::Agent agent, void* data) {
      Search& s = *static_cast<Search*>(data);
      uint32_t kind = 0;
      if (s.library.agent_get_info(agent, hsa::agent_info_device, &kind) != hsa::success) return hsa::success;
      if (kind == hsa::device_cpu) s.cpus.push_back(agent);
      if (kind != hsa::device_gpu || address_of(s.library, agent) != s.wanted) return hsa::success;
      s.gpu = agent;
      s.found = true;
      return hsa::success;
    };
    check(library_.iterate_agents(on_agent, &search), "hsa_iterate_agents");
    if (!search.found) throw Error("HSA found no GPU at " + pci_address);
    gpu_ = search.gpu;
    for (const hsa::Agent cpu : search.cpus)
      if (find_pool(cpu)) return;
    throw Error("HSA reports no fine-grained host memory");
  }

  static std::string address_of(const HsaLibrary& library, hsa::Agent agent) {
    uint32_t bdf = 0;
    uint32_t domain = 0;
    if (library.agent_get_info(agent, hsa::agent_info_bdf_id, &bdf) != hsa::success) return {};
    // Runtimes that do not report a domain are for machines with a single domain.
    if (library.agent_get_info(agent, hsa::agent_info_domain, &domain) != hsa::success) domain = 0;
    char text[16];
    std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", domain & 0xffff, bdf >> 8 & 0xff, bdf >> 3 & 0x1f, bdf & 7);
    return text;
  }

  bool find_pool(hsa::Agent cpu) {
    struct Search {
      const HsaLibrary& library;
      hsa::Pool pool{0};
      bool found = false;
    } search{library_, {0}, false};
    const auto on_pool = [](hsa::Pool pool, void* data) {
      Search& s = *static_cast<Search*>(data);
      uint32_t segment = ~0u;
      uint32_t flags = 0;
      s.library.pool_get_info(pool, hsa::pool_info_segment, &segment);
      if (segment != hsa::segment_global) return hsa::success;
      s.library.pool_get_info(pool, hsa::pool_info_global_flags, &flags);
      if ((flags & hsa::pool_fine_grained) == 0) return hsa::success;
      s.pool = pool;
      s.found = true;
      return hsa::info_break;
    };
    check(library_.iterate_pools(cpu, on_pool, &search), "hsa_amd_agent_iterate_memory_pools");
    pool_ = search.pool;
    return search.found;
  }

  HsaLibrary library_;
  hsa::Agent gpu_{0};
  hsa::Pool pool_{0};
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
