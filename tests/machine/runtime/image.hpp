// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Image passed to a runtime for loading, without its size: a code object, a bundle of several, PTX, or what
/// nvcc embeds into programs.

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace played {

struct Image {
  const unsigned char* data = nullptr;
  size_t bytes = 0;         ///< 0: no code for this target
  bool recognised = false;  ///< the image is of a known kind
};

/// Size of an ELF file: the end of its sections or of their table.
inline size_t elf_bytes(const unsigned char* data) {
  Elf64_Ehdr header;
  std::memcpy(&header, data, sizeof header);
  size_t end = header.e_shoff + size_t{header.e_shnum} * header.e_shentsize;
  for (uint32_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr section;
    std::memcpy(&section, data + header.e_shoff + size_t{i} * header.e_shentsize, sizeof section);
    if (section.sh_type != SHT_NOBITS && section.sh_offset + section.sh_size > end)
      end = section.sh_offset + section.sh_size;
  }
  return end;
}

/// The PTX in the fat binary that nvcc embeds: a header, then entries, each with a header of its own. Bytes is 0 if
/// there is none, or if it is compressed.
inline Image find_embedded_ptx(const unsigned char* data) {
  const auto number = [](const unsigned char* at, size_t bytes) {
    uint64_t value = 0;
    std::memcpy(&value, at, bytes);
    return value;
  };
  constexpr uint64_t ptx = 1;
  const unsigned char* at = data + number(data + 6, 2);
  const unsigned char* const end = at + number(data + 8, 8);
  while (at < end) {
    const uint64_t kind = number(at, 2);
    const uint64_t header = number(at + 4, 4);
    const uint64_t bytes = number(at + 8, 8);
    const uint64_t compressed = number(at + 16, 4);
    const auto* const text = reinterpret_cast<const char*>(at + header);
    if (kind == ptx && compressed == 0) return {at + header, ::strnlen(text, bytes), true};
    at += header + bytes;
  }
  return {data, 0, true};
}

/// Whether a GPU executes code for `target`: its own, or LLVM's generic target of its family.
inline bool executes(const std::string& gpu, const std::string& target) {
  static const std::map<std::string, std::vector<const char*>> families = {
      {"gfx9-4-generic", {"gfx940", "gfx941", "gfx942", "gfx950"}},
      {"gfx11-generic", {"gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"}},
      {"gfx12-generic", {"gfx1200", "gfx1201"}}};
  const auto family = families.find(target);
  if (family == families.end()) return gpu == target;
  return std::find(family->second.begin(), family->second.end(), gpu) != family->second.end();
}

/// The part of an image for `target`: code for itself is preferred to generic code.
inline Image find_image(const void* image, const std::string& target) {
  const auto* const data = static_cast<const unsigned char*>(image);
  constexpr char bundle[] = "__CLANG_OFFLOAD_BUNDLE__";
  const bool nvidia = target.compare(0, 3, "sm_") == 0;
  if (std::memcmp(data, ELFMAG, SELFMAG) == 0) return {data, nvidia ? 0 : elf_bytes(data), true};
  constexpr unsigned char embedded[] = {0x50, 0xed, 0x55, 0xba};
  if (std::memcmp(data, embedded, sizeof embedded) == 0) return find_embedded_ptx(data);
  if (std::memcmp(data, bundle, sizeof bundle - 1) != 0) {
    // PTX text: comments, then the version directive.
    const auto* const text = reinterpret_cast<const char*>(data);
    const bool ptx = std::strstr(text, ".version") != nullptr && std::strstr(text, ".target") != nullptr;
    return {data, ptx && nvidia ? std::strlen(text) : 0, ptx};
  }
  // clang-offload-bundler: a count, then per entry its offset, size and name.
  const unsigned char* at = data + sizeof bundle - 1;
  const auto number = [&at] {
    uint64_t value = 0;
    std::memcpy(&value, at, sizeof value);
    at += sizeof value;
    return value;
  };
  Image found;
  found.recognised = true;
  for (uint64_t left = number(); left != 0; --left) {
    const uint64_t offset = number();
    const uint64_t bytes = number();
    const uint64_t length = number();
    const std::string name(reinterpret_cast<const char*>(at), length);
    at += length;
    const size_t dashes = name.find("--");
    std::string arch = dashes == std::string::npos ? name : name.substr(dashes + 2);
    arch = arch.substr(0, arch.find(':'));
    if (arch == target || (found.bytes == 0 && executes(target, arch))) found = {data + offset, bytes, true};
  }
  return found;
}

}  // namespace played
