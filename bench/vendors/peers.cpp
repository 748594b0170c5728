// SPDX-License-Identifier: MIT
#include "vendors/peers.hpp"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <nlohmann/json.hpp>

namespace vendors {

namespace {

using Json = nlohmann::ordered_json;

/// A figure of a row, which may be null or missing.
struct Figure {
  const char* title;
  const char* member;
  const char* part;  ///< of the member; null: it is a number itself
  const char* format = "%.4g";
};
constexpr Figure figures[] = {{"instructions", "executed", "instructions"},
                              {"loads", "executed", "loads"},
                              {"stores", "executed", "stores"},
                              {"atomics", "executed", "atomics"},
                              {"fences", "executed", "write_backs"},
                              {"code bytes", "code_bytes", nullptr, "%.0f"},
                              {"registers", "registers", nullptr},
                              {"ns, 1 wave, predicted", "predicted_ns", "1", "%.0f"},
                              {"ns, 4 waves, predicted", "predicted_ns", "4", "%.0f"}};

std::string cell(const Json& row, const Figure& figure) {
  Json value = row.value(figure.member, Json());
  if (figure.part != nullptr) value = value.is_object() ? value.value(figure.part, Json()) : Json();
  if (!value.is_number()) return "-";
  char text[32];
  std::snprintf(text, sizeof text, figure.format, value.get<double>());
  return text;
}

}  // namespace

Json read_peers(const std::string& folder) {
  Json all = Json::object();
  for (const char* const target : {"sm_90", "gfx942"}) {
    const std::string path = folder + "/peers." + target + ".json";
    std::ifstream file(path);
    if (!file) continue;
    try {
      Json rows = Json::parse(file);
      for (const Json& row : rows)
        for (const char* const name : {"library", "device", "queue"}) row.at(name).get_ref<const std::string&>();
      all[target] = std::move(rows);
    } catch (const Json::exception& error) {
      throw std::runtime_error(path + ": not what tests/peers/peers.py writes: " + error.what());
    }
  }
  return all;
}

std::string peers_markdown(const Json& peers) {
  std::ostringstream text;
  text << "One write of each lane of a wave and its wait, in the code of this library and of others:\n\n"
       << "| target | library | device | queue |";
  for (const Figure& figure : figures) text << ' ' << figure.title << " |";
  text << "\n|---|---|---|---|";
  for (size_t i = 0; i < std::size(figures); ++i) text << "---:|";
  text << '\n';
  if (peers.empty()) text << "| not measured here |\n";
  for (const auto& [target, rows] : peers.items()) {
    for (const Json& row : rows) {
      text << "| " << target;
      for (const char* const name : {"library", "device", "queue"}) text << " | " << row.at(name).get<std::string>();
      text << " |";
      for (const Figure& figure : figures) text << ' ' << cell(row, figure) << " |";
      text << '\n';
    }
  }
  text
      << "\nExecuted on a model of the GPU against emulated NICs by tests/peers of this build; gfx942: by a wave of 64 "
         "lanes, sm_90: by a thread, on average. Predicted: on the model's clock, by latencies of one H200; good to "
         "rank "
         "code, not to promise times.\n";
  return text.str();
}

}  // namespace vendors
