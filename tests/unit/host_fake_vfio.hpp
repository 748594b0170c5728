// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The kernel's side of vfio, played: a sysfs of files, nodes that are memory, and ioctls that check what they
/// are given.

#include <linux/vfio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <xio/host/error.hpp>
#include <xio/host/linux/kernel_calls.hpp>
#include <xio/host/nvme/iommufd_abi.hpp>
#include <xio/host/nvme/vfio_access.hpp>
#include <xio/host/text.hpp>

namespace host_tests {

namespace iommufd = xio::host::iommufd;

/// What it is like, what it was told, and where the device's registers and configuration lie.
class FakeVfio final : public xio::host::KernelCalls {
 public:
  static constexpr uint64_t bar_bytes = 16384;
  static constexpr uint64_t config_offset = uint64_t{7} << 40;  // as the kernel lays it out
  static constexpr const char* address = "0000:04:00.0";

  FakeVfio() {
    char folder[] = "/tmp/xio-test-XXXXXX";
    if (::mkdtemp(folder) == nullptr) throw xio::host::Error("cannot make a scratch folder");
    root_ = folder;
    add_function(address, "0x010802", "vfio-pci", "14");
    device_ = ::memfd_create("device", MFD_CLOEXEC);
    if (::ftruncate(device_, static_cast<off_t>(config_offset + 4096)) != 0) throw xio::host::Error("no memory");
  }
  ~FakeVfio() override {
    ::close(device_);
    std::filesystem::remove_all(root_);
  }

  // What it is like.
  bool viable = true;
  bool type1 = true;
  bool mappable = true;
  uint32_t device_flags = VFIO_DEVICE_FLAGS_PCI | VFIO_DEVICE_FLAGS_RESET;
  bool iova_capability = true;
  uint32_t told_ranges = 0;  ///< claimed number of ranges, where it is not true
  uint64_t page_sizes = 0x40201000;
  std::vector<xio::host::IovaRange> ranges{{0, 0xfedfffff}, {0xfef00000, (uint64_t{1} << 39) - 1}};
  std::vector<vfio_region_sparse_mmap_area> sparse;
  std::map<std::string, int> open_errors;     ///< path -> errno
  std::map<unsigned long, int> ioctl_errors;  ///< request -> errno
  bool groups = true;                         ///< there are nodes of groups

  // What happened.
  std::vector<std::string> log;
  std::map<uint64_t, uint64_t> mapped;    ///< bus address -> bytes
  std::map<uint64_t, void*> mapped_data;  ///< bus address -> our address
  std::map<uint32_t, int> events;         ///< index of an interrupt -> eventfd, a copy
  bool mastering_at_unmap = false;        ///< the device could still reach memory when it was taken away

  void add_function(const std::string& name, const std::string& code, const std::string& driver,
                    const std::string& group) {
    namespace fs = std::filesystem;
    const fs::path folder = fs::path(root_) / "bus/pci/devices" / name;
    fs::create_directories(folder);
    std::ofstream(folder / "class") << code << "\n";
    std::ofstream(folder / "vendor") << "0x1b36\n";
    set_driver(name, driver);
    if (group.empty()) return;
    const fs::path members = fs::path(root_) / "kernel/iommu_groups" / group / "devices";
    fs::create_directories(members);
    fs::create_symlink(folder, members / name);
    fs::remove(folder / "iommu_group");
    fs::create_symlink(members.parent_path(), folder / "iommu_group");
  }
  void set_driver(const std::string& name, const std::string& driver) const {
    namespace fs = std::filesystem;
    const fs::path link = fs::path(root_) / "bus/pci/devices" / name / "driver";
    fs::remove(link);
    if (!driver.empty()) fs::create_symlink("../../drivers/" + driver, link);
  }
  std::string folder(const std::string& name = address) const { return root_ + "/bus/pci/devices/" + name; }
  void add_character_device() const { std::filesystem::create_directories(folder() + "/vfio-dev/vfio3"); }

  // The device.
  uint32_t bar(uint64_t offset) const {
    uint32_t value = 0;
    if (::pread(device_, &value, sizeof value, static_cast<off_t>(offset)) != sizeof value) return 0xdeadbeef;
    return value;
  }
  void set_bar(uint64_t offset, uint32_t value) const {
    if (::pwrite(device_, &value, sizeof value, static_cast<off_t>(offset)) != sizeof value)
      throw xio::host::Error("no BAR");
  }
  uint16_t command() const { return static_cast<uint16_t>(bar(config_offset + 4)); }
  /// Access is revoked: what was not mapped cannot be reached any more.
  void revoke() const {
    if (::ftruncate(device_, bar_bytes) != 0) throw xio::host::Error("no ftruncate");
  }
  void signal(uint32_t index) const {
    const uint64_t one = 1;
    if (::write(events.at(index), &one, sizeof one) != sizeof one) throw xio::host::Error("no event");
  }

