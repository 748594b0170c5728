// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Queue pair model of an emulated NIC: fetches send entries, executes them and writes completions.

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/emulation/rdma/fabric.hpp>
#include <xio/host/emulation/rdma/fault_plan.hpp>
#include <xio/host/emulation/rdma/responder.hpp>
#include <xio/host/emulation/rdma/wire.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_rdma
/// @{

/// Statistics of a queue pair.
struct RdmaStatistics {
  uint64_t doorbells = 0;               ///< valid doorbell values seen; several stores can count as one
  uint64_t operations = 0;              ///< executed operations, failed ones included
  uint64_t signaled = 0;                ///< executed operations that were signalled
  uint64_t completions = 0;             ///< completions written for the send queue
  uint64_t receive_completions = 0;     ///< completions written for the receive queue
  uint64_t most_in_flight = 0;          ///< maximum of units announced and not yet executed
  std::vector<std::string> violations;  ///< driver errors: malformed entries, completion queue overruns
};

/// Vendor-independent interface of a queue pair model.
class RdmaModel : public RdmaPeer {
 public:
  /// Processes doorbells, entries and completions. Returns whether any work was done. Called by one thread.
  virtual bool pass() = 0;
  virtual RdmaStatistics statistics() const = 0;
  virtual RdmaFaultPlan& faults() = 0;
  virtual void connect(uint32_t peer_qpn) = 0;
  /// Moves the queue pair to the error state: posted operations end as flushed.
  virtual void fail() = 0;
};

/// Queue pair model.
/// @tparam Wire  the vendor's wire format: decodes entries and encodes completions
template <class Wire>
class RdmaQueuePairModel final : public RdmaModel {
 public:
  RdmaQueuePairModel(RdmaFabric& fabric, const RdmaQueueConfig& config, const RdmaQueueMemory& memory)
      : fabric_(fabric), config_(config), memory_(memory), wire_psn_(config.first_psn) {
    fabric_.add(config_.qpn, this);
  }
  ~RdmaQueuePairModel() override { fabric_.remove(config_.qpn); }
  RdmaQueuePairModel(const RdmaQueuePairModel&) = delete;
  RdmaQueuePairModel& operator=(const RdmaQueuePairModel&) = delete;

  void connect(uint32_t peer_qpn) override { peer_ = peer_qpn; }
  RdmaFaultPlan& faults() override { return faults_; }
  RdmaStatistics statistics() const override {
    const std::lock_guard<std::mutex> lock(mutex_);
    return statistics_;
  }
  /// Sets the initial counters, before anything is posted: for tests of counters that wrap.
  void start_at(uint64_t sq_units, uint64_t cq_index, uint64_t messages) {
    consumer_ = producer_ = sq_units;
    cq_index_ = cq_consumer_ = cq_index;
    messages_ = messages;
  }

  void fail() override { broken_ = true; }

  /// Resets the model to its initial state; number and memory stay.
  /// @pre the caller has initialised the memory; the queue pair is unused, and no pass() runs
  void reset() {
    fabric_.alone([this] { rq_producer_ = rq_consumer_ = receive_cq_index_ = receive_cq_consumer_ = 0; });
    faults_.clear();
    pending_.clear();
    inbound_.clear();
    producer_ = consumer_ = operations_ = messages_ = cq_index_ = cq_consumer_ = 0;
    wire_psn_ = config_.first_psn;
    not_ready_ = 0;
    broken_ = false;
    receives_ended_ = false;
  }

  bool pass() override {
    ++passes_;
    if (faults_.held()) return false;
    bool worked = look_at_doorbell(memory_.sq_doorbell);
    if constexpr (Wire::doorbell_stride != 0)
      worked |= look_at_doorbell(memory_.sq_doorbell + Wire::doorbell_stride / sizeof(uint64_t));
    if (Wire::flushes && broken_) worked |= flush_receives();
    if constexpr (Wire::ends_receives) worked |= end_receives();
    for (uint32_t burst = 0; burst < 64 && consumer_ < producer_; ++burst) {
      if (!execute_next()) break;
      worked = true;
    }
    while (!pending_.empty() && pending_.front().due <= passes_) {
      write_completion(pending_.front());
      pending_.pop_front();
      worked = true;
      if (faults_.is_one_a_pass()) break;
    }
    return worked;
  }

