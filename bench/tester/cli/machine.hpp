// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Description of the machine for reports.

#include <sys/utsname.h>
#include <time.h>
#include <fstream>
#include <string>

namespace tester {

struct Machine {
  std::string kernel;     ///< release
  std::string processor;  ///< model
  bool emulated = false;  ///< the processor is QEMU's translator: figures reflect emulated instructions, not hardware

  static Machine here();
  std::string text() const { return "Linux " + kernel + ", " + processor; }
};

inline Machine Machine::here() {
  Machine machine;
  utsname names{};
  if (::uname(&names) == 0) machine.kernel = names.release;
  machine.processor = "unknown processor";
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.compare(0, 10, "model name") != 0) continue;
    const size_t begin = line.find_first_not_of(" \t", line.find(':') + 1);
    if (begin != std::string::npos) machine.processor = line.substr(begin);
    break;
  }
  machine.emulated = machine.processor.find("QEMU TCG") != std::string::npos;
  return machine;
}

/// The current time in UTC, such as 2026-01-31 12:00.
inline std::string utc_date() {
  const time_t now = ::time(nullptr);
  tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  return {text, ::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts)};
}

}  // namespace tester