  // KernelCalls.
  std::string sysfs() const override { return root_; }
  bool exists(const std::string& path) override { return groups && path == "/dev/vfio/14"; }
  int open(const std::string& path) override {
    log.push_back("open " + path);
    if (fails(open_errors, path)) return -1;
    if (path == "/dev/vfio/devices/vfio3") return remember(::dup(device_), path);
    return remember(::memfd_create("node", MFD_CLOEXEC), path);
  }
  int ioctl(int fd, unsigned long request, uintptr_t argument) override {
    const std::string node = nodes_.at(fd);
    // The answer to a question is not part of a sequence that matters.
    if (request != VFIO_DEVICE_GET_REGION_INFO && request != VFIO_DEVICE_GET_IRQ_INFO &&
        request != VFIO_DEVICE_GET_INFO)
      log.push_back(name_of(request));
    if (fails(ioctl_errors, request)) return -1;
    if (node == "/dev/vfio/vfio") return container(request, argument);
    if (node == "/dev/vfio/14") return group(request, argument);
    if (node == "/dev/iommu") return iommu(request, argument);
    return device(request, argument);
  }

 private:
  template <class Key>
  static bool fails(const std::map<Key, int>& errors, const Key& key) {
    const auto found = errors.find(key);
    if (found != errors.end()) errno = found->second;
    return found != errors.end();
  }
  int remember(int fd, const std::string& path) {
    nodes_[fd] = path;
    return fd;
  }
  static int refuse(int error) {
    errno = error;
    return -1;
  }
  template <class T>
  static T& as(uintptr_t argument) {
    return *reinterpret_cast<T*>(argument);
  }

  static std::string name_of(unsigned long request) {
    static const std::map<unsigned long, std::string> names{{VFIO_GET_API_VERSION, "version"},
                                                            {VFIO_CHECK_EXTENSION, "extension"},
                                                            {VFIO_SET_IOMMU, "set iommu"},
                                                            {VFIO_GROUP_GET_STATUS, "status"},
                                                            {VFIO_GROUP_SET_CONTAINER, "set container"},
                                                            {VFIO_GROUP_UNSET_CONTAINER, "unset container"},
                                                            {VFIO_GROUP_GET_DEVICE_FD, "device"},
                                                            {VFIO_IOMMU_GET_INFO, "info"},
                                                            {VFIO_IOMMU_MAP_DMA, "map"},
                                                            {VFIO_IOMMU_UNMAP_DMA, "unmap"},
                                                            {VFIO_DEVICE_RESET, "reset"},
                                                            {VFIO_DEVICE_SET_IRQS, "event"},
                                                            {iommufd::bind_request, "bind"},
                                                            {iommufd::attach_request, "attach"},
                                                            {iommufd::detach_request, "detach"},
                                                            {iommufd::allocate_request, "allocate"},
                                                            {iommufd::ranges_request, "ranges"},
                                                            {iommufd::map_request, "iommufd map"},
                                                            {iommufd::unmap_request, "iommufd unmap"},
                                                            {iommufd::destroy_request, "destroy"}};
    const auto found = names.find(request);
    return found != names.end() ? found->second : "unknown " + xio::host::to_hex(request);
  }

  int container(unsigned long request, uintptr_t argument) {
    switch (request) {
      case VFIO_GET_API_VERSION: return VFIO_API_VERSION;
      case VFIO_CHECK_EXTENSION: return argument == VFIO_TYPE1v2_IOMMU && type1 ? 1 : 0;
      case VFIO_SET_IOMMU: return has_group_ && argument == VFIO_TYPE1v2_IOMMU ? 0 : refuse(EINVAL);
      case VFIO_IOMMU_GET_INFO: return describe_iommu(argument);
      case VFIO_IOMMU_MAP_DMA: {
        const auto& ask = as<vfio_iommu_type1_dma_map>(argument);
        if (ask.argsz != sizeof ask || ask.flags != (VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE))
          return refuse(EINVAL);
        return map_dma(ask.vaddr, ask.iova, ask.size);
      }
      case VFIO_IOMMU_UNMAP_DMA: {
        const auto& ask = as<vfio_iommu_type1_dma_unmap>(argument);
        return ask.argsz == sizeof ask && ask.flags == 0 ? unmap(ask.iova, ask.size) : refuse(EINVAL);
      }
      default: return refuse(ENOTTY);
    }
  }

