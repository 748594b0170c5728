// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Helpers shared by the examples: opening a controller, and running a body whose success sets the exit status.

#include <cstdio>
#include <memory>
#include <string>

#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/emulation/nvme/emulated_spec.hpp>
#include <xio/host/nvme/controller.hpp>
#include <xio/host/nvme/qemu.hpp>

namespace example {

/// Command-line argument `i`, or `otherwise` if it is absent.
inline std::string argument(int argc, char** argv, int i, const std::string& otherwise) {
  return argc > i ? argv[i] : otherwise;
}

/// Opens `qemu[:key=value,...]` or `emulated[:key=value,...]`.
inline std::unique_ptr<xio::host::NvmeTransport> open(const std::string& spec) {
  if (spec.compare(0, 8, "emulated") != 0)
    return std::make_unique<xio::host::QemuNvme>(xio::host::parse_qemu_spec(spec));
  return std::make_unique<xio::emulation::NvmeController>(xio::emulation::parse_emulated_spec(spec).config);
}

/// Runs `body`, which returns whether it succeeded; the exit status is 0 only then.
template <class Body>
int run(Body body) try {
  if (body()) return 0;
  std::fputs("something went wrong\n", stderr);
  return 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}

}  // namespace example
