// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief An I/O queue pair: its memory, its creation and deletion on the controller, and the handle for kernels.

#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <xio/config.hpp>
#include <xio/device/nvme/handle.hpp>
#include <xio/host/error.hpp>
#include <xio/host/linux/fork.hpp>
#include <xio/host/memory.hpp>
#include <xio/host/nvme/controller_state.hpp>
#include <xio/host/nvme/queue_plan.hpp>
#include <xio/host/nvme/queue_setup.hpp>
#include <xio/vendors/nvme/encode_admin.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

namespace detail {

/// A queue pair with everything that a kernel needs to use it.
class QueuePair final : public QueueRecord {
 public:
  QueuePair(std::shared_ptr<ControllerState> state, uint32_t number, const QueueOptions& options, const QueuePlan& plan,
            const NamespaceInfo& names, const std::string& stamp)
      : QueueRecord(number),
        state_(std::move(state)),
        options_(options),
        plan_(plan),
        limits_(state_->info.limits),
        format_(names),
        namespace_(names, stamp),
        doorbells_(reach_doorbells()) {
    if (!options_.allocate_rings) options_.allocate_rings = from_transport();
    if (!options_.allocate_sq) options_.allocate_sq = options_.allocate_rings;
    if (!options_.allocate_cq) options_.allocate_cq = options_.allocate_rings;
    if (!options_.allocate_state) options_.allocate_state = from_transport();
  }

  void create() override {
    allocate();
    open_doorbells();
    try {
      create_on_controller();
    } catch (const AdminError&) {
      close_doorbells();
      throw;
    } catch (...) {
      // It is unknown whether the controller executed the command: it may use the rings.
      detain();
      close_doorbells();
      throw;
    }
    fill_handle();
    live_ = true;
    ++generation_;
  }

  void close_doorbells() override {
    if (!open_) return;
    open_ = false;
    state_->transport().close_doorbell(sq_word());
    state_->transport().close_doorbell(cq_word());
  }
  void forget() override {
    live_ = false;
    namespace_.forget_change();
  }

  bool check(NamespaceWatch::Look& look) override {
    if (!namespace_.has_changed(look)) return true;
    try {
      destroy();
    } catch (const Error&) {  // its memory was kept
    }
    return false;
  }
  const std::string& failure() const override { return namespace_.change(); }

  /// Deletes the queues on the controller, SQ first.
  void destroy() {
    if (!live_) return;
    live_ = false;
    // In any case of failure the controller may still use the rings.
    try {
      close_doorbells();
      if (state_->silent()) throw Error("the controller answers no more; reset it: recover()");
      state_->execute(nvme::delete_io_sq(qid), {}, context(plan_.sq_entries));
      state_->execute(nvme::delete_io_cq(qid), {}, context(plan_.cq_entries));
    } catch (const AdminError&) {
      detain();
      throw;
    } catch (...) {
      state_->note_silence();
      detain();
      throw;
    }
  }

  /// Whether kernels can use the queue pair.
  bool live() const { return live_ && open_; }
  uint64_t generation() const { return generation_; }
  const QueuePlan& plan() const { return plan_; }
  const nvme::QueueHandle& handle() const { return handle_; }
  ControllerState& state() const { return *state_; }

 private:
  QueueOptions::Allocate from_transport() const {
    return [state = state_.get()](size_t bytes, size_t alignment) {
      return state->transport().allocate(bytes, alignment);
    };
  }

  void create_on_controller() {
    nvme::CompletionQueueRequest cq;
    cq.qid = qid;
    cq.entries = plan_.cq_entries;
    cq.contiguous = !options_.non_contiguous;
    state_->execute(nvme::create_io_cq(cq), {ring_address(cq_, cq_pages_), 0}, context(cq.entries));
    nvme::SubmissionQueueRequest sq;
    sq.qid = qid;
    sq.cqid = qid;
    sq.entries = plan_.sq_entries;
    sq.contiguous = !options_.non_contiguous;
    try {
      state_->execute(nvme::create_io_sq(sq), {ring_address(sq_, sq_pages_), 0}, context(sq.entries));
    } catch (const AdminError&) {
      if (!state_->run(nvme::delete_io_cq(qid)).status.is_ok()) detain();
      throw;
    }
  }

  std::string context(uint32_t entries) const {
    return "queue " + std::to_string(qid) + ", " + std::to_string(entries) + " entries";
  }

