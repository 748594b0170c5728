// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Wire format of emulated soft-RoCE: how the kernel reads and writes the queues.

#include <xio/host/emulation/rdma/wire.hpp>
#include <xio/host/power_of_two.hpp>
#include <xio/vendors/rxe/layout.hpp>
#include <xio/vendors/rxe/status.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_rdma
/// @{

/// Wire format of soft-RoCE. The doorbell is a word that a host proxy watches: any value makes the kernel poll the
/// queue. RdmaQueueMemory::sq_record and rq_record are QueueHeader::producer_index of these queues, cq_record is
/// QueueHeader::consumer_index of the completion queue, cq_producer its producer_index. Ring sizes are powers of two.
/// @tparam CqeBytes 1 << QueueHeader::log2_entry_bytes of the completion queue
template <uint32_t CqeBytes = 128>
struct RxeWire : RdmaWireDefaults {
  static_assert(CqeBytes >= sizeof(rxe::Cqe) && host::is_power_of_two(CqeBytes),
                "CqeBytes must be a power of two that holds a CQE");
  static constexpr uint32_t cqe_bytes = CqeBytes;
  static constexpr uint8_t cq_initial_byte = 0;
  static constexpr bool flushes = true;  ///< every entry after a failed one gets a completion
  static constexpr bool has_side_table = false;
  static constexpr bool doorbell_is_wide = false;  ///< 4 bytes
  static constexpr bool receive_needs_doorbell = false;
  /// Distance between the indices of QueueHeader in words; the kernel keeps them on separate cache lines.
  static constexpr uint32_t consumer_behind_producer =
      (XIO_OFFSETOF(rxe::QueueHeader, consumer_index) - XIO_OFFSETOF(rxe::QueueHeader, producer_index)) / 4;

  /// One entry stays free: a full ring cannot be distinguished from an empty one.
  static uint64_t capacity(const RdmaQueueConfig& config) { return config.sq_units - 1; }
  static uint64_t cq_capacity(uint32_t entries) { return entries - 1; }

  /// Returns the producer counter after a doorbell of any value. Sets `violation` if the index is invalid.
  static uint64_t producer(const RdmaQueueConfig& config, const RdmaQueueMemory& memory, uint64_t, uint64_t known,
                           std::string& violation) {
    const uint32_t index = __atomic_load_n(memory.sq_record, __ATOMIC_ACQUIRE);
    if (index >= config.sq_units) violation = "producer index is beyond the ring";
    return catch_up(known, index, uint64_t{config.sq_units} - 1);
  }

