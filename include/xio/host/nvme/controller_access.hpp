// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Interface to start and stop a controller and to run admin commands, whichever driver owns it.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <xio/config.hpp>
#include <xio/host/nvme/admin_result.hpp>
#include <xio/vendors/nvme/encode.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

/// Set-up options of a controller.
struct ControllerOptions {
  uint32_t admin_entries = 64;                      ///< of the admin queues, 2 to 4096
  uint32_t queue_count = 64;                        ///< I/O queue pairs to request, 1 to 65535; fewer may be granted
  bool all_command_sets = false;                    ///< enables zoned and other command sets too (CC.CSS = 6)
  std::chrono::milliseconds admin_deadline{30000};  ///< for the completion of one admin command
  /// Time limit to become ready and to become idle; 0: the limit that the controller reports (CAP.TO).
  std::chrono::milliseconds ready_deadline{0};
  /// Time limit of the shutdown in the destructor, after which the controller is disabled anyway; 0: what it reports
  /// (RTD3E), at least 10 s and at most 60 s.
  std::chrono::milliseconds shutdown_deadline{0};
};

/// Identifiers available for the library's I/O queue pairs: `first` to `last`.
struct QueueIds {
  uint32_t first = 1;
  uint32_t last = 0;
  bool from_top = false;  ///< allocate the highest free one first: another user counts from below

  uint32_t count() const { return last < first ? 0 : last - first + 1; }
};

/// I/O queue pairs that dword 0 of Number of Queues reports: SQs and CQs, minus 1 each. FFFFh is no valid number.
inline uint32_t queue_pairs(uint32_t dword0) { return std::min({dword0 & 0xffffu, dword0 >> 16, 0xfffeu}) + 1; }

/// Access to a controller for NvmeController. Usable from several threads, except for start(), stop() and shut_down().
class ControllerAccess {
 public:
  virtual ~ControllerAccess() = default;
  ControllerAccess(const ControllerAccess&) = delete;
  ControllerAccess& operator=(const ControllerAccess&) = delete;

  /// Makes the controller operational, after stop(). Throws Error if it is not within a deadline. Where the library
  /// owns the admin queue, commands of other threads are refused from stop() until open().
  virtual void start() = 0;
  virtual void open() {}  ///< ends that refusal
  /// Deletes all I/O queues of the library; on return the controller no longer uses their memory. Throws Error if that
  /// cannot be achieved.
  virtual void stop() = 0;
  /// Final stop().
  /// @param limit  for a shutdown notification, if the library owns the controller
  virtual void shut_down(std::chrono::milliseconds limit) = 0;

  /// Runs a command and returns its result, whatever the status; throws Error if no completion arrives.
  /// @param data   memory of NvmeTransport::allocate
  /// @param limit  for the completion, if the library owns the admin queue
  virtual AdminResult run(const nvme::Command& command, const nvme::DataPointer& data,
                          std::chrono::milliseconds limit) = 0;
  /// Determines which queue pairs can be created.
  /// @param count  number requested, 1 to 65535; fewer or more may be granted
  virtual QueueIds ask_for_queues(uint32_t count) = 0;
  /// log2 of the memory page size in bytes that the controller is configured with (CC.MPS).
  virtual uint32_t page_shift() const = 0;

  /// Text that changes when a namespace is formatted, resized, detached or attached, found without a command; empty:
  /// only the controller can tell.
  virtual std::string namespace_stamp(uint32_t nsid) {
    static_cast<void>(nsid);
    return {};
  }

  /// Events and shadow doorbells: see the functions of AdminQueue with these names.
  virtual void request_event() = 0;
  virtual std::optional<AsyncEvent> take_event(std::chrono::milliseconds limit) = 0;
  virtual void use_shadow(uint32_t* sq_shadow, uint32_t* cq_shadow) = 0;

 protected:
  ControllerAccess() = default;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
