// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Wire format of the emulated ERNIC.

#include <xio/host/emulation/rdma/wire.hpp>
#include <xio/vendors/ernic/layout.hpp>
#include <xio/vendors/ernic/status.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_rdma
/// @{

/// Wire format of ERNIC. RdmaQueueMemory::sq_record and rq_record are the producer tails in the queue pair's ring
/// state, directly followed by the consumer heads; cq_record is rx.consumer_head of the completion queue's ring state,
/// cq_producer is rx.producer_tail. Ring sizes are powers of two.
/// @tparam CompletesAll whether unsignalled operations get completions too, as with known devices
template <bool CompletesAll>
struct BasicErnicWire : RdmaWireDefaults {
  static constexpr uint32_t cqe_bytes = sizeof(ernic::Cqe);
  static constexpr uint8_t cq_initial_byte = 0;
  static constexpr bool flushes = true;  ///< every entry after a failed one gets a completion
  static constexpr bool has_side_table = false;
  static constexpr bool doorbell_is_wide = false;  ///< 4 bytes
  static constexpr bool receive_needs_doorbell = true;

  /// Returns the producer counter after the doorbell value `value`. Sets `violation` if it is invalid.
  static uint64_t producer(const RdmaQueueConfig& config, const RdmaQueueMemory& memory, uint64_t value, uint64_t known,
                           std::string& violation) {
    if ((value & 0xffffff) != config.handle) violation = "doorbell names another queue pair";
    if (value >> 24 != 1u << 6) violation = "doorbell is not for the send queue only";
    const uint32_t tail = __atomic_load_n(memory.sq_record, __ATOMIC_ACQUIRE);
    uint64_t end = known;
    if (!position(tail, config.sq_units, known, end)) violation = "producer tail is beyond the ring";
    return violation.empty() ? end : known;
  }

  static RdmaWork read_work(const RdmaQueueConfig& config, const RdmaQueueMemory& memory, uint64_t index) {
    RdmaWork work;
    work.index = index;
    const uint8_t* const entry = memory.sq + ((index & (config.sq_units - 1)) << config.sq_unit_shift);
    const auto header = peek<ernic::SqHeader>(entry);
    work.wr_id = header.wr_id;
    work.signaled = CompletesAll || (header.send_flags & ernic::send_flag::signaled) != 0;
    work.solicited = (header.send_flags & ernic::send_flag::solicited) != 0;
    work.is_inline = (header.send_flags & ernic::send_flag::inline_data) != 0;
    if (work.is_inline && header.sges != 0) work.fault = "inline data is not supported";
    if (header.send_flags >> 5 != 0) work.fault = "unknown flags";
    if (!operation(static_cast<ernic::Opcode>(header.opcode), work)) work.fault = "unknown opcode";
    const bool is_key =
        work.operation == RdmaOperation::send_invalidate || work.operation == RdmaOperation::local_invalidate;
    work.immediate = is_key ? header.immediate.raw : header.immediate.value();
    if (uint64_t{header.sges} * sizeof(ernic::Sge) + ernic::sq_sge_offset > uint64_t{1} << config.sq_unit_shift)
      work.fault = "more SGEs than fit into the entry";
    if (!work.fault.empty() || work.operation == RdmaOperation::local_invalidate) return work;
    const uint8_t* const body = entry + ernic::sq_operation_offset;
    const bool swaps = work.operation == RdmaOperation::compare_swap;
    const bool atomic = swaps || work.operation == RdmaOperation::fetch_add;
    if (atomic) {
      const auto operands = peek<ernic::AtomicOperation>(body);
      work.remote = operands.remote_address;
      work.rkey = operands.rkey;
      work.swap_add = swaps ? operands.swap : operands.compare_add;
      work.compare = swaps ? operands.compare_add : 0;
    } else if (work.operation == RdmaOperation::write || work.operation == RdmaOperation::write_immediate ||
               work.operation == RdmaOperation::read) {
      const auto remote = peek<ernic::RdmaOperation>(body);
      work.remote = remote.remote_address;
      work.rkey = remote.rkey;
    }
    work.pieces = pointers(entry + ernic::sq_sge_offset, header.sges);
    if (atomic && (header.sges != 1 || work.length() != 8)) work.fault = "atomic without one SGE of 8 bytes";
    return work;
  }

