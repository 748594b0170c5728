// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A queue pair of any vendor with known rings: checked, and converted into handles for kernels. Needs no verbs;
/// mlx5.hpp and the other vendor headers locate the rings.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include <xio/device/rdma/handle.hpp>
#include <xio/host/error.hpp>
#include <xio/host/memory/executor_reach.hpp>
#include <xio/host/power_of_two.hpp>
#include <xio/host/rdma/queue_states.hpp>
#include <xio/host/rdma/receive_slots.hpp>
#include <xio/host/text.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_rdma
/// @{

/// A completion queue used by one queue pair alone. Parts that a vendor does not have are null.
struct DirectCompletionRing {
  void* entries = nullptr;
  uint32_t count = 0;                  ///< entries: a power of two
  uint32_t number = 0;                 ///< the device's number for it
  uint32_t* record = nullptr;          ///< consumer index
  const uint32_t* producer = nullptr;  ///< producer index, where entries have no valid bit
  void* doorbell = nullptr;            ///< register
  uint64_t index = 0;                  ///< entries consumed so far
  uint64_t cookie = 0;                 ///< rdma::Identity::cookie
};

/// Addresses of a queue pair's queues in this process. Parts that a vendor does not have are null.
struct DirectQueues {
  std::string name;  ///< for messages

  void* sq = nullptr;
  uint32_t* sq_record = nullptr;
  void* sq_doorbell = nullptr;
  void* side_table = nullptr;
  uint32_t side_entries = 0;
  uint32_t side_entry_bytes = 0;
  rdma::SendShape shape;
  uint32_t send_depth = 0;  ///< maximum units in flight; 0: the whole ring
  uint64_t send_index = 0;  ///< units posted so far; all have completed
  uint32_t first_psn = 0;   ///< next packet sequence number (BNXT)
  DirectCompletionRing cq;

  std::string no_receives;  ///< why kernels cannot use the receive queue; empty if they can
  void* rq = nullptr;
  uint32_t* rq_record = nullptr;
  void* rq_doorbell = nullptr;
  rdma::ReceiveShape receive_shape;
  uint32_t receive_depth = 0;  ///< maximum receives in flight; 0: the whole ring
  /// QueuePairHandle::gpu_memory of both queues: parts that the caller has allocated in the memory of the GPU that runs
  /// the kernels.
  uint32_t gpu_memory = 0;
  DirectCompletionRing receive_cq;  ///< index: receives posted so far; all have completed and were consumed
};

/// A queue pair driven by kernels; meanwhile nothing else may post to it or poll its completion queues. Movable:
/// handles stay valid.
/// @tparam V vendor traits, as for rdma::QueuePair
///
/// @snippet rdma_host.cpp DirectQueuePair
template <class V>
class DirectQueuePair {
 public:
  using Vendor = V;

  /// Throws Error with the reason if the queues cannot be used.
  /// @param queues  their memory must outlive the object
  /// @param pages   needed if kernels do not run on the CPU
  explicit DirectQueuePair(const DirectQueues& queues, std::shared_ptr<ReachablePages> pages = nullptr)
      : name_(queues.name), no_receives_(queues.no_receives), reached_(std::move(pages)) {
    check_send(queues);
    if (no_receives_.empty()) check_receives(queues);
    make_state(queues);
    fill_handle(queues);
    if (no_receives_.empty()) fill_receive_handle(queues);
  }
  DirectQueuePair(DirectQueuePair&&) = default;
  DirectQueuePair& operator=(DirectQueuePair&&) = delete;

  /// Handle from which a kernel posts operations.
  const rdma::QueuePairHandle& handle() const { return handle_; }

