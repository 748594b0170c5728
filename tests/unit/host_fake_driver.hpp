// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The kernel's nvme driver, played: sysfs and procfs of files, a hugetlbfs that is a folder, and an ioctl that
/// writes down every field of what it is given.

#include <linux/nvme_ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <xio/host/error.hpp>
#include <xio/host/linux/kernel_calls.hpp>
#include <xio/vendors/nvme/opcodes_admin.hpp>

namespace host_tests {

/// One controller, nvme0 at 0000:04:00.0, with one namespace; the kernel has queues 1 to 8 of 64.
class FakeDriver : public xio::host::KernelCalls {
 public:
  static constexpr const char* address = "0000:04:00.0";
  static constexpr const char* by_id = "/dev/disk/by-id/nvme-drive";
  static constexpr size_t bar_bytes = 16384;
  static constexpr size_t huge_page = size_t{2} << 20;

  FakeDriver() {
    char folder[] = "/tmp/xio-test-XXXXXX";
    if (::mkdtemp(folder) == nullptr) throw xio::host::Error("cannot make a scratch folder");
    root_ = folder;
    for (const char* one : {"/sys/class/nvme/nvme0/nvme0c0n1", "/sys/class/nvme/nvme0/hwmon0",
                            "/sys/class/block/nvme0n1/holders", "/sys/class/block/nvme0n1/nvme0n1p1",
                            "/sys/class/block/nvme0n1p1/holders", "/sys/groups/7", "/proc/self", "/huge"})
      std::filesystem::create_directories(root_ + one);
    ::chmod(huge_folder().c_str(), 0755);  // whatever the umask
    std::filesystem::create_directories(pci_folder());
    std::filesystem::create_directory_symlink(pci_folder(), root_ + "/sys/class/nvme/nvme0/device");
    set("/sys/class/nvme/nvme0/state", "live");
    set("/sys/class/nvme/nvme0/transport", "pcie");
    set("/sys/class/nvme/nvme0/queue_count", "9");
    set("/sys/class/block/nvme0n1/nsid", "1");
    set("/sys/class/block/nvme0n1/dev", "259:0");
    set("/sys/class/block/nvme0n1p1/dev", "259:1");
    set("/proc/meminfo", "MemTotal: 512 kB\nHugepagesize:       2048 kB");
    set("/proc/self/mounts", "proc /proc proc rw 0 0\nnone " + huge_folder() + " hugetlbfs rw,relatime 0 0");
    set("/proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw");
    set("/proc/swaps", "Filename Type Size Used Priority");
    std::ofstream(pci_folder() + "/resource0").close();
    std::filesystem::resize_file(pci_folder() + "/resource0", bar_bytes);
    set_register(0x00, 0x00ff07ff);  // CAP: 2048 entries
    set_register(0x08, 0x00010400);
    set_register(0x14, 0x00460001);  // enabled, 64 and 16 bytes
    set_register(0x1c, 1);
  }
  ~FakeDriver() override { std::filesystem::remove_all(root_); }

  // What it is like.
  uint16_t oacs = 0x006;
  uint32_t number_of_queues = 0x3f003f;
  uint64_t blocks = 1000;
  uint8_t block_shift = 9;
  std::set<uint32_t> foreign{};                   ///< queues that somebody else has
  std::map<std::string, int> open_errors{};       ///< path -> errno
  std::set<std::string> stale_numbers{};          ///< block devices whose nodes are of another device
  int allocate_error = 0;                         ///< errno of allocating huge pages
  int map_error = 0;                              ///< errno of mapping registers
  bool tells_frames = true;                       ///< /proc/self/pagemap tells where pages are
  std::vector<uint64_t> frames{};                 ///< of the 2 MiB pages of our file, in 2 MiB; empty: side by side
  std::map<uint8_t, std::deque<int>> statuses{};  ///< for the next commands of an opcode; negative: errno
  std::function<void(const nvme_passthru_cmd&)> on_command{};  ///< at each, before it is executed

