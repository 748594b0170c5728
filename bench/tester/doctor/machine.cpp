// SPDX-License-Identifier: MIT
#include "tester/doctor/machine.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <xio/host/linux/pci.hpp>
#include <xio/host/text.hpp>

namespace tester::doctor {

namespace {

/// File names of modules contain hyphens or underscores; sysfs folders contain underscores.
std::string with_underscores(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

/// "kernel/drivers/vfio/pci/vfio-pci.ko.xz: ..." is a line of vfio_pci.
bool is_module_line(const std::string& line, const std::string& name) {
  const std::string path = line.substr(0, line.find(':'));
  const std::string file = path.substr(path.rfind('/') + 1);
  return with_underscores(file.substr(0, file.find('.'))) == name;
}

}  // namespace

bool Machine::exists(const std::string& of) const {
  std::error_code error;
  return std::filesystem::exists(path(of), error);
}

std::string Machine::word(const std::string& of) const { return xio::host::detail::first_word(path(of)); }

std::vector<std::string> Machine::lines(const std::string& of) const {
  std::vector<std::string> all;
  std::ifstream file(path(of));
  for (std::string line; std::getline(file, line);) all.push_back(line);
  return all;
}

std::vector<std::string> Machine::names(const std::string& folder) const {
  return xio::host::detail::names_in(path(folder));
}

bool Machine::has_word(const std::string& of, const std::string& wanted) const {
  std::ifstream file(path(of));
  for (std::string one; file >> one;)
    if (one == wanted) return true;
  return false;
}

bool Machine::has(Capability capability) const {
  for (const std::string& line : lines("/proc/self/status")) {
    std::istringstream words(line);
    std::string name, mask;
    words >> name >> mask;
    if (name != "CapEff:") continue;
    const uint64_t effective = xio::host::parse_number("0x" + mask).value_or(0);
    return (effective >> static_cast<uint32_t>(capability) & 1) != 0;
  }
  return false;
}

std::optional<uint64_t> Machine::lockable_bytes() const {
  if (has(Capability::lock_memory)) return std::nullopt;
  const std::string title = "Max locked memory";
  for (const std::string& line : lines("/proc/self/limits")) {
    if (line.compare(0, title.size(), title) != 0) continue;
    std::istringstream words(line.substr(title.size()));
    std::string limit;
    words >> limit;
    return xio::host::parse_number(limit);
  }
  return std::nullopt;
}

ModuleState Machine::module(const std::string& name) const {
  const std::string wanted = with_underscores(name);
  if (exists("/sys/module/" + wanted)) return ModuleState::loaded;
  const std::string folder = "/lib/modules/" + kernel_release();
  if (!exists(folder + "/modules.dep")) return ModuleState::unknown;
  for (const std::string& line : lines(folder + "/modules.builtin"))
    if (is_module_line(line, wanted)) return ModuleState::loaded;
  for (const std::string& line : lines(folder + "/modules.dep"))
    if (is_module_line(line, wanted)) return ModuleState::available;
  return ModuleState::absent;
}

std::string Machine::module_version(const std::string& name) const {
  return word("/sys/module/" + with_underscores(name) + "/version");
}

std::string Machine::boot_with(const std::string& parameter) const {
  if (exists("/etc/default/grub"))
    return "sed -i 's/^GRUB_CMDLINE_LINUX=\"/&" + parameter + " /' /etc/default/grub && update-grub && reboot";
  if (exists("/usr/sbin/grubby")) return "grubby --update-kernel=ALL --args=" + parameter + " && reboot";
  return "boot with " + parameter + " added to the kernel's command line";
}

}  // namespace tester::doctor
