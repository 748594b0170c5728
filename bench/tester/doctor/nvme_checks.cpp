// SPDX-License-Identifier: MIT
// Modes that drive an NVMe controller of this machine: vfio and kernel-shared.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include <xio/host/linux/pci.hpp>
#include <xio/host/nvme/kernel_controller.hpp>
#include <xio/host/nvme/kernel_shared_inspection.hpp>
#include <xio/host/nvme/kernel_use.hpp>
#include <xio/host/nvme/vfio_options.hpp>

#include "tester/cli/installed.hpp"
#include "tester/doctor/checks.hpp"

namespace tester::doctor {

namespace {

using xio::host::KernelController;
using xio::host::PciFunction;

std::vector<PciFunction> controllers(const Machine& machine) {
  std::vector<PciFunction> all;
  for (const PciFunction& one : xio::host::pci_functions(machine.sysfs()))
    if (one.class_code() == PciFunction::nvme_class) all.push_back(one);
  return all;
}

Obstacle no_controller() {
  return {"this machine has no NVMe controller on PCI Express", "install one; --controller qemu needs none"};
}

std::string bind_command(const std::string& address) { return xio_bind() + " bind " + address + " --apply"; }

std::string owner_of(const PciFunction& pci) {
  const std::string driver = pci.driver();
  return driver.empty() ? "it has no driver" : "it is bound to the driver " + driver;
}

/// Adds the uses of the controller's block devices as obstacles; returns whether there are any.
bool add_uses(const Machine& machine, const PciFunction& pci, std::vector<Obstacle>& obstacles) {
  const size_t before = obstacles.size();
  const auto calls = machine.calls();
  for (const std::string& name : pci.names_in("nvme"))
    for (const xio::host::BlockUse& use : uses_of(*calls, KernelController(name, calls->sysfs())))
      obstacles.push_back({(use.known ? "in use: " : "may be in use: ") + use.what, use.end});
  return obstacles.size() != before;
}

void check_modules(const Machine& machine, std::vector<Obstacle>& obstacles) {
  for (const char* name : {"vfio-pci", "vfio_iommu_type1"}) {
    const ModuleState state = machine.module(name);
    if (state == ModuleState::absent)
      obstacles.push_back({"the kernel has no module " + std::string(name), "boot a kernel of your distribution"});
    else if (state != ModuleState::loaded)
      obstacles.push_back({"the module " + std::string(name) + " is not loaded", "modprobe " + std::string(name)});
  }
}

void check_lockable(const Machine& machine, std::vector<Obstacle>& obstacles) {
  const std::optional<uint64_t> limit = machine.lockable_bytes();
  const uint64_t wanted = xio::host::VfioOptions().dma_bytes;
  if (limit && *limit < wanted)
    obstacles.push_back({"this user may lock " + std::to_string(*limit >> 10) + " KiB of memory; a controller's is " +
                             std::to_string(wanted >> 10) + " KiB (dma=)",
                         "echo '* - memlock 1048576' > /etc/security/limits.d/xio.conf, and log in again"});
}

void check_group(const PciFunction& pci, std::vector<Obstacle>& obstacles) {
  for (const std::string& address : pci.iommu_group_members()) {
    const PciFunction other = pci.sibling(address);
    const std::string driver = other.driver();
    if (address == pci.address() || driver.empty() || driver == "vfio-pci" || driver == "pci-stub" ||
        driver == "pcieport")
      continue;
    const bool nvme = other.class_code() == PciFunction::nvme_class;
    std::string what = "IOMMU group " + pci.iommu_group() + " is not viable: ";
    what.append(address).append(" of it is bound to the driver ").append(driver);
    std::string other_way = "driverctl set-override ";
    other_way.append(address).append(" vfio-pci, if nothing uses it; or another slot");
    obstacles.push_back({what, nvme ? bind_command(address) : other_way});
  }
}

void check_vfio_node(const Machine& machine, const PciFunction& pci, std::vector<Obstacle>& obstacles) {
  std::string node = "/dev/vfio/" + pci.iommu_group();
  if (!machine.exists(node) && !pci.vfio_device().empty()) node = "/dev/vfio/devices/" + pci.vfio_device();
  const int error = machine.open_error(node);
  if (error == EACCES || error == EPERM)
    obstacles.push_back({node + " may not be opened by this user",
                         xio_bind() + " udev " + pci.address() +
                             " > /etc/udev/rules.d/70-xio.rules && udevadm control --reload && udevadm trigger "
                             "--subsystem-match=vfio --subsystem-match=vfio-dev --subsystem-match=misc"});
  else if (error == EBUSY)
    obstacles.push_back({node + " is in use by another process", "fuser -v " + node + ", and end that"});
  else if (error != 0)
    obstacles.push_back({node + " cannot be opened: " + std::strerror(error), "modprobe vfio-pci"});
}

DeviceReport check_vfio_device(const Machine& machine, const PciFunction& pci, bool has_iommu) {
  DeviceReport report{"vfio:" + pci.address(), {}, {}};
  const std::string driver = pci.driver();
  if (has_iommu && pci.iommu_group_name() == "vfio-noiommu")
    report.obstacles.push_back(
        {"no IOMMU is behind it (enable_unsafe_noiommu_mode)",
         "echo N > /sys/module/vfio/parameters/enable_unsafe_noiommu_mode, and put it where the IOMMU is"});
  else if (has_iommu && pci.iommu_group().empty())
    report.obstacles.push_back({"it is in no IOMMU group", "another slot"});
  if (driver != "vfio-pci") {
    const bool in_use = add_uses(machine, pci, report.obstacles);
    report.obstacles.push_back({owner_of(pci), (in_use ? "then: " : "") + bind_command(pci.address())});
  } else if (has_iommu) {
    check_vfio_node(machine, pci, report.obstacles);
  }
  if (has_iommu) check_group(pci, report.obstacles);
  return report;
}

}  // namespace

ModeReport check_vfio(const Machine& machine) {
  ModeReport report{"vfio", {}, {}, true};
  const bool has_iommu = !iommu_groups(machine).empty();
  if (!has_iommu) report.obstacles.push_back(no_iommu(machine));
  if (has_iommu && !interrupts_remapped(machine) &&
      machine.word("/sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts") != "Y")
    report.obstacles.push_back({"interrupts are not remapped", machine.boot_with("intremap=on")});
  check_modules(machine, report.obstacles);
  check_lockable(machine, report.obstacles);
  for (const PciFunction& pci : controllers(machine))
    report.devices.push_back(check_vfio_device(machine, pci, has_iommu));
  if (report.devices.empty()) report.obstacles.push_back(no_controller());
  return report;
}

namespace {

/// Adds the findings as obstacles, with this machine's command for kernel parameters.
void add_found(const Machine& machine, const xio::host::ListSharingFindings& found, std::vector<Obstacle>& obstacles) {
  for (const xio::host::SharingObstacle& one : found.obstacles) {
    const bool boots = !one.boot_parameter.empty();
    obstacles.push_back({one.what, boots ? machine.boot_with(one.boot_parameter) + "; or " + one.fix : one.fix});
  }
}

DeviceReport check_shared_device(const Machine& machine, const PciFunction& pci, bool root) {
  const std::vector<std::string> names = pci.names_in("nvme");
  DeviceReport report{names.empty() ? pci.address() : "/dev/" + names.front(), {}, {}};
  const std::string driver = pci.driver();
  if (driver != "nvme" || names.empty()) {
    report.obstacles.push_back(
        {owner_of(pci), driver == "vfio-pci" ? xio_bind() + " unbind " + pci.address() + " --apply" : "modprobe nvme"});
    return report;
  }
  const auto calls = machine.calls();
  const KernelController controller(names.front(), calls->sysfs());
  xio::host::KernelSharedOptions options;
  options.path = report.name;
  options.passthrough = xio::host::Passthrough::ioctl;
  xio::host::ListSharingFindings found;
  if (root) {
    const auto spare = inspect_sharing(calls, controller, options, std::chrono::seconds(2), found);
    if (spare && spare->count() != 0)
      report.notes.push_back(std::to_string(spare->count()) +
                             " spare queues: " + xio::host::detail::queues_text(*spare));
  } else {
    inspect_from_outside(*calls, controller, options, found);
  }
  for (const std::string& why : found.questions) report.notes.push_back("not known: " + why);
  add_found(machine, found, report.obstacles);
  return report;
}

/// Adds controllers of the driver that are not PCI functions.
void add_fabrics(const Machine& machine, std::vector<DeviceReport>& devices) {
  const auto calls = machine.calls();
  for (const std::string& name : xio::host::detail::names_in(calls->sysfs() + "/class/nvme")) {
    const KernelController controller(name, calls->sysfs());
    const std::string node = "/dev/" + name;
    const auto same = [&node](const DeviceReport& one) { return one.name == node; };
    if (controller.transport() == "pcie" || std::any_of(devices.begin(), devices.end(), same)) continue;
    xio::host::ListSharingFindings found;
    xio::host::detail::check_transport(controller, found);
    devices.push_back({node, {}, {}});
    add_found(machine, found, devices.back().obstacles);
  }
}

}  // namespace

ModeReport check_kernel_shared(const Machine& machine) {
  ModeReport report{"kernel-shared", {}, {}, true};
  const bool root = machine.has(Capability::administrate);
  if (!root)
    report.obstacles.push_back({"not root; only root may map registers and see physical addresses",
                                "sudo xio-tester doctor --mode kernel-shared, which can then see more"});
  xio::host::ListSharingFindings found;
  inspect_huge_pages(*machine.calls(), found);
  add_found(machine, found, report.obstacles);
  for (const PciFunction& pci : controllers(machine)) report.devices.push_back(check_shared_device(machine, pci, root));
  if (report.devices.empty()) report.obstacles.push_back(no_controller());
  add_fabrics(machine, report.devices);
  return report;
}

}  // namespace tester::doctor
