// SPDX-License-Identifier: MIT
/// @file
/// @brief What a report says: its summary, each remark once, percentiles that are sure, differences that are none.

#include <algorithm>
#include <string>
#include <vector>

#include "catch.hpp"
#include "tester/report/plan.hpp"
#include "tester/report/spread.hpp"
#include "tester/report/text_table.hpp"
#include "tester/report/write.hpp"

using namespace tester;

namespace {

ReportRow row_of(uint64_t bytes, const std::vector<double>& iops_of_runs, const std::string& remark = "") {
  ReportRow row;
  row.shape.bytes = bytes;
  row.figures.emplace();
  double sum = 0;
  for (const double iops : iops_of_runs) sum += iops;
  row.figures->iops = sum / static_cast<double>(iops_of_runs.size());
  row.figures->p50 = 7;
  row.iops_of_runs = iops_of_runs;
  row.remark = remark;
  return row;
}

ReportRow remarked(const std::string& remark) {
  ReportRow row;
  row.remark = remark;
  return row;
}

ReportTable table_of(const std::string& id, const std::vector<ReportRow>& rows) {
  return {id, "The " + id, {"submitter", "bytes", "iops", "p50", "remark"}, rows, "a model"};
}

size_t count_of(const std::string& text, const std::string& words) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(words, at)) != std::string::npos; at += words.size()) ++count;
  return count;
}

}  // namespace

TEST_CASE("a percentile needs ten operations beyond it", "[tester]") {
  for (const auto& [operations, known] :
       {std::pair<uint64_t, int>{64, 0}, {99, 0}, {100, 1}, {999, 1}, {1000, 2}, {9999, 2}, {10000, 3}, {100000, 4}}) {
    CAPTURE(operations);
    ReportRow row = row_of(512, {1});
    Figures& f = *row.figures;
    f.operations = operations;
    f.p90 = f.p99 = f.p999 = f.p9999 = 5;
    f.drop_uncertain_percentiles();
    CHECK(f.p90.has_value() == (known > 0));
    CHECK(f.p99.has_value() == (known > 1));
    CHECK(f.p999.has_value() == (known > 2));
    CHECK(f.p9999.has_value() == (known > 3));
    Report report;
    report.tables = {{"t", "t", {"p50", "p99"}, {row}}};
    CHECK(count_of(to_markdown(report), "\n| 7.00 | 5.00 |\n") == (known > 1 ? 1 : 0));
    CHECK(count_of(to_json(report), "\"p99\": null") == (known > 1 ? 0 : 1));
  }
}

TEST_CASE("rows that differ no more than the runs of one of them do show no difference", "[tester]") {
  const ReportRow quick = row_of(256, {10, 12, 14});
  const ReportRow near = row_of(256, {13, 15, 17});
  const ReportRow far = row_of(256, {19, 20, 21});
  CHECK(sizes_within_spread(table_of("t", {quick, near})) == std::vector<uint64_t>{256});
  CHECK(sizes_within_spread(table_of("t", {quick, near, far})).empty());
  CHECK(spread_text(table_of("t", {quick, far})).empty());
  CHECK(spread_text(table_of("t", {quick, near})) == "Within the spread of the runs: all rows");

  // One row, or one run, compares nothing.
  CHECK(sizes_within_spread(table_of("t", {quick})).empty());
  CHECK(sizes_within_spread(table_of("t", {quick, row_of(256, {12})})).empty());
  CHECK(sizes_within_spread(table_of("t", {remarked("not run"), remarked("not run")})).empty());

  // Sizes are not compared with one another.
  const ReportRow large = row_of(4096, {1, 2});
  const ReportRow other = row_of(4096, {5, 6});
  CHECK(spread_text(table_of("t", {quick, large, near, other})) ==
        "Within the spread of the runs: the rows of 256 bytes");
  CHECK(spread_text(table_of("t", {quick, large, near, large})) ==
        "Within the spread of the runs: all rows of one size");
  Report report;
  report.tables = {table_of("t", {quick, near})};
  CHECK(to_json(report).find("\"within_spread\": [\n        256\n      ]") != std::string::npos);
  CHECK(count_of(to_markdown(report), "| spread | rows of one size that differ no more") == 1);
  report.tables = {table_of("t", {quick, far})};
  CHECK(count_of(to_markdown(report), "spread") == 0);
}

