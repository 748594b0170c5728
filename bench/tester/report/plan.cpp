// SPDX-License-Identifier: MIT
#include "tester/report/plan.hpp"

#include <algorithm>
#include <utility>

namespace tester {

namespace {

using Rows = std::vector<RowPlan>;
using Columns = std::vector<std::string>;

constexpr uint32_t memory_modes[] = {0, 3, 8, 11};  // host; rings, data, or both in GPU memory

/// Builder of an xio row; each call changes one property.
class Row {
 public:
  explicit Row(const PlanBasis& basis) : basis_(basis) {
    row_.shape.bytes = basis.block_bytes;
    row_.duration = basis.duration;
  }
  Row& depth(uint32_t depth, uint32_t batch) {
    row_.shape.depth = depth;
    row_.shape.batch = batch;
    return *this;
  }
  Row& queues(uint32_t queues) {
    row_.shape.queues = std::min(queues, basis_.most_queues);
    return *this;
  }
  Row& blocks(uint32_t blocks) {
    row_.shape.bytes = uint64_t{blocks} * basis_.block_bytes;
    return *this;
  }
  Row& bytes(uint64_t bytes) {
    row_.shape.bytes = std::max<uint64_t>(bytes, basis_.block_bytes);
    return *this;
  }
  Row& random(bool random = true) {
    row_.shape.random = random;
    return *this;
  }
  Row& mode(uint32_t memory_mode) {
    row_.shape.memory_mode = memory_mode;
    return *this;
  }
  Row& steps() {
    row_.steps = true;
    return *this;
  }
  Row& verified(uint64_t operations) {
    row_.shape.operation = "write, read";
    row_.verify = true;
    row_.operations = operations;
    return *this;
  }
  Row& times(double factor) {
    row_.duration *= factor;
    return *this;
  }
  Row& fio(const FioEngine& engine) {
    row_.engine = &engine;
    row_.shape.submitter = std::string("fio ") + engine.name;
    return *this;
  }
  operator RowPlan() const { return row_; }  // NOLINT(google-explicit-constructor)

