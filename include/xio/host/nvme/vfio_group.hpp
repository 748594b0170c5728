// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A device opened by its IOMMU group: /dev/vfio/N in a container with a type 1 IOMMU.

#include <linux/vfio.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/linux/file_descriptor.hpp>
#include <xio/host/linux/kernel_calls.hpp>
#include <xio/host/linux/pci.hpp>
#include <xio/host/nvme/vfio_access.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

/// VfioAccess through container and group. The kernel grants all devices of a group together, and only while no other
/// driver holds one of them.
class VfioGroup final : public VfioAccess {
 public:
  VfioGroup(std::shared_ptr<KernelCalls> calls, const PciFunction& pci)
      : calls_(std::move(calls)), number_(pci.iommu_group()) {
    const std::string container = "/dev/vfio/vfio";
    container_ = open(container, pci);
    if (ioctl(container_, VFIO_GET_API_VERSION, 0) != VFIO_API_VERSION)
      throw Error("vfio: the kernel's VFIO API version is not 0");
    if (ioctl(container_, VFIO_CHECK_EXTENSION, VFIO_TYPE1v2_IOMMU) <= 0)
      throw Error("vfio: the kernel has no type 1 IOMMU driver; load it: modprobe vfio_iommu_type1");
    group_ = open("/dev/vfio/" + number_, pci);
    check_viable(pci);
    int fd = container_.get();
    if (ioctl(group_, VFIO_GROUP_SET_CONTAINER, detail::argument_of(&fd)) != 0)
      throw_system_error("vfio: group " + number_ + " cannot be added to a container", errno);
    if (ioctl(container_, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU) != 0) refuse_iommu(errno);
    read_limits();
    const int device = ioctl(group_, VFIO_GROUP_GET_DEVICE_FD, detail::argument_of(pci.address().c_str()));
    device_ = FileDescriptor(device, "vfio: the kernel returns no descriptor of " + pci.address());
  }

  ~VfioGroup() override {
    // Close the device first: the kernel resets it and clears its bus mastering before the mappings are removed.
    device_.reset();
    if (group_) ioctl(group_, VFIO_GROUP_UNSET_CONTAINER, 0);
  }

  int device() const override { return device_.get(); }
  const std::vector<IovaRange>& iova_ranges() const override { return ranges_; }
  uint64_t page_bytes() const override { return page_bytes_; }
  std::string description() const override { return "IOMMU group " + number_; }

  void map(void* data, uint64_t iova, uint64_t bytes) override {
    vfio_iommu_type1_dma_map request{};
    request.argsz = sizeof request;
    request.flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE;
    request.vaddr = reinterpret_cast<uintptr_t>(data);
    request.iova = iova;
    request.size = bytes;
    if (ioctl(container_, VFIO_IOMMU_MAP_DMA, detail::argument_of(&request)) != 0)
      detail::refuse_mapping(iova, bytes, errno);
  }

  void unmap(uint64_t iova, uint64_t bytes) override {
    vfio_iommu_type1_dma_unmap request{};
    request.argsz = sizeof request;
    request.iova = iova;
    request.size = bytes;
    if (ioctl(container_, VFIO_IOMMU_UNMAP_DMA, detail::argument_of(&request)) != 0)
      throw_system_error("vfio: cannot unmap memory of the controller", errno);
  }

 private:
  int ioctl(const FileDescriptor& fd, unsigned long request, uintptr_t argument) const {
    return calls_->ioctl(fd.get(), request, argument);
  }

  FileDescriptor open(const std::string& path, const PciFunction& pci) const {
    const int fd = calls_->open(path);
    if (fd < 0) detail::refuse_node(path, pci, errno);
    return {fd, path};
  }

  void check_viable(const PciFunction& pci) const {
    vfio_group_status status{};
    status.argsz = sizeof status;
    if (ioctl(group_, VFIO_GROUP_GET_STATUS, detail::argument_of(&status)) != 0)
      throw_system_error("vfio: group " + number_ + " does not report its status", errno);
    if ((status.flags & VFIO_GROUP_FLAGS_CONTAINER_SET) != 0)
      throw Error("vfio: group " + number_ + " is in another container; end the process that uses it");
    if ((status.flags & VFIO_GROUP_FLAGS_VIABLE) != 0) return;
    detail::refuse_group(pci, detail::held_by_other_drivers(pci));
  }

  [[noreturn]] void refuse_iommu(int error) const {
    const std::string start = "vfio: group " + number_ + " cannot get an IOMMU address space";
    if (error == EPERM)
      throw Error(start +
                  ": interrupts are not remapped here; boot with intremap=on, or, if all devices are trusted, "
                  "set vfio_iommu_type1.allow_unsafe_interrupts=1");
    if (error == EBUSY) throw Error(start + ": the firmware reserves memory of this device (RMRR)");
    throw_system_error(start, error);
  }

  void read_limits() {
    const detail::VfioInfo<vfio_iommu_type1_info> info(*calls_, container_.get(), VFIO_IOMMU_GET_INFO, {},
                                                       "the IOMMU does not report its information");
    // Bit n: pages of 2^n bytes are supported.
    const uint64_t sizes = (info.get().flags & VFIO_IOMMU_INFO_PGSIZES) != 0 ? info.get().iova_pgsizes : 4096;
    if (sizes != 0) page_bytes_ = sizes & (~sizes + 1);
    using Ranges = vfio_iommu_type1_info_cap_iova_range;
    const Ranges* ranges = nullptr;
    if ((info.get().flags & VFIO_IOMMU_INFO_CAPS) != 0)
      ranges = info.find<Ranges>(info.get().cap_offset, VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE);
    if (ranges == nullptr) {
      // A kernel before 5.4. x86 interrupts are at 0xfee00000; every IOMMU supports 39 address bits.
      ranges_ = {{0, 0xfedfffff}, {0xfef00000, (uint64_t{1} << 39) - 1}};
      return;
    }
    for (const vfio_iova_range& one : info.elements<vfio_iova_range>(ranges, ranges->nr_iovas))
      ranges_.push_back({one.start, one.end});
  }

  std::shared_ptr<KernelCalls> calls_;
  std::string number_;
  FileDescriptor container_;
  FileDescriptor group_;
  FileDescriptor device_;
  std::vector<IovaRange> ranges_;
  uint64_t page_bytes_ = 4096;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