TEST_CASE("a remark is said once, below the first table that has it", "[tester]") {
  Report report;
  report.tables = {table_of("first", {row_of(512, {1}), remarked("no GPU")}), table_of("second", {remarked("alone")}),
                   table_of("third", {remarked("no GPU"), remarked("no GPU")}),
                   table_of("fourth", {remarked("other"), remarked("no GPU")}),
                   table_of("fifth", {row_of(512, {1}, "both"), row_of(512, {1}, "both")})};
  const std::vector<TextTable> tables = text_tables(report);
  using Lines = std::vector<std::string>;
  CHECK(tables[0].notes == Lines{"(1) no GPU"});
  CHECK(tables[0].rows[0].back().empty());
  CHECK(tables[0].rows[1].back() == "(1)");
  CHECK(tables[1].notes == Lines{"alone"});
  CHECK(tables[2].notes == Lines{"All rows: (1) see The first"});
  CHECK(tables[2].columns.back() != "note");
  CHECK(tables[3].notes == Lines{"(2) other", "(1) see The first"});
  CHECK(tables[3].rows[0].back() == "(2)");
  CHECK(tables[3].rows[1].back() == "(1)");
  CHECK(tables[4].notes == Lines{"All rows: both"});
  for (const std::string& text : {to_markdown(report), to_html(report, "")})
    for (const char* const remark : {"no GPU", "alone", "other", "both"}) CHECK(count_of(text, remark) == 1);
}

TEST_CASE("a report begins with a summary that links to its tables", "[tester]") {
  Report report;
  report.heading = "a model";
  ReportRow broken = remarked("operations failed");
  broken.failed = true;
  report.tables = {table_of("reads", {row_of(512, {10}), row_of(512, {30}), broken}),
                   {"steps", "Sub-steps, ns (all)", {"build"}, {row_of(512, {10})}, "a model"}};
  const TextTable summary = summary_of(report);
  REQUIRE(summary.rows.size() == 2);
  CHECK(summary.rows[0] == std::vector<std::string>{"The reads", "a model", "3", "2", "1", "10 to 30", "7.00"});
  // Figures that the table does not show.
  CHECK(summary.rows[1] == std::vector<std::string>{"Sub-steps, ns (all)", "a model", "1", "1", "0", "", ""});

  const std::string markdown = to_markdown(report);
  CHECK(markdown.find("\n## Summary\n") < markdown.find("\n## The reads"));
  CHECK(count_of(markdown, "\n| [The reads](#the-reads-a-model) | a model | 3 | 2 | 1 | 10 to 30 | 7.00 |\n") == 1);
  CHECK(count_of(markdown, "| [Sub-steps, ns (all)](#sub-steps-ns-all-a-model) |") == 1);
  const std::string html = to_html(report, "");
  CHECK(count_of(html, "<td><a href=\"#reads\">The reads</a></td>") == 1);
  CHECK(count_of(html, "<h2 id=\"reads\">") == 1);
  CHECK(html.find("<h2 id=\"summary\">") < html.find("<h2 id=\"reads\">"));
}

TEST_CASE("a table is called side by side if it has two sides", "[tester]") {
  ReportRow ours = row_of(4096, {10});
  ReportRow fio = ours;
  fio.shape.submitter = "fio libaio";
  for (const auto& [rows, title] : {std::pair<std::vector<ReportRow>, std::string>{{ours}, "Random reads of 4 KiB"},
                                    {{fio, fio}, "Random reads of 4 KiB"},
                                    {{ours, fio}, "Side by side: random reads of 4 KiB"}}) {
    ReportTable table{"side-by-side", "?", {"iops"}, rows};
    name_sides(table);
    CHECK(table.title == title);
  }
  ReportTable other{"cpu", "CPU use", {"iops"}, {ours}};
  name_sides(other);
  CHECK(other.title == "CPU use");
}
