// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The admin queue of a controller, driven from the host: one command at a time, every status checked.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

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
///
/// Which entries the controller has fetched follows from completions alone: it fetches in order, so that the completion
/// of a command tells of all before it. The head that completions report (SQHD) is not used: some controllers' is
/// wrong.
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

  /// To be called before the controller is disabled: commands are refused from now on, and waiting ones end with an
  /// error. No other thread uses the queue after the return.
  void close() {
    users_.store(Users::none);
    const std::lock_guard<std::mutex> lock(mutex_);
  }
  /// Returns to the state of new queues; only while the controller is disabled. Until open(), only commands of the
  /// calling thread are executed.
  void restart() {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::memset(sq_.data(), 0, sq_.size());
    std::memset(cq_.data(), 0, cq_.size());
    posted_ = fetched_ = used_ = 0;
    pending_.clear();
    events_.clear();
    sq_shadow_ = cq_shadow_ = nullptr;
    user_.store(std::this_thread::get_id());
    users_.store(Users::one);
  }
  /// Executes commands of all threads.
  void open() { users_.store(Users::all); }

  /// Runs a command and returns its result, whatever the status. Throws Error if no completion arrives within `limit`,
  /// ControllerFailure if the controller fails or is reset meanwhile, CommandNotSent if it is disabled already.
  AdminResult run(const nvme::Command& command, const nvme::DataPointer& data, std::chrono::milliseconds limit) {
    const std::unique_lock<std::mutex> lock = admit();
    return run_locked(command, data, limit);
  }

  /// Submits one Asynchronous Event Request. One entry always remains for commands: if there is no other one, the call
  /// first lets the controller fetch the earlier requests, for at most `limit`.
  void request_event(std::chrono::milliseconds limit) {
    if (entries_ < 3) throw Error("admin_entries = 2 leaves no place for event requests; set 3 or more");
    const std::unique_lock<std::mutex> lock = admit();
    if (free_entries() < 2) collect();
    if (free_entries() < 2) run_locked(nvme::get_features(nvme::FeatureId::arbitration), {}, limit);
    post(nvme::async_event_request(), {}, true);
  }

  /// Returns the next event; empty if none arrives within `limit`. Throws AdminError if the request itself failed.
  /// Other threads' commands are executed meanwhile.
  std::optional<AsyncEvent> take_event(std::chrono::milliseconds limit) {
    Look look(limit);
    for (;;) {
      const bool late = look.late();
      {
        const std::unique_lock<std::mutex> lock = admit();
        collect();
        if (!events_.empty()) return next_event();
        if (look.due()) check_health();
      }
      if (late) return std::nullopt;
      look.pause();
    }
  }

  /// Maintains the admin queue's shadow doorbells as well; the registers are still rung.
  void use_shadow(uint32_t* sq_shadow, uint32_t* cq_shadow) {
    const std::lock_guard<std::mutex> lock(mutex_);
    __atomic_store_n(sq_shadow, place(posted_), __ATOMIC_RELEASE);
    __atomic_store_n(cq_shadow, place(used_), __ATOMIC_RELEASE);
    sq_shadow_ = sq_shadow;
    cq_shadow_ = cq_shadow;
  }

 private:
  enum class Users { none, one, all };

  /// A command without a completion.
  struct Pending {
    uint64_t position;  ///< of its entry, counted since the restart
    bool event;         ///< an Asynchronous Event Request
  };

  /// A wait, and when to look for a failed controller: that costs a round trip, so not at every poll.
  class Look {
   public:
    explicit Look(std::chrono::milliseconds limit) : deadline_(limit), next_(interval) {}
    bool late() { return late_ = deadline_.passed(); }
    bool due() {
      if (!late_ && !next_.passed()) return false;
      next_ = Timeout(interval);
      return true;
    }
    void pause() { backoff_.pause(); }

   private:
    static constexpr std::chrono::milliseconds interval{20};
    Timeout deadline_;
    Timeout next_;
    Backoff backoff_;
    bool late_ = false;
  };

  static AdminResult result_of(const nvme::Cqe& entry) {
    return {nvme::to_status(nvme::status_field(entry)), entry.dw0, entry.dw1};
  }

  bool admitted() const {
    const Users users = users_.load();
    return users == Users::all || (users == Users::one && user_.load() == std::this_thread::get_id());
  }
  /// Locks the queue if this thread may use it. A refusal needs no lock: close() must not wait behind those refused.
  std::unique_lock<std::mutex> admit() {
    std::unique_lock<std::mutex> lock(mutex_, std::defer_lock);
    if (admitted()) lock.lock();
    if (!lock.owns_lock() || !admitted())
      throw CommandNotSent(transport_.description() +
                           " is disabled, or is being reset: no admin command works until recover() has returned");
    return lock;
  }

  uint32_t place(uint64_t position) const { return static_cast<uint32_t>(position % entries_); }
  /// Entries of the SQ that the controller is known to have fetched.
  uint32_t free_entries() const { return entries_ - 1 - static_cast<uint32_t>(posted_ - fetched_); }

  AdminResult run_locked(const nvme::Command& command, const nvme::DataPointer& data, std::chrono::milliseconds limit) {
    if (free_entries() == 0) collect();
    if (free_entries() == 0 || pending_.size() >= most_pending)
      throw CommandNotSent(
          "the admin queue is full of commands that did not complete; reset the controller: recover()");
    const uint16_t cid = post(command, data, false);
    Look look(limit);
    for (;;) {
      const bool late = look.late();
      if (const std::optional<nvme::Cqe> answer = collect(cid)) return result_of(*answer);
      if (!admitted())
        throw ControllerFailure(transport_.description() + " was reset before " + admin_command_name(command.opcode()) +
                                " completed");
      if (look.due()) check_health();
      if (late)
        throw Error(admin_command_name(command.opcode()) + " did not complete within " + std::to_string(limit.count()) +
                    " ms; reset the controller: recover()");
      look.pause();
    }
  }

  uint16_t post(const nvme::Command& command, const nvme::DataPointer& data, bool event) {
    // The identifier of a command that was given up stays in use, too: its completion may come late.
    do {
      next_ = static_cast<uint16_t>((next_ + 1) & 0x7fff);
    } while (pending_.count(next_) != 0);
    const uint16_t cid = next_;
    *sq_.as<nvme::Sqe>(place(posted_) * sizeof(nvme::Sqe)) = nvme::encode(command, cid, data);
    pending_[cid] = {posted_, event};
    const uint32_t tail = place(++posted_);
    if (sq_shadow_ != nullptr) __atomic_store_n(sq_shadow_, tail, __ATOMIC_RELEASE);
    transport_.ring(nvme::sq_tail_doorbell(0, doorbell_stride_), tail);
    return cid;
  }

  /// Consumes the completions that are there, keeps those of event requests, and returns that of command `wanted`.
  std::optional<nvme::Cqe> collect(uint32_t wanted = ~0u) {
    std::optional<nvme::Cqe> found;
    for (uint32_t i = 0; i < entries_; ++i) {
      const std::optional<nvme::Cqe> entry = take();
      if (!entry) break;
      const auto of = pending_.find(entry->cid);
      if (of == pending_.end()) continue;
      fetched_ = std::max(fetched_, of->second.position + 1);
      if (of->second.event) events_.push_back(*entry);
      if (entry->cid == wanted) found = entry;
      pending_.erase(of);
    }
    return found;
  }

  AsyncEvent next_event() {
    const AdminResult result = result_of(events_.front());
    events_.pop_front();
    if (!result.status.is_ok())
      throw AdminError(static_cast<uint8_t>(nvme::AdminOpcode::async_event_request), result.status, "");
    return {result.dw0};
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
    const auto* entry = cq_.as<nvme::Cqe>(place(used_) * sizeof(nvme::Cqe));
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
    const uint32_t head = place(++used_);
    if (cq_shadow_ != nullptr) __atomic_store_n(cq_shadow_, head, __ATOMIC_RELEASE);
    transport_.ring(nvme::cq_head_doorbell(0, doorbell_stride_), head);
    return copy;
  }

  static constexpr size_t most_pending = 0x4000;  ///< half of the identifiers

  NvmeTransport& transport_;
  uint32_t entries_;
  uint32_t doorbell_stride_;
  DmaBuffer sq_;
  DmaBuffer cq_;
  std::mutex mutex_;
  std::atomic<Users> users_{Users::none};
  std::atomic<std::thread::id> user_{};
  uint64_t posted_ = 0;   // commands submitted since the restart
  uint64_t fetched_ = 0;  // of these, the controller is known to have fetched
  uint64_t used_ = 0;     // completions consumed since the restart
  uint16_t next_ = 0;
  std::map<uint16_t, Pending> pending_;  // by identifier
  std::deque<nvme::Cqe> events_;
  uint32_t* sq_shadow_ = nullptr;
  uint32_t* cq_shadow_ = nullptr;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
