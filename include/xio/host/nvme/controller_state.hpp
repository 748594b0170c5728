// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Controller state shared with its queues: capabilities, access to the admin queue, the list of queues, shadow
/// doorbells.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/error.hpp>
#include <xio/host/linux/fork.hpp>
#include <xio/host/memory.hpp>
#include <xio/host/nvme/admin_result.hpp>
#include <xio/host/nvme/controller_access.hpp>
#include <xio/host/nvme/identify.hpp>
#include <xio/host/nvme/namespace_watch.hpp>
#include <xio/host/nvme/owned_controller.hpp>
#include <xio/host/nvme/queue_plan.hpp>
#include <xio/host/nvme/transport.hpp>
#include <xio/vendors/nvme/registers.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

namespace detail {

/// A queue pair as registered in the controller's state.
class QueueRecord {
 public:
  virtual ~QueueRecord() = default;
  QueueRecord(const QueueRecord&) = delete;
  QueueRecord& operator=(const QueueRecord&) = delete;

  /// Creates the queues on the controller, with new memory.
  virtual void create() = 0;
  /// Closes the doorbells, before the queues are deleted: no doorbell of theirs is forwarded any more.
  virtual void close_doorbells() = 0;
  /// Called once the queues no longer exist on the controller.
  virtual void forget() = 0;
  /// Deletes the queues if their namespace has changed since they were created; returns whether it has not.
  virtual bool check(NamespaceWatch::Look& look) = 0;
  /// Why check() deleted the queues; empty if it did not.
  virtual const std::string& failure() const = 0;

  const uint32_t qid;

 protected:
  explicit QueueRecord(uint32_t number) : qid(number) {}
};

inline void check_queue_count(uint32_t count) {
  if (count < 1 || count > 65535)
    throw Error("queue_count = " + std::to_string(count) + " is not accepted; expected 1 to 65535");
}

/// How long a shutdown may take, for a controller that reports `us` microseconds (RTD3E).
inline std::chrono::milliseconds shutdown_time(uint32_t us) {
  return std::chrono::milliseconds(std::min(std::max(us / 1000 + 1, 10000u), 60000u));
}

/// State that NvmeController and its queues share. Lives as long as the controller object or one of its queues; the
/// transport lives only as long as the controller object.
class ControllerState {
 public:
  ControllerState(std::unique_ptr<NvmeTransport> transport, const ControllerOptions& wanted)
      : options(wanted), transport_(std::move(transport)) {
    if (!transport_) throw Error("NvmeController: no transport given");
    if (options.admin_entries < 2 || options.admin_entries > 4096)
      throw Error("admin_entries = " + std::to_string(options.admin_entries) + " is not accepted; expected 2 to 4096");
    check_queue_count(options.queue_count);
    cap.raw = transport_->read64(nvme::reg::cap);
    if (~cap.raw == 0)
      throw ControllerFailure(transport_->description() + " does not respond: registers read as all ones");
    version.raw = transport_->read32(nvme::reg::vs);
    access_ = transport_->keeper();
    if (access_ == nullptr) {
      owned_ = std::make_unique<OwnedController>(*transport_, options, cap);
      access_ = owned_.get();
    }
    page_shift = access_->page_shift();
  }

  const ControllerOptions options;
  nvme::Cap cap;
  nvme::Vs version;
  uint32_t page_shift = 12;  ///< log2 of the memory page (CC.MPS)
  ControllerInfo info;       ///< written once, while the controller is set up
  std::mutex mutex;          ///< guards the queues and the shadow doorbells
  QueueIds ids;              ///< under `mutex`

  /// Entries of the largest queue. Some drives report CAP.MQES = 0, and have at least 64.
  uint32_t max_queue_entries() const { return cap.mqes() != 0 ? cap.mqes() + 1 : 64; }
  size_t page_bytes() const { return size_t{1} << page_shift; }

  /// False in a child of fork(), whose copy of the controller must not be used or ended.
  bool is_here() const { return maker_.is_here(); }

