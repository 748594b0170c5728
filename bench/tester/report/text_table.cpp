// SPDX-License-Identifier: MIT
#include "tester/report/text_table.hpp"

#include <algorithm>

#include "tester/report/columns.hpp"

namespace tester {

namespace {

constexpr const char* remark_id = "remark";

std::vector<std::string> different_remarks(const ReportTable& table) {
  std::vector<std::string> texts;
  for (const ReportRow& row : table.rows)
    if (!row.remark.empty() && std::find(texts.begin(), texts.end(), row.remark) == texts.end())
      texts.push_back(row.remark);
  return texts;
}

std::vector<Column> filled_columns(const ReportTable& table) {
  std::vector<Column> columns;
  for (const std::string& id : table.columns) {
    if (id == remark_id) continue;
    const Column& one = column(id);
    const bool filled = std::any_of(table.rows.begin(), table.rows.end(),
                                    [&one](const ReportRow& row) { return !one.text(row).empty(); });
    if (filled) columns.push_back(one);
  }
  return columns;
}

}  // namespace

TextTable text_table(const ReportTable& table) {
  TextTable shown;
  shown.title = table.title + " (" + table.heading + ")";
  const std::vector<Column> columns = filled_columns(table);
  const std::vector<std::string> remarks = different_remarks(table);
  const bool numbered = std::any_of(table.rows.begin(), table.rows.end(), [&remarks](const ReportRow& row) {
    return !remarks.empty() && row.remark != remarks.front();
  });
  const auto number_of = [](size_t index) { return "(" + std::to_string(index + 1) + ")"; };
  for (const Column& one : columns) shown.columns.emplace_back(one.title);
  if (numbered) shown.columns.emplace_back("note");
  for (const ReportRow& row : table.rows) {
    std::vector<std::string> cells;
    for (const Column& one : columns) cells.push_back(one.text(row));
    if (numbered) {
      const auto at = std::find(remarks.begin(), remarks.end(), row.remark);
      cells.push_back(at == remarks.end() ? "" : number_of(static_cast<size_t>(at - remarks.begin())));
    }
    shown.rows.push_back(std::move(cells));
  }
  const std::string all = table.rows.size() == 1 ? "" : "All rows: ";
  for (size_t i = 0; i < remarks.size(); ++i) shown.notes.push_back((numbered ? number_of(i) + " " : all) + remarks[i]);
  return shown;
}

std::vector<std::pair<std::string, std::string>> facts_of(const Report& report) {
  std::vector<std::pair<std::string, std::string>> facts;
  const auto add = [&facts](const char* name, const std::string& value) {
    if (!value.empty()) facts.emplace_back(name, value);
  };
  add("device", report.device);
  add("machine", report.machine);
  add("executor", report.executor.empty() ? "the CPU emulates the GPU" : report.executor);
  add("date", report.date);
  add("blocks read", report.blocks);
  add("each row",
      std::to_string(report.runs) + (report.runs == 1 ? " run" : " runs, the one with the median of the IOPS"));
  return facts;
}

}  // namespace tester