  static RdmaReceive read_receive(const RdmaQueueConfig& config, const RdmaQueueMemory& memory, uint64_t index) {
    RdmaReceive receive;
    receive.index = index;
    const uint8_t* const entry = memory.rq + ((index & (config.rq_entries - 1)) << config.rq_entry_shift);
    const auto header = peek<ernic::RqHeader>(entry);
    receive.wr_id = header.wr_id;
    if (uint64_t{header.sges} * sizeof(ernic::Sge) + ernic::rq_sge_offset > uint64_t{1} << config.rq_entry_shift) {
      receive.fault = "more SGEs than fit into the receive entry";
      return receive;
    }
    receive.pieces = pointers(entry + ernic::rq_sge_offset, header.sges);
    return receive;
  }
  /// Returns the producer counter: reads the ring state if a doorbell was rung.
  static uint64_t receive_producer(const RdmaQueueConfig& config, const RdmaQueueMemory& memory, uint64_t value,
                                   uint64_t known) {
    if (value == doorbell_taken || (value & 0xffffff) != config.handle || value >> 24 != 1u << 7) return known;
    uint64_t end = known;
    position(__atomic_load_n(memory.rq_record, __ATOMIC_ACQUIRE), config.rq_entries, known, end);
    return end;
  }

  static void consumed(const RdmaQueueConfig& config, const RdmaQueueMemory& memory, uint64_t consumer) {
    __atomic_store_n(memory.sq_record + 1, ring_index(consumer, config.sq_units), __ATOMIC_RELEASE);
  }
  static void receive_consumed(const RdmaQueueConfig& config, const RdmaQueueMemory& memory, uint64_t consumer) {
    __atomic_store_n(memory.rq_record + 1, ring_index(consumer, config.rq_entries), __ATOMIC_RELEASE);
  }

  /// Returns the consumer counter of a completion queue. Ignores an invalid index.
  static uint64_t consumer(uint32_t entries, const uint32_t* record, const uint64_t*, uint64_t known) {
    uint64_t end = known;
    position(__atomic_load_n(record, __ATOMIC_ACQUIRE), entries, known, end);
    return end;
  }

  static void write_completion(const RdmaQueueConfig& config, uint8_t* cq, uint32_t* cq_producer, uint64_t index,
                               const RdmaSendCompletion& completion) {
    const RdmaWork& work = completion.work;
    ernic::Cqe entry{};
    entry.wr_id = work.wr_id;
    entry.opcode = static_cast<uint32_t>(cqe_opcode(work.operation));
    if (completion.outcome == RdmaOutcome::ok) entry.byte_count = static_cast<uint32_t>(work.length());
    store(config, cq, cq_producer, index, config.cq_entries, completion.outcome, entry);
  }

  static void write_receive_completion(const RdmaQueueConfig& config, uint8_t* cq, uint32_t* cq_producer,
                                       uint64_t index, const RdmaReceiveCompletion& completion) {
    ernic::Cqe entry{};
    entry.wr_id = completion.receive.wr_id;
    const bool written = completion.operation == RdmaOperation::write_immediate;
    entry.opcode =
        static_cast<uint32_t>(written ? ernic::CqeOpcode::receive_rdma_immediate : ernic::CqeOpcode::receive);
    if (completion.outcome == RdmaOutcome::ok) {
      entry.byte_count = completion.bytes;
      entry.source_qpn = completion.source_qpn;
      if (written || completion.operation == RdmaOperation::send_immediate) {
        entry.flags = ernic::cqe_flag::immediate;
        entry.immediate = Be32(completion.immediate);
      }
      if (completion.operation == RdmaOperation::send_invalidate) {
        entry.flags = ernic::cqe_flag::invalidated;
        entry.immediate.raw = completion.immediate;
      }
    }
    store(config, cq, cq_producer, index, config.receive_cq_entries, completion.outcome, entry);
  }

 private:
  /// Converts a counter to an index of the ring state, which is modulo twice the ring size.
  static uint32_t ring_index(uint64_t counter, uint32_t entries) {
    return static_cast<uint32_t>(counter & (uint64_t{entries} * 2 - 1));
  }

