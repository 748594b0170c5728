// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Admin commands through the kernel's driver, to create and delete the library's queues beside the kernel's.

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/files.hpp>
#include <xio/host/linux/file_descriptor.hpp>
#include <xio/host/linux/kernel_calls.hpp>
#include <xio/host/nvme/controller_access.hpp>
#include <xio/host/nvme/identify.hpp>
#include <xio/host/nvme/kernel_controller.hpp>
#include <xio/host/nvme/kernel_obstacle.hpp>
#include <xio/host/nvme/kernel_passthrough.hpp>
#include <xio/host/nvme/kernel_shared_checks.hpp>
#include <xio/host/nvme/kernel_shared_memory.hpp>
#include <xio/host/nvme/kernel_shared_options.hpp>
#include <xio/host/nvme/kernel_shared_record.hpp>
#include <xio/host/wait.hpp>
#include <xio/vendors/nvme/encode_admin.hpp>
#include <xio/vendors/nvme/identify.hpp>
#include <xio/vendors/nvme/status.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

namespace detail {

/// ControllerAccess through the kernel's driver. The objects passed to it must outlive it.
class KernelSharedAccess final : public ControllerAccess {
 public:
  /// Longer than a reset by the driver; one of the driver's commands may reach its own deadline first.
  static constexpr std::chrono::milliseconds reset_limit{60000};

  /// Opens the controller's device node.
  KernelSharedAccess(std::shared_ptr<KernelCalls> calls, KernelController controller,
                     const KernelSharedOptions& options)
      : calls_(std::move(calls)),
        controller_(std::move(controller)),
        passthrough_(make_passthrough(options.passthrough, calls_)),
        node_(open_controller(*calls_, controller_)) {}

  std::string description() const { return passthrough_->description(); }
  /// Enables the creation of queues in this memory.
  void use(const SharedFolder& folder, const KernelSharedMemory& memory) {
    folder_ = &folder;
    memory_ = &memory;
  }

  /// Waits for the driver, which may be resetting the controller.
  void start() override { wait_until_live(Timeout(reset_limit)); }
  /// Waits for the driver with a limit; throws ControllerFailure if the driver has given up the controller, or takes
  /// longer.
  void wait_until_live(const Timeout& deadline) const {
    Backoff backoff(std::chrono::microseconds(0), std::chrono::microseconds(20000));
    for (;;) {
      const std::string state = controller_.state();
      if (state == "live") return;
      if (KernelController::is_gone(state))
        throw ControllerFailure("kernel-shared: " + controller_.name() + " is gone (state '" + state + "'); see dmesg");
      if (deadline.passed())
        throw ControllerFailure("kernel-shared: " + controller_.name() + " is '" + state + "' for longer than " +
                                deadline.text() + "; see dmesg");
      backoff.pause();
    }
  }

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
  void shut_down(std::chrono::milliseconds) override { stop(); }

  AdminResult run(const nvme::Command& command, const nvme::DataPointer& data,
                  std::chrono::milliseconds limit) override {
    void* memory = nullptr;
    uint32_t bytes = 0;
    if (data.prp1 != 0) {
      bytes = data_bytes(command);
      memory = memory_ == nullptr || data.prp2 != 0 ? nullptr : memory_->at(data.prp1, bytes);
      if (memory == nullptr)
        throw Error(
            "kernel-shared: the kernel accepts admin data only in one contiguous buffer of this controller's "
            "allocate()");
    }
    switch (static_cast<nvme::AdminOpcode>(command.opcode())) {
      case nvme::AdminOpcode::create_io_cq: return create(command, memory, bytes, limit);
      case nvme::AdminOpcode::delete_io_cq: return remove(command, limit);
      case nvme::AdminOpcode::async_event_request: refuse_events();
      default: return submit(command, memory, bytes, limit);
    }
  }

  /// Runs a command on memory of this process, like run().
  AdminResult submit(const nvme::Command& command, void* memory, uint32_t bytes, std::chrono::milliseconds limit) {
    const Timeout deadline(limit);
    for (;;) {
      nvme_passthru_cmd request = passthrough_command(command, memory, bytes);
      const int status = passthrough_->submit(node_.get(), request);
      if (status < 0) refuse_command(command, errno);
      // While the driver resets the controller it rejects commands.
      if (status_code(status) == nvme::sc::host_path_error && !deadline.passed()) {
        wait_until_live(deadline);
        continue;
      }
      return {nvme::to_status(static_cast<uint16_t>(status)), request.result, 0};
    }
  }

  /// Identifiers that the kernel left, possibly none; throws Error if they cannot be determined.
  QueueIds spare_queues(std::chrono::milliseconds limit) {
    const nvme::Command command = nvme::get_features(nvme::FeatureId::number_of_queues);
    const AdminResult result = submit(command, nullptr, 0, limit);
    if (!result.status.is_ok()) throw AdminError(command.opcode(), result.status, "");
    QueueIds ids;
    ids.first = first_spare();
    ids.last = queue_pairs(result.dw0);
    ids.from_top = true;
    return ids;
  }
  /// Optional admin commands of the controller, see nvme::oacs; throws Error if it does not report them.
  uint32_t optional_commands(std::chrono::milliseconds limit) {
    alignas(4096) unsigned char page[nvme::identify_bytes] = {};
    const nvme::Command command = nvme::identify_controller();
    const AdminResult result = submit(command, page, sizeof page, limit);
    if (!result.status.is_ok()) throw AdminError(command.opcode(), result.status, "");
    return nvme::IdentifyController{page}.oacs();
  }
  QueueIds ask_for_queues(uint32_t) override {
    const QueueIds ids = spare_queues(reset_limit);
    RefuseSharing refuse;
    check_spare_queues(controller_, ids, refuse);
    return ids;
  }

