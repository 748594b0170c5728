// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The admin queue of a controller, driven from the host: one command at a time, every status checked.

#include <chrono>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/memory.hpp>
#include <xio/host/nvme/admin_result.hpp>
#include <xio/host/nvme/transport.hpp>
#include <xio/host/wait.hpp>
#include <xio/vendors/nvme/decode.hpp>
#include <xio/vendors/nvme/encode_admin.hpp>
#include <xio/vendors/nvme/registers.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

/// The admin submission and completion queue. Usable from several threads; commands are executed one after the other.
class AdminQueue {
 public:
  /// @param entries  of each queue, 2 to 4096
  /// @param page_bytes  alignment of the rings
  AdminQueue(NvmeTransport& transport, uint32_t entries, uint32_t doorbell_stride, size_t page_bytes)
      : transport_(transport),
        entries_(entries),
        doorbell_stride_(doorbell_stride),
        sq_(transport.allocate(entries * sizeof(nvme::Sqe), page_bytes)),
        cq_(transport.allocate(entries * sizeof(nvme::Cqe), page_bytes)) {}

  uint64_t sq_bus() const { return sq_.bus(); }
  uint64_t cq_bus() const { return cq_.bus(); }
  uint32_t entries() const { return entries_; }

  /// Returns to the state of new queues; only while the controller is disabled.
  void restart() {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::memset(sq_.data(), 0, sq_.size());
    std::memset(cq_.data(), 0, cq_.size());
    tail_ = taken_ = head_ = 0;
    used_ = 0;
    requested_.clear();
    events_.clear();
    sq_shadow_ = cq_shadow_ = nullptr;
  }

