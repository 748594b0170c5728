// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The remarks of a report's rows, each said once.

#include <string>
#include <vector>

#include "tester/report/data.hpp"

namespace tester {

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

}  // namespace tester
