// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Selects the code object for an AMD GPU from a bundle of clang-offload-bundler.

#include <cstring>
#include <string>

#include <xio/config.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

namespace detail {

/// LLVM's generic target that includes an AMD GPU: its code objects run on that GPU as well. Empty if there is none.
inline std::string generic_target(const std::string& target) {
  static constexpr const char* families[][2] = {
      {"gfx9-4-generic", " gfx940 gfx941 gfx942 gfx950 "},
      {"gfx11-generic", " gfx1100 gfx1101 gfx1102 gfx1103 gfx1150 gfx1151 gfx1152 gfx1153 "},
      {"gfx12-generic", " gfx1200 gfx1201 "}};
  for (const auto& family : families)
    if (std::string(family[1]).find(" " + target + " ") != std::string::npos) return family[0];
  return {};
}

/// Whether an image is an uncompressed bundle.
inline bool is_bundle(const void* image) {
  return std::strncmp(static_cast<const char*>(image), "__CLANG_OFFLOAD_BUNDLE__", 24) == 0;
}

/// What find_code_object() found.
struct CodeObject {
  const void* code = nullptr;  ///< null: nothing
  std::string generic;         ///< its generic target; empty if it is for the GPU's own
};

/// The code object of a bundle for a GPU: the one for its own target, or else the one for its generic target. None if
/// the bundle has neither, or if it has code for features of the target, such as "gfx942:xnack+", which the runtime
/// must choose from.
inline CodeObject find_code_object(const void* bundle, const std::string& target) {
  const auto* const data = static_cast<const char*>(bundle);
  const char* at = data + 24;
  const auto number = [&at] {
    uint64_t value = 0;
    std::memcpy(&value, at, sizeof value);
    at += sizeof value;
    return value;
  };
  const std::string generic = generic_target(target);
  CodeObject found;
  for (uint64_t left = number(); left != 0; --left) {
    const char* const code = data + number();
    at += sizeof(uint64_t);  // its size
    const uint64_t length = number();
    const std::string entry(at, length);
    at += length;
    // "hipv4-amdgcn-amd-amdhsa--gfx942:xnack+"
    const size_t dashes = entry.find("--");
    if (dashes == std::string::npos) continue;
    const std::string name = entry.substr(dashes + 2);
    if (name.compare(0, target.size() + 1, target + ":") == 0) return {};
    if (name == target) found = {code, {}};
    if (name == generic && found.code == nullptr) found = {code, generic};
  }
  return found;
}

}  // namespace detail

}  // namespace host

XIO_NAMESPACE_END
