// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief PCI side of a device opened through vfio: configuration space, registers, reset, and the kernel's request to
/// release the device.

#include <linux/vfio.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/linux/file_descriptor.hpp>
#include <xio/host/linux/kernel_calls.hpp>
#include <xio/host/nvme/vfio_access.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

/// A PCI device behind a VfioAccess, which must outlive it. Usable from several threads. Not movable.
class VfioDevice {
 public:
  VfioDevice(std::shared_ptr<KernelCalls> calls, const VfioAccess& access) : calls_(std::move(calls)), access_(access) {
    vfio_device_info info{};
    info.argsz = sizeof info;
    if (ioctl(VFIO_DEVICE_GET_INFO, &info) != 0)
      throw_system_error("vfio: the device does not report its information", errno);
    if ((info.flags & VFIO_DEVICE_FLAGS_PCI) == 0) throw Error("vfio: this is no PCI device");
    can_reset_ = (info.flags & VFIO_DEVICE_FLAGS_RESET) != 0;
    config_offset_ = region(VFIO_PCI_CONFIG_REGION_INDEX).get().offset;
    if (info.num_irqs > VFIO_PCI_REQ_IRQ_INDEX) requests_ = watch(VFIO_PCI_REQ_IRQ_INDEX);
    if (info.num_irqs > VFIO_PCI_ERR_IRQ_INDEX) errors_ = watch(VFIO_PCI_ERR_IRQ_INDEX);
  }
  VfioDevice(const VfioDevice&) = delete;
  VfioDevice& operator=(const VfioDevice&) = delete;
  ~VfioDevice() {
    for (const Area& area : areas_) ::munmap(area.data, area.bytes);
  }

  /// Maps the mappable parts of BAR0; one mapping must cover `bytes` from `offset`.
  void map_registers(uint64_t offset, uint64_t bytes) {
    const detail::VfioInfo<vfio_region_info> bar = region(VFIO_PCI_BAR0_REGION_INDEX);
    const uint32_t flags = bar.get().flags;
    bar_offset_ = bar.get().offset;
    bar_bytes_ = bar.get().size;
    if (bar_bytes_ < offset + bytes)
      throw Error("vfio: BAR0 has " + std::to_string(bar_bytes_) + " bytes; this is no NVMe controller");
    std::vector<vfio_region_sparse_mmap_area> pieces;
    if ((flags & VFIO_REGION_INFO_FLAG_MMAP) != 0) {
      using Sparse = vfio_region_info_cap_sparse_mmap;
      const Sparse* sparse = nullptr;
      if ((flags & VFIO_REGION_INFO_FLAG_CAPS) != 0)
        sparse = bar.find<Sparse>(bar.get().cap_offset, VFIO_REGION_INFO_CAP_SPARSE_MMAP);
      if (sparse != nullptr)
        pieces = bar.elements<vfio_region_sparse_mmap_area>(sparse, sparse->nr_areas);
      else
        pieces.push_back({0, bar_bytes_});
    }
    for (const vfio_region_sparse_mmap_area& piece : pieces) {
      if (piece.size == 0 || piece.offset > bar_bytes_ || piece.size > bar_bytes_ - piece.offset) continue;
      void* const data = ::mmap(nullptr, piece.size, PROT_READ | PROT_WRITE, MAP_SHARED, access_.device(),
                                static_cast<off_t>(bar_offset_ + piece.offset));
      if (data == MAP_FAILED) throw_system_error("vfio: BAR0 cannot be mapped", errno);
      areas_.push_back({piece.offset, piece.size, static_cast<unsigned char*>(data)});
    }
    if (mapped(offset, bytes) == nullptr)
      throw Error("vfio: the kernel does not allow mapping this controller's doorbells (BAR0 at " + to_hex(offset) +
                  "); kernels cannot ring them");
  }

  /// Address of `bytes` of BAR0 from `offset`; null unless one mapping covers them.
  void* mapped(uint64_t offset, uint64_t bytes) const {
    for (const Area& area : areas_)
      if (offset >= area.offset && offset - area.offset <= area.bytes && bytes <= area.bytes - (offset - area.offset))
        return area.data + (offset - area.offset);
    return nullptr;
  }
  /// Bytes from `offset` to the end of the mapping that covers it; 0 if none does.
  uint64_t mapped_bytes(uint64_t offset) const {
    for (const Area& area : areas_)
      if (offset >= area.offset && offset - area.offset < area.bytes) return area.bytes - (offset - area.offset);
    return 0;
  }