  bool has_receive_queue() const { return no_receives_.empty(); }  ///< whether kernels can receive with it
  /// Handle from which a kernel posts receives. Throws Error if kernels have no receive queue.
  const rdma::ReceiveQueueHandle& receive_handle() const {
    if (!no_receives_.empty()) throw Error(name_ + " has no receive queue for kernels: " + no_receives_);
    return receive_handle_;
  }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };

  [[noreturn]] void refuse(const std::string& why) const { throw Error(name_ + " cannot be used: " + why); }
  void require(bool good, const char* why) const {
    if (!good) refuse(why);
  }

  static bool is_aligned(const void* data, uintptr_t alignment) {
    return data != nullptr && reinterpret_cast<uintptr_t>(data) % alignment == 0;
  }

  void check_send(const DirectQueues& q) const {
    require(is_aligned(q.sq, 16), "its send ring is unknown, or not at a multiple of 16 bytes");
    require(q.shape.entries != 0 && (!Vendor::power_of_two || is_power_of_two(q.shape.entries)),
            "its send ring's size is not a power of two");
    require(!Vendor::has_send_record || is_aligned(q.sq_record, 4), "the record of its send ring is unknown");
    require(is_aligned(q.sq_doorbell, sizeof(typename Vendor::Doorbell)), "the doorbell of its send ring is unknown");
    if constexpr (Vendor::has_side_table) {
      require(is_aligned(q.side_table, 8) && q.side_entries != 0, "the table beside its send ring is unknown");
    }
    if constexpr (Vendor::has_collapsed_cq) {
      check_collapsed(q);
    } else {
      check_completions(q.cq, "send");
    }
  }

  void check_receives(const DirectQueues& q) const {
    require(is_aligned(q.rq, 16), "its receive ring is unknown, or not at a multiple of 16 bytes");
    require(is_power_of_two(q.receive_shape.entries), "its receive ring's size is not a power of two");
    require(!Vendor::has_receive_record || is_aligned(q.rq_record, 4), "the record of its receive ring is unknown");
    if constexpr (Vendor::has_receive_doorbell) {
      require(is_aligned(q.rq_doorbell, sizeof(typename Vendor::Doorbell)),
              "the doorbell of its receive ring is unknown");
    }
    check_completions(q.receive_cq, "receive");
  }

  /// Checks a collapsed completion queue: one entry, whose consumption is never reported to the device.
  void check_collapsed(const DirectQueues& q) const {
    using Collapsed = typename Vendor::Collapsed;
    require(is_aligned(q.cq.entries, 16), "its send completion queue is unknown, or not at a multiple of 16 bytes");
    if (q.cq.count != 1)
      refuse("its send completion queue has " + std::to_string(q.cq.count) + " entries, and is not collapsed to one");
    const auto* const entry = static_cast<const unsigned char*>(q.cq.entries);
    const uint64_t word = Collapsed::look([entry](uint32_t offset) {
      return __atomic_load_n(reinterpret_cast<const uint64_t*>(entry + offset), __ATOMIC_ACQUIRE);
    });
    require(!Collapsed::is_new(word, {q.send_index, 0}, q.shape.entries),
            "its send completion queue's entry is of an operation that was not posted: it was used before, or belongs "
            "to another queue pair too, or was not initialised");
  }

  void check_completions(const DirectCompletionRing& cq, const std::string& side) const {
    const std::string which = "its " + side + " completion queue ";
    if (!is_aligned(cq.entries, 16)) refuse(which + "is unknown, or not at a multiple of 16 bytes");
    if (cq.count < 2 || !is_power_of_two(cq.count))
      refuse(which + "has " + std::to_string(cq.count) + " entries, which is no power of two of at least 2");
    if (Vendor::has_cq_record && !is_aligned(cq.record, 4)) refuse(which + "has no known record");
    if constexpr (Vendor::has_cq_doorbell) {
      if (!is_aligned(cq.doorbell, sizeof(typename Vendor::CqDoorbell))) refuse(which + "has no known doorbell");
    }
    if (Vendor::Completions::by_index && !is_aligned(cq.producer, 4)) refuse(which + "has no known producer index");
    if (const std::optional<uint64_t> place = first_unread(cq))
      refuse(which + "holds an entry at " + std::to_string(*place) +
             " that was not polled: it was used before, or belongs to another queue pair too, or was not initialised");
  }

  /// Returns the index of an entry that kernels would mistake for a completion before anything was posted.
  static std::optional<uint64_t> first_unread(const DirectCompletionRing& cq) {
    using Completions = typename Vendor::Completions;
    if constexpr (Completions::by_index) {
      const uint32_t producer = __atomic_load_n(cq.producer, __ATOMIC_ACQUIRE);
      const bool same = Vendor::cq_record(cq.index, cq.count) == producer;
      return same ? std::nullopt : std::optional<uint64_t>(cq.index);
    } else {
      for (uint64_t at = cq.index; at < cq.index + cq.count; ++at) {
        const auto* const entry =
            static_cast<const unsigned char*>(cq.entries) + (at & (cq.count - 1)) * Completions::entry_bytes;
        const uint64_t word =
            __atomic_load_n(reinterpret_cast<const uint64_t*>(entry + Completions::word_offset), __ATOMIC_ACQUIRE);
        if (Completions::is_new(word, at, cq.count)) return at;
      }
      return std::nullopt;
    }
  }

  void make_state(const DirectQueues& q) {
    const uint32_t send_entries = q.shape.entries;
    const uint32_t receive_entries = no_receives_.empty() ? q.receive_shape.entries : 0;
    // Whole pages: a GPU that maps them should not see other data of the process.
    constexpr size_t page = 4096;
    bytes_ = (RdmaQueueStates::bytes(send_entries, receive_entries) + page - 1) / page * page;
    memory_.reset(std::aligned_alloc(page, bytes_));
    if (!memory_) throw std::bad_alloc();
    std::memset(memory_.get(), 0, bytes_);
    const RdmaQueueStates states(memory_.get(), send_entries, receive_entries);
    rdma::begin_at(*states.send(), *states.more(), q.send_index, q.first_psn);
    states.send()->acknowledged = q.cq.index;
    states.more()->cq_head = q.cq.index;
    if (no_receives_.empty()) {
      QueueState& receives = states.receive()->queue;
      protocol::begin_at(receives, q.receive_cq.index);
      receives.acknowledged = q.receive_cq.index;
      begin_slots(states.slots(), receive_entries, q.receive_cq.index);
    }
    reached_states_ = RdmaQueueStates(reached_.copy(memory_.get(), bytes_), send_entries, receive_entries);
  }

  static uint32_t depth_of(uint32_t wanted, uint32_t entries) {
    return wanted == 0 || wanted > entries ? entries : wanted;
  }
  /// Limits the operations in flight to the capacity of the completion queue: a full completion queue loses entries.
  static uint32_t depth_of(uint32_t wanted, uint32_t entries, const DirectCompletionRing& cq) {
    return std::min(depth_of(wanted, entries), cq.count - 1);
  }

  rdma::CompletionQueueHandle reach(const DirectCompletionRing& cq) {
    rdma::CompletionQueueHandle h{};
    h.entries = reached_.memory(cq.entries, size_t{cq.count} * Vendor::Completions::entry_bytes);
    h.producer = reached_.memory(cq.producer, sizeof *cq.producer);
    h.record = reached_.memory(cq.record, sizeof *cq.record);
    h.doorbell = reached_.registers(cq.doorbell, sizeof(uint64_t));
    h.size = cq.count;
    h.number = cq.number;
    h.cookie = cq.cookie;
    return h;
  }

  void fill_handle(const DirectQueues& q) {
    rdma::QueuePairHandle& h = handle_;
    h.state = reached_states_.send();
    h.send = reached_states_.more();
    h.sq = reached_.memory(q.sq, size_t{q.shape.entries} << Vendor::unit_shift(q.shape));
    h.sq_record = reached_.memory(q.sq_record, sizeof *q.sq_record);
    h.sq_doorbell = reached_.registers(q.sq_doorbell, sizeof(typename Vendor::Doorbell) + Vendor::doorbell_stride);
    h.side_table = reached_.memory(q.side_table, size_t{q.side_entries} * q.side_entry_bytes);
    h.side_entries = q.side_entries;
    h.shape = q.shape;
    h.depth = Vendor::has_collapsed_cq ? depth_of(q.send_depth, q.shape.entries)
                                       : depth_of(q.send_depth, q.shape.entries, q.cq);
    h.signal_every = 1;
    while (h.signal_every * 8 <= h.depth) h.signal_every *= 2;
    h.cq = reach(q.cq);
    h.gpu_memory = q.gpu_memory;
  }

  void fill_receive_handle(const DirectQueues& q) {
    rdma::ReceiveQueueHandle& h = receive_handle_;
    h.state = reached_states_.receive();
    h.rq = reached_.memory(q.rq, size_t{q.receive_shape.entries} << q.receive_shape.entry_shift);
    h.record = reached_.memory(q.rq_record, sizeof *q.rq_record);
    if constexpr (Vendor::has_receive_doorbell)
      h.doorbell = reached_.registers(q.rq_doorbell, sizeof(typename Vendor::Doorbell));
    h.slots = reached_states_.slots();
    h.shape = q.receive_shape;
    h.depth = depth_of(q.receive_depth, q.receive_shape.entries, q.receive_cq);
    h.cq = reach(q.receive_cq);
    h.gpu_memory = q.gpu_memory;
  }

  std::string name_;
  std::string no_receives_;
  std::unique_ptr<void, Free> memory_;
  size_t bytes_ = 0;
  RdmaQueueStates reached_states_;
  ReachedMemory reached_;  // destroyed before the memory
  rdma::QueuePairHandle handle_{};
  rdma::ReceiveQueueHandle receive_handle_{};
};

/// @}
}  // namespace host

XIO_NAMESPACE_END
