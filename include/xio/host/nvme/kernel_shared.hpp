// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Queues of ours on an NVMe controller that the kernel's driver keeps, beside the kernel's own: no kernel
/// module.

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/file_descriptor.hpp>
#include <xio/host/kernel_calls.hpp>
#include <xio/host/nvme/controller_access.hpp>
#include <xio/host/nvme/identify.hpp>
#include <xio/host/nvme/kernel_controller.hpp>
#include <xio/host/nvme/kernel_passthrough.hpp>
#include <xio/host/nvme/kernel_registers.hpp>
#include <xio/host/nvme/kernel_shared_checks.hpp>
#include <xio/host/nvme/kernel_shared_memory.hpp>
#include <xio/host/nvme/kernel_shared_options.hpp>
#include <xio/host/nvme/kernel_shared_record.hpp>
#include <xio/host/nvme/transport.hpp>
#include <xio/host/wait.hpp>
#include <xio/vendors/nvme/encode_admin.hpp>
#include <xio/vendors/nvme/registers.hpp>
#include <xio/vendors/nvme/status_codes.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

namespace detail {

/// Admin commands through the kernel's driver, and the life of our queues there. What it is given outlives it.
class KernelSharedAccess final : public ControllerAccess {
 public:
  KernelSharedAccess(std::shared_ptr<KernelCalls> calls, KernelController controller,
                     const KernelSharedOptions& options)
      : calls_(std::move(calls)),
        controller_(std::move(controller)),
        passthrough_(make_passthrough(options.passthrough, calls_)),
        node_(open_controller(*calls_, controller_)) {}

  std::string description() const { return passthrough_->description(); }
  /// From here on queues can be created, in this memory.
  void use(const SharedFolder& folder, const KernelSharedMemory& memory) {
    folder_ = &folder;
    memory_ = &memory;
  }

  /// Waits for the driver, which may be resetting the controller.
  void start() override { wait_until_live(Deadline(reset_limit)); }

  void stop() override {
    if (memory_ == nullptr) return;
    if (memory_->record().all().empty()) return;
    const FileDescriptor lock = folder_->lock();
    std::exception_ptr failure;
    for (const uint32_t qid : memory_->record().all()) {
      try {
        delete_queue(qid, "");
        memory_->record().remove(qid);
      } catch (const Error&) {
        failure = std::current_exception();
      }
    }
    if (failure) std::rethrow_exception(failure);
  }
  void shut_down() override { stop(); }

  AdminResult run(const nvme::Command& command, const nvme::DataPointer& data,
                  std::chrono::milliseconds limit) override {
    void* memory = nullptr;
    uint32_t bytes = 0;
    if (data.prp1 != 0) {
      bytes = data_bytes(command);
      memory = memory_ == nullptr || data.prp2 != 0 ? nullptr : memory_->at(data.prp1, bytes);
      if (memory == nullptr)
        throw Error(
            "kernel-shared: the kernel takes admin commands with one piece of memory of this controller's "
            "allocate()");
    }
    switch (static_cast<nvme::AdminOpcode>(command.opcode())) {
      case nvme::AdminOpcode::create_io_cq: return create(command, memory, bytes, limit);
      case nvme::AdminOpcode::delete_io_cq: return remove(command, limit);
      case nvme::AdminOpcode::async_event_request: refuse_events();
      default: return submit(command, memory, bytes, limit);
    }
  }

  /// Runs a command on memory of this process; as run().
  AdminResult submit(const nvme::Command& command, void* memory, uint32_t bytes, std::chrono::milliseconds limit) {
    const Deadline deadline(limit);
    for (;;) {
      nvme_passthru_cmd request = passthrough_command(command, memory, bytes);
      const int status = passthrough_->submit(node_.get(), request);
      if (status < 0) refuse_command(command, errno);
      // While the driver resets the controller it turns commands away.
      if (status_code(status) == nvme::sc::host_path_error && !deadline.passed()) {
        wait_until_live(deadline);
        continue;
      }
      return {nvme::to_status(static_cast<uint16_t>(status)), request.result, 0};
    }
  }

