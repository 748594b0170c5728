// SPDX-License-Identifier: MIT

#include "nvme.hpp"

namespace golden::nvme {

namespace {

struct Section {
  const char* name;
  void (*replay)(const Json& recorded);
};

constexpr Section sections[] = {
    {"sqe", replay_submission},
    {"cqe", replay_completion},
    {"passthru", replay_passthrough},
    {"spec_derived", replay_derived},
};

bool is_known(const std::string& key) {
  if (key == "vendor" || key == "sources" || key == "source" || key == "conventions" || key == "notes") return true;
  for (const Section& section : sections) {
    if (key == section.name) return true;
  }
  return false;
}

}  // namespace

void replay_file(const Json& file, Report& report) {
  for (const auto& [key, value] : file.items()) {
    if (!is_known(key)) throw UnknownForm("it has a part \"" + key + "\" that cannot be replayed");
  }
  for (const Section& section : sections) {
    const Json& cases = list_or_empty(file, section.name);
    if (!cases.is_array()) throw UnknownForm(std::string("\"") + section.name + "\" is not a list");
    for (const Json& recorded : cases) report.run(section.name, recorded, section.replay);
  }
}

}  // namespace golden::nvme
