// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The parts of an ELF file that a loader needs.

#include <cstdint>
#include <string>
#include <vector>

namespace machine::amdgcn {

struct ElfSegment {
  uint64_t address = 0;
  uint64_t offset = 0;
  uint64_t file_bytes = 0;
  uint64_t memory_bytes = 0;
  bool executable = false;
};

struct ElfSymbol {
  std::string name;
  uint64_t address = 0;
  uint64_t bytes = 0;
  bool function = false;
};

struct ElfRelocation {
  uint64_t address = 0;
  uint32_t type = 0;
  uint64_t symbol = 0;  ///< address of the symbol
  int64_t addend = 0;
};

struct ElfFile {
  uint32_t machine_flags = 0;
  std::vector<uint8_t> bytes;
  std::vector<ElfSegment> segments;
  std::vector<ElfSymbol> symbols;
  std::vector<ElfRelocation> relocations;
  std::vector<uint8_t> metadata;  ///< the note of AMD GPUs, in MessagePack
};

/// @throws Fault if it is not a code object of an AMD GPU
ElfFile read_elf(const std::string& path);

}  // namespace machine::amdgcn