  int group(unsigned long request, uintptr_t argument) {
    switch (request) {
      case VFIO_GROUP_GET_STATUS:
        as<vfio_group_status>(argument).flags = viable ? VFIO_GROUP_FLAGS_VIABLE : 0;
        return 0;
      case VFIO_GROUP_SET_CONTAINER:
        has_group_ = viable && nodes_.at(as<int>(argument)) == "/dev/vfio/vfio";
        return has_group_ ? 0 : refuse(EINVAL);
      case VFIO_GROUP_UNSET_CONTAINER: return 0;
      case VFIO_GROUP_GET_DEVICE_FD:
        if (std::string(reinterpret_cast<const char*>(argument)) != address) return refuse(ENODEV);
        return remember(::dup(device_), "device");
      default: return refuse(ENOTTY);
    }
  }

  int iommu(unsigned long request, uintptr_t argument) {
    switch (request) {
      case iommufd::allocate_request: {
        auto& ask = as<iommufd::Allocate>(argument);
        ask.out_id = 5;
        return ask.size == sizeof ask && ask.flags == 0 ? 0 : refuse(EINVAL);
      }
      case iommufd::ranges_request: {
        auto& ask = as<iommufd::Ranges>(argument);
        if (ask.size != sizeof ask || ask.id != 5 || ask.reserved != 0) return refuse(EINVAL);
        const uint32_t room = ask.count;
        ask.count = static_cast<uint32_t>(ranges.size());
        ask.alignment = 4096;
        for (size_t i = 0; i < ranges.size() && i < room; ++i)
          reinterpret_cast<iommufd::Range*>(ask.ranges)[i] = {ranges[i].first, ranges[i].last};
        return room < ranges.size() ? refuse(EMSGSIZE) : 0;
      }
      case iommufd::map_request: {
        const auto& ask = as<iommufd::Map>(argument);
        if (ask.size != sizeof ask || ask.flags != 7 || ask.id != 5 || ask.reserved != 0) return refuse(EINVAL);
        return attached_ ? map_dma(ask.user_va, ask.iova, ask.bytes) : refuse(ENOENT);
      }
      case iommufd::unmap_request: {
        const auto& ask = as<iommufd::Unmap>(argument);
        return ask.size == sizeof ask && ask.id == 5 ? unmap(ask.iova, ask.bytes) : refuse(EINVAL);
      }
      case iommufd::destroy_request: {
        const auto& ask = as<iommufd::Destroy>(argument);
        return ask.size == sizeof ask && ask.id == 5 && !attached_ ? 0 : refuse(EBUSY);
      }
      default: return refuse(ENOTTY);
    }
  }

  int device(unsigned long request, uintptr_t argument) {
    switch (request) {
      case iommufd::bind_request: {
        const auto& ask = as<iommufd::Bind>(argument);
        bound_ = ask.argsz == sizeof ask && ask.flags == 0 && nodes_.at(ask.iommufd) == "/dev/iommu";
        return bound_ ? 0 : refuse(EINVAL);
      }
      case iommufd::attach_request: {
        const auto& ask = as<iommufd::Attach>(argument);
        attached_ = bound_ && ask.argsz == sizeof ask && ask.flags == 0 && ask.pt_id == 5;
        return attached_ ? 0 : refuse(EINVAL);
      }
      case iommufd::detach_request: attached_ = false; return 0;
      case VFIO_DEVICE_GET_INFO: {
        auto& ask = as<vfio_device_info>(argument);
        ask.flags = device_flags;
        ask.num_regions = VFIO_PCI_NUM_REGIONS;
        ask.num_irqs = VFIO_PCI_NUM_IRQS;
        return 0;
      }
      case VFIO_DEVICE_GET_REGION_INFO: return describe_region(argument);
      case VFIO_DEVICE_GET_IRQ_INFO: as<vfio_irq_info>(argument).count = 1; return 0;
      case VFIO_DEVICE_SET_IRQS: {
        const auto& ask = as<vfio_irq_set>(argument);
        if (ask.argsz != sizeof ask + 4 || ask.count != 1 ||
            ask.flags != (VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER))
          return refuse(EINVAL);
        int fd = -1;
        std::memcpy(&fd, &ask + 1, sizeof fd);
        events[ask.index] = ::dup(fd);
        return 0;
      }
      case VFIO_DEVICE_RESET: set_bar(0x14, 0); return 0;
      default: return refuse(ENOTTY);
    }
  }

