// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief An NVMe controller of this machine as a transport, opened through vfio: no kernel module, no other driver.

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/linux/fork.hpp>
#include <xio/host/linux/kernel_calls.hpp>
#include <xio/host/linux/pci.hpp>
#include <xio/host/memory/dma_arena.hpp>
#include <xio/host/nvme/transport.hpp>
#include <xio/host/nvme/vfio_access.hpp>
#include <xio/host/nvme/vfio_device.hpp>
#include <xio/host/nvme/vfio_group.hpp>
#include <xio/host/nvme/vfio_iommufd.hpp>
#include <xio/host/nvme/vfio_memory.hpp>
#include <xio/host/nvme/vfio_options.hpp>
#include <xio/host/text.hpp>
#include <xio/host/wait.hpp>
#include <xio/vendors/nvme/registers.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

namespace detail {

/// Throws, with a remedy, unless the function is an NVMe controller bound to vfio-pci.
inline void check_vfio_function(const PciFunction& pci) {
  const std::string name = "vfio: " + pci.address();
  if (!pci.present()) throw Error(name + " does not exist; `lspci -D` lists what does");
  if (pci.class_code() != PciFunction::nvme_class)
    throw Error(name + " is no NVMe controller: its class is " + to_hex(pci.class_code(), 6));
  if (pci.iommu_group().empty())
    throw Error(name +
                " has no IOMMU group: switch VT-d or AMD-Vi on in the firmware, and boot with intel_iommu=on or "
                "amd_iommu=on");
  if (pci.iommu_group_name() == "vfio-noiommu")
    throw Error(name + " has no IOMMU behind it (enable_unsafe_noiommu_mode): memory cannot be mapped for it");
  const std::string driver = pci.driver();
  if (driver == "vfio-pci") return;
  throw Error(name + (driver.empty() ? " has no driver" : " is bound to the driver " + driver) +
              "; give it to vfio-pci: scripts/xio-bind bind " + pci.address());
}

inline std::unique_ptr<VfioAccess> open_vfio(const std::shared_ptr<KernelCalls>& calls, const PciFunction& pci,
                                             const VfioOptions& options) {
  check_vfio_function(pci);
  // A kernel without group nodes offers device nodes only.
  const bool node = !pci.vfio_device().empty();
  if (options.interface == VfioInterface::iommufd ||
      (options.interface == VfioInterface::automatic && node && !calls->exists("/dev/vfio/" + pci.iommu_group())))
    return std::make_unique<VfioIommufd>(calls, pci);
  return std::make_unique<VfioGroup>(calls, pci);
}

}  // namespace detail

/// Drives the controller at a PCI address from this process; the device must be bound to vfio-pci (scripts/xio-bind).
///
/// Queues and data lie in one memory region that is mapped for the device once. Doorbell words are the registers
/// themselves. The destructor disables the controller, revokes its bus mastering and its memory mappings, and returns
/// the device to the kernel, which resets it.
class VfioNvme final : public NvmeTransport {
 public:
  /// Throws Error, with a remedy, if the kernel does not grant the device.
  explicit VfioNvme(const VfioOptions& options,
                    const std::shared_ptr<KernelCalls>& calls = std::make_shared<KernelCalls>())
      : pci_(options.address, calls->sysfs()),
        access_(detail::open_vfio(calls, pci_, options)),
        space_(*access_),
        arena_(detail::make_vfio_arena(options)),
        window_(space_.map(arena_.data(), arena_.size(), options.huge_pages == HugePages::none ? 0 : huge_alignment)),
        device_(calls, *access_) {
    arena_.set_bus_base(window_.bus());
    device_.change_command(VfioDevice::memory_space, VfioDevice::bus_master);
    device_.map_registers(doorbell_base, sizeof(uint32_t) * 2);
    device_.change_command(VfioDevice::bus_master, 0);
  }

  ~VfioNvme() override {
    if (!maker_.is_here()) {  // a copy in a child of fork()
      abandon(std::move(access_));
      return;
    }
    try {
      quiesce();
      device_.change_command(0, VfioDevice::bus_master);
    } catch (const std::exception&) {
      // The device is removed, or does not respond: closing it makes the kernel reset it.
    }
  }

