// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>
#include <vector>

#include <nlohmann/json.hpp>
#include <xio/host/linux/kernel_calls.hpp>
#include <xio/host/linux/pci.hpp>
#include <xio/host/nvme/kernel_controller.hpp>

#include "tester/cli/errors.hpp"
#include "tester/cli/examples.hpp"
#include "tester/cli/flags.hpp"
#include "tester/cli/installed.hpp"
#include "tester/cli/nearest.hpp"
#include "tester/nvme/found_qemu.hpp"
#include "tester/nvme/info.hpp"
#include "tester/report/json_report.hpp"

namespace tester {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

Json entry(const std::string& controller, const std::string& description, bool offered) {
  return {{"controller", controller}, {"description", description}, {"offered", offered}};
}

void add_qemus(Json& found) {
  const std::vector<FoundQemu> qemus = find_qemus();
  for (const FoundQemu& one : qemus) {
    const std::string spec = one.name == "qemu-system-x86_64" ? "qemu" : "qemu:binary=" + one.path;
    found.push_back(entry(spec, "NVMe controller of QEMU " + one.version + " (" + one.path + ")", true));
  }
  if (qemus.empty()) found.push_back(entry("qemu", "no QEMU found: install qemu-system-x86 or set XIO_QEMU", false));
}

/// Names in a folder that begin with `start` and a digit; none if the folder cannot be read.
std::vector<std::string> names_in(const std::string& folder, const std::string& start) {
  std::set<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& one : fs::directory_iterator(folder, error)) {
    const std::string name = one.path().filename().string();
    if (name.compare(0, start.size(), start) == 0 && name.find_first_of("0123456789") == start.size())
      names.insert(name);
  }
  return {names.begin(), names.end()};
}

void add_hardware(Json& found) {
  xio::host::KernelCalls calls;
  for (const std::string& name : names_in("/dev", "nvme")) {
    const std::string controller = find_kernel_nvme(calls, "/dev/" + name).controller;
    if (controller.empty()) continue;  // a partition
    const std::string transport = xio::host::KernelController(controller, calls.sysfs()).transport();
    const bool offered = transport == "pcie";
    found.push_back(entry("/dev/" + name,
                          offered ? "of the kernel's driver, to be shared with it; see docs/kernel-shared.md"
                                  : "of the kernel's driver, reached by " +
                                        (transport.empty() ? "nothing" : transport) + ": cannot be shared with it",
                          offered));
  }
  for (const xio::host::PciFunction& pci : xio::host::pci_functions("/sys")) {
    if (pci.class_code() != xio::host::PciFunction::nvme_class) continue;
    const std::string driver = pci.driver();
    const bool offered = driver == "vfio-pci" && !pci.iommu_group().empty();
    const std::string owner = driver.empty() ? "no driver" : "the driver " + driver;
    found.push_back(entry("vfio:" + pci.address(),
                          offered ? "NVMe controller, IOMMU group " + pci.iommu_group()
                                  : "NVMe controller of " + owner + "; see " + xio_bind() + " status",
                          offered));
  }
}

}  // namespace

CLI::App* add_list_command(CLI::App& app, ListOptions& options) {
  CLI::App* const command =
      app.add_subcommand("list", "lists the controllers, GPUs and NICs of this machine, and how far apart they are");
  add_examples(command, {{"what --controller can be given on this machine", "xio-tester list"},
                         {"the same for a program", "xio-tester list --json -"}});
  add_json(*command, options.json);
  return command;
}

int run_list(const ListOptions& options) {
  check_json_file(options.json);
  Json json = json_header("list");
  Json found = Json::array();
  found.push_back(entry("emulated", "NVMe controller in this process, not a drive", true));
  add_qemus(found);
  add_hardware(found);
  json["controllers"] = found;
  add_places(json, xio::host::Topology());
  if (options.json != "-") {
    size_t width = 0;
    for (const Json& one : json["controllers"]) width = std::max(width, one["controller"].get<std::string>().size());
    for (const Json& one : json["controllers"]) {
      const std::string name = one["controller"];
      std::printf("%-*s  %s\n", static_cast<int>(width), name.c_str(), one["description"].get<std::string>().c_str());
    }
    print_places(json);
  }
  write_json_file(options.json, json);
  return exit_ok;
}

}  // namespace tester
