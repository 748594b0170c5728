// SPDX-License-Identifier: MIT
// xio-tester doctor on machines made of files.

#include "tester/doctor/checks.hpp"

#include <cerrno>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "catch.hpp"
#include "tester/doctor/doorbells.hpp"
#include "unit/fake_gpu/support.hpp"
#include "unit/host_fake_vfio.hpp"
#include "unit/played_machine.hpp"

namespace {

using host_tests::drive;
using host_tests::GoodMachine;
using host_tests::MachineTree;
using host_tests::PlayedMachine;
using tester::doctor::check_mode;
using tester::doctor::DeviceReport;
using tester::doctor::DoorbellView;
using tester::doctor::DoorbellWay;
using tester::doctor::gpu_for_doorbells;
using tester::doctor::Machine;
using tester::doctor::ModeReport;
using tester::doctor::ModuleState;
using tester::doctor::Obstacle;
using tester::doctor::view_doorbells;

/// All of a mode, a line each: "-: what" and "device: what".
std::vector<std::string> obstacles(const Machine& machine, const std::string& mode) {
  const ModeReport report = check_mode(machine, mode);
  std::vector<std::string> all;
  for (const Obstacle& one : report.obstacles) all.push_back("-: " + one.what);
  for (const DeviceReport& device : report.devices)
    for (const Obstacle& one : device.obstacles) all.push_back(device.name + ": " + one.what);
  return all;
}

/// The command for the only obstacle that begins so.
std::string fix(const Machine& machine, const std::string& mode, const std::string& what) {
  const ModeReport report = check_mode(machine, mode);
  std::vector<std::string> all;
  const auto look = [&](const std::vector<Obstacle>& some) {
    for (const Obstacle& one : some) {
      CHECK_FALSE(one.fix.empty());
      if (one.what.compare(0, what.size(), what) == 0) all.push_back(one.fix);
    }
  };
  look(report.obstacles);
  for (const DeviceReport& device : report.devices) look(device.obstacles);
  return all.size() == 1 ? all.front() : std::to_string(all.size()) + " obstacles begin with: " + what;
}

using Lines = std::vector<std::string>;

TEST_CASE("a machine on which all modes work") {
  const GoodMachine tree;
  const PlayedMachine machine(tree);
  for (const std::string& mode : tester::doctor::all_modes) {
    INFO(mode);
    CHECK(check_mode(machine, mode).works());
  }
  CHECK(check_mode(machine, "vfio").usable() == Lines{"vfio:0000:00:05.0"});
  CHECK(check_mode(machine, "kernel-shared").usable() == Lines{"/dev/nvme0"});
  CHECK(check_mode(machine, "kernel-shared").devices.front().notes ==
        Lines{"4 spare queues: 8 queue pairs, 4 of them the kernel's"});
  CHECK(check_mode(machine, "rdma").usable() == Lines{"mlx5_0"});
  CHECK(check_mode(machine, "rxe").usable() == Lines{"rxe0"});
  CHECK(check_mode(machine, "fabrics").usable() == Lines{"rxe0"});
  CHECK(obstacles(machine, "vfio") == Lines{"vfio:0000:00:04.0: it is bound to the driver nvme"});
  CHECK(fix(machine, "vfio", "it is bound to the driver nvme") == "scripts/xio-bind bind 0000:00:04.0 --apply");
  CHECK(obstacles(machine, "kernel-shared") == Lines{"0000:00:05.0: it is bound to the driver vfio-pci"});
}

TEST_CASE("no machine at all: the model still works") {
  const MachineTree tree;
  PlayedMachine machine(tree);
  machine.programs.clear();
  machine.libraries.clear();
  for (const std::string& mode : tester::doctor::all_modes) {
    INFO(mode);
    const ModeReport report = check_mode(machine, mode);
    CHECK(report.works() == (mode == "emulated"));
    CHECK(report.obstacles.empty() == (mode == "emulated"));
  }
}

TEST_CASE("IOMMU: missing, off, of a guest, without interrupts") {
  GoodMachine tree;
  PlayedMachine machine(tree);
  tree.remove("sys/kernel/iommu_groups");
  tree.remove("sys/devices/pci0000:00/0000:00:04.0/iommu_group");
  tree.remove("sys/devices/pci0000:00/0000:00:05.0/iommu_group");
  CHECK(obstacles(machine, "vfio") ==
        Lines{"-: no IOMMU: firmware describes none", "vfio:0000:00:04.0: it is bound to the driver nvme"});
  CHECK(check_mode(machine, "kernel-shared").works());
  // A group of vfio's own, with nothing behind it.
  tree.write("sys/kernel/iommu_groups/0/name", "vfio-noiommu");
  CHECK(obstacles(machine, "vfio").front() == "-: no IOMMU: firmware describes none");
  tree.write("proc/cpuinfo", "flags : fpu hypervisor");
  CHECK(obstacles(machine, "vfio").front() == "-: this virtual machine has no IOMMU");
  tree.write("sys/firmware/acpi/tables/IVRS", "");
  CHECK(fix(machine, "vfio", "the IOMMU is off") ==
        "sed -i 's/^GRUB_CMDLINE_LINUX=\"/&amd_iommu=on /' /etc/default/grub && update-grub && reboot");
  tree.write("sys/firmware/acpi/tables/DMAR", "");
  tree.remove("etc/default/grub");
  CHECK(fix(machine, "vfio", "the IOMMU is off") == "boot with intel_iommu=on added to the kernel's command line");
  tree.write("usr/sbin/grubby", "");
  CHECK(fix(machine, "vfio", "the IOMMU is off") == "grubby --update-kernel=ALL --args=intel_iommu=on && reboot");

  const GoodMachine other;
  other.write("proc/interrupts", "  1:  0  IO-APIC  1-edge  i8042");
  CHECK(obstacles(PlayedMachine(other), "vfio").front() == "-: interrupts are not remapped");
  other.write("sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts", "Y");
  CHECK(check_mode(PlayedMachine(other), "vfio").works());
}

TEST_CASE("vfio: modules, locked memory, nodes, groups") {
  GoodMachine tree;
  PlayedMachine machine(tree);
  tree.remove("sys/module/vfio_iommu_type1");
  CHECK(fix(machine, "vfio", "the module vfio_iommu_type1 is not loaded") == "modprobe vfio_iommu_type1");
  const std::string modules = "lib/modules/6.1.0-56-amd64/";
  tree.write(modules + "modules.dep", "kernel/drivers/vfio/vfio_iommu_type1.ko.xz: kernel/drivers/vfio/vfio.ko");
  CHECK(machine.module("vfio_iommu_type1") == ModuleState::available);
  CHECK(machine.module("vfio") == ModuleState::absent);
  tree.write(modules + "modules.builtin", "kernel/drivers/vfio/vfio-iommu-type1.ko");
  CHECK(check_mode(machine, "vfio").works());
  tree.write(modules + "modules.builtin", "");
  tree.write(modules + "modules.dep", "");
  CHECK(obstacles(machine, "vfio").front() == "-: the kernel has no module vfio_iommu_type1");
  tree.folder("sys/module/vfio_iommu_type1");

  // Everything but the right to lock memory, which is bit 14.
  tree.capabilities("000001ffffffbfff");
  CHECK(obstacles(machine, "vfio").front() ==
        "-: this user may lock 8192 KiB of memory; a controller's is 65536 KiB (dma=)");
  tree.write("proc/self/limits", "Max locked memory         unlimited            unlimited            bytes");
  CHECK(check_mode(machine, "vfio").works());

  machine.open_errors = {{"/dev/vfio/5", EACCES}};
  CHECK(fix(machine, "vfio", "/dev/vfio/5 may not be opened").find("scripts/xio-bind udev 0000:00:05.0") == 0);
  machine.open_errors = {{"/dev/vfio/5", EBUSY}};
  CHECK(obstacles(machine, "vfio").back() == "vfio:0000:00:05.0: /dev/vfio/5 is in use by another process");
  CHECK_FALSE(check_mode(machine, "vfio").works());
  // A kernel that has character devices alone.
  tree.remove("dev/vfio/5");
  tree.folder("sys/devices/pci0000:00/0000:00:05.0/vfio-dev/vfio3");
  CHECK(check_mode(machine, "vfio").works());
  machine.open_errors = {{"/dev/vfio/devices/vfio3", ENOENT}};
  CHECK_FALSE(check_mode(machine, "vfio").works());
  machine.open_errors.clear();

  tree.function("pci0000:00/0000:00:05.1", "0x020000", "0x8086", "e1000e");
  tree.iommu_group("0000:00:05.1", "5");
  tree.bridge("pci0000:00/0000:00:05.2");
  tree.iommu_group("0000:00:05.2", "5");
  CHECK(obstacles(machine, "vfio").back() ==
        "vfio:0000:00:05.0: IOMMU group 5 is not viable: 0000:00:05.1 of it is bound to the driver e1000e");
  CHECK_FALSE(check_mode(machine, "vfio").works());
  tree.function("pci0000:00/0000:00:05.1", "0x010802", "0x8086", "nvme");
  CHECK(fix(machine, "vfio", "IOMMU group 5 is not viable") == "scripts/xio-bind bind 0000:00:05.1 --apply");
  tree.remove("sys/devices/pci0000:00/0000:00:05.1/driver");
  CHECK(check_mode(machine, "vfio").works());

  tree.write("sys/kernel/iommu_groups/5/name", "vfio-noiommu");
  CHECK(obstacles(machine, "vfio")[1].find("vfio:0000:00:05.0: no IOMMU is behind it") == 0);
}

TEST_CASE("kernel-shared: every refusal") {
  GoodMachine tree;
  PlayedMachine machine(tree);
  const auto only = [&machine](const std::string& what) {
    const Lines wanted = {what, "0000:00:05.0: it is bound to the driver vfio-pci"};
    CHECK(obstacles(machine, "kernel-shared") == wanted);
    CHECK_FALSE(check_mode(machine, "kernel-shared").works());
  };
  tree.write("sys/kernel/iommu_groups/4/type", "DMA");
  only("/dev/nvme0: its IOMMU domain translates (DMA)");
  CHECK(fix(machine, "kernel-shared", "its IOMMU domain").find("iommu=pt") != std::string::npos);
  CHECK(fix(machine, "kernel-shared", "its IOMMU domain").find("use vfio: scripts/xio-bind bind 0000:00:04.0") !=
        std::string::npos);
  tree.write("sys/kernel/iommu_groups/4/type", "identity");

  machine.mapping = EINVAL;
  only("/dev/nvme0: the kernel does not let its registers be mapped (CONFIG_IO_STRICT_DEVMEM)");
  machine.mapping = EPERM;
  only("/dev/nvme0: the kernel is locked down: no registers are mapped");
  machine.mapping = ENODEV;
  only("/dev/nvme0: its registers cannot be mapped: No such device");
  machine.mapping = 0;
  machine.configuration = 0x460000;
  only("/dev/nvme0: the kernel has not enabled it");
  machine.configuration = 0x470001;
  only("/dev/nvme0: the kernel runs it with entries of 128 and 16 bytes; only 64 and 16 are supported");
  machine.configuration = ~0u;
  only("/dev/nvme0: it is gone: its registers read as all ones");
  machine.configuration = 0x460001;

  machine.commands = 0x100;
  only("/dev/nvme0: the kernel has switched its shadow doorbells on (Doorbell Buffer Config)");
  machine.commands = std::nullopt;
  CHECK(check_mode(machine, "kernel-shared").works());
  CHECK(check_mode(machine, "kernel-shared").devices.front().notes.back() ==
        "not known: Identify failed: invalid field in command (status 0x002, do not retry)");
  machine.commands = 0;

  machine.granted = 4;
  only("/dev/nvme0: no spare queue on this controller: 4 queue pairs, 4 of them the kernel's");
  machine.granted = 3;
  only("/dev/nvme0: no spare queue on this controller: 3 queue pairs, 4 of them the kernel's");
  machine.granted = 5;
  CHECK(check_mode(machine, "kernel-shared").works());
  machine.granted = std::nullopt;
  CHECK(check_mode(machine, "kernel-shared").devices.front().notes ==
        Lines{"not known: Get Features failed: invalid field in command (status 0x002, do not retry)"});
  machine.granted = 8;

  tree.write("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "0");
  only("-: no huge page of 2 MiB is free");
  tree.write("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "1");
  tree.write("proc/self/mounts", "proc /proc proc rw 0 0");
  only("-: no hugetlbfs is mounted");
  tree.write("proc/self/mounts", "none /mnt/huge hugetlbfs rw,pagesize=1024M 0 0");
  only("-: no hugetlbfs is mounted");
  tree.write("proc/self/mounts", "none /mnt/huge hugetlbfs rw 0 0");
  tree.owned_folder("mnt/huge", 01777);
  only("-: no hugetlbfs is root's alone: /mnt/huge may be written to by others (mode 1777)");
  tree.owned_folder("mnt/huge");
  // A container's limit.
  tree.write("proc/self/cgroup", "0::/pod");
  tree.write("proc/self/mountinfo", "30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw");
  tree.write("sys/fs/cgroup/pod/hugetlb.2MB.max", "4194304");
  tree.write("sys/fs/cgroup/pod/hugetlb.2MB.current", "2097152");
  only("-: this cgroup has 2 of 4 MiB of huge pages left; a controller's are 16 MiB (dma=)");
  CHECK(fix(machine, "kernel-shared", "this cgroup has").find("/sys/fs/cgroup/pod/hugetlb.2MB.max (Kubernetes: ") !=
        std::string::npos);
  CHECK(facts_of(machine)[2].text == "1 of 16 of 2 MiB free; this cgroup has 2 of 4 MiB of huge pages left");
  tree.remove("sys/fs/cgroup/pod/hugetlb.2MB.max");

  const std::string own = "sys/devices/" + std::string(drive) + "/nvme/nvme0/";
  tree.write(own + "transport", "apple-nvme");
  only("/dev/nvme0: it is reached by apple-nvme; only controllers on PCI Express can be shared");
  tree.write(own + "transport", "pcie");
  // A fabric's controller is no PCI function.
  const std::string fabric = "sys/devices/virtual/nvme-fabrics/ctl/nvme7";
  tree.write(fabric + "/transport", "tcp");
  tree.link("sys/class/nvme/nvme7", fabric);
  CHECK(obstacles(machine, "kernel-shared").back() ==
        "/dev/nvme7: it is reached by tcp; only controllers on PCI Express can be shared");
  CHECK(check_mode(machine, "kernel-shared").works());
  tree.remove("sys/class/nvme/nvme7");
  tree.write(own + "state", "dead");
  only("/dev/nvme0: it is gone (state 'dead')");
  tree.write(own + "state", "live");

  // Everything but bit 21; what only root may ask is not asked.
  tree.capabilities("000001ffffdfffff");
  machine.mapping = EACCES;
  machine.commands = 0x100;
  only("-: not root; only root may map registers and see physical addresses");
}

TEST_CASE("drives that are in use") {
  GoodMachine tree;
  PlayedMachine machine(tree);
  const std::string begin = "22 1 0:21 / /proc rw - proc proc rw\n";
  const auto of_drive = [&machine](const std::string& mode) {
    Lines all;
    for (const std::string& one : obstacles(machine, mode))
      if (one.find("in use") != std::string::npos) all.push_back(one);
    return all;
  };
  tree.write("proc/self/mountinfo", begin + "24 22 259:1 / /home rw,relatime shared:1 - ext4 /dev/root rw");
  CHECK(of_drive("kernel-shared") == Lines{"/dev/nvme0: in use: nvme0n1p1 is mounted on /home"});
  CHECK(of_drive("vfio") == Lines{"vfio:0000:00:04.0: in use: nvme0n1p1 is mounted on /home"});
  CHECK(fix(machine, "vfio", "in use") == "umount /home");
  CHECK(fix(machine, "vfio", "it is bound to the driver nvme") == "then: scripts/xio-bind bind 0000:00:04.0 --apply");
  tree.write("proc/self/mountinfo", begin + "24 22 0:33 / /data rw - btrfs /dev/nvme0n1 rw");
  CHECK(of_drive("kernel-shared") == Lines{"/dev/nvme0: in use: nvme0n1 is mounted on /data"});
  tree.write("proc/self/mountinfo", begin + "24 22 259:7 / /other rw - ext4 /dev/nvme1n1 rw");
  CHECK(of_drive("kernel-shared").empty());
  tree.write("dev/nvme0n1", "");
  tree.link("dev/disk/by-id/nvme-x", "dev/nvme0n1");
  tree.write("proc/swaps", "Filename Type Size Used Priority\n/dev/disk/by-id/nvme-x partition 1 0 -2");
  CHECK(fix(machine, "kernel-shared", "in use: nvme0n1 is swap") == "swapoff /dev/nvme0n1");
  tree.write("proc/swaps", "");
  tree.folder("sys/class/block/nvme0n1p1/holders/dm-3");
  CHECK(of_drive("vfio") == Lines{"vfio:0000:00:04.0: in use: nvme0n1p1 is part of dm-3"});
  CHECK(fix(machine, "vfio", "in use") == "dmsetup remove /dev/dm-3");
  tree.remove("sys/class/block/nvme0n1p1/holders/dm-3");
  machine.claim_errors = {{"/dev/nvme0n1p1", EBUSY}};
  CHECK(of_drive("vfio") == Lines{"vfio:0000:00:04.0: in use: nvme0n1p1 is held by something"});
  machine.claim_errors = {{"/dev/nvme0n1", EPERM}};
  const std::string unseen =
      "may be in use: /dev/nvme0n1 cannot be opened to see whether nvme0n1 is used: Operation not permitted";
  CHECK(check_mode(machine, "kernel-shared").usable().empty());
  CHECK(of_drive("kernel-shared") == Lines{"/dev/nvme0: " + unseen});
  CHECK(of_drive("vfio") == Lines{"vfio:0000:00:04.0: " + unseen});
  CHECK(fix(machine, "kernel-shared", "may be in use") == "give this process /dev/nvme0n1, as a container's --device");
  machine.claim_errors.clear();
  // One of several paths to the namespace.
  tree.remove("sys/devices/" + std::string(drive) + "/nvme/nvme0/nvme0n1");
  tree.folder("sys/devices/" + std::string(drive) + "/nvme/nvme0/nvme0c3n1");
  tree.write("proc/self/mountinfo", "24 22 259:0 / /srv rw - xfs /dev/nvme0n1 rw");
  CHECK(of_drive("vfio") == Lines{"vfio:0000:00:04.0: in use: nvme0n1 is mounted on /srv"});
}

TEST_CASE("fabrics: soft-RoCE, and its connections") {
  const GoodMachine tree;
  PlayedMachine machine(tree);
  machine.open_errors = {{"/dev/infiniband/rdma_cm", ENOENT}};
  CHECK(obstacles(machine, "fabrics").front().find("-: /dev/infiniband/rdma_cm cannot be opened: ") == 0);
  CHECK(fix(machine, "fabrics", "/dev/infiniband/rdma_cm") == "modprobe rdma_ucm");
  CHECK(check_mode(machine, "rxe").works());
  machine.open_errors = {{"/dev/infiniband/rdma_cm", EACCES}};
  CHECK(fix(machine, "fabrics", "/dev/infiniband/rdma_cm") == "chmod 0666 /dev/infiniband/rdma_cm");
  machine.open_errors.clear();
  machine.libraries = {"libibverbs.so.1"};
  CHECK(obstacles(machine, "fabrics") == Lines{"-: librdmacm.so.1 cannot be loaded"});
  tree.remove("sys/class/infiniband/rxe0");
  CHECK_FALSE(check_mode(machine, "fabrics").works());
  CHECK(fix(machine, "fabrics", "there is no soft-RoCE device") == "rdma link add rxe0 type rxe netdev ens6");
}

TEST_CASE("verbs devices and soft-RoCE") {
  GoodMachine tree;
  PlayedMachine machine(tree);
  tree.write("sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN");
  CHECK(obstacles(machine, "rdma") == Lines{"mlx5_0: its port is down"});
  CHECK(fix(machine, "rdma", "its port") == "ip link set ens6 up");
  tree.write("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE");
  machine.open_errors = {{"/dev/infiniband/uverbs0", EACCES}, {"/dev/infiniband/uverbs1", ENOENT}};
  CHECK(obstacles(machine, "rdma") == Lines{"mlx5_0: /dev/infiniband/uverbs0 may not be opened by this user"});
  CHECK(fix(machine, "rxe", "/dev/infiniband/uverbs1 cannot be opened") == "modprobe ib_uverbs");
  machine.open_errors.clear();
  machine.libraries = {"libibverbs.so.1"};
  CHECK(obstacles(machine, "rdma") == Lines{"mlx5_0: libmlx5.so.1 cannot be loaded (direct verbs of mlx5)"});
  machine.libraries.clear();
  CHECK(obstacles(machine, "rxe") == Lines{"-: libibverbs.so.1 cannot be loaded"});
  machine.libraries = {"libibverbs.so.1"};
  tree.remove("etc/libibverbs.d/rxe.driver");
  CHECK(obstacles(machine, "rxe") == Lines{"-: libibverbs has no provider for soft-RoCE"});
  tree.write("etc/libibverbs.d/rxe.driver", "driver rxe");

  tree.write("sys/class/infiniband/rxe0/ports/1/gids/0", "fe80:0000:0000:0000:0200:00ff:fe00:0000");
  tree.write("sys/class/infiniband/rxe0/ports/1/gids/1", "0000:0000:0000:0000:0000:0000:0000:0000");
  CHECK(obstacles(machine, "rxe") == Lines{"rxe0: it has no address"});
  CHECK(fix(machine, "rxe", "it has no address") ==
        "rdma link delete rxe0 && ip link set lo up && rdma link add rxe0 type rxe netdev lo");
  tree.write("sys/devices/virtual/infiniband/rxe0/parent", "veth0");
  CHECK(check_mode(machine, "rxe").works());

  tree.remove("sys/class/infiniband/rxe0");
  CHECK(fix(machine, "rxe", "there is no soft-RoCE device") == "rdma link add rxe0 type rxe netdev ens6");
  tree.remove("sys/module/rdma_rxe");
  tree.write("sys/class/net/wlan0/operstate", "up");
  CHECK(fix(machine, "rxe", "there is no soft-RoCE device") ==
        "modprobe rdma_rxe && rdma link add rxe0 type rxe netdev wlan0");
  tree.write("lib/modules/6.1.0-56-amd64/modules.dep", "");
  CHECK(obstacles(machine, "rxe") == Lines{"-: the kernel has no module rdma_rxe"});

  // A NIC without verbs, and one without a driver.
  tree.remove("sys/devices/pci0000:00/0000:00:06.0/infiniband");
  CHECK(fix(machine, "rdma", "it has no verbs device") == "modprobe mlx5_ib");
  tree.function("pci0000:00/0000:00:06.0", "0x020000", "0x14e4");
  tree.remove("sys/devices/pci0000:00/0000:00:06.0/driver");
  CHECK(fix(machine, "rdma", "it is not bound to the driver bnxt_en") == "modprobe bnxt_en");
}

TEST_CASE("GPUs") {
  GoodMachine tree;
  PlayedMachine machine(tree);
  machine.gpus = 0;
  CHECK(obstacles(machine, "gpu") == Lines{"0000:00:07.0: libamdhip64.so.6 sees no GPU"});
  machine.open_errors = {{"/dev/kfd", EACCES}};
  machine.libraries.clear();
  CHECK(obstacles(machine, "gpu") == Lines{"0000:00:07.0: /dev/kfd may not be opened by this user",
                                           "0000:00:07.0: libamdhip64.so.7 cannot be loaded"});
  tree.function("pci0000:00/0000:00:07.0", "0x030200", "0x10de", "nouveau");
  CHECK(fix(machine, "gpu", "it is bound to the driver nouveau") == "modprobe nvidia");
  tree.function("pci0000:00/0000:00:07.0", "0x030200", "0x10de", "nvidia");
  machine.libraries = {"libcuda.so.1"};
  machine.open_errors = {{"/dev/nvidia-uvm", ENOENT}};
  CHECK(obstacles(machine, "gpu") ==
        Lines{"0000:00:07.0: /dev/nvidia-uvm cannot be opened: No such file or directory"});
  machine.open_errors.clear();
  machine.gpus = 2;
  CHECK(check_mode(machine, "gpu").devices.front().notes == Lines{"libcuda.so.1 sees 2 GPUs in all"});
}

/// A line for each way, and the hint.
Lines text_of(const DoorbellView& view) {
  Lines all = {view.executor};
  for (const DoorbellWay& one : view.ways) all.push_back(one.state + " " + one.name + ": " + one.outcome);
  all.push_back(view.hint);
  return all;
}

TEST_CASE("doorbells without a GPU, and with nothing to try them on") {
  const MachineTree none;
  const xio::host::FoundGpu missing = gpu_for_doorbells(PlayedMachine(none));
  CHECK_FALSE(missing.runtime);
  const Lines without = text_of(view_doorbells(missing, nullptr));
  const std::string why = "not now: this machine has no GPU of AMD or NVIDIA";
  CHECK(without == Lines{"no GPU",
                         "would be tried host register, I/O memory: hipHostRegister or cudaHostRegister; " + why,
                         "would be tried hsa_amd_memory_lock_to_pool: AMD GPUs; " + why,
                         "is left host proxy: a thread of the host forwards doorbells from host memory",
                         "without a GPU kernels run on the CPU, with its own mapping of the registers"});

  // A GPU that something keeps from working is not asked for.
  const GoodMachine tree;
  PlayedMachine machine(tree);
  machine.open_errors = {{"/dev/kfd", EACCES}};
  CHECK(gpu_for_doorbells(machine).why_none == "/dev/kfd may not be opened by this user");

  const fake_gpu::Machine runtime;
  const Lines idle = text_of(view_doorbells({runtime.hip(), {}}, nullptr));
  CHECK(idle.front() == "HIP 7.2, GPU 0 at 0000:c1:00.0 (fake)");
  CHECK(idle[1].find("would be tried host register, I/O memory") == 0);
  CHECK(idle.back().find("--probe vfio:BDF") != std::string::npos);
  CHECK(runtime.log().empty());
}

TEST_CASE("doorbells are tried on an idle drive") {
  const fake_gpu::Machine runtime;
  runtime->distance = 0x10000;
  runtime->pool_distance = 0x10000;
  xio::host::VfioOptions options = xio::host::parse_vfio_spec("vfio:04:00.0");
  options.dma_bytes = 1 << 20;
  xio::host::VfioNvme probed(options, std::make_shared<host_tests::FakeVfio>());
  const auto ways = [&](const std::shared_ptr<xio::host::GpuRuntime>& gpu) {
    Lines all = text_of(view_doorbells({gpu, {}}, &probed));
    CHECK(all.back().empty());
    return Lines(all.begin() + 1, all.end() - 1);
  };
  CHECK(ways(runtime.hip()) == Lines{"used host register, I/O memory: a store by the GPU arrived at the device"});
  CHECK(ways(runtime.cuda()) == Lines{"used host register, I/O memory: a store by the GPU arrived at the device"});
  runtime->register_io_error = 801;
  CHECK(ways(runtime.hip()) == Lines{"refused host register, I/O memory: hipHostRegister: some error",
                                     "used hsa_amd_memory_lock_to_pool: a store by the GPU arrived at the device"});
  runtime->lock_error = 4096;
  const std::string proxy = "used host proxy: a thread of this process forwards doorbells from host memory";
  CHECK(ways(runtime.hip()).back() == proxy);
  CHECK(ways(runtime.cuda()).back() == proxy);
  // Nothing of it is left at the drive.
  CHECK(probed.read32(xio::nvme::reg::aqa) == 0);
  // One that works is not touched.
  probed.write32(xio::nvme::reg::cc, 1);
  CHECK_THROWS_AS(view_doorbells({runtime.hip(), {}}, &probed), xio::host::Error);
}

TEST_CASE("facts, and real system calls where there is nothing") {
  const GoodMachine tree;
  const PlayedMachine machine(tree);
  std::map<std::string, std::string> facts;
  for (const tester::doctor::Fact& one : facts_of(machine)) facts[one.title] = one.text;
  CHECK(facts["kernel"] == "6.1.0-56-amd64");
  CHECK(facts["IOMMU"] == "2 groups: 2 identity");
  CHECK(facts["huge pages"] == "16 of 16 of 2 MiB free");
  CHECK(facts["locked memory"] == "no limit");
  CHECK(facts["verbs devices"] == "mlx5_0 (mlx5_core), rxe0 (rdma_rxe)");
  tree.write("sys/module/nvme/version", "1.0");
  CHECK(facts_of(machine)[5].text.find("nvme 1.0, vfio-pci loaded") == 0);
  tree.write("boot/config-6.1.0-56-amd64", "CONFIG_IO_STRICT_DEVMEM=y");
  tree.write("proc/cmdline", "quiet iomem=relaxed");
  CHECK(facts_of(machine)[3].text == "kept by drivers (CONFIG_IO_STRICT_DEVMEM); booted with iomem=relaxed");

  const Machine real("/nonexistent");
  CHECK(real.open_error("/dev/vfio/5") == ENOENT);
  CHECK(real.calls()->open("/dev/nvme0") == -1);
  CHECK(real.calls()->open_exclusive("/dev/nvme0n1") == -1);
  CHECK_FALSE(real.calls()->exists("/dev/null"));
  CHECK(real.calls()->resolve("/dev/null").empty());
  CHECK(Machine().calls()->resolve("/dev/../dev/null") == "/dev/null");
  CHECK(real.loadable({"libnothing-of-this-name.so"}).empty());
  CHECK(real.loadable({"libnothing-of-this-name.so", "libc.so.6"}) == "libc.so.6");
  CHECK_FALSE(real.visible_gpus("libnothing-of-this-name.so", "count"));
  CHECK(real.visible_gpus("libc.so.6", "no_such_function") == 0);
}

}  // namespace
