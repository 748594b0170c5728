// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Splits PTX text into statements.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace machine::ptx {

struct Statement {
  enum Kind : uint8_t { end, open, close, label, header, simple } kind = end;
  std::string text;   ///< without the final `;`, `:` or `{`, white space collapsed
  uint32_t line = 0;  ///< first line, from 1
};

/// Sequence of statements. Debug sections are skipped.
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
/// Splits at `by` outside brackets.
std::vector<std::string> split(std::string_view text, char by);

}  // namespace machine::ptx
