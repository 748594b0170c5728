// SPDX-License-Identifier: MIT
// Checks whether kernels can run on a GPU of this machine.
#include <cerrno>
#include <cstring>

#include <xio/host/topology/devices.hpp>

#include "tester/doctor/checks.hpp"

namespace tester::doctor {

namespace {

using xio::host::MachineDevice;

constexpr uint32_t amd = 0x1002;

/// Requirements of a vendor's GPUs.
struct Stack {
  const char* driver;
  std::vector<std::string> nodes;
  std::vector<std::string> libraries;
  const char* count;
  const char* install_driver;
  const char* install_library;
};

const Stack& stack_of(uint32_t vendor) {
  static const Stack hip = {"amdgpu",
                            {"/dev/kfd"},
                            {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"},
                            "hipGetDeviceCount",
                            "modprobe amdgpu",
                            "apt-get install --no-install-recommends libamdhip64-5, or ROCm's hip-runtime-amd"};
  static const Stack cuda = {
      "nvidia",          {"/dev/nvidiactl", "/dev/nvidia-uvm"},
      {"libcuda.so.1"},  "cuDeviceGetCount",
      "modprobe nvidia", "apt-get install --no-install-recommends libcuda1, of the driver's version"};
  return vendor == amd ? hip : cuda;
}

void check_gpu_node(const Machine& machine, const Stack& stack, const std::string& node,
                    std::vector<Obstacle>& obstacles) {
  const int error = machine.open_error(node);
  if (error == EACCES || error == EPERM)
    obstacles.push_back({node + " may not be opened by this user", "usermod -aG render,video $USER, and log in again"});
  else if (error != 0)
    obstacles.push_back({node + " cannot be opened: " + std::strerror(error), stack.install_driver});
}

DeviceReport check_one_gpu(const Machine& machine, const MachineDevice& gpu) {
  const Stack& stack = stack_of(gpu.vendor);
  DeviceReport report{gpu.address, {}, {}};
  if (gpu.driver != stack.driver) {
    report.obstacles.push_back(
        {gpu.driver.empty() ? "it has no driver" : "it is bound to the driver " + gpu.driver, stack.install_driver});
    return report;
  }
  for (const std::string& node : stack.nodes) check_gpu_node(machine, stack, node, report.obstacles);
  const std::string library = machine.loadable(stack.libraries);
  if (library.empty()) {
    report.obstacles.push_back({stack.libraries.front() + " cannot be loaded", stack.install_library});
    return report;
  }
  // A runtime without its device nodes may wait long for them.
  if (!report.obstacles.empty()) return report;
  const int visible = machine.visible_gpus(library, stack.count).value_or(0);
  if (visible == 0)
    report.obstacles.push_back({library + " sees no GPU", "dmesg | grep -i " + std::string(stack.driver) +
                                                              "; unset HIP_VISIBLE_DEVICES CUDA_VISIBLE_DEVICES"});
  else
    report.notes.push_back(library + " sees " + std::to_string(visible) + " GPUs in all");
  return report;
}

}  // namespace

ModeReport check_gpu(const Machine& machine) {
  ModeReport report{"gpu", {}, {}, true};
  const xio::host::NumaNodes numa;
  for (const MachineDevice& one : xio::host::machine_devices(machine.sysfs(), numa))
    if (one.kind == xio::host::DeviceKind::gpu) report.devices.push_back(check_one_gpu(machine, one));
  if (report.devices.empty())
    report.obstacles.push_back({"this machine has no GPU of AMD or NVIDIA", "install one; --executor host needs none"});
  return report;
}

}  // namespace tester::doctor
