// SPDX-License-Identifier: MIT
#include "tester/launch/gpu/images.hpp"

#include <string>

#include <xio/host/gpu/code_object.hpp>

#include "tester/cli/errors.hpp"

// Embeds a file in the program. The build defines the file names; a GPU type that it could not compile for has none.
#define XIO_EMBED(name, file)                   \
  asm(".pushsection .rodata, \"a\"\n"           \
      ".balign 4096\n" name ": .incbin \"" file \
      "\"\n"                                    \
      ".byte 0\n" name                          \
      "_end:\n"                                 \
      ".popsection\n")

#define XIO_EMBEDDED(name)                                                     \
  extern "C" const unsigned char name[] __attribute__((visibility("hidden"))); \
  extern "C" const unsigned char name##_end[] __attribute__((visibility("hidden")))

#if defined(XIO_TESTER_KERNELS_AMD)
XIO_EMBED("xio_tester_kernels_amd", XIO_TESTER_KERNELS_AMD);
XIO_EMBED("xio_tester_rdma_kernels_amd", XIO_TESTER_RDMA_KERNELS_AMD);
XIO_EMBEDDED(xio_tester_kernels_amd);
XIO_EMBEDDED(xio_tester_rdma_kernels_amd);
#endif
#if defined(XIO_TESTER_KERNELS_NVIDIA)
XIO_EMBED("xio_tester_kernels_nvidia", XIO_TESTER_KERNELS_NVIDIA);
XIO_EMBED("xio_tester_rdma_kernels_nvidia", XIO_TESTER_RDMA_KERNELS_NVIDIA);
XIO_EMBEDDED(xio_tester_kernels_nvidia);
XIO_EMBEDDED(xio_tester_rdma_kernels_nvidia);
#endif
#undef XIO_EMBED
#undef XIO_EMBEDDED

namespace tester {

namespace {

bool is_nvidia(const std::string& target) { return target.compare(0, 3, "sm_") == 0; }

struct Image {
  const unsigned char* begin = nullptr;  ///< null: none
  const unsigned char* end = nullptr;
};

Image find_image(KernelImage image, bool nvidia) {
  Image found[2][2];
#if defined(XIO_TESTER_KERNELS_AMD)
  found[0][0] = {xio_tester_kernels_amd, xio_tester_kernels_amd_end};
  found[1][0] = {xio_tester_rdma_kernels_amd, xio_tester_rdma_kernels_amd_end};
#endif
#if defined(XIO_TESTER_KERNELS_NVIDIA)
  found[0][1] = {xio_tester_kernels_nvidia, xio_tester_kernels_nvidia_end};
  found[1][1] = {xio_tester_rdma_kernels_nvidia, xio_tester_rdma_kernels_nvidia_end};
#endif
  return found[image == KernelImage::rdma ? 1 : 0][nvidia ? 1 : 0];
}

}  // namespace

std::string image_targets() {
  const std::string amd = XIO_TESTER_AMD_TARGETS;
  const std::string nvidia = XIO_TESTER_NVIDIA_TARGET;
  return amd + (amd.empty() || nvidia.empty() ? "" : ", ") + (nvidia.empty() ? "" : nvidia + " and later");
}

bool has_image(const std::string& target) {
  // PTX runs on its target and on all later GPUs.
  const std::string nvidia = XIO_TESTER_NVIDIA_TARGET;
  if (is_nvidia(target)) return !nvidia.empty() && std::stoi(target.substr(3)) >= std::stoi(nvidia.substr(3));
  const auto offered = [](const std::string& one) {
    return (", " + std::string(XIO_TESTER_AMD_TARGETS) + ",").find(", " + one + ",") != std::string::npos;
  };
  const std::string generic = xio::host::detail::generic_target(target);
  return offered(target) || (!generic.empty() && offered(generic));
}

std::unique_ptr<xio::host::GpuModule> load_image(const std::shared_ptr<xio::host::GpuRuntime>& gpu, KernelImage image) {
  const std::string target = gpu->target();
  const Image found = find_image(image, is_nvidia(target));
  const std::string offered = image_targets();
  if (found.begin == nullptr)
    throw CannotRun("this build has no kernels for " + gpu->description() + ", a " + target + "; it has " +
                    (offered.empty() ? "none for GPUs: build it with clang 19" : "some for " + offered));
  try {
    return std::make_unique<xio::host::GpuModule>(gpu, found.begin, static_cast<size_t>(found.end - found.begin));
  } catch (const xio::host::Error& reason) {
    throw CannotRun(std::string(reason.what()) + "; it has some for " + offered);
  }
}

}  // namespace tester
