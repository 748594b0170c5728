// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief machine-run --timed: predicts what rounds take, holds predictions to budgets, and compares them with a GPU.

#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

#include <machine/timed/rows.hpp>

namespace machine::timed {

class Command {
 public:
  explicit Command(CLI::App& app);
  bool wanted() const { return timed_; }
  /// Returns the exit status. @throws Fault
  int run(const std::vector<std::string>& paths);

 private:
  struct Program {
    std::string name;
    std::unique_ptr<ptx::TimedMachine> machine;
  };
  struct Predicted {
    const Row* row;
    Prediction prediction;
  };

  ptx::TimedMachine* machine_of(const std::string& program) const;
  Predicted predict_row(const Row& row) const;
  std::vector<Predicted> predict_rows(const Rows& rows) const;
  int one_kernel() const;
  int budgets() const;
  int measured() const;

  bool timed_ = false;
  bool update_ = false;
  std::string gpu_ = "h200";
  std::string kernel_;
  std::vector<uint32_t> waves_{1};
  std::vector<std::string> with_;
  std::vector<std::string> set_;
  uint32_t lines_ = 0;
  std::string budgets_;
  std::string measured_;
  std::vector<Program> programs_;
};

}  // namespace machine::timed
