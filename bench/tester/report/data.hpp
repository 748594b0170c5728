// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Data of a report: tables of rows, each with its configuration and results.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tester {

/// Configuration of a row, whichever program submits.
struct RowShape {
  std::string submitter = "xio";   ///< "xio", or fio with its engine
  std::string operation = "read";  ///< "read", or "write, read" for a verified run of both
  bool random = false;
  uint64_t bytes = 0;  ///< bytes of one operation
  uint32_t queues = 1;
  uint32_t depth = 1;  ///< operations in flight on each queue
  uint32_t batch = 1;  ///< entries per doorbell, or operations per system call; 0: as many as fit
  uint32_t memory_mode = 0;
  std::string placement;            ///< RDMA: where queues lie; empty elsewhere
  std::optional<double> device_us;  ///< latency that the model was told to have
};

/// Results of a row. Latencies are in microseconds, from before the submission to the poll that found the completion.
struct Figures {
  uint64_t operations = 0;
  double seconds = 0;
  double iops = 0;
  double mb_per_s = 0;  ///< 10^6 bytes
  double min = 0;
  double mean = 0;
  double std = 0;  ///< population standard deviation
  double max = 0;
  double p50 = 0;
  std::optional<double> p90;  ///< like those below, absent where too few operations lie beyond it
  std::optional<double> p99;
  std::optional<double> p999;
  std::optional<double> p9999;
  double cpu_user = 0;  ///< percent of one processor
  double cpu_system = 0;
  std::optional<double> doorbells;             ///< per operation
  std::optional<double> releases;              ///< per operation
  std::optional<std::array<double, 5>> steps;  ///< ns: build, enqueue, SQ doorbell, CQ poll, CQ doorbell

  /// Drops the percentiles that fewer than ten operations lie beyond: p90 needs 100 operations, p99 1000, and so on.
  /// What few operations took is chance.
  void drop_uncertain_percentiles() {
    uint64_t needed = 100;
    for (std::optional<double>* const one : {&p90, &p99, &p999, &p9999}) {
      if (operations < needed) one->reset();
      needed *= 10;
    }
  }
  /// CPU time per operation in microseconds; 0 if none completed.
  double cpu_us() const {
    return operations == 0 ? 0 : (cpu_user + cpu_system) / 100 * seconds * 1e6 / static_cast<double>(operations);
  }
};

struct ReportRow {
  RowShape shape;
  std::optional<Figures> figures;    ///< of the run with the median IOPS; RDMA: of all runs together
  std::vector<double> iops_of_runs;  ///< in the order of the runs
  std::string remark;                ///< why there are no figures, or a note on them
  bool failed = false;               ///< the row ran, and operations failed or blocks were wrong
};

struct ReportTable {
  std::string id;
  std::string title;
  std::vector<std::string> columns;  ///< of the Markdown table, by their ids
  std::vector<ReportRow> rows;
  std::string heading = {};  ///< what the figures do and do not measure
};

struct Report {
  std::string heading;   ///< heading of all tables
  std::string device;    ///< model and path
  std::string machine;   ///< kernel and processor
  std::string executor;  ///< the GPU that ran the rows of xio; empty: the CPU
  std::string date;      ///< UTC
  std::string blocks;    ///< whether the blocks read had been written before
  double duration = 0;   ///< seconds per row
  uint32_t runs = 1;
  std::vector<ReportTable> tables;
  bool interrupted = false;

  int exit_status() const;
};

}  // namespace tester