  /// Runs a command and returns its result, whatever the status. Throws Error if no completion arrives within `limit`,
  /// and ControllerFailure if the controller fails meanwhile.
  AdminResult run(const nvme::Command& command, const nvme::DataPointer& data, std::chrono::milliseconds limit) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const uint16_t cid = post(command, data);
    const std::optional<nvme::Cqe> answer = wait(cid, Timeout(limit));
    if (!answer)
      throw Error(admin_command_name(command.opcode()) + " did not complete within " + std::to_string(limit.count()) +
                  " ms; reset the controller: recover()");
    return result_of(*answer);
  }

  /// Submits one Asynchronous Event Request.
  void request_event() {
    const std::lock_guard<std::mutex> lock(mutex_);
    requested_.insert(post(nvme::async_event_request(), {}));
  }

  /// Returns the next event; empty if none arrives within `limit`. Throws AdminError if the request itself failed.
  std::optional<AsyncEvent> take_event(std::chrono::milliseconds limit) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (events_.empty()) wait(std::nullopt, Timeout(limit));
    if (events_.empty()) return std::nullopt;
    const nvme::Cqe answer = events_.front();
    events_.pop_front();
    const AdminResult result = result_of(answer);
    if (!result.status.is_ok())
      throw AdminError(static_cast<uint8_t>(nvme::AdminOpcode::async_event_request), result.status, "");
    return AsyncEvent{result.dw0};
  }

  /// Maintains the admin queue's shadow doorbells as well; the registers are still rung.
  void use_shadow(uint32_t* sq_shadow, uint32_t* cq_shadow) {
    const std::lock_guard<std::mutex> lock(mutex_);
    __atomic_store_n(sq_shadow, tail_, __ATOMIC_RELEASE);
    __atomic_store_n(cq_shadow, head_, __ATOMIC_RELEASE);
    sq_shadow_ = sq_shadow;
    cq_shadow_ = cq_shadow;
  }

 private:
  static AdminResult result_of(const nvme::Cqe& entry) {
    return {nvme::to_status(nvme::status_field(entry)), entry.dw0, entry.dw1};
  }

  uint16_t post(const nvme::Command& command, const nvme::DataPointer& data) {
    if ((tail_ + 1) % entries_ == taken_)
      throw Error("the admin queue is full of commands that did not complete; reset the controller: recover()");
    // Identifiers of abandoned commands must not be reused soon; those of event requests stay in use.
    do {
      next_ = static_cast<uint16_t>((next_ + 1) & 0x7fff);
    } while (requested_.count(next_) != 0);
    const uint16_t cid = next_;
    *sq_.as<nvme::Sqe>(tail_ * sizeof(nvme::Sqe)) = nvme::encode(command, cid, data);
    tail_ = (tail_ + 1) % entries_;
    if (sq_shadow_ != nullptr) __atomic_store_n(sq_shadow_, tail_, __ATOMIC_RELEASE);
    transport_.ring(nvme::sq_tail_doorbell(0, doorbell_stride_), tail_);
    return cid;
  }

  /// Waits for the completion of `cid`, or for an event if no `cid` is given.
  std::optional<nvme::Cqe> wait(std::optional<uint16_t> cid, const Timeout& deadline) {
    Backoff backoff;
    Timeout next_look(failure_look);
    for (;;) {
      if (const std::optional<nvme::Cqe> entry = take()) {
        if (requested_.erase(entry->cid) != 0) {
          events_.push_back(*entry);
          if (!cid) return std::nullopt;
        } else if (cid && entry->cid == *cid) {
          return entry;
        }
        continue;  // anything else is the late completion of an abandoned command
      }
      // A failed controller never completes commands; checking costs a round trip, so not at every poll.
      const bool late = deadline.passed();
      if (late || next_look.passed()) {
        check_health();
        next_look = Timeout(failure_look);
      }
      if (late) return std::nullopt;
      backoff.pause();
    }
  }

  void check_health() {
    if (!transport_.alive())
      throw ControllerFailure(transport_.description() + " is no longer running; create a new controller");
    const nvme::Csts status{transport_.read32(nvme::reg::csts)};
    if (status.gone()) throw ControllerFailure(transport_.description() + " is gone: its registers read as all ones");
    if (status.cfs())
      throw ControllerFailure(transport_.description() + " reports a fatal status (CSTS.CFS); reset it: recover()");
  }

  /// Consumes the next completion, if there is one.
  std::optional<nvme::Cqe> take() {
    const auto* entry = cq_.as<nvme::Cqe>(head_ * sizeof(nvme::Cqe));
    const auto* words = reinterpret_cast<const uint64_t*>(entry);
    const uint64_t high = __atomic_load_n(words + 1, __ATOMIC_ACQUIRE);
    const auto status = static_cast<uint16_t>(high >> 48);
    if (nvme::phase(status) != nvme::expected_phase(used_ / entries_)) return std::nullopt;
    const uint64_t low = __atomic_load_n(words, __ATOMIC_RELAXED);
    nvme::Cqe copy{};
    copy.dw0 = static_cast<uint32_t>(low);
    copy.dw1 = static_cast<uint32_t>(low >> 32);
    copy.sqhd = static_cast<uint16_t>(high);
    copy.sqid = static_cast<uint16_t>(high >> 16);
    copy.cid = static_cast<uint16_t>(high >> 32);
    copy.status = status;
    ++used_;
    head_ = (head_ + 1) % entries_;
    if (copy.sqhd < entries_) taken_ = copy.sqhd;
    if (cq_shadow_ != nullptr) __atomic_store_n(cq_shadow_, head_, __ATOMIC_RELEASE);
    transport_.ring(nvme::cq_head_doorbell(0, doorbell_stride_), head_);
    return copy;
  }

  static constexpr std::chrono::milliseconds failure_look{20};

  NvmeTransport& transport_;
  uint32_t entries_;
  uint32_t doorbell_stride_;
  DmaBuffer sq_;
  DmaBuffer cq_;
  std::mutex mutex_;
  uint32_t tail_ = 0;   // of the SQ
  uint32_t taken_ = 0;  // head of the SQ, as last reported by the controller
  uint32_t head_ = 0;   // of the CQ
  uint64_t used_ = 0;   // completions consumed since the restart
  uint16_t next_ = 0;
  std::set<uint16_t> requested_;  // identifiers of outstanding event requests
  std::deque<nvme::Cqe> events_;
  uint32_t* sq_shadow_ = nullptr;
  uint32_t* cq_shadow_ = nullptr;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