  NvmeTransport& transport() const {
    check_maker();
    if (!transport_) throw Error("the NvmeController of this queue is gone");
    return *transport_;
  }
  ControllerAccess& access() const {
    check_maker();
    if (access_ == nullptr) throw Error("the NvmeController is gone");
    return *access_;
  }

  AdminResult run(const nvme::Command& command, const nvme::DataPointer& data = {}) const {
    const bool nowhere = data.prp1 == 0 && command.data != 0 && command.data != nvme::data_size::unknown;
    if (nowhere || command.data == nvme::data_size::impossible)
      throw Error(admin_command_name(command.opcode()) +
                  (nowhere ? " moves data: set a data pointer" : " was made for a data size that no command supports"));
    const AdminResult result = access().run(command, data, options.admin_deadline);
    silent_.store(false);
    return result;
  }
  /// Runs an admin command; throws AdminError for every status but success.
  AdminResult execute(const nvme::Command& command, const nvme::DataPointer& data = {},
                      const std::string& context = {}) const {
    const AdminResult result = run(command, data);
    if (!result.status.is_ok()) throw AdminError(command.opcode(), result.status, context);
    return result;
  }

  /// Whether the controller did not answer the deletion of a queue, or anything since: another would wait in vain.
  bool silent() const { return silent_.load(); }
  void note_silence() { silent_.store(true); }

  /// Deletes all queues of the library on the controller, which stops its access to their memory.
  void stop() {
    silent_.store(false);
    for (QueueRecord* queue : queues_) queue->close_doorbells();
    access().stop();
    for (QueueRecord* queue : queues_) queue->forget();
    release_detained();
    shadow_active_ = false;
    watch_.restart();
  }

  /// Starts the controller again and recreates its queues. No other thread's admin commands come between.
  void recover() {
    stop();
    access().start();
    try {
      ids = access().ask_for_queues(options.queue_count);
      activate_shadow();
      recreate_queues();
    } catch (...) {
      access().open();
      throw;
    }
    access().open();
  }

  /// Releases the controller permanently; failures are ignored.
  void close() noexcept {
    const std::lock_guard<std::mutex> lock(mutex);
    // There is no caller to report failures to; the end of the transport makes the memory safe.
    const auto quietly = [](const auto& action) {
      try {
        action();
      } catch (const std::exception&) {
        return;
      }
    };
    for (QueueRecord* queue : queues_) quietly([queue] { queue->close_doorbells(); });
    quietly([this] {
      if (transport_->alive()) access().shut_down(shutdown_limit());
    });
    for (QueueRecord* queue : queues_) queue->forget();
    access_ = nullptr;
    owned_.reset();
    transport_.reset();
    release_detained();
  }

  // Namespaces of queues; `mutex` is held.
  /// Looks at the namespaces of all queues, and deletes the queues of those that have changed.
  void look_at_namespaces() {
    NamespaceWatch::Look look(watch_, transport(), access(), watch_.due());
    for (QueueRecord* queue : queues_) queue->check(look);
  }
  /// Recreates the queues; throws Error for one whose namespace has changed.
  void recreate_queues() {
    NamespaceWatch::Look look(watch_, transport(), access(), true);
    for (QueueRecord* queue : queues_) {
      if (!queue->check(look))
        throw Error("queue " + std::to_string(queue->qid) + " cannot be created anew: " + queue->failure() +
                    "; destroy it, and create another");
      queue->create();
    }
  }
  /// Why queues were deleted; empty if none were.
  std::string failure() const {
    for (const QueueRecord* queue : queues_)
      if (!queue->failure().empty()) return queue->failure();
    return {};
  }
  /// Looks at the namespaces after an admin command that may have changed them. Needs no lock.
  void follow(uint8_t opcode) {
    if (!NamespaceWatch::is_changed_by(opcode)) return;
    const std::lock_guard<std::mutex> lock(mutex);
    watch_.hurry();
    look_at_namespaces();
  }
  void follow(const AsyncEvent& event) {
    if (!event.is_namespace_change()) return;
    const std::lock_guard<std::mutex> lock(mutex);
    watch_.hurry();
  }