  /// Converts a ring index to a 64-bit counter. Returns false if the index is invalid.
  static bool position(uint32_t index, uint32_t entries, uint64_t known, uint64_t& counter) {
    if (index >= 2 * entries) return false;
    const uint64_t end = catch_up(known, index, uint64_t{entries} * 2 - 1);
    if (end - known > entries) return false;
    counter = end;
    return true;
  }

  static std::vector<RdmaPiece> pointers(const uint8_t* from, uint32_t count) {
    std::vector<RdmaPiece> pieces;
    for (uint32_t i = 0; i < count; ++i) {
      const auto sge = peek<ernic::Sge>(from + i * sizeof(ernic::Sge));
      pieces.push_back({sge.address, sge.length, sge.lkey});
    }
    return pieces;
  }

  /// Decodes an opcode: numbers of the kernel interface, not of the verbs.
  static bool operation(ernic::Opcode opcode, RdmaWork& work) {
    switch (opcode) {
      case ernic::Opcode::rdma_write: work.operation = RdmaOperation::write; return true;
      case ernic::Opcode::rdma_write_immediate: work.operation = RdmaOperation::write_immediate; return true;
      case ernic::Opcode::send: work.operation = RdmaOperation::send; return true;
      case ernic::Opcode::send_immediate: work.operation = RdmaOperation::send_immediate; return true;
      case ernic::Opcode::send_invalidate: work.operation = RdmaOperation::send_invalidate; return true;
      case ernic::Opcode::rdma_read: work.operation = RdmaOperation::read; return true;
      case ernic::Opcode::compare_swap: work.operation = RdmaOperation::compare_swap; return true;
      case ernic::Opcode::fetch_add: work.operation = RdmaOperation::fetch_add; return true;
      case ernic::Opcode::local_invalidate: work.operation = RdmaOperation::local_invalidate; return true;
      default: return false;
    }
  }

  static ernic::CqeOpcode cqe_opcode(RdmaOperation operation) {
    switch (operation) {
      case RdmaOperation::write:
      case RdmaOperation::write_immediate: return ernic::CqeOpcode::rdma_write;
      case RdmaOperation::read: return ernic::CqeOpcode::rdma_read;
      case RdmaOperation::compare_swap: return ernic::CqeOpcode::compare_swap;
      case RdmaOperation::fetch_add: return ernic::CqeOpcode::fetch_add;
      case RdmaOperation::local_invalidate: return ernic::CqeOpcode::local_invalidate;
      default: return ernic::CqeOpcode::send;
    }
  }

  /// Stores a completion entry, then the producer index.
  static void store(const RdmaQueueConfig& config, uint8_t* cq, uint32_t* cq_producer, uint64_t index, uint32_t entries,
                    RdmaOutcome outcome, ernic::Cqe& entry) {
    entry.qp = config.handle;
    entry.status = static_cast<uint32_t>(status(outcome));
    if (outcome != RdmaOutcome::ok) entry.vendor_error = 0x77;
    publish_entry(cq + (index & (entries - 1)) * cqe_bytes, entry, sizeof entry - sizeof(uint64_t));
    __atomic_store_n(cq_producer, ring_index(index + 1, entries), __ATOMIC_RELEASE);
  }

  static ernic::CqeStatus status(RdmaOutcome outcome) {
    switch (outcome) {
      case RdmaOutcome::ok: return ernic::CqeStatus::ok;
      case RdmaOutcome::local_length: return ernic::CqeStatus::local_length;
      case RdmaOutcome::local_operation: return ernic::CqeStatus::local_qp_operation;
      case RdmaOutcome::local_protection: return ernic::CqeStatus::local_protection;
      case RdmaOutcome::bad_response: return ernic::CqeStatus::bad_response;
      case RdmaOutcome::remote_invalid: return ernic::CqeStatus::remote_invalid_request;
      case RdmaOutcome::remote_access: return ernic::CqeStatus::remote_access;
      case RdmaOutcome::remote_operation: return ernic::CqeStatus::remote_operation;
      case RdmaOutcome::retry_exceeded: return ernic::CqeStatus::transport_retry_exceeded;
      case RdmaOutcome::receiver_not_ready: return ernic::CqeStatus::rnr_retry_exceeded;
      case RdmaOutcome::flushed: return ernic::CqeStatus::flushed;
    }
    return ernic::CqeStatus::general;
  }
};

using ErnicWire = BasicErnicWire<false>;  ///< completions for signalled operations only, as the interface specifies

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