  /// Reads a register of BAR0.
  /// @param offset  a multiple of 4
  uint32_t read32(uint64_t offset) const {
    uint32_t value = 0;
    if (const void* word = mapped(offset, sizeof value)) {
      value = *static_cast<const volatile uint32_t*>(word);
      // Memory that the controller wrote before it changed the register must be visible afterwards.
      __atomic_thread_fence(__ATOMIC_ACQUIRE);
      return value;
    }
    check_bar(offset);
    transfer("read a register", ::pread(access_.device(), &value, sizeof value, file_offset(bar_offset_ + offset)),
             sizeof value);
    return value;
  }
  void write32(uint64_t offset, uint32_t value) const {
    __atomic_thread_fence(__ATOMIC_RELEASE);
    if (void* word = mapped(offset, sizeof value)) {
      *static_cast<volatile uint32_t*>(word) = value;
      return;
    }
    check_bar(offset);
    transfer("write a register", ::pwrite(access_.device(), &value, sizeof value, file_offset(bar_offset_ + offset)),
             sizeof value);
  }

  uint16_t config_read16(uint32_t offset) const {
    uint16_t value = 0;
    transfer("read its configuration",
             ::pread(access_.device(), &value, sizeof value, file_offset(config_offset_ + offset)), sizeof value);
    return value;
  }
  void config_write16(uint32_t offset, uint16_t value) const {
    transfer("write its configuration",
             ::pwrite(access_.device(), &value, sizeof value, file_offset(config_offset_ + offset)), sizeof value);
  }
  /// Sets and clears bits of the PCI command register.
  void change_command(uint16_t on, uint16_t off) const {
    const uint16_t before = config_read16(command_register);
    const auto after = static_cast<uint16_t>((before & ~off) | on);
    if (after != before) config_write16(command_register, after);
  }
  static constexpr uint16_t memory_space = 2;  ///< PCI command register: BARs respond to accesses
  static constexpr uint16_t bus_master = 4;    ///< PCI command register: the device may access memory

  bool can_reset() const { return can_reset_; }
  /// Resets only this device (function level reset, if it supports it). Its configuration is preserved.
  void reset() const {
    if (ioctl(VFIO_DEVICE_RESET, static_cast<void*>(nullptr)) != 0)
      throw_system_error("vfio: the device cannot be reset", errno);
    // Discard errors from before the reset.
    uint64_t count = 0;
    if (errors_ && ::read(errors_.get(), &count, sizeof count) < 0) count = 0;
  }

  /// True once the kernel has requested the device back: it is being unplugged, or unbound from vfio-pci.
  bool wanted_back() const { return signalled(requests_); }
  /// True once the bus has reported an uncorrectable error of the device.
  bool bus_error() const { return signalled(errors_); }

 private:
  static constexpr uint32_t command_register = 4;

  struct Area {
    uint64_t offset;
    uint64_t bytes;
    unsigned char* data;
  };

  template <class T>
  int ioctl(unsigned long request, T* data) const {
    return calls_->ioctl(access_.device(), request, detail::argument_of(data));
  }

  detail::VfioInfo<vfio_region_info> region(uint32_t index) const {
    vfio_region_info ask{};
    ask.index = index;
    return {*calls_, access_.device(), VFIO_DEVICE_GET_REGION_INFO, ask,
            "region " + std::to_string(index) + " is not described"};
  }

  /// Returns an eventfd for one interrupt index; empty if the kernel does not offer that index.
  FileDescriptor watch(uint32_t index) const {
    vfio_irq_info info{};
    info.argsz = sizeof info;
    info.index = index;
    if (ioctl(VFIO_DEVICE_GET_IRQ_INFO, &info) != 0 || info.count == 0) return {};
    FileDescriptor event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "vfio: cannot create an eventfd");
    // The descriptor follows the struct.
    alignas(vfio_irq_set) unsigned char request[sizeof(vfio_irq_set) + sizeof(int32_t)] = {};
    auto* const set = reinterpret_cast<vfio_irq_set*>(request);
    set->argsz = sizeof request;
    set->flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER;
    set->index = index;
    set->count = 1;
    const int32_t fd = event.get();
    std::memcpy(request + sizeof(vfio_irq_set), &fd, sizeof fd);
    if (ioctl(VFIO_DEVICE_SET_IRQS, request) != 0) return {};
    return event;
  }

  static bool signalled(const FileDescriptor& event) {
    pollfd look{event.get(), POLLIN, 0};
    return event && ::poll(&look, 1, 0) == 1;
  }

  void check_bar(uint64_t offset) const {
    if (offset >= bar_bytes_ || bar_bytes_ - offset < sizeof(uint32_t))
      throw Error("vfio: register " + to_hex(offset) + " lies beyond the end of BAR0");
  }
  static off_t file_offset(uint64_t offset) { return static_cast<off_t>(offset); }
  static void transfer(const char* what, ssize_t done, size_t wanted) {
    if (done == static_cast<ssize_t>(wanted)) return;
    const std::string start = std::string("vfio: the kernel does not ") + what;
    if (done < 0) throw_system_error(start, errno);
    throw Error(start + ": it is gone");
  }

  std::shared_ptr<KernelCalls> calls_;
  const VfioAccess& access_;
  bool can_reset_ = false;
  uint64_t config_offset_ = 0;
  uint64_t bar_offset_ = 0;
  uint64_t bar_bytes_ = 0;
  std::vector<Area> areas_;
  FileDescriptor requests_;
  FileDescriptor errors_;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