  RdmaOutcome answer(const RdmaRequest& request) override {
    if (broken_) return RdmaOutcome::retry_exceeded;
    if (request.operation == RdmaOperation::nop) return RdmaOutcome::ok;
    // Also for an operation without data, whose key is not checked.
    const uint32_t access = required_access(request.operation);
    if ((config_.access & access) != access) return RdmaOutcome::remote_invalid;
    const bool takes = takes_receive(request.operation);
    RdmaReceive receive;
    if (takes) {
      rq_producer_ = Wire::receive_producer(config_, memory_, take_note(memory_.rq_doorbell), rq_producer_);
      if (rq_consumer_ == rq_producer_) return RdmaOutcome::receiver_not_ready;
      receive = Wire::read_receive(config_, memory_, rq_consumer_);
      if (!receive.fault.empty()) violate(receive.fault);
    }
    RdmaReceiveCompletion completion;
    const RdmaOutcome outcome = RdmaResponder{fabric_.keys()}.apply(request, receive, completion);
    if (takes && outcome != RdmaOutcome::remote_access) {
      Wire::receive_consumed(config_, memory_, ++rq_consumer_);
      completion.receive = receive;
      completion.operation = request.operation;
      completion.immediate = request.immediate;
      completion.source_qpn = request.source_qpn;
      completion.solicited = request.solicited;
      write_receive_completion(completion);
    }
    return outcome;
  }

 private:
  struct Pending {
    uint64_t due;
    RdmaSendCompletion completion;
    bool is_last;  // the final entry after the first failure
    bool misnamed = false;
  };

  /// Data of gets that has not been written to memory yet.
  struct Inbound {
    void* to;
    std::vector<uint8_t> data;
  };

  static uint64_t take_note(uint64_t* word) {
    if (!word) return doorbell_taken;
    if constexpr (Wire::doorbell_is_wide) {
      return __atomic_exchange_n(word, doorbell_taken, __ATOMIC_ACQ_REL);
    } else {
      auto* const half = reinterpret_cast<uint32_t*>(word);
      const uint32_t value = __atomic_exchange_n(half, static_cast<uint32_t>(doorbell_taken), __ATOMIC_ACQ_REL);
      return value == static_cast<uint32_t>(doorbell_taken) ? doorbell_taken : value;
    }
  }