  static RdmaWork read_work(const RdmaQueueConfig& config, const RdmaQueueMemory& memory, uint64_t index) {
    RdmaWork work;
    work.index = index;
    const uint8_t* const entry = sq_entry(config, memory, index);
    const uint64_t room = (uint64_t{1} << config.sq_unit_shift) - sizeof(rxe::SendWqe);
    const auto wqe = peek<rxe::SendWqe>(entry);
    work.wr_id = wqe.header.wr_id;
    work.signaled = (wqe.header.send_flags & rxe::send_flag::signaled) != 0;
    work.solicited = (wqe.header.send_flags & rxe::send_flag::solicited) != 0;
    work.is_inline = (wqe.header.send_flags & rxe::send_flag::inline_data) != 0;
    if (wqe.header.send_flags >> 4 != 0) work.fault = "unknown flags";
    if (!operation(static_cast<rxe::Opcode>(wqe.header.opcode), work)) work.fault = "unknown opcode";
    const bool is_key =
        work.operation == RdmaOperation::send_invalidate || work.operation == RdmaOperation::local_invalidate;
    work.immediate = is_key ? wqe.header.immediate.raw : wqe.header.immediate.value();
    if (wqe.state != 0 || wqe.status != 0 || wqe.has_rd_atomic != 0)
      work.fault = "the kernel's fields of the entry are not in their initial state";
    if (const char* const wrong = dma_fault(wqe.dma)) work.fault = wrong;
    if (!work.fault.empty() || work.operation == RdmaOperation::local_invalidate) return work;

    const bool swaps = work.operation == RdmaOperation::compare_swap;
    const bool atomic = swaps || work.operation == RdmaOperation::fetch_add;
    const bool fills = atomic || work.operation == RdmaOperation::read;
    const bool names_memory =
        fills || work.operation == RdmaOperation::write || work.operation == RdmaOperation::write_immediate;
    const uint8_t* const body = entry + XIO_OFFSETOF(rxe::SendWqe, operation);
    if (atomic) {
      const auto operands = peek<rxe::AtomicOperation>(body);
      work.remote = operands.remote_address;
      work.rkey = operands.rkey;
      work.swap_add = swaps ? operands.swap : operands.compare_add;
      work.compare = swaps ? operands.compare_add : 0;
    } else if (names_memory) {
      const auto remote = peek<rxe::RdmaOperation>(body);
      work.remote = remote.remote_address;
      work.rkey = remote.rkey;
    }
    // The kernel takes the packets' address from iova.
    if (names_memory && wqe.iova != work.remote) work.fault = "the two remote addresses differ";
    const uint8_t* const data = entry + sizeof wqe;
    if (work.is_inline) {
      if (fills) work.fault = "inline data of an operation that returns data";
      if (wqe.dma.length > room) work.fault = "inline data longer than its entry";
      if (!work.fault.empty()) return work;
      work.bytes.assign(data, data + wqe.dma.length);
      return work;
    }
    if (wqe.dma.sges * sizeof(rxe::Sge) > room) work.fault = "more SGEs than fit into the entry";
    if (!work.fault.empty()) return work;
    work.pieces = pointers(data, wqe.dma.sges);
    if (work.length() != wqe.dma.length) work.fault = "the remaining length differs from the SGEs'";
    if (atomic && (wqe.dma.sges != 1 || work.length() != 8)) work.fault = "atomic without one SGE of 8 bytes";
    return work;
  }

  static RdmaReceive read_receive(const RdmaQueueConfig& config, const RdmaQueueMemory& memory, uint64_t index) {
    RdmaReceive receive;
    receive.index = index;
    const uint8_t* const entry = memory.rq + ((index & (config.rq_entries - 1)) << config.rq_entry_shift);
    const auto wqe = peek<rxe::ReceiveWqe>(entry);
    receive.wr_id = wqe.wr_id;
    if (const char* const wrong = dma_fault(wqe.dma)) receive.fault = wrong;
    if (wqe.dma.sges * sizeof(rxe::Sge) + sizeof wqe > uint64_t{1} << config.rq_entry_shift)
      receive.fault = "more SGEs than fit into the receive entry";
    if (!receive.fault.empty()) return receive;
    receive.pieces = pointers(entry + sizeof wqe, wqe.dma.sges);
    uint64_t length = 0;
    for (const RdmaPiece& piece : receive.pieces) length += piece.length;
    if (length != wqe.dma.length) receive.fault = "the remaining length differs from the SGEs'";
    return receive;
  }
  static uint64_t receive_producer(const RdmaQueueConfig& config, const RdmaQueueMemory& memory, uint64_t,
                                   uint64_t known) {
    return catch_up(known, __atomic_load_n(memory.rq_record, __ATOMIC_ACQUIRE), uint64_t{config.rq_entries} - 1);
  }

