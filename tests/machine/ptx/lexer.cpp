// SPDX-License-Identifier: MIT
/// @file
/// @brief See lexer.hpp.

#include <machine/ptx/lexer.hpp>

namespace machine::ptx {

namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         c == '%' || c == '.';
}

}  // namespace

std::string trimmed(std::string_view text) {
  size_t begin = 0;
  size_t end = text.size();
  while (begin < end && is_space(text[begin])) ++begin;
  while (end > begin && is_space(text[end - 1])) --end;
  return std::string(text.substr(begin, end - begin));
}

std::vector<std::string> split(std::string_view text, char by) {
  std::vector<std::string> out;
  out.reserve(4);
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i == text.size() || (text[i] == by && depth == 0)) {
      std::string one = trimmed(text.substr(begin, i - begin));
      if (i != text.size() || !one.empty()) out.push_back(std::move(one));
      begin = i + 1;
      continue;
    }
    if (text[i] == '{' || text[i] == '[' || text[i] == '(') ++depth;
    if (text[i] == '}' || text[i] == ']' || text[i] == ')') --depth;
  }
  return out;
}

void Lexer::skip_blank() {
  while (at_ < text_.size()) {
    if (text_[at_] == '\n') ++line_;
    if (is_space(text_[at_])) {
      ++at_;
    } else if (text_[at_] != '/') {
      return;
    } else if (text_.compare(at_, 2, "//") == 0) {
      while (at_ < text_.size() && text_[at_] != '\n') ++at_;
    } else if (text_.compare(at_, 2, "/*") == 0) {
      for (; at_ < text_.size() && text_.compare(at_, 2, "*/") != 0; ++at_) line_ += text_[at_] == '\n';
      at_ += 2;
    } else {
      return;
    }
  }
}

std::string Lexer::word_here() const {
  size_t end = at_;
  while (end < text_.size() && is_word(text_[end])) ++end;
  return std::string(text_.substr(at_, end - at_));
}

std::string Lexer::rest_of_line() {
  const size_t begin = at_;
  while (at_ < text_.size() && text_[at_] != '\n') ++at_;
  return trimmed(text_.substr(begin, at_ - begin));
}

void Lexer::skip_section() {
  while (at_ < text_.size() && text_[at_] != '{') line_ += text_[at_++] == '\n';
  while (at_ < text_.size() && text_[at_] != '}') line_ += text_[at_++] == '\n';
  if (at_ < text_.size()) ++at_;
}

Statement Lexer::next() {
  Statement out;
  for (;;) {
    skip_blank();
    out.line = line_;
    if (at_ >= text_.size()) return out;
    if (text_[at_] == '{' || text_[at_] == '}') {
      out.kind = text_[at_++] == '{' ? Statement::open : Statement::close;
      return out;
    }
    if (text_[at_] == ';') {
      ++at_;
      continue;
    }
    const std::string word = word_here();
    if (word == ".section") {
      skip_section();
      continue;
    }
    if (word == ".version" || word == ".target" || word == ".address_size" || word == ".file" || word == ".loc") {
      out.kind = Statement::simple;
      out.text = rest_of_line();
      return out;
    }
    if (!word.empty() && word[0] != '.') {
      size_t after = at_ + word.size();
      while (after < text_.size() && (text_[after] == ' ' || text_[after] == '\t')) ++after;
      // Not the colons within a modifier, as in ld.global.L1::no_allocate.
      if (after < text_.size() && text_[after] == ':' && text_.compare(after, 2, "::") != 0) {
        at_ = after + 1;
        out.kind = Statement::label;
        out.text = word;
        return out;
      }
    }
    break;
  }
  int depth = 0;
  bool header = false;
  for (; at_ < text_.size(); ++at_) {
    const bool comments = text_[at_] == '/' && (text_.compare(at_, 2, "//") == 0 || text_.compare(at_, 2, "/*") == 0);
    if (comments || is_space(text_[at_])) {
      skip_blank();
      --at_;
      if (!out.text.empty() && out.text.back() != ' ') out.text += ' ';
      continue;
    }
    const char c = text_[at_];
    if (c == ';' && depth == 0) break;
    if (c == '.' && depth == 0 && !header) {
      const std::string word = word_here();
      header = word == ".entry" || word == ".func";
    }
    if (c == '{' && depth == 0 && header) {
      out.kind = Statement::header;
      out.text = trimmed(out.text);
      return out;  // the brace is the next statement
    }
    if (c == '{' || c == '[' || c == '(') ++depth;
    if (c == '}' || c == ']' || c == ')') --depth;
    out.text += c;
  }
  ++at_;
  out.kind = header ? Statement::header : Statement::simple;
  out.text = trimmed(out.text);
  if (header) out.text += ';';  // declared only
  return out;
}

}  // namespace machine::ptx