 private:
  const PlanBasis& basis_;
  RowPlan row_;
};

Rows each_mode(const PlanBasis& basis, uint32_t depth, uint32_t batch, bool steps = false) {
  Rows rows;
  for (const uint32_t mode : memory_modes) {
    Row row = Row(basis).depth(depth, batch).mode(mode);
    if (steps) row.steps();
    rows.push_back(row);
  }
  return rows;
}

Rows single(const PlanBasis& basis) { return each_mode(basis, 1, 1); }
Rows batched(const PlanBasis& basis) { return each_mode(basis, 32, 16); }
Rows sub_steps(const PlanBasis& basis) { return each_mode(basis, 1, 1, true); }

Rows multi_queue(const PlanBasis& basis) {
  Rows rows;
  for (const uint32_t queues : {1u, 2u, 4u})
    if (queues <= basis.most_queues) rows.push_back(Row(basis).depth(32, 16).queues(queues));
  return rows;
}

Rows multi_lba(const PlanBasis& basis) {
  Rows rows;
  for (const uint32_t blocks : {1u, 8u, 32u}) rows.push_back(Row(basis).depth(32, 16).blocks(blocks));
  return rows;
}

Rows sustained(const PlanBasis& basis) { return {Row(basis).depth(32, 16).queues(16).times(5)}; }

Rows access_pattern(const PlanBasis& basis) { return {Row(basis).depth(32, 16), Row(basis).depth(32, 16).random()}; }

Rows verified(const PlanBasis& basis) {
  Rows rows;
  for (const bool random : {false, true})
    for (const uint32_t batch : {1u, 16u})
      rows.push_back(Row(basis).depth(batch == 1 ? 1 : 32, batch).random(random).verified(64));
  return rows;
}

const FioEngine& engine_named(const std::string& name) {
  const auto& all = fio_engines();
  return *std::find_if(all.begin(), all.end(), [&name](const FioEngine& one) { return one.name == name; });
}

Rows fio_baseline(const PlanBasis& basis) {
  Rows rows;
  for (const uint64_t bytes : {4096u, 65536u})
    for (const bool random : {false, true})
      for (const bool deep : {true, false})
        rows.push_back(Row(basis)
                           .bytes(bytes)
                           .random(random)
                           .depth(deep ? 32 : 1, 1)
                           .fio(engine_named(deep ? "io_uring" : "psync")));
  return rows;
}

Rows cpu_use(const PlanBasis& basis) {
  return {Row(basis).bytes(4096).random().depth(1, 1),
          Row(basis).bytes(4096).random().depth(1, 1).fio(engine_named("psync")),
          Row(basis).bytes(4096).random().depth(32, 0),
          Row(basis).bytes(4096).random().depth(32, 1).fio(engine_named("io_uring"))};
}

/// Rows of xio and fio with the same drive, block size, pattern and depth.
Rows side_by_side(const PlanBasis& basis) {
  Rows rows;
  for (const uint32_t depth : {1u, 64u}) {
    rows.push_back(Row(basis).bytes(4096).random().depth(depth, depth == 1 ? 1 : 0));
    for (const FioEngine& engine : fio_engines()) {
      if (engine.synchronous && depth != 1) continue;
      rows.push_back(Row(basis).bytes(4096).random().depth(depth, 1).fio(engine));
      // If one system call can submit several operations, fio also runs with batches.
      if (depth != 1) rows.push_back(Row(basis).bytes(4096).random().depth(depth, 16).fio(engine));
    }
  }
  return rows;
}

constexpr const char* side_by_side_id = "side-by-side";

struct TableKind {
  const char* id;
  const char* title;
  Columns columns;
  Rows (*rows)(const PlanBasis&);
};

const std::vector<TableKind>& kinds() {
  const Columns latency = {"min", "mean", "std", "max", "p50", "p99", "iops"};
  const auto with = [&latency](Columns first) {
    first.insert(first.end(), latency.begin(), latency.end());
    first.emplace_back("remark");
    return first;
  };
  static const std::vector<TableKind> all = {
      {"single", "Single operation", with({"mode"}), single},
      {"batched", "Batched", with({"mode", "depth", "batch", "doorbells"}), batched},
      {"multi-queue", "Multi-queue", with({"queues", "depth", "batch"}), multi_queue},
      {"multi-lba", "Multi-LBA", with({"bytes", "depth", "batch", "mb_per_s"}), multi_lba},
      {"sustained",
       "Sustained",
       {"queues", "depth", "batch", "seconds", "operations", "mean", "min", "max", "iops", "mb_per_s", "remark"},
       sustained},
      {"pattern", "Access pattern", with({"pattern", "depth", "batch"}), access_pattern},
      {"verified",
       "Write and read, verified",
       {"pattern", "depth", "batch", "operations", "mean", "max", "iops", "remark"},
       verified},
      {"sub-steps",
       "Sub-steps, ns per operation",
       {"mode", "build", "enqueue", "sq_doorbell", "cq_poll", "cq_doorbell", "total", "remark"},
       sub_steps},
      {"fio",
       "fio",
       {"submitter", "bytes", "pattern", "depth", "iops", "mb_per_s", "mean", "p99", "user", "system", "remark"},
       fio_baseline},
      {"cpu", "CPU use", {"submitter", "depth", "iops", "user", "system", "cpu_us", "remark"}, cpu_use},
      {side_by_side_id,
       "Random reads of 4 KiB",
       {"submitter", "depth", "batch", "iops", "p50", "p99", "cpu_us", "remark"},
       side_by_side}};
  return all;
}

}  // namespace

std::vector<RowPlan> client_rows(const PlanBasis& basis, uint32_t device_us) {
  Rows rows;
  for (const auto& [depth, batch] : {std::pair(1u, 1u), std::pair(16u, 1u), std::pair(16u, 16u)}) {
    rows.push_back(Row(basis).bytes(4096).depth(depth, batch));
    rows.back().shape.device_us = device_us;
  }
  return rows;
}

void name_sides(ReportTable& table) {
  if (table.id != side_by_side_id) return;
  const auto is_ours = [](const ReportRow& row) { return row.shape.submitter == "xio"; };
  const bool ours = std::any_of(table.rows.begin(), table.rows.end(), is_ours);
  const bool both = ours && !std::all_of(table.rows.begin(), table.rows.end(), is_ours);
  table.title = both ? "Side by side: random reads of 4 KiB" : "Random reads of 4 KiB";
}

std::vector<std::string> table_ids() {
  std::vector<std::string> ids;
  for (const TableKind& kind : kinds()) ids.emplace_back(kind.id);
  return ids;
}

std::vector<TablePlan> plan_tables(const PlanBasis& basis) {
  std::vector<TablePlan> tables;
  for (const TableKind& kind : kinds()) {
    TablePlan table{kind.id, kind.title, kind.columns, kind.rows(basis)};
    const auto unwanted = [&basis](const RowPlan& row) { return row.engine == nullptr ? !basis.xio : !basis.fio; };
    table.rows.erase(std::remove_if(table.rows.begin(), table.rows.end(), unwanted), table.rows.end());
    if (!table.rows.empty()) tables.push_back(std::move(table));
  }
  return tables;
}

}  // namespace tester
