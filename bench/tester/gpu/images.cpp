// SPDX-License-Identifier: MIT
#include "tester/gpu/images.hpp"

#include <string>

#include "tester/errors.hpp"

// The build names the files; where it could not compile for a kind of GPU, it names none.
#if defined(XIO_TESTER_KERNELS_AMD)
asm(".pushsection .rodata, \"a\"\n"
    ".balign 4096\n"
    "xio_tester_kernels_amd: .incbin \"" XIO_TESTER_KERNELS_AMD
    "\"\n"
    ".byte 0\n"
    ".popsection\n");
extern "C" const unsigned char xio_tester_kernels_amd[] __attribute__((visibility("hidden")));
#endif
#if defined(XIO_TESTER_KERNELS_NVIDIA)
asm(".pushsection .rodata, \"a\"\n"
    ".balign 4096\n"
    "xio_tester_kernels_nvidia: .incbin \"" XIO_TESTER_KERNELS_NVIDIA
    "\"\n"
    ".byte 0\n"
    ".popsection\n");
extern "C" const unsigned char xio_tester_kernels_nvidia[] __attribute__((visibility("hidden")));
#endif

namespace tester {

namespace {

bool is_nvidia(const std::string& target) { return target.compare(0, 3, "sm_") == 0; }

const void* find_image(bool nvidia) {
  if (nvidia) {
#if defined(XIO_TESTER_KERNELS_NVIDIA)
    return xio_tester_kernels_nvidia;
#else
    return nullptr;
#endif
  }
#if defined(XIO_TESTER_KERNELS_AMD)
  return xio_tester_kernels_amd;
#else
  return nullptr;
#endif
}

}  // namespace

std::string image_targets() {
  const std::string amd = XIO_TESTER_AMD_TARGETS;
  const std::string nvidia = XIO_TESTER_NVIDIA_TARGET;
  return amd + (amd.empty() || nvidia.empty() ? "" : ", ") + (nvidia.empty() ? "" : nvidia + " and later");
}

bool has_image(const std::string& target) {
  // PTX is for a GPU and for all later ones.
  const std::string nvidia = XIO_TESTER_NVIDIA_TARGET;
  if (is_nvidia(target)) return !nvidia.empty() && std::stoi(target.substr(3)) >= std::stoi(nvidia.substr(3));
  return (", " + std::string(XIO_TESTER_AMD_TARGETS) + ",").find(", " + target + ",") != std::string::npos;
}

std::unique_ptr<xio::host::GpuModule> load_image(const std::shared_ptr<xio::host::GpuRuntime>& gpu) {
  const std::string target = gpu->target();
  const void* const found = find_image(is_nvidia(target));
  const std::string offered = image_targets();
  if (found == nullptr)
    throw CannotRun("this build has no kernels for " + gpu->description() + ", a " + target + "; it has " +
                    (offered.empty() ? "none for GPUs: build it where clang 19 is" : "some for " + offered));
  try {
    return std::make_unique<xio::host::GpuModule>(gpu, found);
  } catch (const xio::host::Error& reason) {
    throw CannotRun(std::string(reason.what()) + "; it has some for " + offered);
  }
}

}  // namespace tester
