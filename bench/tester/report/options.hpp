// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief `xio-tester report`: its options, and the run of its tables.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tester/nvme/options.hpp"

namespace tester {

struct ReportOptions {
  std::vector<std::string> controllers;  ///< empty: fio only; several: stripes over them
  uint32_t nsid = 1;
  uint64_t base_lba = 0;
  uint64_t span = uint64_t{64} << 20;  ///< bytes from `base_lba` on that rows access
  bool write = false;                  ///< fill that span first, and include rows that write
  std::vector<std::string> tables;     ///< ids; empty: all
  double duration = 0;                 ///< seconds per row; 0: see row_seconds()
  bool quick = false;
  uint32_t runs = 1;
  uint32_t deadline_ms = 30000;
  Executor executor = Executor::automatic;
  uint32_t gpu = 0;               ///< GPU number
  std::vector<std::string> rdma;  ///< providers of emulated NICs, and verbs devices; empty: no RDMA rows
  bool test_ep = false;           ///< include rows of the software endpoint
  bool cache = false;             ///< include rows of a page cache over the controllers
  bool client = false;            ///< include rows of what xio adds to the latency of a device
  bool fio = false;
  std::string fio_device;
  std::string fio_results;  ///< JSON file of an earlier report whose fio rows are included
  std::string note;         ///< for the headings
  std::string output;       ///< output folder
  std::string json;

  bool wants(const std::string& table) const {
    return tables.empty() || std::find(tables.begin(), tables.end(), table) != tables.end();
  }
  double row_seconds() const { return quick ? 0.1 : duration > 0 ? duration : 1; }
};

/// Adds the sub-command `report`; its flags are stored in `options`, which must outlive the parse.
CLI::App* add_report_command(CLI::App& app, ReportOptions& options);

/// Throws BadInput for options that are invalid for any controller.
void check(const ReportOptions& options);

/// Runs the report; returns the exit status. Throws BadInput, CannotRun and host::Error.
int run_report(const ReportOptions& options);

}  // namespace tester
