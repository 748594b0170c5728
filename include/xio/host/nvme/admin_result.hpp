// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Outcomes of admin commands: results, errors, events.

#include <string>

#include <xio/config.hpp>
#include <xio/device/core/status.hpp>
#include <xio/host/error.hpp>
#include <xio/host/text.hpp>
#include <xio/vendors/nvme/decode.hpp>
#include <xio/vendors/nvme/opcodes_admin.hpp>
#include <xio/vendors/nvme/status_names.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

/// Completion of an admin command.
struct AdminResult {
  Status status;     ///< Status::vendor holds the status field (xio/vendors/nvme/decode.hpp)
  uint32_t dw0 = 0;  ///< command specific
  uint32_t dw1 = 0;  ///< command specific
};

/// Name of an admin command, for messages.
inline std::string admin_command_name(uint8_t opcode) {
  switch (static_cast<nvme::AdminOpcode>(opcode)) {
    case nvme::AdminOpcode::delete_io_sq: return "Delete I/O Submission Queue";
    case nvme::AdminOpcode::create_io_sq: return "Create I/O Submission Queue";
    case nvme::AdminOpcode::get_log_page: return "Get Log Page";
    case nvme::AdminOpcode::delete_io_cq: return "Delete I/O Completion Queue";
    case nvme::AdminOpcode::create_io_cq: return "Create I/O Completion Queue";
    case nvme::AdminOpcode::identify: return "Identify";
    case nvme::AdminOpcode::abort: return "Abort";
    case nvme::AdminOpcode::set_features: return "Set Features";
    case nvme::AdminOpcode::get_features: return "Get Features";
    case nvme::AdminOpcode::async_event_request: return "Asynchronous Event Request";
    case nvme::AdminOpcode::doorbell_buffer_config: return "Doorbell Buffer Config";
    case nvme::AdminOpcode::format_nvm: return "Format NVM";
    default: return "admin command " + to_hex(opcode, 2);
  }
}

/// The controller rejected an admin command. The message names the command and the status.
class AdminError : public Error {
 public:
  AdminError(uint8_t opcode, Status status, const std::string& context)
      : Error(admin_command_name(opcode) + (context.empty() ? "" : " (" + context + ")") +
              " failed: " + nvme::status_name(status.vendor) + " (status " + to_hex(status.vendor & 0x7ffu, 3) +
              (nvme::do_not_retry(status.vendor) ? ", do not retry)" : ")")),
        opcode_(opcode),
        status_(status) {}

  uint8_t opcode() const { return opcode_; }
  Status status() const { return status_; }
  /// Status code type and status code, as listed in status.hpp: 0x102 is "invalid queue size".
  uint16_t code() const { return status_.vendor & 0x7ff; }

 private:
  uint8_t opcode_;
  Status status_;
};

/// The controller has failed: fatal status (CSTS.CFS), or removed. A reset may help.
class ControllerFailure : public Error {
 public:
  using Error::Error;
};

/// An admin command was not submitted: the controller is disabled or being recovered, or the admin queue is full.
class CommandNotSent : public Error {
 public:
  using Error::Error;
};

/// Event reported by an Asynchronous Event Request (Base Specification 2.0, figure 146).
struct AsyncEvent {
  uint32_t raw = 0;  ///< dword 0 of the completion

  uint32_t type() const { return raw & 7; }                 ///< 0 error, 1 SMART, 2 notice, 6 command set, 7 vendor
  uint32_t information() const { return raw >> 8 & 0xff; }  ///< depends on the type
  /// Whether a namespace was formatted, resized, attached or detached (Namespace Attribute Changed).
  bool is_namespace_change() const { return type() == 2 && information() == 0; }
  uint32_t log_page() const { return raw >> 16 & 0xff; }  ///< reading this page re-enables events of the type
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
