// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A machine made of files for doctor, on which everything works; and what only system calls answer.

#include <linux/nvme_ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tester/doctor/machine.hpp"
#include "unit/machine_tree.hpp"

namespace host_tests {

/// What only system calls answer is what the test says.
class PlayedMachine final : public tester::doctor::Machine {
 public:
  explicit PlayedMachine(const MachineTree& tree) : Machine(root_of(tree)), root_(root_of(tree)) {}

  int open_error(const std::string& node) const override {
    const auto found = open_errors.find(node);
    return found == open_errors.end() ? 0 : found->second;
  }
  std::shared_ptr<xio::host::KernelCalls> calls() const override { return std::make_shared<Calls>(*this); }
  std::string loadable(const std::vector<std::string>& names) const override {
    for (const std::string& one : names)
      for (const std::string& there : libraries)
        if (one == there) return one;
    return {};
  }
  std::optional<int> visible_gpus(const std::string&, const std::string&) const override { return gpus; }
  std::vector<std::string> qemus() const override { return programs; }

  std::map<std::string, int> open_errors;
  std::map<std::string, int> claim_errors;
  int mapping = 0;                    ///< errno of mapping registers
  uint32_t configuration = 0x460001;  ///< register CC: enabled, with entries of 64 and 16 bytes
  std::optional<uint32_t> granted = 8;
  std::optional<uint32_t> commands = 0;
  std::vector<std::string> libraries = {"libibverbs.so.1", "librdmacm.so.1", "libmlx5.so.1", "libamdhip64.so.6"};
  std::optional<int> gpus = 1;
  std::vector<std::string> programs = {"/usr/bin/qemu-system-x86_64 7.2"};

 private:
  /// Nodes and registers of drives are memory of ours; admin commands are answered.
  class Calls final : public tester::doctor::MachineCalls {
   public:
    explicit Calls(const PlayedMachine& machine) : MachineCalls(machine.root_), machine_(machine) {}

    int open(const std::string& path) override {
      const auto found = machine_.open_errors.find(path);
      if (found != machine_.open_errors.end()) return refuse(found->second);
      const int fd = ::memfd_create("node", MFD_CLOEXEC);
      // Register CC of those that are BARs.
      if (::ftruncate(fd, 16384) != 0 || ::pwrite(fd, &machine_.configuration, 4, 0x14) != 4) return refuse(ENOSPC);
      return fd;
    }
    int open_exclusive(const std::string& path) override {
      const auto found = machine_.claim_errors.find(path);
      return found != machine_.claim_errors.end() ? refuse(found->second) : MachineCalls::open_exclusive(path);
    }
    bool is_block_device(int, const std::string&) override { return true; }
    void* map(int fd, size_t bytes) override {
      if (machine_.mapping == 0) return MachineCalls::map(fd, bytes);
      errno = machine_.mapping;
      return MAP_FAILED;
    }
    int ioctl(int, unsigned long, uintptr_t argument) override {
      auto& command = *reinterpret_cast<nvme_passthru_cmd*>(argument);
      const bool identify = command.opcode == 0x06;
      const std::optional<uint32_t> answer = identify ? machine_.commands : machine_.granted;
      if (!answer) return 0x4002;  // invalid field, do not retry
      if (identify)
        std::memcpy(reinterpret_cast<uint8_t*>(static_cast<uintptr_t>(command.addr)) + 256, &*answer, 2);
      else
        command.result = (*answer - 1) | (*answer - 1) << 16;
      return 0;
    }

   private:
    static int refuse(int error) {
      errno = error;
      return -1;
    }
    const PlayedMachine& machine_;
  };

  static std::string root_of(const MachineTree& tree) { return tree.path("").substr(0, tree.path("").size() - 1); }

