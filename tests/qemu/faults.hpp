// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What the tests of faults on QEMU's controller share: a machine with a queue, driven through the device API.

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include <xio/vendors/nvme/encode_more.hpp>
#include <xio/vendors/nvme/status_names.hpp>

#include "catch.hpp"
#include "qemu/host_support.hpp"

namespace fault_tests {

using namespace xio::literals;
using xio::Deadline;
using xio::Sharing;
using xio::Status;
using xio::Token;
using xio::host::NvmeQueue;
using xio::host::QemuNamespace;
using xio::host::QemuOptions;
using xio::host::QemuProtocol;
using xio::host::QueueOptions;
using xio::nvme::ContiguousPages;
using xio::nvme::DataPointer;
using xio::nvme::NoData;
using xio::nvme::Queue;

/// Long enough that a machine full of other work does not reach it.
inline Deadline soon() { return xio::deadline(30_s); }
inline Deadline shortly() { return xio::deadline(20_ms); }

/// QEMU's controller, one queue, and a megabyte for data.
class Machine {
 public:
  explicit Machine(const QemuOptions& options, const QueueOptions& wanted = {},
                   const xio::host::ControllerOptions& set_up = {})
      : host(options, set_up),
        queue(host.controller.create_queue(wanted)),
        data(host.controller.allocate(size_t{1} << 20)) {}

  unsigned char* bytes(size_t offset = 0) { return static_cast<unsigned char*>(data.data()) + offset; }
  uint64_t bus(size_t offset = 0) const { return data.bus() + offset; }
  void fill(int value, size_t bytes = 4096, size_t offset = 0) { std::memset(this->bytes(offset), value, bytes); }
  bool holds(int value, size_t bytes = 4096, size_t offset = 0) {
    for (size_t i = 0; i < bytes; ++i) {
      if (this->bytes(offset)[i] != value) return false;
    }
    return true;
  }
  /// Runs `line` in the human monitor, on the image of the first namespace.
  std::string qemu_io(const std::string& line) { return host.qemu->monitor().human("qemu-io drive0 \"" + line + "\""); }

  host_tests::QemuController host;
  NvmeQueue queue;
  xio::host::DmaBuffer data;
};

/// Status field as QEMU answers: type and code.
inline uint16_t code(Status status) { return status.vendor & 0x7ff; }
inline std::string name_of(Status status) { return xio::nvme::status_name(status.vendor); }

/// An error that the block layer is told to return.
inline std::string inject(const std::string& type, const std::string& sector, int error_number, bool once) {
  return "{\"event\":\"none\",\"iotype\":\"" + type + "\"," + (sector.empty() ? "" : "\"sector\":" + sector + ",") +
         "\"errno\":" + std::to_string(error_number) + ",\"once\":" + (once ? "true" : "false") + "}";
}

/// A memory image below QEMU's fault injector.
inline QemuOptions with_errors(QemuProtocol protocol, const std::string& errors) {
  QemuOptions options = host_tests::options_for(protocol);
  options.blockdevs = {
      "driver=file,node-name=file0,filename=@image@",
      "{\"driver\":\"blkdebug\",\"node-name\":\"drive0\",\"image\":\"file0\",\"inject-error\":[" + errors + "]}"};
  return options;
}

/// An image whose requests can be held and let go: break read_aio TAG, resume TAG.
inline QemuOptions with_breakpoints(QemuProtocol protocol) {
  QemuOptions options = host_tests::options_for(protocol);
  options.blockdevs = {"driver=file,node-name=file0,filename=@image@", "driver=blkdebug,node-name=debug0,image=file0",
                       "driver=raw,node-name=drive0,file=debug0"};
  return options;
}

/// A slow image: so many requests a second.
inline QemuOptions throttled(QemuProtocol protocol, uint32_t requests) {
  QemuOptions options = host_tests::options_for(protocol);
  options.arguments = {"-object", "throttle-group,id=slow,x-iops-total=" + std::to_string(requests)};
  options.blockdevs = {"driver=file,node-name=file0,filename=@image@",
                       "driver=throttle,node-name=drive0,throttle-group=slow,file=file0"};
  return options;
}

}  // namespace fault_tests
