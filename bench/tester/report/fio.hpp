// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief fio on the kernel's node of a drive, beside us: its command lines, and what its JSON output says.

#include <cstdint>
#include <string>
#include <vector>

#include "tester/report/data.hpp"

namespace tester {

/// One way of submitting that fio has.
struct FioEngine {
  const char* name;                    ///< as in the report, after "fio "
  std::vector<const char*> arguments;  ///< of fio
  bool synchronous;                    ///< one operation at a time
  bool character_device;               ///< on /dev/ngXnY
};

/// psync, libaio, io_uring, io_uring with polling and registered buffers, io_uring_cmd with polling.
const std::vector<FioEngine>& fio_engines();

/// A namespace as the kernel shows it.
struct FioDevice {
  std::string node;       ///< /dev/nvmeXnY
  std::string character;  ///< /dev/ngXnY
  std::string model;
  uint64_t bytes = 0;
  uint32_t block_bytes = 0;
  bool polled = false;  ///< the driver has queues for polling
};

/// Looks the device up in `sysfs`. Throws BadInput where `node` is not a namespace's block device, or not there.
FioDevice find_fio_device(const std::string& node, const std::string& sysfs = "/sys");

/// What fio is to do: reads only.
struct FioJob {
  RowShape shape;
  uint64_t offset = 0;  ///< bytes
  uint64_t span = 0;    ///< bytes from there on that are read
  double duration = 1;  ///< seconds
};

/// Arguments of fio, without the one that says where its output goes.
std::vector<std::string> fio_arguments(const FioEngine& engine, const FioDevice& device, const FioJob& job);

/// Figures of fio's JSON output, in `row`; or the reason why there are none, as its remark.
void read_fio_output(const std::string& text, ReportRow& row);

/// Runs fio once. Never throws for what fio does: a row says why it has no figures.
ReportRow run_fio(const FioEngine& engine, const FioDevice& device, const FioJob& job);

}  // namespace tester