  std::string root_;
};

constexpr const char* drive = "pci0000:00/0000:00:04.0";

/// A machine on which everything works: an IOMMU in the identity domain, a drive of the kernel's and one of vfio's, a
/// NIC, a soft-RoCE device and a GPU.
struct GoodMachine : MachineTree {
  GoodMachine() {
    write("proc/sys/kernel/osrelease", "6.1.0-56-amd64");
    write("proc/self/status", "Name: x\nCapEff:\t000001ffffffffff");
    write("proc/self/limits",
          "Limit                     Soft Limit           Hard Limit           Units\n"
          "Max locked memory         8388608              8388608              bytes");
    write("proc/meminfo", "Hugepagesize:       2048 kB");
    write("proc/self/mounts", "hugetlbfs /dev/hugepages hugetlbfs rw 0 0");
    for (const char* own : {"dev/hugepages", "mnt/huge"}) owned_folder(own);
    write("proc/interrupts", "  0:  0  IO-APIC  2-edge  timer\n  1:  0  IR-IO-APIC  1-edge  i8042");
    write("proc/cpuinfo", "flags : fpu vme");
    write("etc/default/grub", "GRUB_CMDLINE_LINUX=\"\"");
    write("etc/libibverbs.d/rxe.driver", "driver rxe");
    for (const char* name : {"vfio_pci", "vfio_iommu_type1", "rdma_rxe", "nvme"})
      folder("sys/module/" + std::string(name));
    write("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "16");
    write("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "16");
    nvme(drive, "nvme0");
    write("sys/devices/" + std::string(drive) + "/nvme/nvme0/queue_count", "5");
    write("sys/devices/" + std::string(drive) + "/nvme/nvme0/transport", "pcie");
    write("sys/devices/" + std::string(drive) + "/nvme/nvme0/state", "live");
    folder("sys/devices/" + std::string(drive) + "/nvme/nvme0/nvme0n1");
    write("sys/class/block/nvme0n1/dev", "259:0");
    write("sys/class/block/nvme0n1/nvme0n1p1/dev", "259:1");
    write("sys/class/block/nvme0n1p1/dev", "259:1");
    for (const char* node : {"dev/nvme0n1", "dev/nvme0n1p1"}) write(node, "");
    iommu_group("0000:00:04.0", "4", "identity");
    function("pci0000:00/0000:00:05.0", "0x010802", "0x144d", "vfio-pci");
    iommu_group("0000:00:05.0", "5", "identity");
    write("dev/vfio/5", "");
    nic("pci0000:00/0000:00:06.0", "mlx5_0", "ens6");
    add_verbs("mlx5_0", "uverbs0", "0000:0000:0000:0000:0000:ffff:0a09:0001");
    folder("sys/devices/virtual/infiniband/rxe0");
    link("sys/class/infiniband/rxe0", "sys/devices/virtual/infiniband/rxe0");
    write("sys/devices/virtual/infiniband/rxe0/parent", "lo");
    add_verbs("rxe0", "uverbs1", "0000:0000:0000:0000:0000:ffff:7f00:0001");
    gpu("pci0000:00/0000:00:07.0");
    folder("sys/module/amdgpu");
  }

  /// Of a folder in the root: written to by its owner alone, whatever the umask.
  void owned_folder(const std::string& of, mode_t mode = 0755) const {
    folder(of);
    ::chmod(path(of.substr(0, of.find('/'))).c_str(), 0755);
    ::chmod(path(of).c_str(), mode);
  }
  void add_verbs(const std::string& name, const std::string& node, const std::string& gid) const {
    write("sys/class/infiniband_verbs/" + node + "/ibdev", name);
    write("sys/class/infiniband/" + name + "/ports/1/state", "4: ACTIVE");
    write("sys/class/infiniband/" + name + "/ports/1/gids/0", gid);
  }
  void capabilities(const std::string& mask) const { write("proc/self/status", "CapEff:\t" + mask); }
  void remove(const std::string& of) const { std::filesystem::remove_all(path(of)); }
};

}  // namespace host_tests