  int map_dma(uint64_t data, uint64_t iova, uint64_t bytes) {
    if (bytes == 0 || (data | iova | bytes) % 4096 != 0) return refuse(EINVAL);
    bool allowed = false;
    for (const xio::host::IovaRange& range : ranges)
      allowed = allowed || (iova >= range.first && iova + bytes - 1 <= range.last);
    for (const auto& [begin, length] : mapped)
      if (iova < begin + length && begin < iova + bytes) return refuse(EEXIST);
    if (!allowed) return refuse(EINVAL);
    mapped[iova] = bytes;
    mapped_data[iova] = reinterpret_cast<void*>(data);
    return 0;
  }
  int unmap(uint64_t iova, uint64_t bytes) {
    const auto found = mapped.find(iova);
    if (found == mapped.end() || found->second != bytes) return refuse(ENOENT);
    mastering_at_unmap = mastering_at_unmap || ((command() & 4) != 0 && mapped.size() == 1);
    mapped.erase(found);
    return 0;
  }

  /// As the kernel does: what finds no room is left out, but `argsz` says how much there is.
  static void answer(uintptr_t argument, uint32_t room, const std::vector<unsigned char>& bytes) {
    std::memcpy(reinterpret_cast<void*>(argument), bytes.data(), room < bytes.size() ? room : bytes.size());
  }
  template <class T>
  static void append(std::vector<unsigned char>& bytes, const T& one) {
    const auto* data = reinterpret_cast<const unsigned char*>(&one);
    bytes.insert(bytes.end(), data, data + sizeof one);
  }

  int describe_iommu(uintptr_t argument) const {
    const uint32_t room = as<vfio_iommu_type1_info>(argument).argsz;
    if (room < sizeof(vfio_iommu_type1_info)) return refuse(EINVAL);
    vfio_iommu_type1_info info{};
    info.flags = VFIO_IOMMU_INFO_PGSIZES | (iova_capability ? VFIO_IOMMU_INFO_CAPS : 0);
    info.iova_pgsizes = page_sizes;
    std::vector<unsigned char> rest;
    // Another capability comes first.
    append(rest, vfio_info_cap_header{VFIO_IOMMU_TYPE1_INFO_DMA_AVAIL, 1, uint32_t{sizeof info} + 16});
    append(rest, uint64_t{65535});
    append(rest, vfio_info_cap_header{VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE, 1, 0});
    append(rest, told_ranges != 0 ? told_ranges : static_cast<uint32_t>(ranges.size()));
    append(rest, uint32_t{0});
    for (const xio::host::IovaRange& range : ranges) append(rest, range);
    info.argsz = static_cast<uint32_t>(sizeof info + (iova_capability ? rest.size() : 0));
    if (iova_capability && room >= info.argsz) info.cap_offset = sizeof info;
    std::vector<unsigned char> all;
    append(all, info);
    if (iova_capability) all.insert(all.end(), rest.begin(), rest.end());
    answer(argument, room, all);
    return 0;
  }

  int describe_region(uintptr_t argument) const {
    vfio_region_info info = as<vfio_region_info>(argument);
    const uint32_t room = info.argsz;
    std::vector<unsigned char> rest;
    info.argsz = sizeof info;
    info.flags = VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE;
    if (info.index == VFIO_PCI_CONFIG_REGION_INDEX) {
      info.offset = config_offset;
      info.size = 4096;
    } else if (info.index == VFIO_PCI_BAR0_REGION_INDEX) {
      info.size = bar_bytes;
      if (mappable) info.flags |= VFIO_REGION_INFO_FLAG_MMAP;
      if (!sparse.empty()) {
        info.flags |= VFIO_REGION_INFO_FLAG_CAPS;
        append(rest, vfio_info_cap_header{VFIO_REGION_INFO_CAP_SPARSE_MMAP, 1, 0});
        append(rest, static_cast<uint32_t>(sparse.size()));
        append(rest, uint32_t{0});
        for (const vfio_region_sparse_mmap_area& area : sparse) append(rest, area);
        info.argsz = static_cast<uint32_t>(sizeof info + rest.size());
        if (room >= info.argsz) info.cap_offset = sizeof info;
      }
    }
    std::vector<unsigned char> all;
    append(all, info);
    all.insert(all.end(), rest.begin(), rest.end());
    answer(argument, room, all);
    return 0;
  }

  std::string root_;
  int device_ = -1;
  std::map<int, std::string> nodes_;
  bool has_group_ = false;
  bool bound_ = false;
  bool attached_ = false;
};

}  // namespace host_tests