  uint32_t read32(uint64_t offset) override { return device_.read32(offset); }
  uint64_t read64(uint64_t offset) override {
    const uint64_t low = device_.read32(offset);
    return low | uint64_t{device_.read32(offset + 4)} << 32;
  }
  void write32(uint64_t offset, uint32_t value) override { device_.write32(offset, value); }
  // Some controllers accept register writes in 32-bit halves only.
  void write64(uint64_t offset, uint64_t value) override {
    device_.write32(offset, static_cast<uint32_t>(value));
    device_.write32(offset + 4, static_cast<uint32_t>(value >> 32));
  }
  DmaBuffer allocate(size_t bytes, size_t alignment) override { return arena_.allocate(bytes, alignment); }
  DmaBuffer map_memory(void* data, size_t bytes, const std::shared_ptr<void>& owner) override {
    return map(data, bytes, owner);
  }
  uint32_t* doorbell_words() override {
    return static_cast<uint32_t*>(device_.mapped(doorbell_base, sizeof(uint32_t)));
  }
  void open_doorbell(uint32_t index) override {
    if (device_.mapped(doorbell_base, (uint64_t{index} + 1) * sizeof(uint32_t)) == nullptr)
      throw Error("vfio: doorbell " + std::to_string(index) + " lies beyond the " +
                  std::to_string(device_.mapped_bytes(doorbell_base)) +
                  " bytes of doorbells that are mapped; use a lower queue number");
  }
  /// Function level reset, if the device supports it.
  bool reset_device() override {
    if (!device_.can_reset()) return false;
    device_.reset();
    device_.change_command(VfioDevice::memory_space | VfioDevice::bus_master, 0);
    return true;
  }
  std::string description() const override {
    return "NVMe controller " + pci_.address() + " by vfio (" + access_->description() + ")";
  }
  /// False once the kernel requests the device back or has seen an uncorrectable error of it; end the controller then.
  bool alive() const override { return !device_.wanted_back() && !device_.bus_error(); }
  Span<unsigned char> dma_window() const override { return {arena_.data(), arena_.size()}; }

  /// BAR0 from its start, as far as one mapping covers it; for DoorbellMapping.
  Span<unsigned char> registers() const {
    return {static_cast<unsigned char*>(device_.mapped(0, 0)), static_cast<size_t>(device_.mapped_bytes(0))};
  }
  const PciFunction& pci() const { return pci_; }
  /// Maps the caller's memory for the controller, until the buffer or this object is destroyed.
  /// @param data  a multiple of the page size, as is `bytes`
  DmaBuffer map(void* data, size_t bytes, std::shared_ptr<void> owner = nullptr) {
    return space_.map(data, bytes, 0, std::move(owner));
  }

 private:
  static constexpr uint64_t doorbell_base = 0x1000;
  /// Bus addresses of huge pages have the same alignment as the pages, so that the IOMMU can use large pages.
  static constexpr uint64_t huge_alignment = uint64_t{2} << 20;

  /// Disables a controller that was left enabled: it may be fetching commands.
  void quiesce() {
    nvme::Cc cc{read32(nvme::reg::cc)};
    if (~cc.raw == 0 || !cc.en()) return;
    write32(nvme::reg::cc, cc.en(false).shn(0).raw);
    const nvme::Cap cap{read64(nvme::reg::cap)};
    const Timeout deadline(std::chrono::milliseconds(500) * std::clamp(cap.to(), 1u, 60u));
    Backoff backoff;
    while (nvme::Csts{read32(nvme::reg::csts)}.rdy() && !deadline.passed()) backoff.pause();
  }

  // Destroyed in reverse order: memory mappings, then the device, then the address space.
  const Maker maker_;
  PciFunction pci_;
  std::unique_ptr<VfioAccess> access_;
  VfioSpace space_;
  DmaArena arena_;
  DmaBuffer window_;
  VfioDevice device_;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
