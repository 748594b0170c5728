// SPDX-License-Identifier: MIT
#include "tester/report/write.hpp"

#include <fstream>
#include <iterator>

#include "tester/report/text_table.hpp"

namespace tester {

namespace {

constexpr const char* style =
    "body { font: 15px/1.5 system-ui, sans-serif; max-width: 75em; margin: 2em auto; padding: 0 1em; color: #1a1a1a }\n"
    "h1 { font-size: 1.6em } h2 { font-size: 1.2em; margin-top: 2.5em }\n"
    ".wide { overflow-x: auto }\n"
    "table { border-collapse: collapse; font-variant-numeric: tabular-nums }\n"
    "th, td { padding: .25em .8em; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap }\n"
    "th:first-child, td:first-child { text-align: left }\n"
    ".facts td { text-align: left; white-space: normal }\n"
    ".note { color: #555; margin: .4em 0 }\n"
    "svg { max-width: 100%; height: auto; margin-top: 1em }\n";

std::string in_html(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '&': safe += "&amp;"; break;
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '"': safe += "&quot;"; break;
      default: safe += c;
    }
  }
  return safe;
}

/// @param target  id that the first cell links to; empty: none
std::string html_row(const std::vector<std::string>& cells, const std::string& tag, const std::string& target = "") {
  std::string text = "<tr>";
  for (size_t i = 0; i < cells.size(); ++i) {
    const std::string cell = in_html(cells[i].empty() ? "-" : cells[i]);
    const bool link = i == 0 && !target.empty();
    text += "<" + tag + ">" + (link ? "<a href=\"#" + target + "\">" + cell + "</a>" : cell) + "</" + tag + ">";
  }
  return text + "</tr>\n";
}

/// @param target  of each row
template <class Target>
std::string html_table(const std::string& id, const TextTable& table, const Target& target) {
  std::string text = "<h2 id=\"" + id + "\">" + in_html(table.title) + "</h2>\n<div class=\"wide\"><table>\n" +
                     html_row(table.columns, "th");
  for (size_t i = 0; i < table.rows.size(); ++i) text += html_row(table.rows[i], "td", target(i));
  text += "</table></div>\n";
  for (const std::string& note : table.notes) text += "<p class=\"note\">" + in_html(note) + "</p>\n";
  return text;
}

/// The svg element of an SVG file, without its prologue; empty if there is no such file.
std::string drawing(const std::string& path) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const size_t begin = text.find("<svg");
  return begin == std::string::npos ? "" : text.substr(begin);
}

}  // namespace

std::string to_html(const Report& report, const std::string& plots) {
  const std::string title = in_html("xio-tester report: " + report.heading);
  std::string text = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>" + title +
                     "</title>\n<style>\n" + style + "</style>\n</head>\n<body>\n<h1>" + title +
                     "</h1>\n<table class=\"facts\">\n";
  for (const auto& [name, value] : facts_of(report)) text += html_row({name, value}, "td");
  text += "</table>\n";
  const std::vector<TextTable> tables = text_tables(report);
  text += html_table("summary", summary_of(report), [&report](size_t row) { return report.tables[row].id; });
  for (size_t i = 0; i < tables.size(); ++i) {
    const std::string& id = report.tables[i].id;
    text += html_table(id, tables[i], [](size_t) { return std::string(); });
    if (!plots.empty()) text += drawing(plots + "/" + id + ".svg");
  }
  if (report.interrupted) text += "<p>Interrupted: these are partial results.</p>\n";
  return text + "</body>\n</html>\n";
}

}  // namespace tester
