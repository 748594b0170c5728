// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A device opened by its own node: /dev/vfio/devices/vfioN in an address space of /dev/iommu.

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
#include <xio/host/nvme/iommufd_abi.hpp>
#include <xio/host/nvme/vfio_access.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

/// VfioAccess through iommufd: Linux 6.6 and later, built with CONFIG_VFIO_DEVICE_CDEV.
class VfioIommufd final : public VfioAccess {
 public:
  VfioIommufd(std::shared_ptr<KernelCalls> calls, const PciFunction& pci)
      : calls_(std::move(calls)), name_(pci.vfio_device()) {
    if (name_.empty())
      throw Error("vfio: " + pci.address() +
                  " has no character device: this kernel has no VFIO_DEVICE_CDEV; leave interface=iommufd out");
    iommu_ = open("/dev/iommu", pci);
    device_ = open("/dev/vfio/devices/" + name_, pci);
    iommufd::Bind bind{};
    bind.argsz = sizeof bind;
    bind.iommufd = iommu_.get();
    if (ioctl(device_, iommufd::bind_request, bind) != 0) refuse_bind(pci, errno);
    iommufd::Allocate space{};
    space.size = sizeof space;
    if (ioctl(iommu_, iommufd::allocate_request, space) != 0)
      throw_system_error("vfio: /dev/iommu cannot create an address space", errno);
    space_ = space.out_id;
    iommufd::Attach attach{};
    attach.argsz = sizeof attach;
    attach.pt_id = space_;
    if (ioctl(device_, iommufd::attach_request, attach) != 0)
      throw_system_error("vfio: " + pci.address() + " cannot get an IOMMU address space", errno);
    attached_ = true;
    read_limits();
  }

  ~VfioIommufd() override {
    if (attached_) {
      iommufd::Detach detach{};
      detach.argsz = sizeof detach;
      ioctl(device_, iommufd::detach_request, detach);
    }
    device_.reset();
    if (space_ == 0) return;
    iommufd::Destroy destroy{sizeof destroy, space_};
    ioctl(iommu_, iommufd::destroy_request, destroy);
  }

  int device() const override { return device_.get(); }
  const std::vector<IovaRange>& iova_ranges() const override { return ranges_; }
  uint64_t page_bytes() const override { return page_bytes_; }
  std::string description() const override { return "iommufd, " + name_; }

  void map(void* data, uint64_t iova, uint64_t bytes) override {
    iommufd::Map request{};
    request.size = sizeof request;
    request.flags = iommufd::map_fixed | iommufd::map_writeable | iommufd::map_readable;
    request.id = space_;
    request.user_va = reinterpret_cast<uintptr_t>(data);
    request.bytes = bytes;
    request.iova = iova;
    if (ioctl(iommu_, iommufd::map_request, request) != 0) detail::refuse_mapping(iova, bytes, errno);
  }

  void unmap(uint64_t iova, uint64_t bytes) override {
    iommufd::Unmap request{};
    request.size = sizeof request;
    request.id = space_;
    request.iova = iova;
    request.bytes = bytes;
    if (ioctl(iommu_, iommufd::unmap_request, request) != 0)
      throw_system_error("vfio: cannot unmap memory of the controller", errno);
  }

 private:
  template <class T>
  int ioctl(const FileDescriptor& fd, unsigned long request, T& data) const {
    return calls_->ioctl(fd.get(), request, detail::argument_of(&data));
  }

  FileDescriptor open(const std::string& path, const PciFunction& pci) const {
    const int fd = calls_->open(path);
    if (fd < 0) detail::refuse_node(path, pci, errno);
    return {fd, path};
  }

  [[noreturn]] static void refuse_bind(const PciFunction& pci, int error) {
    const std::string start = "vfio: " + pci.address() + " cannot be bound to an iommufd";
    // The kernel returns EINVAL for a device that is already bound.
    if (error == EINVAL) throw Error(start + ": another process uses " + pci.address());
    if (error == EBUSY)
      throw Error(start + ": another process uses its IOMMU group through /dev/vfio/" + pci.iommu_group());
    if (error == EPERM) {
      const std::string others = detail::held_by_other_drivers(pci);
      if (!others.empty()) detail::refuse_group(pci, others);
      throw Error(start +
                  ": another process uses a device of its group, or interrupts are not remapped here: boot with "
                  "intremap=on, or, if all devices are trusted, set iommufd.allow_unsafe_interrupts=1");
    }
    throw_system_error(start, error);
  }

  void read_limits() {
    std::vector<iommufd::Range> found;
    // The kernel returns the number of ranges if they do not fit; it may grow between two calls.
    for (int round = 0; round < 4; ++round) {
      iommufd::Ranges request{};
      request.size = sizeof request;
      request.id = space_;
      request.count = static_cast<uint32_t>(found.size());
      request.ranges = reinterpret_cast<uintptr_t>(found.data());
      const int result = ioctl(iommu_, iommufd::ranges_request, request);
      if (result != 0 && errno != EMSGSIZE)
        throw_system_error("vfio: the IOMMU does not report its address ranges", errno);
      const bool complete = result == 0 && request.count <= found.size();
      found.resize(request.count);
      if (!complete) continue;
      if (request.alignment != 0) page_bytes_ = request.alignment;
      for (const iommufd::Range& range : found) ranges_.push_back({range.first, range.last});
      return;
    }
    throw Error("vfio: the IOMMU does not report its address ranges");
  }

  std::shared_ptr<KernelCalls> calls_;
  std::string name_;
  FileDescriptor iommu_;
  FileDescriptor device_;
  std::vector<IovaRange> ranges_;
  uint64_t page_bytes_ = 4096;
  uint32_t space_ = 0;
  bool attached_ = false;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