  // Queues; `mutex` is held.
  void add(QueueRecord* queue) { queues_.push_back(queue); }
  void remove(QueueRecord* queue) { queues_.erase(std::remove(queues_.begin(), queues_.end(), queue), queues_.end()); }
  const std::vector<QueueRecord*>& queues() const { return queues_; }
  bool uses(uint32_t qid) const {
    return std::any_of(queues_.begin(), queues_.end(), [qid](const QueueRecord* queue) { return queue->qid == qid; });
  }
  /// Keeps memory that the controller may still write to, until the controller is disabled. Needs no lock.
  void detain(DmaBuffer&& memory) {
    const std::lock_guard<std::mutex> lock(detained_mutex_);
    detained_.push_back(std::move(memory));
  }

  // Shadow doorbells (Base Specification 2.0, section 5.8); `mutex` is held.
  bool shadow_wanted() const { return static_cast<bool>(shadow_); }
  Memory shadow_memory() const { return shadow_.memory(); }  ///< where the shadow doorbells lie
  /// @param allocate  memory for the shadow pages; empty: the transport's
  void want_shadow(const QueueOptions::Allocate& allocate) {
    if (!info.shadow_doorbells)
      throw Error(transport().description() + " has no shadow doorbells (Doorbell Buffer Config); leave them out");
    const auto page = [&] {
      return allocate ? allocate(page_bytes(), page_bytes()) : transport().allocate(page_bytes(), page_bytes());
    };
    shadow_ = page();
    event_index_ = page();
  }
  /// Enables shadow doorbells if requested; after every start, before any I/O queue exists.
  void activate_shadow() {
    if (!shadow_ || shadow_active_) return;
    std::memset(shadow_.data(), 0, shadow_.size());
    std::memset(event_index_.data(), 0, event_index_.size());
    execute(nvme::doorbell_buffer_config(), {shadow_.bus(), event_index_.bus()});
    shadow_active_ = true;
    access().use_shadow(shadow_word(0), shadow_word(doorbell_words_per_slot()));
  }
  /// Word of the shadow page at an index of the doorbell layout.
  uint32_t* shadow_word(size_t index) const { return word_of(shadow_, index); }
  uint32_t* event_word(size_t index) const { return word_of(event_index_, index); }

  /// 32-bit words from one doorbell to the next.
  uint32_t doorbell_words_per_slot() const { return 1u << cap.dstrd(); }
  uint32_t sq_word(uint32_t qid) const { return 2 * qid * doorbell_words_per_slot(); }
  uint32_t cq_word(uint32_t qid) const { return (2 * qid + 1) * doorbell_words_per_slot(); }

 private:
  void check_maker() const {
    if (!is_here())
      throw Error("this NvmeController was made by process " + std::to_string(maker_.pid()) +
                  ", which forked this one; only that process can use it");
  }

  std::chrono::milliseconds shutdown_limit() const {
    if (options.shutdown_deadline.count() != 0) return options.shutdown_deadline;
    return shutdown_time(info.view().rtd3e());
  }

  void release_detained() {
    const std::lock_guard<std::mutex> lock(detained_mutex_);
    detained_.clear();
  }

  static uint32_t* word_of(const DmaBuffer& page, size_t index) {
    if (index >= page.size() / sizeof(uint32_t))
      throw Error("the shadow doorbell page has no space for this queue; use a lower queue number");
    return page.as<uint32_t>(index * sizeof(uint32_t));
  }

  const Maker maker_;
  std::unique_ptr<NvmeTransport> transport_;
  std::unique_ptr<OwnedController> owned_;
  ControllerAccess* access_ = nullptr;
  std::vector<QueueRecord*> queues_;
  std::mutex detained_mutex_;
  std::vector<DmaBuffer> detained_;
  mutable std::atomic<bool> silent_{false};
  DmaBuffer shadow_;
  DmaBuffer event_index_;
  bool shadow_active_ = false;
  NamespaceWatch watch_;
};

}  // namespace detail

/// @}
}  // namespace host

XIO_NAMESPACE_END
