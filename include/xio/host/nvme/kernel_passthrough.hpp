// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Admin commands through the kernel's nvme driver: by libnvme if it is installed, else by its underlying ioctl.

#include <linux/nvme_ioctl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/linux/kernel_calls.hpp>
#include <xio/host/linux/shared_library.hpp>
#include <xio/host/nvme/kernel_shared_options.hpp>
#include <xio/vendors/nvme/encode.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

/// Sends admin commands to an open controller node. Usable from several threads.
class NvmePassthrough {
 public:
  virtual ~NvmePassthrough() = default;
  NvmePassthrough(const NvmePassthrough&) = delete;
  NvmePassthrough& operator=(const NvmePassthrough&) = delete;

  /// Submits a command. `command.result` is then dword 0 of the completion.
  /// @return 0, or the controller's status field (status code, type, more, do not retry) if it is not 0, or -1 with
  ///         errno if the kernel did not send the command
  virtual int submit(int fd, nvme_passthru_cmd& command) = 0;
  /// Human-readable description.
  virtual std::string description() const = 0;

 protected:
  NvmePassthrough() = default;
};

namespace detail {

class IoctlPassthrough final : public NvmePassthrough {
 public:
  explicit IoctlPassthrough(std::shared_ptr<KernelCalls> calls) : calls_(std::move(calls)) {}
  int submit(int fd, nvme_passthru_cmd& command) override {
    return calls_->ioctl(fd, NVME_IOCTL_ADMIN_CMD, reinterpret_cast<uintptr_t>(&command));
  }
  std::string description() const override { return "ioctl"; }

 private:
  std::shared_ptr<KernelCalls> calls_;
};

/// Passthrough by libnvme. Its struct is the kernel's, so its header is not needed
/// (tests/layout/nvme_libnvme_commands.cpp compares them).
class LibnvmePassthrough final : public NvmePassthrough {
 public:
  using Submit = int(int fd, nvme_passthru_cmd* command, uint32_t* result);

  /// Throws Error if the library cannot be loaded.
  explicit LibnvmePassthrough(const std::string& file = "libnvme.so.1") {
    submit_ = SharedLibrary({file}, "install libnvme (Debian: libnvme1), or use passthrough=ioctl (Passthrough::ioctl)")
                  .find("nvme_submit_admin_passthru");
  }
  int submit(int fd, nvme_passthru_cmd& command) override {
    uint32_t result = 0;
    const int status = submit_(fd, &command, &result);
    command.result = result;
    return status;
  }
  std::string description() const override { return "libnvme"; }

 private:
  Submit* submit_ = nullptr;
};

}  // namespace detail

/// Selects how admin commands are passed to the kernel.
inline std::unique_ptr<NvmePassthrough> make_passthrough(Passthrough wanted, const std::shared_ptr<KernelCalls>& calls,
                                                         const std::string& library = "libnvme.so.1") {
  if (wanted != Passthrough::ioctl) {
    try {
      return std::make_unique<detail::LibnvmePassthrough>(library);
    } catch (const Error&) {
      if (wanted == Passthrough::libnvme) throw;
    }
  }
  return std::make_unique<detail::IoctlPassthrough>(calls);
}

/// Converts a command to the kernel's struct.
/// @param data   buffer of this process for the command's data, or null
/// @param bytes  length of the buffer, which the kernel maps for the controller; 0 if there is none
inline nvme_passthru_cmd passthrough_command(const nvme::Command& command, void* data, uint32_t bytes) {
  nvme_passthru_cmd out{};
  out.opcode = command.opcode();
  out.nsid = command.namespace_id;
  out.cdw2 = command.cdw2;
  out.cdw3 = command.cdw3;
  out.addr = reinterpret_cast<uintptr_t>(data);
  out.data_len = bytes;
  out.cdw10 = command.cdw10;
  out.cdw11 = command.cdw11;
  out.cdw12 = command.cdw12;
  out.cdw13 = command.cdw13;
  out.cdw14 = command.cdw14;
  out.cdw15 = command.cdw15;
  // timeout_ms = 0: the driver's own deadline applies. When it expires, the driver resets the controller.
  return out;
}

/// @}
}  // namespace host

XIO_NAMESPACE_END