  QueueIds ask_for_queues(uint32_t) override {
    const nvme::Command command = nvme::get_features(nvme::FeatureId::number_of_queues);
    const AdminResult result = submit(command, nullptr, 0, reset_limit);
    if (!result.status.is_ok()) throw AdminError(command.opcode(), result.status, "");
    QueueIds ids;
    ids.first = controller_.queue_count();
    ids.last = std::min(result.dw0 & 0xffffu, result.dw0 >> 16) + 1;
    ids.from_top = true;
    if (ids.first == 0) throw Error("kernel-shared: " + controller_.name() + " does not tell its queue_count");
    if (ids.count() == 0)
      throw Error("kernel-shared: no spare queue on this controller: the kernel uses all " + std::to_string(ids.last) +
                  " of " + controller_.name() + "; use vfio: scripts/xio-bind bind " + controller_.pci().address());
    return ids;
  }

  uint32_t page_shift() const override { return page_shift_; }
  void set_page_shift(uint32_t shift) { page_shift_ = shift; }
  void request_event() override { refuse_events(); }
  std::optional<AsyncEvent> take_event(std::chrono::milliseconds) override { refuse_events(); }
  void use_shadow(uint32_t*, uint32_t*) override {
    throw Error("kernel-shared: shadow doorbells are the kernel's to switch on; leave them out");
  }

  /// Deletes a queue pair, SQ first; one that is not there, or is the kernel's now, is left alone.
  /// @param whose  for the message: " of process 12"
  void delete_queue(uint32_t qid, const std::string& whose) {
    if (qid < controller_.queue_count()) return;
    for (const nvme::Command& command : {nvme::delete_io_sq(qid), nvme::delete_io_cq(qid)}) {
      const AdminResult result = submit(command, nullptr, 0, reset_limit);
      if (result.status.is_ok() || is_no_queue(status_code(result.status.vendor))) continue;
      throw AdminError(
          command.opcode(), result.status,
          "queue " + std::to_string(qid) + whose + "; `nvme reset /dev/" + controller_.name() + "` deletes it, too");
    }
  }

 private:
  /// Longer than the driver takes for a reset; a command of its own may run into its deadline before.
  static constexpr std::chrono::milliseconds reset_limit{60000};

  static uint32_t status_code(int status) { return static_cast<uint32_t>(status) & 0x7ff; }

  /// What controllers answer to the deletion of a queue that is not there; QEMU says the second of a CQ.
  static bool is_no_queue(uint32_t code) {
    return code == nvme::sc::invalid_queue_identifier || code == nvme::sc::completion_queue_invalid;
  }

  /// Bytes of memory that a command with a data pointer works on. What is mapped beyond what the controller transfers
  /// does no harm.
  static uint32_t data_bytes(const nvme::Command& command) {
    if (static_cast<nvme::AdminOpcode>(command.opcode()) != nvme::AdminOpcode::get_log_page) return 4096;
    return ((command.cdw10 >> 16 | command.cdw11 << 16) + 1) * 4;
  }

  AdminResult create(const nvme::Command& command, void* ring, uint32_t bytes, std::chrono::milliseconds limit) {
    const uint32_t qid = command.cdw10 & 0xffff;
    const FileDescriptor lock = folder_->lock();
    // Another process has it, and has not noticed yet that a reset deleted it: it will delete it once more.
    if (folder_->live_queues(memory_->path()).count(qid) != 0)
      return {nvme::to_status(static_cast<uint16_t>(nvme::sc::invalid_queue_identifier)), 0, 0};
    memory_->record().add(qid);
    try {
      const AdminResult result = submit(command, ring, bytes, limit);
      if (!result.status.is_ok()) memory_->record().remove(qid);
      return result;
    } catch (...) {
      // The kernel answers so where it did not send the command, or where a reset has ended it.
      memory_->record().remove(qid);
      throw;
    }
  }

  AdminResult remove(const nvme::Command& command, std::chrono::milliseconds limit) {
    const AdminResult result = submit(command, nullptr, 0, limit);
    if (result.status.is_ok()) memory_->record().remove(command.cdw10 & 0xffff);
    return result;
  }

  void wait_until_live(const Deadline& deadline) const {
    Backoff backoff(std::chrono::microseconds(0), std::chrono::microseconds(20000));
    for (;;) {
      const std::string state = controller_.state();
      if (state == "live") return;
      if (state.empty() || state == "dead" || state == "deleting")
        throw ControllerFailure("kernel-shared: " + controller_.name() + " is gone (state '" + state + "'); see dmesg");
      if (deadline.passed())
        throw ControllerFailure("kernel-shared: " + controller_.name() + " is '" + state + "' for more than " +
                                deadline.text() + "; see dmesg");
      backoff.pause();
    }
  }

