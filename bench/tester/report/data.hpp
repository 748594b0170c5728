// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What a report is made of: tables of rows, each with what was run and what it came to.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tester {

/// What one row runs, whoever submits.
struct RowShape {
  std::string submitter = "xio";   ///< "xio", or fio with its engine
  std::string operation = "read";  ///< "read", or "write, read" for a verified run of both
  bool random = false;
  uint64_t bytes = 0;  ///< of one operation
  uint32_t queues = 1;
  uint32_t depth = 1;  ///< operations in flight on each queue
  uint32_t batch = 1;  ///< entries for one doorbell, or operations for one system call; 0: as many as there is room for
  uint32_t memory_mode = 0;
  std::string placement;            ///< RDMA: where queues lie; empty elsewhere
  std::optional<double> device_us;  ///< latency that the model was told to have
};

/// What a row came to. Latencies are in microseconds, from before the submission to the look that found the end.
struct Figures {
  uint64_t operations = 0;
  double seconds = 0;
  double iops = 0;
  double mb_per_s = 0;  ///< 10^6 bytes
  double min = 0;
  double mean = 0;
  double std = 0;  ///< of the population
  double max = 0;
  double p50 = 0;
  std::optional<double> p90;  ///< as p99.9 and p99.99, not in reports of earlier versions
  double p99 = 0;
  std::optional<double> p999;
  std::optional<double> p9999;
  double cpu_user = 0;  ///< percent of one processor
  double cpu_system = 0;
  std::optional<double> doorbells;             ///< for each operation
  std::optional<double> releases;              ///< for each operation
  std::optional<std::array<double, 5>> steps;  ///< ns: build, enqueue, SQ doorbell, CQ poll, CQ doorbell

  /// Microseconds of processor time for each operation; 0 where none ended.
  double cpu_us() const {
    return operations == 0 ? 0 : (cpu_user + cpu_system) / 100 * seconds * 1e6 / static_cast<double>(operations);
  }
};

struct ReportRow {
  RowShape shape;
  std::optional<Figures> figures;    ///< of the run whose IOPS are the median; RDMA: of all runs together
  std::vector<double> iops_of_runs;  ///< in the order of the runs
  std::string remark;                ///< why there are no figures, or what is to be known of them
  bool failed = false;               ///< it was run, and operations or blocks were wrong
};

struct ReportTable {
  std::string id;
  std::string title;
  std::vector<std::string> columns;  ///< of the Markdown table, by their ids
  std::vector<ReportRow> rows;
  std::string heading = {};  ///< what its figures are of, or are not
};

struct Report {
  std::string heading;   ///< of all tables
  std::string device;    ///< model and path
  std::string machine;   ///< kernel and processor
  std::string executor;  ///< the GPU that ran the rows of xio; empty: the CPU
  std::string date;      ///< UTC
  std::string blocks;    ///< whether what was read had been written
  double duration = 0;   ///< seconds for each row
  uint32_t runs = 1;
  std::vector<ReportTable> tables;
  bool interrupted = false;

  int exit_status() const;
};

}  // namespace tester
