// SPDX-License-Identifier: MIT
#include "tester/report/html.hpp"

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

std::string html_row(const std::vector<std::string>& cells, const std::string& tag) {
  std::string text = "<tr>";
  for (const std::string& cell : cells) text += "<" + tag + ">" + in_html(cell.empty() ? "-" : cell) + "</" + tag + ">";
  return text + "</tr>\n";
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
  for (const ReportTable& table : report.tables) {
    const TextTable shown = text_table(table);
    text += "<h2 id=\"" + table.id + "\">" + in_html(shown.title) + "</h2>\n<div class=\"wide\"><table>\n" +
            html_row(shown.columns, "th");
    for (const auto& row : shown.rows) text += html_row(row, "td");
    text += "</table></div>\n";
    for (const std::string& note : shown.notes) text += "<p class=\"note\">" + in_html(note) + "</p>\n";
    if (!plots.empty()) text += drawing(plots + "/" + table.id + ".svg");
  }
  if (report.interrupted) text += "<p>Interrupted: these are partial results.</p>\n";
  return text + "</body>\n</html>\n";
}

}  // namespace tester