  bool look_at_doorbell(uint64_t* doorbell) {
    const uint64_t value = take_note(doorbell);
    if (value == doorbell_taken) return false;
    std::string violation;
    const uint64_t producer = Wire::producer(config_, memory_, value, producer_, violation);
    if (violation.empty() && producer - consumer_ > Wire::capacity(config_)) violation = "doorbell beyond the ring";
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!violation.empty()) {
      statistics_.violations.push_back(violation);
      return true;
    }
    ++statistics_.doorbells;
    producer_ = producer;
    if (producer_ - consumer_ > statistics_.most_in_flight) statistics_.most_in_flight = producer_ - consumer_;
    return true;
  }

  bool execute_next() {
    RdmaWork work = Wire::read_work(config_, memory_, consumer_);
    std::string fault = work.fault;
    if (fault.empty() && work.units > producer_ - consumer_) fault = "entry reaches beyond what the doorbell announced";
    if constexpr (Wire::has_side_table) {
      // Once per operation, regardless of retries.
      if (fault.empty() && not_ready_ == 0)
        fault = Wire::check_side_table(config_, memory_, work, messages_, wire_psn_);
    }
    if (!fault.empty()) violate(fault);
    RdmaOutcome outcome = broken_ ? RdmaOutcome::flushed : faults_.outcome(operations_);
    if (outcome == RdmaOutcome::ok) outcome = fault.empty() ? execute(work) : RdmaOutcome::local_operation;
    if (outcome == RdmaOutcome::receiver_not_ready && faults_.outcome(operations_) == RdmaOutcome::ok &&
        ++not_ready_ < faults_.receive_passes()) {
      return false;  // retried in a later pass
    }
    not_ready_ = 0;
    const bool first_failure = outcome != RdmaOutcome::ok && !broken_;
    if (outcome != RdmaOutcome::ok) broken_ = true;
    // A malformed entry may have any length.
    const uint64_t left = producer_ - consumer_;
    consumer_ += work.units == 0 ? 1 : work.units < left ? work.units : left;
    Wire::consumed(config_, memory_, consumer_);
    if (work.operation != RdmaOperation::local_invalidate) ++messages_;
    const bool report = work.signaled || first_failure || (outcome == RdmaOutcome::flushed && Wire::flushes);
    const bool silent = outcome == RdmaOutcome::flushed && !Wire::flushes;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ++statistics_.operations;
      if (work.signaled) ++statistics_.signaled;
    }
    if (report && !silent && !faults_.dropped(operations_)) {
      const RdmaSendCompletion completion{outcome, work, messages_};
      pending_.push_back({passes_ + faults_.delay_passes(), completion, false, faults_.misnamed(operations_)});
      if (faults_.duplicated(operations_)) pending_.push_back(pending_.back());
    }
    if (first_failure && Wire::has_last_entry)
      pending_.push_back({passes_ + faults_.delay_passes(), {outcome, work, messages_}, true});
    ++operations_;
    return true;
  }

  /// Completes the receives of a queue pair in error as flushed, for devices that report each.
  bool flush_receives() {
    bool worked = false;
    fabric_.alone([&] {
      rq_producer_ = Wire::receive_producer(config_, memory_, take_note(memory_.rq_doorbell), rq_producer_);
      for (; rq_consumer_ != rq_producer_; worked = true) {
        RdmaReceiveCompletion completion;
        completion.receive = Wire::read_receive(config_, memory_, rq_consumer_);
        completion.outcome = RdmaOutcome::flushed;
        Wire::receive_consumed(config_, memory_, ++rq_consumer_);
        write_receive_completion(completion);
      }
    });
    return worked;
  }

  /// Writes the last completion of the receive queue of a queue pair in error, for devices that do.
  bool end_receives() {
    if (!broken_ || receives_ended_) return false;
    receives_ended_ = true;
    RdmaQueueConfig config = config_;
    config.cq_entries = config_.receive_cq_entries;
    fabric_.alone(
        [&] { Wire::write_last(config, memory_.receive_cq, memory_.receive_cq_producer, receive_cq_index_++, {}); });
    return true;
  }

  RdmaOutcome execute(const RdmaWork& work) {
    MemoryKeys& keys = fabric_.keys();
    RdmaRequest request;
    request.operation = work.operation;
    request.source_qpn = config_.qpn;
    request.remote = work.remote;
    request.rkey = work.rkey;
    request.immediate = work.immediate;
    request.swap_add = work.swap_add;
    request.compare = work.compare;
    request.solicited = work.solicited;
    const bool fills = work.operation == RdmaOperation::read || work.operation == RdmaOperation::compare_swap ||
                       work.operation == RdmaOperation::fetch_add;
    if (work.operation == RdmaOperation::nop) return RdmaOutcome::ok;
    if (work.operation == RdmaOperation::local_invalidate)
      return keys.remove(work.immediate) ? RdmaOutcome::ok : RdmaOutcome::local_operation;
    for (const RdmaPiece& piece : work.pieces) {
      if (piece.length != 0 &&
          !keys.find(piece.lkey, piece.address, piece.length, fills ? rdma_access::local_write : 0))
        return RdmaOutcome::local_protection;
    }
    // No device supports longer messages.
    if (work.length() > longest_message) return RdmaOutcome::local_length;
    std::vector<uint8_t> data;
    if (!fills && work.length() != 0) {
      for (const Inbound& late : inbound_) copy_as_device(late.to, late.data.data(), late.data.size());
      inbound_.clear();
    }
    if (fills) {
      data.resize(work.length());
      request.answer = &data;
    } else {
      data = work.bytes;
      for (const RdmaPiece& piece : work.pieces) {
        const auto* const from = reinterpret_cast<const uint8_t*>(piece.address);
        data.insert(data.end(), from, from + piece.length);
      }
      request.data = &data;
    }
    const RdmaOutcome outcome = fabric_.send(peer_, request);
    if (outcome != RdmaOutcome::ok || !fills) return outcome;
    uint64_t done = 0;
    for (const RdmaPiece& piece : work.pieces) {
      auto* const to = reinterpret_cast<void*>(piece.address);
      if (faults_.inbound_held()) {
        const auto* const from = data.data() + done;
        inbound_.push_back({to, {from, from + piece.length}});
      } else {
        copy_as_device(to, data.data() + done, piece.length);
      }
      done += piece.length;
    }
    return RdmaOutcome::ok;
  }

  void write_completion(const Pending& pending) {
    const RdmaQueueConfig named = pending.misnamed ? another(config_) : config_;
    if constexpr (!Wire::collapsed) {
      cq_consumer_ = Wire::consumer(config_.cq_entries, memory_.cq_record, memory_.cq_doorbell, cq_consumer_);
      if (cq_index_ - cq_consumer_ >= Wire::cq_capacity(config_.cq_entries)) violate("completion queue overrun");
    }
    if constexpr (Wire::has_last_entry) {
      if (pending.is_last) {
        Wire::write_last(config_, memory_.cq, memory_.cq_producer, cq_index_++, pending.completion);
        return;
      }
    }
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ++statistics_.completions;
    }
    Wire::write_completion(named, memory_.cq, memory_.cq_producer, cq_index_++, pending.completion);
  }

  void write_receive_completion(const RdmaReceiveCompletion& completion) {
    receive_cq_consumer_ = Wire::consumer(config_.receive_cq_entries, memory_.receive_cq_record,
                                          memory_.receive_cq_doorbell, receive_cq_consumer_);
    if (receive_cq_index_ - receive_cq_consumer_ >= Wire::cq_capacity(config_.receive_cq_entries))
      violate("receive completion queue overrun");
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ++statistics_.receive_completions;
    }
    const RdmaQueueConfig named = faults_.misnamed_receive(receive_cq_index_) ? another(config_) : config_;
    Wire::write_receive_completion(named, memory_.receive_cq, memory_.receive_cq_producer, receive_cq_index_++,
                                   completion);
  }

  void violate(const std::string& what) {
    const std::lock_guard<std::mutex> lock(mutex_);
    statistics_.violations.push_back(what);
  }

  RdmaFabric& fabric_;
  RdmaQueueConfig config_;
  RdmaQueueMemory memory_;
  RdmaFaultPlan faults_;
  std::atomic<uint32_t> peer_{0};
  mutable std::mutex mutex_;  // protects statistics_
  RdmaStatistics statistics_;
  std::deque<Pending> pending_;
  std::vector<Inbound> inbound_;
  uint64_t passes_ = 0;
  uint64_t producer_ = 0;
  uint64_t consumer_ = 0;
  uint64_t operations_ = 0;
  uint64_t messages_ = 0;
  uint32_t wire_psn_;
  uint64_t not_ready_ = 0;
  uint64_t cq_index_ = 0;
  uint64_t cq_consumer_ = 0;
  std::atomic<bool> broken_{false};
  bool receives_ended_ = false;
  // Protected by the fabric's lock, which answer() is called under:
  uint64_t rq_producer_ = 0;
  uint64_t rq_consumer_ = 0;
  uint64_t receive_cq_index_ = 0;
  uint64_t receive_cq_consumer_ = 0;
};

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
