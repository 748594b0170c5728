// SPDX-License-Identifier: MIT
// Modes that drive a verbs device: NICs and soft-RoCE.
#include <cerrno>
#include <cstring>

#include <xio/host/rdma/driver.hpp>
#include <xio/host/topology/devices.hpp>

#include "tester/doctor/checks.hpp"

namespace tester::doctor {

namespace {

using xio::host::DeviceKind;
using xio::host::MachineDevice;

constexpr const char* verbs_library = "libibverbs.so.1";

/// A family of NICs whose formats the library supports.
struct Family {
  const char* provider;
  const char* driver;                  ///< driver of the PCI function
  uint32_t vendor;                     ///< PCI vendor
  const char* verbs_module;            ///< module that creates the verbs devices
  std::vector<std::string> libraries;  ///< direct verbs libraries
};

const std::vector<Family>& families() {
  static const std::vector<Family> all = {{"mlx5", "mlx5_core", 0x15b3, "mlx5_ib", {"libmlx5.so.1"}},
                                          {"bnxt", "bnxt_en", 0x14e4, "bnxt_re", {"libbnxt_re.so.1", "libbnxt_re.so"}},
                                          {"ionic", "ionic", 0x1dd8, "ionic_rdma", {"libionic.so.1", "libionic.so"}}};
  return all;
}

std::string class_folder(const std::string& device) { return "/sys/class/infiniband/" + device; }

void check_library(const Machine& machine, std::vector<Obstacle>& obstacles) {
  if (machine.loadable({verbs_library}).empty())
    obstacles.push_back({std::string(verbs_library) + " cannot be loaded",
                         "apt-get install --no-install-recommends libibverbs1 ibverbs-providers"});
}

/// An interface for soft-RoCE, preferably one that is up; loopback only if there is no other.
std::string interface_for_rxe(const Machine& machine) {
  std::string chosen;
  for (const std::string& name : machine.names("/sys/class/net")) {
    if (name == "lo") continue;
    if (machine.word("/sys/class/net/" + name + "/operstate") == "up") return name;
    if (chosen.empty()) chosen = name;
  }
  return chosen.empty() ? "lo" : chosen;
}

void check_port(const Machine& machine, const MachineDevice& device, std::vector<Obstacle>& obstacles) {
  const std::string name = device.names.front();
  if (machine.word(class_folder(name) + "/ports/1/state") == "4:") return;
  const std::string net = device.nets.empty() ? "NETDEV" : device.nets.front();
  obstacles.push_back({"its port is down", "ip link set " + net + " up"});
}

/// The command that creates a soft-RoCE device.
std::string add_rxe(const std::string& name, const std::string& net) {
  return std::string(net == "lo" ? "ip link set lo up && " : "") + "rdma link add " + name + " type rxe netdev " + net;
}

/// Checks that the device has an address for connections. The link-local address of a loopback interface is unusable.
void check_address(const Machine& machine, const MachineDevice& device, std::vector<Obstacle>& obstacles) {
  const std::string folder = class_folder(device.names.front()) + "/ports/1/gids/";
  const std::string net = device.nets.empty() ? "NETDEV" : device.nets.front();
  const std::string link_local = "fe80:";
  const std::string nothing = "0000:0000:0000:0000:0000:0000:0000:0000";
  for (const std::string& entry : machine.names(folder)) {
    const std::string gid = machine.word(folder + entry);
    if (gid.empty() || gid == nothing) continue;
    if (net != "lo" || gid.compare(0, link_local.size(), link_local) != 0) return;
  }
  const std::string name = device.names.front();
  // The driver reads a loopback interface's addresses only when the device is created.
  obstacles.push_back({"it has no address", net == "lo" ? "rdma link delete " + name + " && " + add_rxe(name, "lo")
                                                        : "ip address add 10.9.0.1/24 dev " + net});
}

/// Checks the node through which user space accesses a verbs device.
void check_node(const Machine& machine, const std::string& device, std::vector<Obstacle>& obstacles) {
  for (const std::string& one : machine.names("/sys/class/infiniband_verbs")) {
    if (machine.word("/sys/class/infiniband_verbs/" + one + "/ibdev") != device) continue;
    const std::string node = "/dev/infiniband/" + one;
    const int error = machine.open_error(node);
    if (error == EACCES || error == EPERM)
      obstacles.push_back({node + " may not be opened by this user", "chmod 0666 " + node});
    else if (error != 0)
      obstacles.push_back({node + " cannot be opened: " + std::strerror(error), "modprobe ib_uverbs"});
    return;
  }
  obstacles.push_back({"it has no node for user space", "modprobe ib_uverbs"});
}

DeviceReport check_verbs_device(const Machine& machine, const MachineDevice& device) {
  DeviceReport report{device.names.front(), {}, {}};
  check_port(machine, device, report.obstacles);
  if (report.obstacles.empty()) check_address(machine, device, report.obstacles);
  check_node(machine, device.names.front(), report.obstacles);
  return report;
}

std::vector<MachineDevice> nics(const Machine& machine) {
  std::vector<MachineDevice> all;
  const xio::host::NumaNodes numa;
  for (MachineDevice& one : xio::host::machine_devices(machine.sysfs(), numa))
    if (one.kind == DeviceKind::nic) all.push_back(std::move(one));
  return all;
}

/// Report on a NIC of a family, and why it has no verbs device if that is so.
DeviceReport check_nic(const Machine& machine, const Family& family, const MachineDevice& device) {
  if (device.names.empty()) {
    DeviceReport report{device.address, {}, {}};
    const bool driven = device.driver == family.driver;
    report.obstacles.push_back(
        {driven ? "it has no verbs device" : "it is not bound to the driver " + std::string(family.driver),
         std::string("modprobe ") + (driven ? family.verbs_module : family.driver)});
    return report;
  }
  DeviceReport report = check_verbs_device(machine, device);
  const std::string library = machine.loadable(family.libraries);
  if (library.empty())
    report.obstacles.push_back(
        {family.libraries.front() + " cannot be loaded (direct verbs of " + family.provider + ")",
         std::string("apt-get install --no-install-recommends ibverbs-providers, or the "
                     "vendor's packages")});
  report.notes.push_back("queue pairs by the library (adopt); xio-tester rdma-ep drives soft-RoCE alone");
  return report;
}

}  // namespace

ModeReport check_rdma(const Machine& machine) {
  ModeReport report{"rdma", {}, {}, true};
  check_library(machine, report.obstacles);
  for (const MachineDevice& device : nics(machine))
    for (const Family& family : families())
      if (device.vendor == family.vendor) report.devices.push_back(check_nic(machine, family, device));
  if (report.devices.empty())
    report.obstacles.push_back(
        {"this machine has no NIC whose formats are known (mlx5, bnxt, ionic)", "install one; soft-RoCE needs none"});
  return report;
}

ModeReport check_rxe(const Machine& machine) {
  ModeReport report{"rxe", {}, {}, true};
  check_library(machine, report.obstacles);
  const bool provider =
      machine.exists("/etc/libibverbs.d/rxe.driver") || machine.exists("/usr/etc/libibverbs.d/rxe.driver");
  if (!provider && report.obstacles.empty())
    report.obstacles.push_back(
        {"libibverbs has no provider for soft-RoCE", "apt-get install --no-install-recommends ibverbs-providers"});
  for (const MachineDevice& device : nics(machine))
    if (device.driver == "rdma_rxe") report.devices.push_back(check_verbs_device(machine, device));
  if (!report.devices.empty()) return report;
  const std::string add = add_rxe("rxe0", interface_for_rxe(machine));
  switch (machine.module("rdma_rxe")) {
    case ModuleState::absent:
      report.obstacles.push_back(
          {"the kernel has no module rdma_rxe", "boot a kernel of your distribution that is not for clouds"});
      break;
    case ModuleState::loaded: report.obstacles.push_back({"there is no soft-RoCE device", add}); break;
    default: report.obstacles.push_back({"there is no soft-RoCE device", "modprobe rdma_rxe && " + add}); break;
  }
  return report;
}

ModeReport check_fabrics(const Machine& machine) {
  // Queues are soft-RoCE's.
  ModeReport report = check_rxe(machine);
  report.mode = "fabrics";
  if (machine.loadable({"librdmacm.so.1"}).empty())
    report.obstacles.push_back(
        {"librdmacm.so.1 cannot be loaded", "apt-get install --no-install-recommends librdmacm1"});
  const std::string node = "/dev/infiniband/rdma_cm";
  const int error = machine.open_error(node);
  if (error == EACCES || error == EPERM)
    report.obstacles.push_back({node + " may not be opened by this user", "chmod 0666 " + node});
  else if (error != 0)
    report.obstacles.push_back({node + " cannot be opened: " + std::strerror(error), "modprobe rdma_ucm"});
  return report;
}

}  // namespace tester::doctor