  [[noreturn]] void refuse_command(const nvme::Command& command, int error) const {
    const std::string start = "kernel-shared: the kernel does not pass on " + admin_command_name(command.opcode());
    if (error == EACCES || error == EPERM) throw Error(start + ": run as root (CAP_SYS_ADMIN)");
    if (error == ENODEV || error == ENXIO)
      throw ControllerFailure("kernel-shared: " + controller_.name() + " is gone; see dmesg");
    if (error == EINTR)
      throw ControllerFailure(start + ": it reset the controller meanwhile; recover() creates the queues anew");
    throw_system_error(start, error);
  }

  [[noreturn]] static void refuse_events() {
    throw Error("kernel-shared: the controller's events go to the kernel's driver; see dmesg and udevadm monitor");
  }

  std::shared_ptr<KernelCalls> calls_;
  KernelController controller_;
  std::unique_ptr<NvmePassthrough> passthrough_;
  FileDescriptor node_;
  const SharedFolder* folder_ = nullptr;
  const KernelSharedMemory* memory_ = nullptr;
  uint32_t page_shift_ = 12;
};

}  // namespace detail

/// Drives queue pairs of its own on a controller that the kernel's nvme driver keeps; the kernel's queues, block
/// devices and file systems go on as before. Needs root, huge pages, a bus without address translation, and a
/// controller with queues to spare.
///
/// Nothing keeps a kernel of ours from writing where it is told to: ask writable() first.
class KernelSharedNvme final : public NvmeTransport {
 public:
  /// Throws Error, with what to do about it, where sharing is not safe or the kernel does not let us.
  explicit KernelSharedNvme(const KernelSharedOptions& options,
                            const std::shared_ptr<KernelCalls>& calls = std::make_shared<KernelCalls>())
      : calls_(calls),
        path_(detail::check_path(*calls, options)),
        controller_(path_.controller, calls->sysfs()),
        pci_(controller_.pci()) {
    detail::check_controller(controller_);
    access_ = std::make_unique<detail::KernelSharedAccess>(calls, controller_, options);
    detail::check_iommu(pci_);
    why_read_only_ = detail::check_use(*calls, controller_, path_, options);
    if (writable() && path_.one_namespace) claim_ = detail::claim(*calls, *path_.one_namespace);
    registers_ = std::make_unique<KernelRegisters>(*calls, pci_);
    access_->start();
    access_->set_page_shift(detail::check_configuration(*registers_));
    check_identity();
    access_->ask_for_queues(1);
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
      // The file stays, and whoever comes next deletes the queues.
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
  /// False once the kernel has given the controller up, or lost it. A reset does not count.
  bool alive() const override {
    const std::string state = controller_.state();
    return !state.empty() && state != "dead" && state != "deleting";
  }
  Span<unsigned char> dma_window() const override { return memory_->window(); }

  const PciFunction& pci() const { return pci_; }
  const KernelController& controller() const { return controller_; }
  /// The namespace that the path leads to; empty: it leads to the controller.
  const std::optional<KernelNamespace>& one_namespace() const { return path_.one_namespace; }
  /// Whether one_namespace() may be written to: it was given by a lasting name, and nothing has claimed it. It stays
  /// claimed for us meanwhile, so that nobody mounts it.
  bool writable() const { return why_read_only_.empty(); }
  /// Why not, and the way out.
  const std::string& why_read_only() const { return why_read_only_; }

 private:
  void check_identity() {
    alignas(4096) unsigned char page[nvme::identify_bytes] = {};
    const nvme::Command command = nvme::identify_controller();
    const AdminResult result = access_->submit(command, page, sizeof page, std::chrono::milliseconds(60000));
    if (!result.status.is_ok()) throw AdminError(command.opcode(), result.status, "");
    detail::check_shadow_doorbells(controller_, nvme::IdentifyController{page}.oacs());
  }

  [[noreturn]] static void refuse_write() {
    throw Error("kernel-shared: the controller's registers are the kernel driver's to write");
  }

  // They end in reverse order: memory, the lock folder, registers, the way to the kernel.
  std::shared_ptr<KernelCalls> calls_;
  KernelNvmePath path_;
  KernelController controller_;
  PciFunction pci_;
  std::string why_read_only_;
  FileDescriptor claim_;
  std::unique_ptr<detail::KernelSharedAccess> access_;
  std::unique_ptr<KernelRegisters> registers_;
  std::unique_ptr<detail::SharedFolder> folder_;
  std::unique_ptr<detail::KernelSharedMemory> memory_;
};

}  // namespace host

XIO_NAMESPACE_END
