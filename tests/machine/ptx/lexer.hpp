// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief PTX text cut into statements.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace machine::ptx {

struct Statement {
  enum Kind : uint8_t { end, open, close, label, header, simple } kind = end;
  std::string text;   ///< without the `;`, `:` or `{` that ended it, white space folded
  uint32_t line = 0;  ///< where it begins, from 1
};

/// Statements one after the other. Debug sections are left out.
class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Statement next();

 private:
  void skip_blank();
  void skip_line();
  void skip_section();
  std::string word_here() const;
  std::string rest_of_line();

  std::string_view text_;
  size_t at_ = 0;
  uint32_t line_ = 1;
};

std::string trimmed(std::string_view text);
/// At commas that stand in no bracket.
std::vector<std::string> split(std::string_view text, char by);

}  // namespace machine::ptx