  /// Advances the consumer index and leaves the entry as the kernel does: the next post must not rely on its content.
  static void consumed(const RdmaQueueConfig& config, const RdmaQueueMemory& memory, uint64_t consumer) {
    uint8_t* const entry = sq_entry(config, memory, consumer - 1);
    const auto wqe = peek<rxe::SendWqe>(entry);
    const auto put = [&](size_t offset, uint32_t value) {
      __atomic_store_n(reinterpret_cast<uint32_t*>(entry + offset), value, __ATOMIC_RELAXED);
    };
    constexpr size_t dma = XIO_OFFSETOF(rxe::SendWqe, dma);
    put(XIO_OFFSETOF(rxe::SendWqe, state), 3);  // done
    put(XIO_OFFSETOF(rxe::SendWqe, mask), 0x1f);
    put(dma + XIO_OFFSETOF(rxe::DmaState, residue), 0);
    put(dma + XIO_OFFSETOF(rxe::DmaState, current), wqe.dma.sges);
    put(dma + XIO_OFFSETOF(rxe::DmaState, sge_offset), wqe.dma.length);
    __atomic_store_n(memory.sq_record + consumer_behind_producer,
                     static_cast<uint32_t>(consumer & (config.sq_units - 1)), __ATOMIC_RELEASE);
  }
  static void receive_consumed(const RdmaQueueConfig& config, const RdmaQueueMemory& memory, uint64_t consumer) {
    __atomic_store_n(memory.rq_record + consumer_behind_producer,
                     static_cast<uint32_t>(consumer & (config.rq_entries - 1)), __ATOMIC_RELEASE);
  }

  /// Returns the consumer counter of a completion queue.
  static uint64_t consumer(uint32_t entries, const uint32_t* record, const uint64_t*, uint64_t known) {
    return catch_up(known, __atomic_load_n(record, __ATOMIC_ACQUIRE), uint64_t{entries} - 1);
  }

  /// Writes a send completion. For a failed operation the kernel reports only wr_id and status.
  static void write_completion(const RdmaQueueConfig& config, uint8_t* cq, uint32_t* cq_producer, uint64_t index,
                               const RdmaSendCompletion& completion) {
    const RdmaWork& work = completion.work;
    rxe::Cqe entry{};
    entry.wr_id = work.wr_id;
    if (completion.outcome == RdmaOutcome::ok) {
      entry.opcode = static_cast<uint32_t>(cqe_opcode(work.operation));
      entry.byte_count = static_cast<uint32_t>(work.length());
      if (work.operation == RdmaOperation::write_immediate || work.operation == RdmaOperation::send_immediate)
        entry.flags = rxe::cqe_flag::immediate;
    }
    store(config, cq, cq_producer, index, config.cq_entries, completion.outcome, entry);
  }

  /// Writes a receive completion. The source QPN stays unset: it applies to datagrams only.
  static void write_receive_completion(const RdmaQueueConfig& config, uint8_t* cq, uint32_t* cq_producer,
                                       uint64_t index, const RdmaReceiveCompletion& completion) {
    rxe::Cqe entry{};
    entry.wr_id = completion.receive.wr_id;
    if (completion.outcome == RdmaOutcome::ok) {
      const bool written = completion.operation == RdmaOperation::write_immediate;
      entry.opcode = static_cast<uint32_t>(written ? rxe::CqeOpcode::receive_rdma_immediate : rxe::CqeOpcode::receive);
      entry.byte_count = completion.bytes;
      entry.port = 1;
      entry.flags = rxe::cqe_flag::grh;
      if (written || completion.operation == RdmaOperation::send_immediate) {
        entry.flags |= rxe::cqe_flag::immediate;
        entry.immediate = Be32(completion.immediate);
      }
      if (completion.operation == RdmaOperation::send_invalidate) {
        entry.flags |= rxe::cqe_flag::invalidated;
        entry.immediate.raw = completion.immediate;
      }
    }
    store(config, cq, cq_producer, index, config.receive_cq_entries, completion.outcome, entry);
  }

 private:
  static uint8_t* sq_entry(const RdmaQueueConfig& config, const RdmaQueueMemory& memory, uint64_t index) {
    return memory.sq + ((index & (config.sq_units - 1)) << config.sq_unit_shift);
  }

  /// Returns why the kernel would not start at the beginning of the message, or null.
  static const char* dma_fault(const rxe::DmaState& dma) {
    if (dma.residue != dma.length) return "the residue is not the whole length";
    if (dma.current != 0) return "the current SGE is not the first";
    if (dma.sge_offset != 0) return "the SGE offset is not 0";
    return nullptr;
  }

