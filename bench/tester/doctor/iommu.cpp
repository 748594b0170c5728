// SPDX-License-Identifier: MIT
#include "tester/doctor/checks.hpp"

#include <map>

namespace tester::doctor {

namespace {

constexpr const char* groups_folder = "/sys/kernel/iommu_groups";

}  // namespace

std::vector<std::string> iommu_groups(const Machine& machine) {
  std::vector<std::string> all;
  for (const std::string& number : machine.names(groups_folder))
    // A group that vfio created itself, without an IOMMU.
    if (machine.word(std::string(groups_folder) + "/" + number + "/name") != "vfio-noiommu") all.push_back(number);
  return all;
}

Obstacle no_iommu(const Machine& machine) {
  const std::string tables = "/sys/firmware/acpi/tables/";
  // Firmware tables that describe an Intel or AMD IOMMU.
  const bool intel = machine.exists(tables + "DMAR");
  if (intel || machine.exists(tables + "IVRS")) {
    const std::string parameter = intel ? "intel_iommu=on" : "amd_iommu=on";
    return {"the IOMMU is off: firmware describes one, and the kernel does not use it (" + parameter + ")",
            machine.boot_with(parameter)};
  }
  if (machine.is_guest())
    return {"this virtual machine has no IOMMU",
            "start it with one (QEMU: -machine q35,kernel-irqchip=split -device intel-iommu,intremap=on)"};
  return {"no IOMMU: firmware describes none", "switch VT-d (Intel) or AMD-Vi (AMD, \"IOMMU\") on in the firmware"};
}

bool interrupts_remapped(const Machine& machine) {
  bool plain = false;
  for (const std::string& line : machine.lines("/proc/interrupts")) {
    if (line.find(" IR-") != std::string::npos) return true;
    if (line.find(" IO-APIC") != std::string::npos) plain = true;
  }
  return !plain;
}

Fact iommu_fact(const Machine& machine) {
  const std::vector<std::string> groups = iommu_groups(machine);
  if (groups.empty()) return {"IOMMU", "none in use"};
  std::map<std::string, int> types;
  for (const std::string& number : groups) {
    const std::string type = machine.word(std::string(groups_folder) + "/" + number + "/type");
    ++types[type.empty() ? "unknown" : type];
  }
  std::string text = std::to_string(groups.size()) + (groups.size() == 1 ? " group: " : " groups: ");
  std::string separator;
  for (const auto& [type, count] : types) {
    const bool translates = type == "DMA" || type == "DMA-FQ";
    text.append(separator).append(std::to_string(count)).append(" ").append(type);
    if (translates) text += " (translating)";
    separator = ", ";
  }
  return {"IOMMU", text + (interrupts_remapped(machine) ? "" : "; interrupts are not remapped")};
}

}  // namespace tester::doctor
