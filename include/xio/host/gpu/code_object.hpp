// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Selects the code object for an AMD GPU from a bundle of clang-offload-bundler.

#include <cstring>
#include <string>

#include <xio/config.hpp>
#include <xio/host/error.hpp>

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
inline bool is_bundle(const void* image, size_t bytes) {
  return bytes >= 24 && std::memcmp(image, "__CLANG_OFFLOAD_BUNDLE__", 24) == 0;
}

/// What find_code_object() found.
struct CodeObject {
  const void* code = nullptr;  ///< null: nothing
  std::string generic;         ///< its generic target; empty if it is for the GPU's own
};

/// The code object of a bundle for a GPU: the one for its own target, or else the one for its generic target. None if
/// the bundle has neither, or if it has code for features of the target, such as "gfx942:xnack+", which the runtime
/// must choose from.
/// @throws Error if the bundle names bytes that it does not have
inline CodeObject find_code_object(const void* bundle, size_t bytes, const std::string& target) {
  const auto* const data = static_cast<const char*>(bundle);
  const auto check = [bytes](uint64_t begin, uint64_t length) {
    if (begin > bytes || length > bytes - begin)
      throw Error("the bundle of code objects is cut short, or not one: it has " + std::to_string(bytes) + " bytes");
  };
  size_t at = 24;
  const auto number = [&] {
    uint64_t value = 0;
    check(at, sizeof value);
    std::memcpy(&value, data + at, sizeof value);
    at += sizeof value;
    return value;
  };
  const std::string generic = generic_target(target);
  CodeObject found;
  for (uint64_t left = number(); left != 0; --left) {
    const uint64_t begin = number();
    check(begin, number());
    const char* const code = data + begin;
    const uint64_t length = number();
    check(at, length);
    const std::string entry(data + at, length);
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
