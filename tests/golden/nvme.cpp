// SPDX-License-Identifier: MIT

#include "nvme.hpp"

#include <algorithm>
#include <iterator>

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

bool is_section(const std::string& key) {
  return std::any_of(std::begin(sections), std::end(sections),
                     [&](const Section& section) { return key == section.name; });
}

}  // namespace

void replay_file(const Json& file, Report& report) {
  for (const auto& [key, value] : file.items()) {
    // What is not a list explains the file; a list holds cases, and none is to be dropped silently.
    if (value.is_array() && !is_section(key)) {
      throw UnknownForm("it has a part \"" + key + "\" that cannot be replayed");
    }
  }
  for (const Section& section : sections) {
    const Json& cases = list_or_empty(file, section.name);
    if (!cases.is_array()) throw UnknownForm(std::string("\"") + section.name + "\" is not a list");
    for (const Json& recorded : cases) report.run(section.name, recorded, section.replay);
  }
  if (report.passed() + report.failed() + report.skipped() == 0) throw UnknownForm("it holds no cases");
}

}  // namespace golden::nvme
