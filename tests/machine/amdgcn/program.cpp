// SPDX-License-Identifier: MIT
#include <machine/amdgcn/program.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <machine/amdgcn/elf_file.hpp>
#include <machine/amdgcn/message_pack.hpp>
#include <machine/amdgcn/parsers.hpp>
#include <machine/core/address_space.hpp>

namespace machine::amdgcn {
namespace {

constexpr uint64_t page = 4096;
constexpr uint32_t most_argument_bytes = 64 << 10;
/// More than any GPU has: of a workgroup, and of a lane.
constexpr uint32_t most_shared_bytes = 1 << 20;
constexpr uint32_t most_private_bytes = 1 << 20;

/// Target in a name such as "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", or "amdgpu9.42-amd-amdhsa-unknown-gfx942" as
/// newer compilers write it.
std::string target_name(const std::string& text) {
  for (const std::string before : {"--", "-unknown-"}) {
    const size_t at = text.find(before);
    if (at == std::string::npos) continue;
    const size_t begin = at + before.size();
    return text.substr(begin, text.find(':', begin) - begin);
  }
  return text;
}

void relocate(const ElfFile& file, uint8_t* image, uint64_t image_bytes) {
  constexpr uint32_t absolute64 = 3;
  constexpr uint32_t relative64 = 13;
  const auto base = reinterpret_cast<uint64_t>(image);
  for (const ElfRelocation& one : file.relocations) {
    if (one.type != absolute64 && one.type != relative64) throw Fault("relocation of type " + std::to_string(one.type));
    if (one.address > image_bytes - 8) throw Fault("relocation outside of the image");
    const uint64_t value = base + (one.type == absolute64 ? one.symbol : 0) + static_cast<uint64_t>(one.addend);
    std::memcpy(image + one.address, &value, sizeof value);
  }
}

/// LLVM's version from the comment that clang leaves; empty if there is none.
std::string compiler_version(const std::vector<uint8_t>& file) {
  static const std::string mark = "clang version ";
  auto at = std::search(file.begin(), file.end(), mark.begin(), mark.end());
  std::string version;
  if (at == file.end()) return version;
  for (at += static_cast<ptrdiff_t>(mark.size()); at != file.end() && *at >= '0' && *at <= '9'; ++at)
    version += static_cast<char>(*at);
  return version;
}

}  // namespace

OpenFile::OpenFile(const std::string& path) : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}

OpenFile::~OpenFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

Program::Program(const std::string& path) : path_(path), file_(path) {
  const ElfFile file = read_elf(path);
  for (const ElfSegment& segment : file.segments)
    image_bytes_ = std::max(image_bytes_, segment.address + segment.memory_bytes);
  image_bytes_ = (image_bytes_ + page - 1) / page * page;
  if (image_bytes_ == 0) throw Fault(path + " has empty segments only");
  image_ = {static_cast<uint8_t*>(std::aligned_alloc(page, image_bytes_)), std::free};
  std::memset(image_.get(), 0, image_bytes_);
  for (const ElfSegment& segment : file.segments) {
    std::memcpy(image_.get() + segment.address, file.bytes.data() + segment.offset, segment.file_bytes);
    if (!segment.executable) continue;
    if (!numbers_.empty()) throw Fault(path + " has several segments of code");
    code_begin_ = segment.address;
    numbers_.assign((segment.file_bytes + 3) / 4, none);
  }
  made_by_ = compiler_version(file.bytes);
  code_.reserve(numbers_.size() + all_parts);  // with the marks
  relocate(file, image_.get(), image_bytes_);
  read_metadata(file.metadata);
  for (const ElfSymbol& symbol : file.symbols) {
    if (symbol.function) functions_.push_back({symbol.address, symbol.address + symbol.bytes, symbol.name});
    if (ends_with(symbol.name, ".kd")) read_descriptor(symbol.name.substr(0, symbol.name.size() - 3), symbol.address);
  }
}

void Program::read_metadata(const std::vector<uint8_t>& file) {
  const Value metadata = read_message(file);
  target_ = target_of(target_name(metadata["amdhsa.target"].text));
  for (const Value& entry : metadata["amdhsa.kernels"].list) {
    Kernel kernel;
    kernel.name = entry[".name"].text;
    kernel.argument_bytes = entry[".kernarg_segment_size"].number();
    kernel.vector_registers = entry[".vgpr_count"].number();
    kernel.dynamic_stack = entry[".uses_dynamic_stack"].integer != 0;
    if (entry[".wavefront_size"].number() != target_.lanes)
      throw Fault(kernel.name + " is for waves of " + std::to_string(entry[".wavefront_size"].integer));
    if (kernel.argument_bytes > most_argument_bytes)
      throw Fault(kernel.name + " takes " + std::to_string(kernel.argument_bytes) + " bytes of arguments");
    for (const Value& one : entry[".args"].list) {
      const Argument argument{one[".offset"].number(), one[".size"].number(), one[".value_kind"].text};
      if (argument.bytes > kernel.argument_bytes || argument.offset > kernel.argument_bytes - argument.bytes)
        throw Fault(kernel.name + " has an argument outside of its arguments");
      kernel.arguments.push_back(argument);
    }
    std::string symbol = entry[".symbol"].text;
    if (ends_with(symbol, ".kd")) symbol.resize(symbol.size() - 3);
    kernels_.emplace(symbol, std::move(kernel));
  }
}

void Program::read_descriptor(const std::string& name, uint64_t address) {
  const auto found = kernels_.find(name);
  if (found == kernels_.end() || address > image_bytes_ - 64) throw Fault("descriptor of " + name);
  Kernel& kernel = found->second;
  const uint8_t* const descriptor = image_.get() + address;
  int64_t entry = 0;
  std::memcpy(&kernel.shared_bytes, descriptor, 4);
  std::memcpy(&kernel.private_bytes, descriptor + 4, 4);
  std::memcpy(&entry, descriptor + 16, 8);
  std::memcpy(&kernel.resources3, descriptor + 44, 4);
  std::memcpy(&kernel.resources1, descriptor + 48, 4);
  std::memcpy(&kernel.resources2, descriptor + 52, 4);
  std::memcpy(&kernel.properties, descriptor + 56, 2);
  kernel.entry = address + static_cast<uint64_t>(entry);
  if (kernel.shared_bytes > most_shared_bytes || kernel.private_bytes > most_private_bytes)
    throw Fault(name + " wants " + std::to_string(kernel.shared_bytes) + " bytes of LDS and " +
                std::to_string(kernel.private_bytes) + " of private memory");
}

const Kernel& Program::kernel(const std::string& name) const {
  const auto found = kernels_.find(name);
  if (found == kernels_.end()) throw Fault("no kernel " + name + " in " + path_);
  return found->second;
}

}  // namespace machine::amdgcn
