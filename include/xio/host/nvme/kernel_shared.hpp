// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The library's queues on an NVMe controller that the kernel's driver owns, beside the kernel's own: no kernel
/// module.

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/linux/file_descriptor.hpp>
#include <xio/host/linux/kernel_calls.hpp>
#include <xio/host/nvme/controller_access.hpp>
#include <xio/host/nvme/kernel_controller.hpp>
#include <xio/host/nvme/kernel_obstacle.hpp>
#include <xio/host/nvme/kernel_registers.hpp>
#include <xio/host/nvme/kernel_shared_access.hpp>
#include <xio/host/nvme/kernel_shared_checks.hpp>
#include <xio/host/nvme/kernel_shared_inspection.hpp>
#include <xio/host/nvme/kernel_shared_memory.hpp>
#include <xio/host/nvme/kernel_shared_options.hpp>
#include <xio/host/nvme/kernel_shared_record.hpp>
#include <xio/host/nvme/transport.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

/// Drives its own queue pairs on a controller that the kernel's nvme driver owns; the kernel's queues, block devices
/// and file systems keep working. Needs root, huge pages, a bus without address translation, and a controller with
/// spare queues.
///
/// Nothing prevents the library's kernels from writing to any block: check writable() first.
class KernelSharedNvme final : public NvmeTransport {
 public:
  /// Throws Error, with a remedy, if sharing is not safe or the kernel does not permit it.
  explicit KernelSharedNvme(const KernelSharedOptions& options,
                            const std::shared_ptr<KernelCalls>& calls = std::make_shared<KernelCalls>())
      : calls_(calls),
        path_(detail::check_path(*calls, options)),
        controller_(path_.controller, calls->sysfs()),
        pci_(controller_.pci()) {
    RefuseSharing refuse;
    detail::check_transport(controller_, refuse);
    detail::check_state(controller_, refuse);
    // Whoever may not open its node is told so, and not what else cannot be seen.
    access_ = std::make_unique<detail::KernelSharedAccess>(calls, controller_, options);
    inspect_from_outside(*calls, controller_, options, refuse);
    why_read_only_ = detail::why_read_only(*calls, controller_, path_, options);
    InspectedController found =
        detail::inspect_as_root(*calls, controller_, *access_, detail::KernelSharedAccess::reset_limit, refuse);
    registers_ = std::move(found.registers);
    access_->set_page_shift(found.page_shift);
    if (writable() && path_.one_namespace) claims_ = detail::claim(*calls, controller_, *path_.one_namespace);
    folder_ = std::make_unique<detail::SharedFolder>(*calls, pci_.address());
    const FileDescriptor lock = folder_->lock();
    folder_->clean([this](uint32_t qid, uint64_t process) {
      access_->delete_queue(qid, " of process " + std::to_string(process) + ", which has ended");
    });
    memory_ = std::make_unique<detail::KernelSharedMemory>(*calls, *folder_, options.dma_bytes);
    access_->use(*folder_, *memory_);
  }

  ~KernelSharedNvme() override {
    try {
      if (alive()) access_->stop();
    } catch (const std::exception&) {
      // The file stays, and the next process deletes the queues.
    }
  }

  uint32_t read32(uint64_t offset) override { return registers_->read32(offset); }
  uint64_t read64(uint64_t offset) override {
    const uint64_t low = registers_->read32(offset);
    return low | uint64_t{registers_->read32(offset + 4)} << 32;
  }
  void write32(uint64_t, uint32_t) override { refuse_write(); }
  void write64(uint64_t, uint64_t) override { refuse_write(); }
  DmaBuffer allocate(size_t bytes, size_t alignment) override { return memory_->allocate(bytes, alignment); }
  uint32_t* doorbell_words() override { return registers_->doorbells(); }
  void open_doorbell(uint32_t index) override {
    if (index >= registers_->doorbell_count())
      throw Error("kernel-shared: doorbell " + std::to_string(index) +
                  " lies beyond the end of BAR0; use a lower queue "
                  "number");
  }
  ControllerAccess* keeper() override { return access_.get(); }
  std::string description() const override {
    return "NVMe controller " + pci_.address() + " beside the kernel (" + controller_.name() + ", " +
           access_->description() + ")";
  }
  /// False once the kernel has given up or lost the controller. A reset does not count. The registers are then
  /// detached: the kernel leaves them mapped, and their addresses may soon be assigned to another device.
  bool alive() const override {
    if (!registers_->lost() && !KernelController::is_gone(controller_.state())) return true;
    registers_->let_go();
    return false;
  }
  /// Whether the controller has left the bus.
  bool removed() const { return registers_->lost() || !pci_.present(); }
  Span<unsigned char> dma_window() const override { return memory_->window(); }

  const PciFunction& pci() const { return pci_; }
  const KernelController& controller() const { return controller_; }
  /// Namespace that the path leads to; empty if it leads to the controller.
  const std::optional<KernelNamespace>& one_namespace() const { return path_.one_namespace; }
  /// Whether one_namespace() may be written to: it was given by a persistent name, and nothing else has claimed it. The
  /// library keeps it claimed meanwhile, so that it cannot be mounted.
  bool writable() const { return why_read_only_.empty(); }
  /// Why writes are not allowed, with a remedy.
  const std::string& why_read_only() const { return why_read_only_; }

 private:
  [[noreturn]] static void refuse_write() {
    throw Error("kernel-shared: only the kernel's driver may write the controller's registers");
  }

  // Destroyed in reverse order: memory, the lock folder, registers, the connection to the kernel.
  std::shared_ptr<KernelCalls> calls_;
  KernelNvmePath path_;
  KernelController controller_;
  PciFunction pci_;
  std::string why_read_only_;
  std::vector<FileDescriptor> claims_;
  std::unique_ptr<detail::KernelSharedAccess> access_;
  std::unique_ptr<KernelRegisters> registers_;
  std::unique_ptr<detail::SharedFolder> folder_;
  std::unique_ptr<detail::KernelSharedMemory> memory_;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