  /// Allocates all memory anew; the old memory is freed first, since the controller no longer uses it.
  void allocate() {
    const size_t page = state_->page_bytes();
    for (DmaBuffer* buffer :
         {&sq_, &cq_, &lists_, &state_memory_, &slots_, &failures_, &notifications_, &sq_pages_, &cq_pages_})
      *buffer = DmaBuffer();
    sq_ = options_.allocate_sq(plan_.sq_entries * sizeof(nvme::Sqe), page);
    cq_ = options_.allocate_cq(plan_.cq_entries * sizeof(nvme::Cqe), page);
    if (plan_.list_bytes != 0) lists_ = options_.allocate_rings(size_t{plan_.list_bytes} * plan_.slots, page);
    state_memory_ = options_.allocate_state(sizeof(QueueState) + link_bytes(plan_.sq_entries), alignof(QueueState));
    slots_ = options_.allocate_state(plan_.slots * sizeof(nvme::CompletionSlot), 64);
    failures_ = options_.allocate_state(nvme::failure_log_bytes(plan_.failure_entries), alignof(nvme::FailureLog));
    notifications_ = options_.allocate_state(plan_.slots * sizeof(Notification*), 64);
    if (!options_.non_contiguous) return;
    sq_pages_ = list_pages(sq_);
    cq_pages_ = list_pages(cq_);
  }

  /// Builds the page list of a ring; if the list exceeds one page, the last word of each page points to the next.
  DmaBuffer list_pages(const DmaBuffer& ring) const {
    const size_t page = state_->page_bytes();
    const size_t words = page / sizeof(uint64_t);
    const size_t pages = (ring.size() + page - 1) / page;
    size_t list_pages = 1;
    while (list_pages * words - (list_pages - 1) < pages) ++list_pages;
    DmaBuffer list = state_->transport().allocate(list_pages * page, page);
    const Span<uint64_t> entries = list.span<uint64_t>();
    size_t at = 0;
    for (size_t i = 0; i < pages; ++i) {
      if (at % words == words - 1 && i + 1 < pages) {
        entries[at] = list.bus() + (at + 1) * sizeof(uint64_t);
        ++at;
      }
      entries[at++] = ring.bus() + i * page;
    }
    return list;
  }

  static uint64_t ring_address(const DmaBuffer& ring, const DmaBuffer& pages) {
    return pages ? pages.bus() : ring.bus();
  }

  uint32_t sq_word() const { return state_->sq_word(qid); }
  uint32_t cq_word() const { return state_->cq_word(qid); }

  /// Opens the doorbells. A new queue starts at zero, and so must all words that the controller compares with: a stale
  /// EventIdx would suppress the first ring.
  void open_doorbells() {
    if (state_->shadow_wanted()) {
      for (const uint32_t word : {sq_word(), cq_word()}) {
        __atomic_store_n(state_->shadow_word(word), 0u, __ATOMIC_RELEASE);
        __atomic_store_n(state_->event_word(word), 0u, __ATOMIC_RELEASE);
      }
    }
    NvmeTransport& transport = state_->transport();
    transport.open_doorbell(sq_word());
    try {
      transport.open_doorbell(cq_word());
    } catch (...) {
      transport.close_doorbell(sq_word());
      throw;
    }
    open_ = true;
  }

  void detain() {
    for (DmaBuffer* buffer : {&sq_, &cq_, &lists_, &sq_pages_, &cq_pages_})
      if (*buffer) state_->detain(std::move(*buffer));
  }

  template <class T>
  T* for_executor(void* address) const {
    if (address == nullptr || !options_.executor_address) return static_cast<T*>(address);
    return static_cast<T*>(options_.executor_address(address));
  }

  void fill_handle() {
    nvme::QueueHandle handle{};
    handle.sq = for_executor<nvme::Sqe>(sq_.data());
    handle.cq = for_executor<nvme::Cqe>(cq_.data());
    uint32_t* const words = state_->transport().doorbell_words();
    handle.sq_doorbell = for_executor<uint32_t>(words + sq_word());
    handle.cq_doorbell = for_executor<uint32_t>(words + cq_word());
    if (state_->shadow_wanted()) {
      handle.sq_shadow = for_executor<uint32_t>(state_->shadow_word(sq_word()));
      handle.cq_shadow = for_executor<uint32_t>(state_->shadow_word(cq_word()));
      handle.sq_event_index = for_executor<uint32_t>(state_->event_word(sq_word()));
      handle.cq_event_index = for_executor<uint32_t>(state_->event_word(cq_word()));
    }
    handle.state = for_executor<QueueState>(state_memory_.data());
    handle.slots = for_executor<nvme::CompletionSlot>(slots_.data());
    handle.failures = for_executor<nvme::FailureLog>(failures_.data());
    handle.failure_entries = plan_.failure_entries;
    handle.notifications = for_executor<Notification*>(notifications_.data());
    handle.lists = for_executor<uint64_t>(lists_.data());
    handle.lists_bus = lists_.bus();
    handle.list_bytes = plan_.list_bytes;
    handle.sq_mask = plan_.sq_entries - 1;
    handle.cq_mask = plan_.cq_entries - 1;
    handle.slot_mask = plan_.slots - 1;
    handle.depth = plan_.depth;
    set_limits(handle, format_, plan_, limits_);
    handle.nsid = options_.nsid;
    handle.page_shift = state_->page_shift;
    handle.flush_bus = options_.flush_bus;
    handle.clock_hz = options_.clock_hz;
    handle.qid = qid;
    handle.gpu_memory = parts_in_gpu_memory();
    handle.abi = XIO_ABI_NUMBER;
    handle.handle_bytes = sizeof(nvme::QueueHandle);
    handle_ = handle;
  }

