// SPDX-License-Identifier: MIT
#include "tester/report/text_table.hpp"

#include <algorithm>

#include "tester/cli/table.hpp"
#include "tester/report/columns.hpp"
#include "tester/report/spread.hpp"

namespace tester {

namespace {

std::vector<std::string> texts_of(const ReportTable& table) {
  std::vector<std::string> texts;
  for (const ReportRow& row : table.rows)
    if (!row.remark.empty() && std::find(texts.begin(), texts.end(), row.remark) == texts.end())
      texts.push_back(row.remark);
  return texts;
}

std::string in_brackets(size_t number) { return "(" + std::to_string(number) + ")"; }

/// The remarks of a report's rows, each said once.
class Remarks {
 public:
  explicit Remarks(const Report& report);

  /// What a row's note cell refers to: "(2)", or nothing.
  std::string reference(const ReportRow& row) const;
  /// Whether the rows of this table refer to remarks by number: not all of them have the same one.
  static bool differ(const ReportTable& table);
  /// Lines below a table: remarks that no table before it has, and where the others are.
  std::vector<std::string> notes(const ReportTable& table) const;

 private:
  struct Remark {
    std::string text;
    const ReportTable* first = nullptr;  ///< the table that says it
    bool numbered = false;               ///< something refers to it
    size_t number = 0;
  };

  size_t index_of(const std::string& text) const;

  std::vector<Remark> remarks_;
};

Remarks::Remarks(const Report& report) {
  for (const ReportTable& table : report.tables)
    for (const std::string& text : texts_of(table)) {
      const size_t at = index_of(text);
      if (at == remarks_.size()) {
        remarks_.push_back({text, &table, differ(table), 0});
      } else {
        remarks_[at].numbered = true;
      }
    }
  size_t number = 0;
  for (Remark& one : remarks_)
    if (one.numbered) one.number = ++number;
}

size_t Remarks::index_of(const std::string& text) const {
  const auto at =
      std::find_if(remarks_.begin(), remarks_.end(), [&text](const Remark& one) { return one.text == text; });
  return static_cast<size_t>(at - remarks_.begin());
}

std::string Remarks::reference(const ReportRow& row) const {
  return row.remark.empty() ? "" : in_brackets(remarks_[index_of(row.remark)].number);
}

bool Remarks::differ(const ReportTable& table) {
  return std::any_of(table.rows.begin(), table.rows.end(),
                     [&table](const ReportRow& row) { return row.remark != table.rows.front().remark; });
}

std::vector<std::string> Remarks::notes(const ReportTable& table) const {
  std::vector<std::string> lines;
  for (const std::string& text : texts_of(table)) {
    const Remark& one = remarks_[index_of(text)];
    const std::string all = differ(table) || table.rows.size() == 1 ? "" : "All rows: ";
    const std::string number = one.numbered ? in_brackets(one.number) + " " : "";
    if (one.first == &table) {
      lines.push_back(number + all + text);
    } else {
      lines.push_back(all + number + "see " + one.first->title);
    }
  }
  return lines;
}

constexpr const char* remark_id = "remark";

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

TextTable text_table(const ReportTable& table, const Remarks& remarks) {
  TextTable shown;
  shown.title = table.title + " (" + table.heading + ")";
  const std::vector<Column> columns = filled_columns(table);
  const bool refer = Remarks::differ(table);
  for (const Column& one : columns) shown.columns.emplace_back(one.title);
  if (refer) shown.columns.emplace_back("note");
  for (const ReportRow& row : table.rows) {
    std::vector<std::string> cells;
    for (const Column& one : columns) cells.push_back(one.text(row));
    if (refer) cells.push_back(remarks.reference(row));
    shown.rows.push_back(std::move(cells));
  }
  shown.notes = remarks.notes(table);
  const std::string spread = spread_text(table);
  if (!spread.empty()) shown.notes.push_back(spread);
  return shown;
}

/// The least and the greatest figure of a table's column; empty if the table does not show it.
std::string range_of(const ReportTable& table, const std::string& id, double (*figure)(const Figures&), int digits) {
  if (std::find(table.columns.begin(), table.columns.end(), id) == table.columns.end()) return "";
  std::vector<double> values;
  for (const ReportRow& row : table.rows)
    if (row.figures) values.push_back(figure(*row.figures));
  if (values.empty()) return "";
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const std::string from = fixed(*least, digits);
  const std::string to = fixed(*most, digits);
  return from == to ? from : from + " to " + to;
}

std::string with_figures(const std::vector<ReportRow>& rows) {
  return std::to_string(
      std::count_if(rows.begin(), rows.end(), [](const ReportRow& row) { return row.figures.has_value(); }));
}
std::string failed(const std::vector<ReportRow>& rows) {
  return std::to_string(std::count_if(rows.begin(), rows.end(), [](const ReportRow& row) { return row.failed; }));
}

}  // namespace

std::vector<TextTable> text_tables(const Report& report) {
  const Remarks remarks(report);
  std::vector<TextTable> tables;
  for (const ReportTable& table : report.tables) tables.push_back(text_table(table, remarks));
  return tables;
}

TextTable summary_of(const Report& report) {
  TextTable summary{"Summary", {"table", "measured", "rows", "with figures", "failed", "IOPS", "p50 us"}, {}, {}};
  for (const ReportTable& table : report.tables)
    summary.rows.push_back({table.title, table.heading, std::to_string(table.rows.size()), with_figures(table.rows),
                            failed(table.rows),
                            range_of(
                                table, "iops", [](const Figures& f) { return f.iops; }, 0),
                            range_of(table, "p50", [](const Figures& f) { return f.p50; }, 2)});
  return summary;
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
  add("percentiles", "p90 and above where at least ten operations took longer: p99 of 1000 operations or more");
  const auto within = [](const ReportTable& table) { return !sizes_within_spread(table).empty(); };
  if (std::any_of(report.tables.begin(), report.tables.end(), within))
    add("spread",
        "rows of one size that differ no more than the runs of one of them are within the spread of the runs: they "
        "show "
        "no difference");
  return facts;
}

}  // namespace tester
