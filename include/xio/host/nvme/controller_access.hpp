// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The life of a controller and the way to its admin queue, whoever has them.

#include <chrono>
#include <cstdint>
#include <optional>

#include <xio/config.hpp>
#include <xio/host/nvme/admin_result.hpp>
#include <xio/vendors/nvme/encode.hpp>

XIO_NAMESPACE_BEGIN

namespace host {

/// How a controller is to be set up.
struct ControllerOptions {
  uint32_t admin_entries = 64;                      ///< of the admin queues, 2 to 4096
  uint32_t queue_count = 64;                        ///< I/O queue pairs to ask for, 1 to 65535; fewer may be granted
  bool all_command_sets = false;                    ///< zoned and other namespaces too (CC.CSS = 6)
  std::chrono::milliseconds admin_deadline{30000};  ///< for the answer to one admin command
  /// For becoming ready and for becoming idle; 0: what the controller says it needs (CAP.TO).
  std::chrono::milliseconds ready_deadline{0};
};

/// Identifiers that I/O queue pairs of ours may have: `first` to `last`.
struct QueueIds {
  uint32_t first = 1;
  uint32_t last = 0;
  bool from_top = false;  ///< the highest free one is taken first: somebody else counts from below

  uint32_t count() const { return last < first ? 0 : last - first + 1; }
};

/// A controller as NvmeController needs it. Usable from several threads, but for start(), stop() and shut_down().
class ControllerAccess {
 public:
  virtual ~ControllerAccess() = default;
  ControllerAccess(const ControllerAccess&) = delete;
  ControllerAccess& operator=(const ControllerAccess&) = delete;

  /// After stop(): makes the controller work. Throws Error where it does not within a deadline.
  virtual void start() = 0;
  /// Ends all I/O queues of ours; the controller uses no memory of theirs when this returns. Throws Error where that
  /// cannot be had.
  virtual void stop() = 0;
  /// As stop(), for the last time.
  virtual void shut_down() = 0;

  /// Runs a command and returns the controller's answer, whatever it is; throws Error where none comes.
  /// @param data   memory of NvmeTransport::allocate
  /// @param limit  for the answer, where the admin queue is ours
  virtual AdminResult run(const nvme::Command& command, const nvme::DataPointer& data,
                          std::chrono::milliseconds limit) = 0;
  /// Finds out which queue pairs can be created; throws AdminError where the controller does not say.
  /// @param count  how many are wanted, 1 to 65535; fewer or more may come of it
  virtual QueueIds ask_for_queues(uint32_t count) = 0;
  /// log2 of the memory page that the controller is run with (CC.MPS), in bytes.
  virtual uint32_t page_shift() const = 0;

  /// AdminQueue's functions of these names.
  virtual void request_event() = 0;
  virtual std::optional<AsyncEvent> take_event(std::chrono::milliseconds limit) = 0;
  virtual void use_shadow(uint32_t* sq_shadow, uint32_t* cq_shadow) = 0;

 protected:
  ControllerAccess() = default;
};

}  // namespace host

XIO_NAMESPACE_END
