// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The tables of a report, as data: which rows each has, and which columns.

#include <cstdint>
#include <string>
#include <vector>

#include "tester/report/data.hpp"
#include "tester/report/fio.hpp"

namespace tester {

/// One row, to be run.
struct RowPlan {
  RowShape shape;
  const FioEngine* engine = nullptr;  ///< null: xio
  bool verify = false;                ///< writes, reads and compares `operations` operations instead of a time
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

/// What the rows depend on.
struct PlanBasis {
  uint32_t block_bytes = 512;
  uint32_t most_queues = 1;
  double duration = 1;
  bool xio = true;
  bool fio = false;
};

/// The table of what xio adds to the latency of a device: on the model in this process, whose latency is known.
constexpr const char* client_table_id = "client";
/// Its rows for a device of so many microseconds.
std::vector<RowPlan> client_rows(const PlanBasis& basis, uint32_t device_us);

/// The ids of the tables of a controller, in their order.
std::vector<std::string> table_ids();

/// All tables, without those that have no rows.
std::vector<TablePlan> plan_tables(const PlanBasis& basis);

}  // namespace tester