  // What it was told.
  std::vector<nvme_passthru_cmd> commands{};
  std::vector<nvme_passthru_cmd> of(xio::nvme::AdminOpcode opcode) const {
    std::vector<nvme_passthru_cmd> found;
    for (const nvme_passthru_cmd& one : commands)
      if (one.opcode == static_cast<uint8_t>(opcode)) found.push_back(one);
    return found;
  }
  size_t allocated = 0;  ///< bytes of huge pages, by the last call
  std::set<uint32_t> cqs{};
  std::set<uint32_t> sqs{};

  // Files.
  void set(const std::string& path, const std::string& text) const { std::ofstream(root_ + path) << text << '\n'; }
  std::string pci_folder() const { return root_ + "/sys/bus/pci/devices/" + address; }
  std::string huge_folder() const { return root_ + "/huge"; }
  void set_domain(const std::string& type) const {
    set("/sys/groups/7/type", type);
    std::filesystem::create_directory_symlink(root_ + "/sys/groups/7", pci_folder() + "/iommu_group");
  }
  /// A second controller, with one namespace that has a partition; without multipath in the kernel.
  /// @param files  of the block device in sysfs: {"wwid", "eui.01"}
  void add_controller(const std::string& name, const std::string& subsystem, uint32_t nsid,
                      const std::map<std::string, std::string>& files) {
    const std::string block = name + "n" + std::to_string(nsid);
    const std::string part = block + "p1";
    for (const std::string& one : {"nvme/" + name + "/" + block, "block/" + block + "/holders",
                                   "block/" + block + "/" + part, "block/" + part + "/holders"})
      std::filesystem::create_directories(root_ + "/sys/class/" + one);
    set("/sys/class/nvme/" + name + "/subsysnqn", subsystem);
    set("/sys/class/block/" + block + "/nsid", std::to_string(nsid));
    set("/sys/class/block/" + block + "/dev", "259:16");
    set("/sys/class/block/" + part + "/dev", "259:17");
    for (const auto& [file, text] : files) set("/sys/class/block/" + block + "/" + file, text);
    nodes_.insert("/dev/" + block);
    nodes_.insert("/dev/" + part);
  }
  void add_holder(const std::string& block, const std::string& name) const {
    std::filesystem::create_directories(root_ + "/sys/class/block/" + block + "/holders/" + name);
  }
  void set_register(size_t offset, uint32_t value) const {
    std::fstream file(pci_folder() + "/resource0", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(offset));
    file.write(reinterpret_cast<const char*>(&value), sizeof value);
  }
  uint32_t bar(size_t offset) const {
    uint32_t value = 0;
    std::ifstream file(pci_folder() + "/resource0", std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    file.read(reinterpret_cast<char*>(&value), sizeof value);
    return value;
  }
  /// Block devices that this process has open.
  std::vector<std::string> claimed() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code error;
      const std::string target = std::filesystem::read_symlink(entry.path(), error).string();
      const size_t at = target.find("/dev/");
      if (target.compare(0, 7, "/memfd:") == 0 && at != std::string::npos)
        found.push_back(target.substr(at, target.find(' ') - at));
    }
    std::sort(found.begin(), found.end());
    return found;
  }
  /// Names of the files that processes keep their queues in.
  std::vector<std::string> queue_files() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(huge_folder()))
      if (entry.path().extension() != ".lock") found.push_back(entry.path().string());
    return found;
  }

  // KernelCalls.
  std::string sysfs() const override { return root_ + "/sys"; }
  std::string procfs() const override { return root_ + "/proc"; }
  bool exists(const std::string& path) override { return !resolve(path).empty(); }
  std::string resolve(const std::string& path) override {
    if (path == by_id || path == "/dev/disk/by-id/../../nvme0n1") return "/dev/nvme0n1";
    for (const char* known : {"/dev/nvme0", "/dev/nvme0n1", "/dev/nvme0n1p1", "/dev/null"})
      if (path == known) return path;
    return nodes_.count(path) != 0 ? path : std::string();
  }
  int open(const std::string& path) override {
    if (const auto error = open_errors.find(path); error != open_errors.end()) return refuse(error->second);
    if (path == "/dev/nvme0") return node_ = ::memfd_create("nvme0", MFD_CLOEXEC);
    return KernelCalls::open(path);
  }
  int open_exclusive(const std::string& path) override {
    if (const auto error = open_errors.find(path); error != open_errors.end()) return refuse(error->second);
    if (resolve(path).empty()) return refuse(ENOENT);
    return ::memfd_create(path.c_str(), MFD_CLOEXEC);
  }
  bool is_block_device(int, const std::string& number) override { return stale_numbers.count(number) == 0; }
  void* map(int fd, size_t bytes) override {
    if (map_error == 0) return KernelCalls::map(fd, bytes);
    errno = map_error;
    return MAP_FAILED;
  }
  int allocate(int fd, size_t bytes) override {
    allocated = bytes;
    return allocate_error != 0 ? refuse(allocate_error) : KernelCalls::allocate(fd, bytes);
  }
  uint64_t pagemap_entry(const void* page) override {
    const uint64_t present = uint64_t{1} << 63;
    if (!tells_frames) return present;
    const size_t number = file_page(page);
    const uint64_t large = frames.empty() ? 0x1000 + number : frames.at(number);
    return present | large * (huge_page / 4096);
  }
  int ioctl(int fd, unsigned long request, uintptr_t argument) override {
    if (fd != node_ || request != NVME_IOCTL_ADMIN_CMD) return refuse(ENOTTY);
    auto& command = *reinterpret_cast<nvme_passthru_cmd*>(argument);
    commands.push_back(command);
    if (on_command) on_command(command);
    if (auto& planned = statuses[command.opcode]; !planned.empty()) {
      const int status = planned.front();
      planned.pop_front();
      if (status != 0) return status < 0 ? refuse(-status) : status;
    }
    return execute(command);
  }
  /// Whether this is the descriptor of the controller's node.
  bool is_node(int fd) const { return fd == node_; }

 private:
  static constexpr int no_such_queue = 0x4101;      // invalid queue identifier, do not retry
  static constexpr int no_such_structure = 0x4002;  // invalid field, do not retry

  static int refuse(int error) {
    errno = error;
    return -1;
  }

  int execute(nvme_passthru_cmd& command) {
    const uint32_t qid = command.cdw10 & 0xffff;
    switch (static_cast<xio::nvme::AdminOpcode>(command.opcode)) {
      case xio::nvme::AdminOpcode::identify: return identify(command);
      case xio::nvme::AdminOpcode::get_features: command.result = number_of_queues; return 0;
      case xio::nvme::AdminOpcode::create_io_cq:
        if (qid > 64 || foreign.count(qid) != 0 || !cqs.insert(qid).second) return no_such_queue;
        return 0;
      case xio::nvme::AdminOpcode::create_io_sq: return sqs.insert(qid).second ? 0 : no_such_queue;
      case xio::nvme::AdminOpcode::delete_io_sq: return sqs.erase(qid) != 0 ? 0 : no_such_queue;
      case xio::nvme::AdminOpcode::delete_io_cq: return cqs.erase(qid) != 0 ? 0 : 0x4100;  // as QEMU does
      default: return 0;
    }
  }

  int identify(const nvme_passthru_cmd& command) const {
    auto* page = reinterpret_cast<uint8_t*>(static_cast<uintptr_t>(command.addr));
    if (page == nullptr || command.data_len != 4096) return refuse(EFAULT);
    std::memset(page, 0, 4096);
    if ((command.cdw10 & 0xff) == 1) {
      std::memcpy(page + 24, "a shared model                          ", 40);
      std::memcpy(page + 256, &oacs, sizeof oacs);
      page[516] = 1;
    } else if ((command.cdw10 & 0xff) == 6) {
      return no_such_structure;
    } else {
      std::memcpy(page, &blocks, sizeof blocks);
      page[130] = block_shift;
    }
    return 0;
  }

  /// Which 2 MiB of its file is mapped there.
  static size_t file_page(const void* page) {
    const auto wanted = reinterpret_cast<uintptr_t>(page);
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
      unsigned long begin = 0;
      unsigned long end = 0;
      unsigned long offset = 0;
      if (std::sscanf(line.c_str(), "%lx-%lx %*s %lx", &begin, &end, &offset) == 3 && wanted >= begin && wanted < end)
        return (offset + (wanted - begin)) / huge_page;
    }
    throw xio::host::Error("this address is not mapped");
  }

  std::string root_;
  std::set<std::string> nodes_{};  // of further controllers
  int node_ = -1;
};

}  // namespace host_tests
