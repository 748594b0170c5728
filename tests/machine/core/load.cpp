// SPDX-License-Identifier: MIT
#include <machine/core/load.hpp>

#include <cstring>
#include <fstream>

namespace machine {

std::unique_ptr<Gpu> load(const std::string& path) {
  char begin[4] = {};
  std::ifstream file(path, std::ios::binary);
  if (!file.read(begin, sizeof begin)) throw Fault(path + " cannot be read");
  return std::memcmp(begin, "\177ELF", sizeof begin) == 0 ? amdgcn::load(path) : ptx::load(path);
}

}  // namespace machine
