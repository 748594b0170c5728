// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief fio on the kernel's node of a drive, for comparison: its command lines and its JSON output.

#include <cstdint>
#include <string>
#include <vector>

#include "tester/report/data.hpp"

namespace tester {

/// An I/O engine of fio.
struct FioEngine {
  const char* name;                    ///< name in the report, after "fio "
  std::vector<const char*> arguments;  ///< arguments of fio
  bool synchronous;                    ///< one operation at a time
  bool character_device;               ///< on /dev/ngXnY
};

/// psync, libaio, io_uring, io_uring with polling and registered buffers, io_uring_cmd with polling.
const std::vector<FioEngine>& fio_engines();

/// A namespace as the kernel exposes it.
struct FioDevice {
  std::string node;       ///< /dev/nvmeXnY
  std::string character;  ///< /dev/ngXnY
  std::string model;
  uint64_t bytes = 0;
  uint32_t block_bytes = 0;
  bool polled = false;  ///< the driver has queues for polling
};

/// Looks the device up in `sysfs`. Throws BadInput if `node` is absent or not a namespace's block device.
FioDevice find_fio_device(const std::string& node, const std::string& sysfs = "/sys");

/// A job of fio: reads only.
struct FioJob {
  RowShape shape;
  uint64_t offset = 0;  ///< bytes
  uint64_t span = 0;    ///< bytes to read from there on
  double duration = 1;  ///< seconds
};

/// Arguments of fio, without the output file.
std::vector<std::string> fio_arguments(const FioEngine& engine, const FioDevice& device, const FioJob& job);

/// Stores the figures of fio's JSON output in `row`, or the reason for their absence as its remark.
void read_fio_output(const std::string& text, ReportRow& row);

/// Runs fio once. Failures of fio do not throw: the row's remark states why it has no figures.
ReportRow run_fio(const FioEngine& engine, const FioDevice& device, const FioJob& job);

}  // namespace tester
