// SPDX-License-Identifier: MIT
#include "tester/doctor/nvme_use.hpp"

#include <filesystem>
#include <sstream>

namespace tester::doctor {

namespace {

/// "nvme0n1" of that and of "nvme0c2n1", which is one of several paths to it; empty for what is no namespace.
std::string namespace_of(const std::string& entry) {
  const size_t n = entry.rfind('n');
  if (entry.compare(0, 4, "nvme") != 0 || n < 5 || n + 1 == entry.size()) return {};
  if (entry.find_first_not_of("0123456789", n + 1) != std::string::npos) return {};
  return entry.substr(0, std::min(entry.find('c', 4), n)) + entry.substr(n);
}

/// Block devices of a controller, partitions included.
std::vector<std::string> blocks_of(const Machine& machine, const std::string& address) {
  std::vector<std::string> all;
  const std::string folder = "/sys/bus/pci/devices/" + address + "/nvme/";
  for (const std::string& controller : machine.names(folder)) {
    for (const std::string& entry : machine.names(folder + controller)) {
      const std::string name = namespace_of(entry);
      if (name.empty() || !machine.exists("/sys/class/block/" + name)) continue;
      all.push_back(name);
      for (const std::string& part : machine.names("/sys/class/block/" + name))
        if (part.compare(0, name.size() + 1, name + "p") == 0) all.push_back(part);
    }
  }
  return all;
}

/// Whether `node`, as a file of the kernel names it, is block device `name` or leads there.
bool is_node(const Machine& machine, const std::string& node, const std::string& name) {
  if (node == "/dev/" + name) return true;
  if (node.compare(0, 5, "/dev/") != 0) return false;
  std::error_code error;
  return std::filesystem::canonical(machine.path(node), error).filename().string() == name;
}

Use use_of_block(const std::string& name, const char* how, const std::string& by, const std::string& end) {
  Use use{name, end};
  use.what.append(how).append(by);
  return use;
}

void add_mounts(const Machine& machine, const std::string& name, std::vector<Use>& uses) {
  const std::string number = machine.word("/sys/class/block/" + name + "/dev");
  for (const std::string& line : machine.lines("/proc/self/mountinfo")) {
    // id, parent, major:minor, root, place, options ... - type, source. btrfs has numbers of its own.
    std::istringstream words(line);
    std::string id, parent, device, root, place, word, type, source;
    words >> id >> parent >> device >> root >> place;
    while (words >> word && word != "-") continue;
    words >> type >> source;
    if ((!number.empty() && device == number) || is_node(machine, source, name))
      uses.push_back(use_of_block(name, " is mounted on ", place, "umount " + place));
  }
}

}  // namespace

std::vector<Use> uses_of(const Machine& machine, const std::string& address) {
  std::vector<Use> uses;
  for (const std::string& name : blocks_of(machine, address)) {
    add_mounts(machine, name, uses);
    for (const std::string& line : machine.lines("/proc/swaps"))
      if (is_node(machine, line.substr(0, line.find_first_of(" \t")), name))
        uses.push_back(use_of_block(name, " is swap", "", "swapoff /dev/" + name));
    for (const std::string& holder : machine.names("/sys/class/block/" + name + "/holders"))
      uses.push_back(
          use_of_block(name, " is part of ", holder,
                       (holder.compare(0, 2, "md") == 0 ? "mdadm --stop /dev/" : "dmsetup remove /dev/") + holder));
  }
  return uses;
}

}  // namespace tester::doctor
