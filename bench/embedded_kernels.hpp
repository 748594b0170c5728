// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Kernels for GPUs that a program carries: a bundle of code objects for AMD, PTX for NVIDIA
/// (cmake/XioKernels.cmake).

#include <memory>
#include <string>

#include <xio/host/gpu/code_object.hpp>
#include <xio/host/gpu/module.hpp>

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

namespace embedded {

/// An embedded file; none if `begin` is null.
struct Image {
  const unsigned char* begin = nullptr;
  const unsigned char* end = nullptr;
};

/// The kernels of one source.
struct Kernels {
  Image amd;
  Image nvidia;
  std::string amd_targets;    ///< "gfx90a, gfx942"; empty: none
  std::string nvidia_target;  ///< the oldest, "sm_70"; empty: none
};

inline bool is_nvidia(const std::string& target) { return target.compare(0, 3, "sm_") == 0; }

/// Targets of the kernels: "gfx90a, gfx942, sm_70 and later"; empty: none.
inline std::string targets(const Kernels& kernels) {
  const std::string& amd = kernels.amd_targets;
  const std::string& nvidia = kernels.nvidia_target;
  return amd + (amd.empty() || nvidia.empty() ? "" : ", ") + (nvidia.empty() ? "" : nvidia + " and later");
}

/// Whether there are kernels for a target such as "gfx942" or "sm_90", or for its generic target.
inline bool has(const Kernels& kernels, const std::string& target) {
  // PTX runs on its target and on all later GPUs.
  const std::string& nvidia = kernels.nvidia_target;
  if (is_nvidia(target)) return !nvidia.empty() && std::stoi(target.substr(3)) >= std::stoi(nvidia.substr(3));
  const auto offered = [&](const std::string& one) {
    return (", " + kernels.amd_targets + ",").find(", " + one + ",") != std::string::npos;
  };
  const std::string generic = xio::host::detail::generic_target(target);
  return offered(target) || (!generic.empty() && offered(generic));
}

/// Loads them. Throws host::Error if there are none for the GPU.
inline std::unique_ptr<xio::host::GpuModule> load(const Kernels& kernels,
                                                  const std::shared_ptr<xio::host::GpuRuntime>& gpu) {
  const std::string target = gpu->target();
  const Image& found = is_nvidia(target) ? kernels.nvidia : kernels.amd;
  const std::string offered = targets(kernels);
  if (found.begin == nullptr)
    throw xio::host::Error("this build has no kernels for " + gpu->description() + ", a " + target + "; it has " +
                           (offered.empty() ? "none for GPUs: build it with clang 19" : "some for " + offered));
  try {
    return std::make_unique<xio::host::GpuModule>(gpu, found.begin, static_cast<size_t>(found.end - found.begin));
  } catch (const xio::host::Error& reason) {
    throw xio::host::Error(std::string(reason.what()) + "; it has some for " + offered);
  }
}

}  // namespace embedded
