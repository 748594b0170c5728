// SPDX-License-Identifier: MIT
#include "tester/launch/gpu/images.hpp"

#include <string>

#include "embedded_kernels.hpp"
#include "tester/cli/errors.hpp"

#if defined(XIO_TESTER_KERNELS_AMD)
XIO_EMBED("xio_tester_kernels_amd", XIO_TESTER_KERNELS_AMD);
XIO_EMBED("xio_tester_drives_kernels_amd", XIO_TESTER_DRIVES_KERNELS_AMD);
XIO_EMBED("xio_tester_rdma_kernels_amd", XIO_TESTER_RDMA_KERNELS_AMD);
XIO_EMBED("xio_tester_kv_kernels_amd", XIO_TESTER_KV_KERNELS_AMD);
XIO_EMBED("xio_tester_cache_kernels_amd", XIO_TESTER_CACHE_KERNELS_AMD);
XIO_EMBEDDED(xio_tester_kernels_amd);
XIO_EMBEDDED(xio_tester_drives_kernels_amd);
XIO_EMBEDDED(xio_tester_rdma_kernels_amd);
XIO_EMBEDDED(xio_tester_kv_kernels_amd);
XIO_EMBEDDED(xio_tester_cache_kernels_amd);
#endif
#if defined(XIO_TESTER_KERNELS_NVIDIA)
XIO_EMBED("xio_tester_kernels_nvidia", XIO_TESTER_KERNELS_NVIDIA);
XIO_EMBED("xio_tester_drives_kernels_nvidia", XIO_TESTER_DRIVES_KERNELS_NVIDIA);
XIO_EMBED("xio_tester_rdma_kernels_nvidia", XIO_TESTER_RDMA_KERNELS_NVIDIA);
XIO_EMBED("xio_tester_kv_kernels_nvidia", XIO_TESTER_KV_KERNELS_NVIDIA);
XIO_EMBED("xio_tester_cache_kernels_nvidia", XIO_TESTER_CACHE_KERNELS_NVIDIA);
XIO_EMBEDDED(xio_tester_kernels_nvidia);
XIO_EMBEDDED(xio_tester_drives_kernels_nvidia);
XIO_EMBEDDED(xio_tester_rdma_kernels_nvidia);
XIO_EMBEDDED(xio_tester_kv_kernels_nvidia);
XIO_EMBEDDED(xio_tester_cache_kernels_nvidia);
#endif

namespace tester {

namespace {

embedded::Kernels find_image([[maybe_unused]] KernelImage image) {
  embedded::Kernels found;
  found.amd_targets = XIO_TESTER_AMD_TARGETS;
  found.nvidia_target = XIO_TESTER_NVIDIA_TARGET;
#if defined(XIO_TESTER_KERNELS_AMD)
  switch (image) {
    case KernelImage::basic: found.amd = {xio_tester_kernels_amd, xio_tester_kernels_amd_end}; break;
    case KernelImage::drives: found.amd = {xio_tester_drives_kernels_amd, xio_tester_drives_kernels_amd_end}; break;
    case KernelImage::rdma: found.amd = {xio_tester_rdma_kernels_amd, xio_tester_rdma_kernels_amd_end}; break;
    case KernelImage::kv: found.amd = {xio_tester_kv_kernels_amd, xio_tester_kv_kernels_amd_end}; break;
    case KernelImage::cache: found.amd = {xio_tester_cache_kernels_amd, xio_tester_cache_kernels_amd_end}; break;
  }
#endif
#if defined(XIO_TESTER_KERNELS_NVIDIA)
  switch (image) {
    case KernelImage::basic: found.nvidia = {xio_tester_kernels_nvidia, xio_tester_kernels_nvidia_end}; break;
    case KernelImage::drives:
      found.nvidia = {xio_tester_drives_kernels_nvidia, xio_tester_drives_kernels_nvidia_end};
      break;
    case KernelImage::rdma: found.nvidia = {xio_tester_rdma_kernels_nvidia, xio_tester_rdma_kernels_nvidia_end}; break;
    case KernelImage::kv: found.nvidia = {xio_tester_kv_kernels_nvidia, xio_tester_kv_kernels_nvidia_end}; break;
    case KernelImage::cache:
      found.nvidia = {xio_tester_cache_kernels_nvidia, xio_tester_cache_kernels_nvidia_end};
      break;
  }
#endif
  return found;
}

}  // namespace

std::string image_targets() { return embedded::targets(find_image(KernelImage::basic)); }

bool has_image(const std::string& target) { return embedded::has(find_image(KernelImage::basic), target); }

std::unique_ptr<xio::host::GpuModule> load_image(const std::shared_ptr<xio::host::GpuRuntime>& gpu, KernelImage image) {
  try {
    return embedded::load(find_image(image), gpu);
  } catch (const xio::host::Error& reason) {
    throw CannotRun(reason.what());
  }
}

}  // namespace tester
