// SPDX-License-Identifier: MIT
#include <machine/amdgcn/elf_file.hpp>

#include <elf.h>

#include <cstring>
#include <fstream>
#include <iterator>

#include <machine/core/address_space.hpp>

namespace machine::amdgcn {
namespace {

constexpr uint16_t amdgpu_machine = 224;
constexpr uint32_t metadata_note = 32;
constexpr uint64_t most_image_bytes = 64 << 20;

class Reader {
 public:
  explicit Reader(const std::vector<uint8_t>& bytes) : bytes_(bytes) {}

  template <class T>
  T at(uint64_t offset) const {
    check(offset, sizeof(T));
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  std::string text(uint64_t offset) const {
    std::string all;
    for (; at<char>(offset) != 0; ++offset) all += at<char>(offset);
    return all;
  }
  void check(uint64_t offset, uint64_t bytes) const {
    if (offset > bytes_.size() || bytes > bytes_.size() - offset) throw Fault("code object is cut short");
  }

 private:
  const std::vector<uint8_t>& bytes_;
};

void read_symbols(const Reader& read, const Elf64_Shdr& section, const Elf64_Shdr& names, ElfFile& file) {
  for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
    const auto symbol = read.at<Elf64_Sym>(section.sh_offset + at);
    file.symbols.push_back({read.text(names.sh_offset + symbol.st_name), symbol.st_value, symbol.st_size,
                            ELF64_ST_TYPE(symbol.st_info) == STT_FUNC});
  }
}

void read_relocations(const Reader& read, const Elf64_Shdr& section, const Elf64_Shdr& symbols, ElfFile& file) {
  for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= section.sh_size; at += sizeof(Elf64_Rela)) {
    const auto entry = read.at<Elf64_Rela>(section.sh_offset + at);
    const uint64_t index = ELF64_R_SYM(entry.r_info);
    const uint64_t value = index == 0 ? 0 : read.at<Elf64_Sym>(symbols.sh_offset + index * sizeof(Elf64_Sym)).st_value;
    file.relocations.push_back(
        {entry.r_offset, static_cast<uint32_t>(ELF64_R_TYPE(entry.r_info)), value, entry.r_addend});
  }
}

void read_note(const Reader& read, const Elf64_Shdr& section, ElfFile& file) {
  const auto aligned = [](uint64_t bytes) { return (bytes + 3) & ~uint64_t{3}; };
  for (uint64_t at = section.sh_offset; at + sizeof(Elf64_Nhdr) <= section.sh_offset + section.sh_size;) {
    const auto note = read.at<Elf64_Nhdr>(at);
    const uint64_t name = at + sizeof(Elf64_Nhdr);
    const uint64_t content = name + aligned(note.n_namesz);
    if (note.n_type == metadata_note && read.text(name) == "AMDGPU") {
      read.check(content, note.n_descsz);
      const auto begin = file.bytes.begin() + static_cast<ptrdiff_t>(content);
      file.metadata.assign(begin, begin + note.n_descsz);
    }
    at = content + aligned(note.n_descsz);
  }
}

}  // namespace

ElfFile read_elf(const std::string& path) {
  ElfFile file;
  std::ifstream stream(path, std::ios::binary);
  file.bytes.assign(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  const Reader read(file.bytes);
  if (!stream || file.bytes.size() < sizeof(Elf64_Ehdr) || std::memcmp(file.bytes.data(), ELFMAG, SELFMAG) != 0)
    throw Fault(path + " is no ELF file");
  const auto head = read.at<Elf64_Ehdr>(0);
  if (head.e_machine != amdgpu_machine) throw Fault(path + " is not for AMD GPUs");
  file.machine_flags = head.e_flags;
  for (uint64_t i = 0; i < head.e_phnum; ++i) {
    const auto segment = read.at<Elf64_Phdr>(head.e_phoff + i * sizeof(Elf64_Phdr));
    if (segment.p_type != PT_LOAD) continue;
    read.check(segment.p_offset, segment.p_filesz);
    if (segment.p_filesz > segment.p_memsz || segment.p_memsz > most_image_bytes ||
        segment.p_vaddr > most_image_bytes - segment.p_memsz)
      throw Fault(path + " has a segment that does not fit: " + std::to_string(segment.p_memsz) + " bytes at " +
                  std::to_string(segment.p_vaddr));
    file.segments.push_back(
        {segment.p_vaddr, segment.p_offset, segment.p_filesz, segment.p_memsz, (segment.p_flags & PF_X) != 0});
  }
  if (file.segments.empty()) throw Fault(path + " is not linked: it has no segments");
  const auto section = [&](uint64_t i) {
    if (i >= head.e_shnum) throw Fault(path + " has no section " + std::to_string(i));
    const auto one = read.at<Elf64_Shdr>(head.e_shoff + i * sizeof(Elf64_Shdr));
    if (one.sh_type != SHT_NOBITS) read.check(one.sh_offset, one.sh_size);
    return one;
  };
  for (uint64_t i = 0; i < head.e_shnum; ++i) {
    const Elf64_Shdr one = section(i);
    if (one.sh_type == SHT_SYMTAB) read_symbols(read, one, section(one.sh_link), file);
    if (one.sh_type == SHT_RELA) read_relocations(read, one, section(one.sh_link), file);
    if (one.sh_type == SHT_NOTE) read_note(read, one, file);
  }
  if (file.metadata.empty()) throw Fault(path + " has no metadata of kernels");
  return file;
}

}  // namespace machine::amdgcn