  /// What the driver reports of the block device. The number of the disk (diskseq) is another after it was detached.
  std::string namespace_stamp(uint32_t nsid) override {
    for (const KernelNamespace& one : controller_.namespaces()) {
      if (one.nsid != nsid) continue;
      const std::string folder = calls_->sysfs() + "/class/block/" + one.name + "/";
      std::string stamp = one.name;
      for (const char* file : {"size", "queue/logical_block_size", "metadata_bytes", "diskseq"})
        stamp.append(" ").append(first_word(folder + file));
      return stamp;
    }
    return "no block device";
  }

  uint32_t page_shift() const override { return page_shift_; }
  void set_page_shift(uint32_t shift) { page_shift_ = shift; }
  void request_event() override { refuse_events(); }
  std::optional<AsyncEvent> take_event(std::chrono::milliseconds) override { refuse_events(); }
  void use_shadow(uint32_t*, uint32_t*) override {
    throw Error("kernel-shared: only the kernel's driver can enable shadow doorbells; leave them out");
  }

  /// Deletes a queue pair, SQ first; ignores one that does not exist, that no controller can have, or that the kernel
  /// now uses.
  /// @param whose  for the message: " of process 12"
  void delete_queue(uint32_t qid, const std::string& whose) {
    if (qid > QueueRecordPage::last_qid) return;
    const Timeout deadline(reset_limit);
    for (const nvme::Command& command : {nvme::delete_io_sq(qid), nvme::delete_io_cq(qid)}) {
      AdminResult result;
      for (;;) {
        // Check before every try: a reset deletes the library's queues, and may give the number to the kernel.
        if (qid < first_spare()) return;
        result = submit(command, nullptr, 0, std::chrono::milliseconds(0));
        if (status_code(result.status.vendor) != nvme::sc::host_path_error || deadline.passed()) break;
        wait_until_live(deadline);
      }
      if (result.status.is_ok() || is_no_queue(status_code(result.status.vendor))) continue;
      throw AdminError(
          command.opcode(), result.status,
          "queue " + std::to_string(qid) + whose + "; `nvme reset /dev/" + controller_.name() + "` deletes it, too");
    }
  }

 private:
  static uint32_t status_code(int status) { return static_cast<uint32_t>(status) & 0x7ff; }

  /// Lowest identifier that the kernel does not use; throws if the kernel does not report it.
  uint32_t first_spare() const {
    if (const uint32_t count = controller_.queue_count(); count != 0) return count;
    if (KernelController::is_gone(controller_.state()))
      throw ControllerFailure("kernel-shared: " + controller_.name() + " is gone; see dmesg");
    throw Error("kernel-shared: " + controller_.name() + " does not report its queue_count");
  }

  /// Whether a status means that the queue to delete does not exist; QEMU returns the second code for a CQ.
  static bool is_no_queue(uint32_t code) {
    return code == nvme::sc::invalid_queue_identifier || code == nvme::sc::completion_queue_invalid;
  }

  /// Bytes of memory that a command with a data pointer accesses: the kernel builds the command's pointer from this
  /// buffer, and the controller would move anything beyond to or from bus address 0. For a ring only the address
  /// counts.
  static uint32_t data_bytes(const nvme::Command& command) {
    const auto opcode = static_cast<nvme::AdminOpcode>(command.opcode());
    if (opcode == nvme::AdminOpcode::create_io_sq || opcode == nvme::AdminOpcode::create_io_cq) return 4096;
    if (command.data == 0 || command.data > nvme::data_size::largest)
      throw Error("kernel-shared: how much data this " + admin_command_name(command.opcode()) +
                  " moves is not known; set it with Command::moves()");
    return command.data;
  }

  AdminResult create(const nvme::Command& command, void* ring, uint32_t bytes, std::chrono::milliseconds limit) {
    const uint32_t qid = command.cdw10 & 0xffff;
    const FileDescriptor lock = folder_->lock();
    // Another process owns it, and has not noticed yet that a reset deleted it: it will delete it again.
    if (folder_->live_queues(memory_->path()).count(qid) != 0)
      return {nvme::to_status(static_cast<uint16_t>(nvme::sc::invalid_queue_identifier)), 0, 0};
    memory_->record().add(qid);
    try {
      const AdminResult result = submit(command, ring, bytes, limit);
      if (!result.status.is_ok()) memory_->record().remove(qid);
      return result;
    } catch (...) {
      // The kernel did not send the command, or a reset has ended it.
      memory_->record().remove(qid);
      throw;
    }
  }

  AdminResult remove(const nvme::Command& command, std::chrono::milliseconds limit) {
    const AdminResult result = submit(command, nullptr, 0, limit);
    if (result.status.is_ok()) memory_->record().remove(command.cdw10 & 0xffff);
    return result;
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

/// @}
}  // namespace host

XIO_NAMESPACE_END
