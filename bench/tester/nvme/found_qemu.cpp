// SPDX-License-Identifier: MIT
#include "tester/nvme/found_qemu.hpp"

#include <chrono>
#include <cstdlib>
#include <set>

#include <xio/host/linux/child_process.hpp>

namespace tester {

namespace {

/// Version that a QEMU reports; empty if it does not start.
std::string qemu_version(const std::string& path) {
  try {
    xio::host::ChildCommand command;
    command.program = path;
    command.arguments = {"--version"};
    xio::host::ChildProcess process(command);
    if (!process.wait_end(std::chrono::seconds(5))) return "";
    const std::string said = process.summary();
    const std::string mark = "version ";
    const size_t at = said.find(mark);
    if (at == std::string::npos) return "";
    const size_t begin = at + mark.size();
    return said.substr(begin, said.find_first_not_of("0123456789.", begin) - begin);
  } catch (const xio::host::Error&) {
    return "";
  }
}

std::vector<std::string> qemu_candidates() {
  std::vector<std::string> names;
  if (const char* const chosen = std::getenv("XIO_QEMU"); chosen != nullptr && *chosen != '\0')
    names.emplace_back(chosen);
  names.emplace_back("qemu-system-x86_64");
  // Folder in which scripts/qemu10 unpacks a newer one.
  const char* const cache = std::getenv("XIO_CACHE");
  const char* const home = std::getenv("HOME");
  const std::string folder = cache != nullptr ? cache : std::string(home != nullptr ? home : "/root") + "/.cache/xio";
  names.push_back(folder + "/qemu10/qemu-system-x86_64");
  return names;
}

}  // namespace

std::vector<FoundQemu> find_qemus() {
  std::vector<FoundQemu> all;
  std::set<std::string> seen;
  for (const std::string& name : qemu_candidates()) {
    const std::string path = xio::host::find_program(name);
    if (path.empty() || !seen.insert(path).second) continue;
    const std::string version = qemu_version(path);
    if (!version.empty()) all.push_back({name, path, version});
  }
  return all;
}

}  // namespace tester
