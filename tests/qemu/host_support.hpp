// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What the tests against QEMU share: is it there, start it, do one command.

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include <xio/device/nvme/queue.hpp>
#include <xio/host/nvme/controller.hpp>
#include <xio/host/nvme/qemu.hpp>

#include "skip.hpp"
#include "unit/host_support.hpp"

namespace host_tests {

/// True where there is no QEMU; the test then ends without a verdict.
inline bool qemu_is_missing() {
  const std::string binary = xio::host::detail::qemu_binary({});
  if (!xio::host::find_program(binary).empty()) return false;
  xio_tests::skip(binary + " is not installed (Debian: qemu-system-x86)");
  return true;
}

inline std::string protocol_name(xio::host::QemuProtocol protocol) {
  return protocol == xio::host::QemuProtocol::remote ? "x-remote" : "qtest";
}

/// A controller of QEMU, and the transport below it.
struct QemuController {
  explicit QemuController(const xio::host::QemuOptions& options, const xio::host::ControllerOptions& wanted = {})
      : QemuController(std::make_unique<xio::host::QemuNvme>(options), wanted) {}

  xio::host::QemuNvme* qemu;
  xio::host::NvmeController controller;

 private:
  QemuController(std::unique_ptr<xio::host::QemuNvme> transport, const xio::host::ControllerOptions& wanted)
      : qemu(transport.get()), controller(std::move(transport), wanted) {}
};

inline xio::host::QemuOptions options_for(xio::host::QemuProtocol protocol) {
  xio::host::QemuOptions options;
  options.protocol = protocol;
  return options;
}

/// Submits one command and waits for its end, at most 10 s.
template <class Queue, class Pages>
xio::Status run(Queue& queue, const xio::nvme::Command& command, const Pages& pages) {
  const xio::Deadline until = xio::deadline(xio::Duration{10000000000});
  return queue.wait(queue.submit(command, pages, until), until);
}

}  // namespace host_tests
