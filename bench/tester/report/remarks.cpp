// SPDX-License-Identifier: MIT
#include "tester/report/remarks.hpp"

#include <algorithm>

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

}  // namespace

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

}  // namespace tester