  static std::vector<RdmaPiece> pointers(const uint8_t* from, uint32_t count) {
    std::vector<RdmaPiece> pieces;
    for (uint32_t i = 0; i < count; ++i) {
      const auto sge = peek<rxe::Sge>(from + i * sizeof(rxe::Sge));
      pieces.push_back({sge.address, sge.length, sge.lkey});
    }
    return pieces;
  }

  static bool operation(rxe::Opcode opcode, RdmaWork& work) {
    switch (opcode) {
      case rxe::Opcode::rdma_write: work.operation = RdmaOperation::write; return true;
      case rxe::Opcode::rdma_write_immediate: work.operation = RdmaOperation::write_immediate; return true;
      case rxe::Opcode::send: work.operation = RdmaOperation::send; return true;
      case rxe::Opcode::send_immediate: work.operation = RdmaOperation::send_immediate; return true;
      case rxe::Opcode::send_invalidate: work.operation = RdmaOperation::send_invalidate; return true;
      case rxe::Opcode::rdma_read: work.operation = RdmaOperation::read; return true;
      case rxe::Opcode::compare_swap: work.operation = RdmaOperation::compare_swap; return true;
      case rxe::Opcode::fetch_add: work.operation = RdmaOperation::fetch_add; return true;
      case rxe::Opcode::local_invalidate: work.operation = RdmaOperation::local_invalidate; return true;
      default: return false;
    }
  }

  static rxe::CqeOpcode cqe_opcode(RdmaOperation operation) {
    switch (operation) {
      case RdmaOperation::write:
      case RdmaOperation::write_immediate: return rxe::CqeOpcode::rdma_write;
      case RdmaOperation::read: return rxe::CqeOpcode::rdma_read;
      case RdmaOperation::compare_swap: return rxe::CqeOpcode::compare_swap;
      case RdmaOperation::fetch_add: return rxe::CqeOpcode::fetch_add;
      case RdmaOperation::local_invalidate: return rxe::CqeOpcode::local_invalidate;
      default: return rxe::CqeOpcode::send;
    }
  }

  /// Stores a completion entry, then the producer index.
  static void store(const RdmaQueueConfig& config, uint8_t* cq, uint32_t* cq_producer, uint64_t index, uint32_t entries,
                    RdmaOutcome outcome, rxe::Cqe& entry) {
    entry.qpn = config.qpn;
    entry.status = static_cast<uint32_t>(status(outcome));
    publish_entry(cq + (index & (entries - 1)) * CqeBytes, entry, sizeof entry - sizeof(uint64_t));
    __atomic_store_n(cq_producer, static_cast<uint32_t>((index + 1) & (entries - 1)), __ATOMIC_RELEASE);
  }

  static rxe::CqeStatus status(RdmaOutcome outcome) {
    switch (outcome) {
      case RdmaOutcome::ok: return rxe::CqeStatus::ok;
      case RdmaOutcome::local_length: return rxe::CqeStatus::local_length;
      case RdmaOutcome::local_operation: return rxe::CqeStatus::local_qp_operation;
      case RdmaOutcome::local_protection: return rxe::CqeStatus::local_protection;
      case RdmaOutcome::bad_response: return rxe::CqeStatus::bad_response;
      case RdmaOutcome::remote_invalid: return rxe::CqeStatus::remote_invalid_request;
      case RdmaOutcome::remote_access: return rxe::CqeStatus::remote_access;
      case RdmaOutcome::remote_operation: return rxe::CqeStatus::remote_operation;
      case RdmaOutcome::retry_exceeded: return rxe::CqeStatus::transport_retry_exceeded;
      case RdmaOutcome::receiver_not_ready: return rxe::CqeStatus::rnr_retry_exceeded;
      case RdmaOutcome::flushed: return rxe::CqeStatus::flushed;
    }
    return rxe::CqeStatus::general;
  }
};

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
