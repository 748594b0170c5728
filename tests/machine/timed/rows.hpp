// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Files of launches with a figure each: predicted times that are budgets, and rates that a GPU has measured.

#include <string>
#include <vector>

#include <machine/timed/rounds.hpp>

namespace machine::timed {

/// "program kernel key=value...": the program is the name of its PTX file up to the first dot.
struct Row {
  std::string program;
  Setup setup;
  double ns = 0;        ///< of a round, predicted when the budget was set; 0: none
  double measured = 0;  ///< million operations per second; 0: none
  double within = 0;    ///< per cent that the predicted time of an operation may differ from the measured one
  size_t line = 0;      ///< of the file, from 0
};

class Rows {
 public:
  /// @throws Fault if the file cannot be read, or a line is wrong
  explicit Rows(const std::string& path);

  const std::vector<Row>& all() const { return rows_; }
  /// Sets a row's ns=.
  void set_ns(const Row& row, double ns);
  void write() const;

 private:
  std::string path_;
  std::vector<std::string> lines_;
  std::vector<Row> rows_;
};

}  // namespace machine::timed
