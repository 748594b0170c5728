// SPDX-License-Identifier: MIT
#include <machine/timed/latencies.hpp>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include <machine/core/address_space.hpp>

namespace machine::timed {

namespace {

using Number = double Latencies::*;
using Points = Curve Latencies::*;
struct Name {
  const char* name;
  Number number;
  Points points;
};
constexpr Name names[] = {
    {"instruction", &Latencies::instruction, nullptr},
    {"branch", &Latencies::branch, nullptr},
    {"vote", &Latencies::vote, nullptr},
    {"block_barrier", &Latencies::block_barrier, nullptr},
    {"block_start", &Latencies::block_start, nullptr},
    {"invalidate", &Latencies::invalidate, nullptr},
    {"code_bytes", &Latencies::code_bytes, nullptr},
    {"code_line", &Latencies::code_line, nullptr},
    {"code_near", &Latencies::code_near, nullptr},
    {"code_near_miss", &Latencies::code_near_miss, nullptr},
    {"code_far", &Latencies::code_far, nullptr},
    {"code_far_miss", &Latencies::code_far_miss, nullptr},
    {"load_l1", &Latencies::load_l1, nullptr},
    {"load_near", &Latencies::load_near, nullptr},
    {"load_far", &Latencies::load_far, nullptr},
    {"atomic_near", &Latencies::atomic_near, nullptr},
    {"atomic_far", &Latencies::atomic_far, nullptr},
    {"word", &Latencies::word, nullptr},
    {"line", &Latencies::line, nullptr},
    {"load_sector", &Latencies::load_sector, nullptr},
    {"store_sector", &Latencies::store_sector, nullptr},
    {"far_line", &Latencies::far_line, nullptr},
    {"fence_block", &Latencies::fence_block, nullptr},
    {"fence_gpu", nullptr, &Latencies::fence_gpu},
    {"fence_gpu_near", nullptr, &Latencies::fence_gpu_near},
    {"fence_gpu_far", nullptr, &Latencies::fence_gpu_far},
    {"fence_system", nullptr, &Latencies::fence_system},
    {"fence_system_near", nullptr, &Latencies::fence_system_near},
    {"fence_system_far", nullptr, &Latencies::fence_system_far},
};

double number(const std::string& text, const std::string& where) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != 0 || value < 0) throw Fault(where + ": " + text + " is no number from 0");
  return value;
}

Curve curve(std::istringstream& words, const std::string& where) {
  Curve out;
  for (std::string word; words >> word;) {
    const size_t colon = word.find(':');
    if (colon == std::string::npos) throw Fault(where + ": " + word + " is not waves:value");
    const double waves = number(word.substr(0, colon), where);
    if (!out.points.empty() && out.points.back().first >= waves) throw Fault(where + ": waves in rising order");
    out.points.emplace_back(waves, number(word.substr(colon + 1), where));
  }
  if (out.points.empty()) throw Fault(where + ": no value");
  return out;
}

void assign(Latencies& to, const std::string& name, const std::string& values, const std::string& where) {
  for (const Name& one : names) {
    if (name != one.name) continue;
    std::istringstream words(values);
    if (one.points != nullptr) {
      to.*one.points = curve(words, where);
      return;
    }
    std::string word;
    std::string more;
    words >> word;
    if (words >> more) throw Fault(where + ": more than one value");
    to.*one.number = number(word, where);
    return;
  }
  throw Fault(where + ": there is no latency " + name);
}

}  // namespace

double Curve::at(double waves) const {
  if (waves <= points.front().first) return points.front().second;
  for (size_t k = 1; k < points.size(); ++k) {
    const auto& [from, low] = points[k - 1];
    const auto& [to, high] = points[k];
    if (waves <= to) return low + (high - low) * (waves - from) / (to - from);
  }
  return points.back().second;
}

Latencies Latencies::read(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Fault("cannot read " + path);
  Latencies out;
  std::set<std::string> seen;
  std::string line;
  for (uint32_t at = 1; std::getline(file, line); ++at) {
    const size_t comment = line.find('#');
    std::istringstream words(line.substr(0, comment));
    std::string name;
    std::string values;
    if (!(words >> name)) continue;
    const std::string where = path + ":" + std::to_string(at) + ": " + name;
    std::getline(words, values);
    if (!seen.insert(name).second) throw Fault(where + ": a second time");
    if (comment == std::string::npos || line.find_first_not_of(" \t", comment + 1) == std::string::npos)
      throw Fault(where + ": # and the source of the value are missing");
    assign(out, name, values, where);
  }
  for (const Name& one : names) {
    if (seen.count(one.name) == 0) throw Fault(path + ": " + one.name + " is missing");
  }
  return out;
}

void Latencies::set(const std::string& assignment) {
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos) throw Fault(assignment + " is not name=value");
  assign(*this, assignment.substr(0, equals), assignment.substr(equals + 1), assignment);
}

}  // namespace machine::timed
