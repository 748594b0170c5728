// SPDX-License-Identifier: MIT
#include "tester/doctor/checks.hpp"

#include <stdexcept>

#include <xio/host/linux/huge_page_limit.hpp>
#include <xio/host/topology/devices.hpp>

namespace tester::doctor {

namespace {

/// The words separated by commas; `none` for an empty list.
std::string joined(const std::vector<std::string>& words, const std::string& none) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text.empty() ? none : text;
}

std::string state_text(const Machine& machine, const std::string& module) {
  const std::string version = machine.module_version(module);
  switch (machine.module(module)) {
    case ModuleState::loaded: return module + (version.empty() ? " loaded" : " " + version);
    case ModuleState::available: return module + " not loaded";
    case ModuleState::absent: return module + " not in this kernel";
    default: return module + " not loaded";
  }
}

Fact huge_pages_fact(const Machine& machine) {
  std::string text;
  for (const auto& [folder, size] :
       {std::pair<const char*, const char*>{"hugepages-2048kB", "2 MiB"}, {"hugepages-1048576kB", "1 GiB"}}) {
    const std::string path = "/sys/kernel/mm/hugepages/" + std::string(folder);
    if (!machine.exists(path)) continue;
    text += (text.empty() ? "" : ", ") + machine.word(path + "/free_hugepages") + " of " +
            machine.word(path + "/nr_hugepages") + " of " + size + " free";
  }
  if (text.empty()) text = "none in this kernel";
  if (!machine.has_word("/proc/self/mounts", "hugetlbfs")) text += "; hugetlbfs is not mounted";
  if (const auto limit = xio::host::detail::huge_page_limit(*machine.calls(), size_t{2} << 20))
    text += "; this cgroup has " + left_text(*limit) + " left";
  return {"huge pages", text};
}

Fact registers_fact(const Machine& machine) {
  std::string text;
  const std::string config = "/boot/config-" + machine.kernel_release();
  if (machine.exists(config))
    text = machine.has_word(config, "CONFIG_IO_STRICT_DEVMEM=y") ? "kept by drivers (CONFIG_IO_STRICT_DEVMEM)"
                                                                 : "may be mapped beside their drivers";
  else
    text = "no " + config + " to tell";
  if (machine.has_word("/proc/cmdline", "iomem=relaxed")) text += "; booted with iomem=relaxed";
  // The current state is in brackets.
  for (const char* state : {"[integrity]", "[confidentiality]"})
    if (machine.has_word("/sys/kernel/security/lockdown", state)) text += std::string("; locked down ") + state;
  return {"registers", text};
}

Fact locked_memory_fact(const Machine& machine) {
  const std::optional<uint64_t> limit = machine.lockable_bytes();
  return {"locked memory", limit ? std::to_string(*limit >> 10) + " KiB" : "no limit"};
}

Fact gpu_fact(const Machine& machine) {
  std::vector<std::string> seen;
  for (const char* node : {"/dev/kfd", "/dev/nvidiactl", "/dev/nvidia-uvm"})
    if (machine.exists(node)) seen.emplace_back(node);
  for (const std::string& name : machine.names("/dev/dri"))
    if (name.compare(0, 7, "renderD") == 0) seen.push_back("/dev/dri/" + name);
  return {"GPU nodes", joined(seen, "none")};
}

Fact verbs_fact(const Machine& machine) {
  std::vector<std::string> seen;
  const xio::host::NumaNodes numa;
  for (const xio::host::MachineDevice& one : xio::host::machine_devices(machine.sysfs(), numa))
    for (const std::string& name : one.kind == xio::host::DeviceKind::nic ? one.names : std::vector<std::string>())
      seen.push_back(name + " (" + (one.driver.empty() ? "no driver" : one.driver) + ")");
  return {"verbs devices", joined(seen, "none")};
}

Fact drivers_fact(const Machine& machine) {
  std::vector<std::string> all;
  for (const char* module : {"nvme", "vfio-pci", "vfio_iommu_type1", "iommufd", "amdgpu", "nvidia", "mlx5_ib",
                             "bnxt_re", "ionic_rdma", "rdma_rxe"})
    all.push_back(state_text(machine, module));
  return {"drivers", joined(all, "")};
}

}  // namespace

std::vector<std::string> ModeReport::usable() const {
  std::vector<std::string> names;
  for (const DeviceReport& one : devices)
    if (one.obstacles.empty()) names.push_back(one.name);
  return names;
}

bool ModeReport::works() const { return obstacles.empty() && (!needs_device || !usable().empty()); }

ModeReport check_qemu(const Machine& machine) {
  ModeReport report{"qemu", {}, {}, true};
  for (const std::string& one : machine.qemus()) report.devices.push_back({one, {}, {}});
  if (report.devices.empty())
    report.obstacles.push_back({"no QEMU that starts (XIO_QEMU, qemu-system-x86_64)",
                                "apt-get install --no-install-recommends qemu-system-x86"});
  return report;
}

ModeReport check_emulated(const Machine&) { return {"emulated", {}, {}, false}; }

ModeReport check_mode(const Machine& machine, const std::string& mode) {
  if (mode == "vfio") return check_vfio(machine);
  if (mode == "kernel-shared") return check_kernel_shared(machine);
  if (mode == "qemu") return check_qemu(machine);
  if (mode == "emulated") return check_emulated(machine);
  if (mode == "rdma") return check_rdma(machine);
  if (mode == "rxe") return check_rxe(machine);
  if (mode == "fabrics") return check_fabrics(machine);
  if (mode == "gpu") return check_gpu(machine);
  throw std::logic_error("there is no mode " + mode);
}

std::vector<Fact> facts_of(const Machine& machine) {
  return {{"kernel", machine.kernel_release() + (machine.is_guest() ? ", in a virtual machine" : "")},
          iommu_fact(machine),
          huge_pages_fact(machine),
          registers_fact(machine),
          locked_memory_fact(machine),
          drivers_fact(machine),
          gpu_fact(machine),
          verbs_fact(machine)};
}

}  // namespace tester::doctor
