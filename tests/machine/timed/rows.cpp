// SPDX-License-Identifier: MIT
#include <machine/timed/rows.hpp>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace machine::timed {

namespace {

double positive(const std::string& key, const std::string& value) {
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  if (value.empty() || *end != 0 || !(number > 0)) throw Fault(key + "=" + value + " is no number above 0");
  return number;
}

Row row_of(const std::string& text) {
  Row out;
  std::istringstream words(text);
  std::string word;
  if (!(words >> out.program >> out.setup.kernel)) throw Fault("a program and a kernel are wanted");
  while (words >> word) {
    const size_t equals = word.find('=');
    const std::string key = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (key == "ns")
      out.ns = positive(key, value);
    else if (key == "measured")
      out.measured = positive(key, value);
    else if (key == "within")
      out.within = positive(key, value);
    else
      out.setup.set(key, value);
  }
  return out;
}

}  // namespace

Rows::Rows(const std::string& path) : path_(path) {
  std::ifstream file(path);
  if (!file) throw Fault("cannot read " + path);
  for (std::string line; std::getline(file, line);) {
    lines_.push_back(line);
    const std::string text = line.substr(0, line.find('#'));
    if (text.find_first_not_of(" \t") == std::string::npos) continue;
    try {
      rows_.push_back(row_of(text));
    } catch (const Fault& fault) {
      throw Fault(path + ":" + std::to_string(lines_.size()) + ": " + fault.what());
    }
    rows_.back().line = lines_.size() - 1;
  }
}

void Rows::set_ns(const Row& row, double ns) {
  std::string& line = lines_[row.line];
  const std::string text = std::to_string(std::lround(ns));
  const size_t at = line.find(" ns=");
  if (at == std::string::npos) {
    line.insert(line.find_last_not_of(" \t", line.find('#') - 1) + 1, " ns=" + text);
    return;
  }
  const size_t end = line.find_first_of(" \t", at + 1);
  line.replace(at + 4, (end == std::string::npos ? line.size() : end) - at - 4, text);
}

void Rows::write() const {
  std::ofstream file(path_);
  for (const std::string& line : lines_) file << line << '\n';
  if (!file.flush()) throw Fault("cannot write " + path_);
}

}  // namespace machine::timed
