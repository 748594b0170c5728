// SPDX-License-Identifier: MIT
#include "tester/report/write.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>

#include <nlohmann/json.hpp>

#include "tester/cli/errors.hpp"
#include "tester/report/columns.hpp"
#include "tester/report/json_report.hpp"
#include "tester/report/spread.hpp"
#include "tester/report/text_table.hpp"

namespace tester {

namespace {

using Json = nlohmann::ordered_json;

std::string joined(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) line += " " + (cell.empty() ? "-" : cell) + " |";
  return line + "\n";
}

std::string in_markdown(std::string text) {
  for (size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.replace(at, 1, "\\|");
  return text;
}

/// What viewers of Markdown name a heading in links: lower case, hyphens for spaces, no punctuation.
std::string anchor(const std::string& title) {
  std::string name;
  for (const char c : title) {
    const int code = static_cast<unsigned char>(c);
    if (std::isalnum(code) != 0 || c == '-' || c == '_') {
      name += static_cast<char>(std::tolower(code));
    } else if (c == ' ') {
      name += '-';
    }
  }
  return name;
}

std::string markdown_table(const TextTable& table) {
  std::string text = "\n## " + table.title + "\n\n" + joined(table.columns) + "|";
  for (size_t i = 0; i < table.columns.size(); ++i) text += "---|";
  text += "\n";
  for (const auto& row : table.rows) {
    std::vector<std::string> cells;
    for (const std::string& cell : row) cells.push_back(in_markdown(cell));
    text += joined(cells);
  }
  for (const std::string& note : table.notes) text += "\n" + note + "\n";
  return text;
}

std::string in_csv(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

const char* const step_names[] = {"build", "enqueue", "sq_doorbell", "cq_poll", "cq_doorbell"};

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

/// A latency that some rows, and reports of earlier versions, lack.
std::optional<double> later_latency(const Json& latency, const char* name) {
  const auto found = latency.find(name);
  if (found == latency.end() || found->is_null()) return std::nullopt;
  return found->get<double>();
}

Json figures_json(const Figures& f) {
  Json json = {
      {"operations", f.operations},
      {"seconds", f.seconds},
      {"iops", f.iops},
      {"mb_per_s", f.mb_per_s},
      {"latency_us",
       {{"min", f.min},
        {"mean", f.mean},
        {"std", f.std},
        {"max", f.max},
        {"p50", f.p50},
        {"p90", or_null(f.p90)},
        {"p99", or_null(f.p99)},
        {"p99.9", or_null(f.p999)},
        {"p99.99", or_null(f.p9999)}}},
      {"cpu", {{"user_percent", f.cpu_user}, {"system_percent", f.cpu_system}, {"us_per_operation", f.cpu_us()}}}};
  if (f.doorbells) json["doorbells_per_operation"] = *f.doorbells;
  if (f.releases) json["releases_per_operation"] = *f.releases;
  if (f.steps)
    for (size_t i = 0; i < f.steps->size(); ++i) json["steps_ns"][step_names[i]] = (*f.steps)[i];
  return json;
}

Json row_json(const ReportRow& row) {
  const RowShape& shape = row.shape;
  Json json = {{"submitter", shape.submitter},
               {"operation", shape.operation},
               {"pattern", shape.random ? "random" : "sequential"},
               {"bytes", shape.bytes},
               {"queues", shape.queues},
               {"depth", shape.depth},
               {"batch", shape.batch},
               {"memory_mode", shape.memory_mode}};
  if (!shape.placement.empty()) json["placement"] = shape.placement;
  if (shape.device_us) json["device_us"] = *shape.device_us;
  json["figures"] = row.figures ? figures_json(*row.figures) : Json();
  json["iops_of_runs"] = row.iops_of_runs;
  json["remark"] = row.remark;
  json["failed"] = row.failed;
  return json;
}

Figures read_figures(const Json& json) {
  Figures f;
  const Json& latency = json.at("latency_us");
  f.operations = json.at("operations");
  f.seconds = json.at("seconds");
  f.iops = json.at("iops");
  f.mb_per_s = json.at("mb_per_s");
  f.min = latency.at("min");
  f.mean = latency.at("mean");
  f.std = latency.at("std");
  f.max = latency.at("max");
  f.p50 = latency.at("p50");
  f.p90 = later_latency(latency, "p90");
  f.p99 = later_latency(latency, "p99");
  f.p999 = later_latency(latency, "p99.9");
  f.p9999 = later_latency(latency, "p99.99");
  f.drop_uncertain_percentiles();
  f.cpu_user = json.at("cpu").at("user_percent");
  f.cpu_system = json.at("cpu").at("system_percent");
  return f;
}

ReportRow read_row(const Json& json) {
  ReportRow row;
  row.shape.submitter = json.at("submitter");
  row.shape.operation = json.at("operation");
  row.shape.random = json.at("pattern") == "random";
  row.shape.bytes = json.at("bytes");
  row.shape.queues = json.at("queues");
  row.shape.depth = json.at("depth");
  row.shape.batch = json.at("batch");
  if (!json.at("figures").is_null()) row.figures = read_figures(json.at("figures"));
  row.iops_of_runs = json.at("iops_of_runs").get<std::vector<double>>();
  row.remark = json.at("remark");
  return row;
}

ReportTable read_table(const Json& json) {
  ReportTable table;
  table.id = json.at("id");
  table.title = json.at("title");
  table.heading = json.value("heading", "");
  table.columns = json.at("columns").get<std::vector<std::string>>();
  for (const std::string& id : table.columns) column(id);
  for (const Json& one : json.at("rows")) {
    ReportRow row = read_row(one);
    if (row.shape.submitter.compare(0, 3, "fio") == 0) table.rows.push_back(std::move(row));
  }
  return table;
}

void merge(ReportTable& into, std::vector<ReportRow> rows) {
  for (ReportRow& row : rows) {
    const auto deeper = [&row](const ReportRow& one) { return one.shape.depth > row.shape.depth; };
    into.rows.insert(std::find_if(into.rows.begin(), into.rows.end(), deeper), std::move(row));
  }
}

}  // namespace

std::string to_markdown(const Report& report, const std::string& plots) {
  std::string text = "# xio-tester report: " + report.heading + "\n\n";
  text += "| | |\n|---|---|\n";
  for (const auto& [name, value] : facts_of(report)) text += "| " + name + " | " + in_markdown(value) + " |\n";
  const std::vector<TextTable> tables = text_tables(report);
  TextTable summary = summary_of(report);
  for (size_t i = 0; i < tables.size(); ++i)
    summary.rows[i][0] = "[" + summary.rows[i][0] + "](#" + anchor(tables[i].title) + ")";
  text += markdown_table(summary);
  for (size_t i = 0; i < tables.size(); ++i) {
    text += markdown_table(tables[i]);
    const ReportTable& table = report.tables[i];
    if (!plots.empty() && std::ifstream(plots + "/" + table.id + ".svg")) {
      text += "\n![" + table.title + "](" + table.id + ".svg)\n";
    }
  }
  if (report.interrupted) text += "\nInterrupted: these are partial results.\n";
  return text;
}

std::string to_csv(const Report& report) {
  std::string text = "table,heading";
  for (const Column& one : all_columns()) text += std::string(",") + one.id;
  text += "\n";
  for (const ReportTable& table : report.tables)
    for (const ReportRow& row : table.rows) {
      text += table.id + "," + in_csv(table.heading);
      for (const Column& one : all_columns()) text += "," + in_csv(one.text(row));
      text += "\n";
    }
  return text;
}

std::string to_json(const Report& report) {
  Json json = json_header("report");
  json["heading"] = report.heading;
  json["device"] = report.device;
  json["machine"] = report.machine;
  json["executor"] = report.executor.empty() ? "host" : "gpu";
  json["executor_gpu"] = report.executor;
  json["date"] = report.date;
  json["blocks"] = report.blocks;
  json["duration"] = report.duration;
  json["runs"] = report.runs;
  json["tables"] = Json::array();
  for (const ReportTable& table : report.tables) {
    Json rows = Json::array();
    for (const ReportRow& row : table.rows) rows.push_back(row_json(row));
    json["tables"].push_back({{"id", table.id},
                              {"title", table.title},
                              {"heading", table.heading},
                              {"columns", table.columns},
                              {"within_spread", sizes_within_spread(table)},
                              {"rows", std::move(rows)}});
  }
  json["interrupted"] = report.interrupted;
  json["exit_status"] = report.exit_status();
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

void add_fio_rows(Report& report, const std::string& json, bool add_tables) {
  try {
    const Json earlier = Json::parse(json);
    for (const Json& one : earlier.at("tables")) {
      ReportTable table = read_table(one);
      const auto same = std::find_if(report.tables.begin(), report.tables.end(),
                                     [&table](const ReportTable& mine) { return mine.id == table.id; });
      if (same != report.tables.end()) {
        merge(*same, std::move(table.rows));
      } else if (add_tables && !table.rows.empty()) {
        if (table.heading.empty()) table.heading = report.heading;
        report.tables.push_back(std::move(table));
      }
    }
  } catch (const std::exception& error) {
    throw BadInput(std::string("--fio-results: no report of xio-tester with rows of fio: ") + error.what());
  }
}

}  // namespace tester
