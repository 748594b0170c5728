// SPDX-License-Identifier: MIT

/// @file
/// @brief Files that the model of GPUs loads, with anything in them: code objects, and PTX. What is wrong is said.

#include <sys/mman.h>
#include <unistd.h>

#include <machine/amdgcn/program.hpp>
#include <machine/core/address_space.hpp>
#include <machine/ptx/parser.hpp>

#include "fuzz/fuzz.hpp"

namespace {

void load_code_object(const uint8_t* data, size_t size) {
  static const int fd = ::memfd_create("code", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(fd);
  fuzz::expect(::ftruncate(fd, 0) == 0 && ::pwrite(fd, data, size, 0) == static_cast<ssize_t>(size), "a file");
  const machine::amdgcn::Program program(path);
  for (const auto& [name, kernel] : program.kernels()) {
    for (const machine::amdgcn::Argument& one : kernel.arguments)
      fuzz::expect(uint64_t{one.offset} + one.bytes <= kernel.argument_bytes, "arguments lie within the arguments");
  }
}

void load_ptx(const std::string& text) {
  machine::ptx::Program program = machine::ptx::parse(text);
  for (machine::ptx::Function& function : program.functions) {
    for (const machine::ptx::Instruction& one : function.code) {
      const auto known = [&](int32_t index) { return index < static_cast<int32_t>(function.registers); };
      fuzz::expect(known(one.predicate) && known(one.base.index), "registers are declared");
      for (const machine::ptx::Operand& operand : one.in) fuzz::expect(known(operand.index), "inputs are declared");
      for (const machine::ptx::Operand& operand : one.out) fuzz::expect(known(operand.index), "outputs are declared");
      if (one.kind == machine::ptx::Kind::branch)
        fuzz::expect(one.target >= 0 && static_cast<size_t>(one.target) <= function.code.size(),
                     "branches go somewhere");
    }
    machine::ptx::share_places(function);
    machine::ptx::shorten(function);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    if (size >= 4 && std::memcmp(data, "\177ELF", 4) == 0) {
      load_code_object(data, size);
    } else {
      load_ptx(std::string(reinterpret_cast<const char*>(data), size));
    }
  } catch (const machine::Fault& fault) {
    fuzz::expect(fault.what()[0] != '\0', "a fault says why");
  }
  return 0;
}
