// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief libhsa-runtime64, loaded when it is first needed, for ROCm features that HIP does not offer. Declared here
/// without headers, as in hip_library.hpp.

#include <cstddef>
#include <string>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/linux/shared_library.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_memory
/// @{

/// Types and constants of the HSA runtime's interface, named without `hsa`.
namespace hsa {
/// @addtogroup host_memory
/// @{

/// `hsa_agent_t`: a CPU or a GPU.
struct Agent {
  uint64_t handle;
};
/// `hsa_amd_memory_pool_t`: memory of an agent.
struct Pool {
  uint64_t handle;
};
constexpr int success = 0;
constexpr int info_break = 1;          ///< ends an iteration
constexpr int agent_info_name = 0;     ///< 64 characters
constexpr int agent_info_device = 17;  ///< uint32_t: one of the next two
constexpr uint32_t device_cpu = 0;
constexpr uint32_t device_gpu = 1;
constexpr int agent_info_bdf_id = 0xa006;  ///< uint32_t: bus, device and function as in configuration cycles
constexpr int agent_info_domain = 0xa00f;  ///< uint32_t: PCI domain
constexpr int pool_info_segment = 0;       ///< uint32_t
constexpr uint32_t segment_global = 0;
constexpr int pool_info_global_flags = 1;  ///< uint32_t
constexpr uint32_t pool_fine_grained = 2;
/// @}
}  // namespace hsa

/// The functions of the HSA runtime that set-up uses, named without `hsa` and `hsa_amd`. Each returns hsa::success or a
/// code for status_string().
class HsaLibrary {
  // First: the functions are found in it.
  const SharedLibrary library_;

 public:
  using OnAgent = int (*)(hsa::Agent agent, void* data);
  using OnPool = int (*)(hsa::Pool pool, void* data);

  /// Throws Error if the library cannot be loaded, or lacks a function.
  explicit HsaLibrary(const std::vector<std::string>& files = usual_files())
      : library_(files, "install the HSA runtime of ROCm (Debian: libhsa-runtime64-1)") {}
  HsaLibrary(const HsaLibrary&) = delete;
  HsaLibrary& operator=(const HsaLibrary&) = delete;

  static std::vector<std::string> usual_files() {
    return {"libhsa-runtime64.so.1", "/opt/rocm/lib/libhsa-runtime64.so.1"};
  }

  int (*init)() = library_.find("hsa_init");
  int (*shut_down)() = library_.find("hsa_shut_down");
  int (*status_string)(int status, const char** text) = library_.find("hsa_status_string");
  int (*iterate_agents)(OnAgent call, void* data) = library_.find("hsa_iterate_agents");
  int (*agent_get_info)(hsa::Agent agent, int what, void* value) = library_.find("hsa_agent_get_info");
  int (*iterate_pools)(hsa::Agent agent, OnPool call, void* data) = library_.find("hsa_amd_agent_iterate_memory_pools");
  int (*pool_get_info)(hsa::Pool pool, int what, void* value) = library_.find("hsa_amd_memory_pool_get_info");
  int (*memory_lock_to_pool)(void* data, size_t bytes, hsa::Agent* agents, int agent_count, hsa::Pool pool,
                             uint32_t flags, void** gpu) = library_.find("hsa_amd_memory_lock_to_pool");
  int (*memory_unlock)(void* data) = library_.find("hsa_amd_memory_unlock");
  /// Null in ROCm 5.2.
  int (*portable_export_dmabuf)(const void* gpu, size_t bytes, int* fd,
                                uint64_t* offset) = library_.find_optional("hsa_amd_portable_export_dmabuf");
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