  /// QueueHandle::gpu_memory.
  uint32_t parts_in_gpu_memory() const {
    const auto lies_there = [](const DmaBuffer& buffer) { return buffer.memory() == Memory::device; };
    const bool lists = plan_.list_bytes == 0 || lies_there(lists_);
    const bool record = !state_->shadow_wanted() || state_->shadow_memory() == Memory::device;
    return (lies_there(sq_) && lists ? memory_mode::sq : 0) | (lies_there(cq_) ? memory_mode::cq : 0) |
           (record ? memory_mode::doorbell_record : 0);
  }

  /// Gives a GPU access to all doorbells of the controller: its queues share pages.
  std::shared_ptr<void> reach_doorbells() const {
    if (!options_.executor.gpu()) return nullptr;
    NvmeTransport& transport = state_->transport();
    const size_t words = size_t{state_->sq_word(state_->ids.last)} + 2 * state_->doorbell_words_per_slot();
    return options_.executor.share_doorbells(transport.doorbell_words(), words * sizeof(uint32_t),
                                             transport.doorbells_are_registers());
  }

  std::shared_ptr<ControllerState> state_;
  QueueOptions options_;
  QueuePlan plan_;
  CommandLimits limits_;
  QueueFormat format_;
  WatchedNamespace namespace_;
  std::shared_ptr<void> doorbells_;  // gives a GPU access to them
  DmaBuffer sq_, cq_, lists_, state_memory_, slots_, failures_, notifications_, sq_pages_, cq_pages_;
  nvme::QueueHandle handle_{};
  uint64_t generation_ = 0;
  bool live_ = false;  // it exists on the controller, as far as is known
  bool open_ = false;  // its doorbells are open
};

}  // namespace detail

/// An I/O queue pair of an NvmeController; the destructor deletes it on the controller. Movable.
///
/// No kernel may use the queue when it is destroyed, or while its controller is being reset or recovered. In a child of
/// fork() the destructor does nothing.
/// @snippet host.cpp create_queue
class NvmeQueue {
 public:
  NvmeQueue() = default;
  explicit NvmeQueue(std::unique_ptr<detail::QueuePair> pair) : pair_(std::move(pair)) {}
  NvmeQueue(NvmeQueue&&) noexcept = default;
  NvmeQueue& operator=(NvmeQueue&& other) noexcept {
    if (this != &other) {
      drop();
      pair_ = std::move(other.pair_);
    }
    return *this;
  }
  ~NvmeQueue() { drop(); }

  /// False once NvmeController::alive() found its namespace changed, the controller was reset without recover(),
  /// whether or not the reset succeeded, once the NvmeController is destroyed, and for a moved-from queue.
  /// @snippet host.cpp valid
  bool valid() const {
    if (!pair_) return false;
    const std::lock_guard<std::mutex> lock(pair_->state().mutex);
    return pair_->live();
  }

  /// Handle for kernels, passed by value. Fetch it again after NvmeController::recover(): the queue then has new
  /// memory.
  /// @snippet host.cpp recover
  nvme::QueueHandle handle() const {
    const std::lock_guard<std::mutex> lock(existing().state().mutex);
    if (!pair_->live()) {
      const std::string& why = pair_->failure();
      throw Error("queue " + std::to_string(pair_->qid) + " does not exist on the controller any more; " +
                  (why.empty() ? "call recover()" : "create another: " + why));
    }
    return pair_->handle();
  }

  /// Number of times the queue was created: 1 at first, one more after each recovery. Handles of earlier generations
  /// are invalid.
  uint64_t generation() const {
    const std::lock_guard<std::mutex> lock(existing().state().mutex);
    return pair_->generation();
  }

  uint32_t qid() const { return existing().qid; }  ///< identifier of both of its queues
  /// Actual sizes; `depth` may be less than requested.
  const QueuePlan& plan() const { return existing().plan(); }

  /// Deletes the queues on the controller now; throws AdminError if it rejects the command. The destructor does the
  /// same but ignores errors.
  /// @snippet host.cpp remove
  void remove() {
    if (!pair_) return;
    if (!pair_->state().is_here()) return abandon(std::move(pair_));
    const std::unique_ptr<detail::QueuePair> pair = std::move(pair_);
    const std::lock_guard<std::mutex> lock(pair->state().mutex);
    pair->state().remove(pair.get());
    pair->destroy();
  }

 private:
  detail::QueuePair& existing() const {
    if (!pair_) throw Error("this NvmeQueue holds no queue");
    return *pair_;
  }

  void drop() noexcept {
    try {
      remove();
    } catch (const std::exception&) {
      // The memory was kept for as long as the controller may use it.
    }
  }

  std::unique_ptr<detail::QueuePair> pair_;
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
