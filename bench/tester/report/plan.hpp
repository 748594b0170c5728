// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Tables of a report as data: their rows and columns.

#include <cstdint>
#include <string>
#include <vector>

#include "tester/report/data.hpp"
#include "tester/report/fio.hpp"

namespace tester {

/// One row to run.
struct RowPlan {
  RowShape shape;
  const FioEngine* engine = nullptr;  ///< null: xio
  bool verify = false;                ///< writes, reads and compares `operations` operations instead of running by time
  uint64_t operations = 0;
  bool steps = false;   ///< times the steps of the queue code
  double duration = 1;  ///< seconds
};

struct TablePlan {
  std::string id;
  std::string title;
  std::vector<std::string> columns;
  std::vector<RowPlan> rows;
};

/// Parameters that determine the rows.
struct PlanBasis {
  uint32_t block_bytes = 512;
  uint32_t most_queues = 1;
  double duration = 1;
  bool xio = true;
  bool fio = false;
};

/// Id of the table of what xio adds to the latency of a device, measured on in-process models of known latency.
constexpr const char* client_table_id = "client";
/// Rows of that table for a device latency in microseconds.
std::vector<RowPlan> client_rows(const PlanBasis& basis, uint32_t device_us);

/// Ids of the tables of a controller, in order.
std::vector<std::string> table_ids();

/// Titles the table of xio beside fio by what it has: rows of both, or of one of them.
void name_sides(ReportTable& table);

/// All tables that have rows.
std::vector<TablePlan> plan_tables(const PlanBasis& basis);

}  // namespace tester
