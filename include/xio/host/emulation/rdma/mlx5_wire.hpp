// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Wire format of the emulated ConnectX NIC.

#include <xio/host/emulation/rdma/wire.hpp>
#include <xio/vendors/mlx5/layout.hpp>
#include <xio/vendors/mlx5/status.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_rdma
/// @{

/// Wire format of ConnectX.
/// @tparam CqeBytes 64 or 128
/// @tparam Collapsed whether the send queue's completion queue is collapsed to one entry
/// @tparam Stride bytes between the two doorbell registers; 0: there is one
template <uint32_t CqeBytes = 64, bool Collapsed = false, uint32_t Stride = 0>
struct Mlx5Wire : RdmaWireDefaults {
  static constexpr uint32_t cqe_bytes = CqeBytes;
  static constexpr bool collapsed = Collapsed;
  static constexpr uint32_t doorbell_stride = Stride;
  static constexpr uint8_t cq_initial_byte = mlx5::initial_opcode_owner;
  static constexpr bool flushes = true;  ///< every entry after a failed one gets a completion
  static constexpr bool has_side_table = false;
  static constexpr bool doorbell_is_wide = true;  ///< 8 bytes
  static constexpr bool receive_needs_doorbell = false;

  /// Returns the producer counter after the doorbell value `value`. Sets `violation` if it is invalid.
  static uint64_t producer(const RdmaQueueConfig& config, const RdmaQueueMemory& memory, uint64_t value, uint64_t known,
                           std::string& violation) {
    const uint32_t record = byte_swap(__atomic_load_n(memory.sq_record, __ATOMIC_ACQUIRE));
    const uint64_t end = catch_up(known, record, mlx5::record_counter_mask);
    const uint32_t first = byte_swap(static_cast<uint32_t>(value));
    const uint32_t second = byte_swap(static_cast<uint32_t>(value >> 32));
    if (second >> 8 != config.qpn) violation = "doorbell names another queue pair";
    const uint32_t last = first >> 8 & 0xffff;
    // The record may be ahead of the doorbell, never behind: by a full ring if an earlier doorbell's record had covered
    // the entry, so that it had been executed before its own doorbell was seen.
    if (((end - 1 - last) & mlx5::record_counter_mask) > config.sq_units)
      violation = "the doorbell's entry is not covered by the doorbell record";
    return end;
  }

  static RdmaWork read_work(const RdmaQueueConfig& config, const RdmaQueueMemory& memory, uint64_t index) {
    RdmaWork work;
    work.index = index;
    const auto segment = [&](uint32_t i) {
      const uint64_t ring_bytes = uint64_t{config.sq_units} * mlx5::wqebb_bytes;
      return memory.sq + (index * mlx5::wqebb_bytes + uint64_t{i} * mlx5::segment_bytes) % ring_bytes;
    };
    const auto control = peek<mlx5::ControlSegment>(segment(0));
    const uint32_t first = control.opmod_index_opcode.value();
    const uint32_t second = control.qpn_ds.value();
    const uint32_t segments = second & 0x3f;
    const uint32_t flags = control.signature_flags.value() & 0xff;
    work.units = (segments + 3) / 4;
    work.signaled = (flags & mlx5::control_flag::completion_mask) == mlx5::control_flag::completion;
    work.solicited = (flags & mlx5::control_flag::solicited) != 0;
    work.immediate = control.immediate.value();
    if (second >> 8 != config.qpn) work.fault = "entry names another queue pair";
    if ((first >> 8 & 0xffff) != (index & 0xffff)) work.fault = "entry has a wrong index";
    if (segments == 0) work.fault = "entry without segments";
    if (work.units > config.sq_units) work.fault = "entry longer than the ring";
    uint32_t next = 1;
    if (!operation(static_cast<mlx5::Opcode>(first & 0xff), work)) work.fault = "unknown opcode";
    if (work.operation == RdmaOperation::local_invalidate) return work;
    const bool atomic = work.operation == RdmaOperation::compare_swap || work.operation == RdmaOperation::fetch_add;
    if (atomic || work.operation == RdmaOperation::write || work.operation == RdmaOperation::write_immediate ||
        work.operation == RdmaOperation::read) {
      const auto remote = peek<mlx5::RemoteAddressSegment>(segment(next++));
      work.remote = remote.address.value();
      work.rkey = remote.rkey.value();
    }
    if (atomic) {
      const auto operands = peek<mlx5::AtomicSegment>(segment(next++));
      work.swap_add = operands.swap_add.value();
      work.compare = operands.compare.value();
    }
    while (next < segments) {
      const uint32_t count = peek<Be32>(segment(next)).value();
      if ((count & mlx5::inline_bit) != 0) {
        work.is_inline = true;
        const uint32_t bytes = count & ~mlx5::inline_bit;
        if (bytes > (segments - next) * mlx5::segment_bytes - sizeof(mlx5::InlineHeader)) {
          work.fault = "inline data longer than its entry";
          return work;
        }
        for (uint32_t i = 0; i < bytes; ++i) {
          const uint32_t at = static_cast<uint32_t>(sizeof(mlx5::InlineHeader)) + i;
          work.bytes.push_back(segment(next + at / 16)[at % 16]);
        }
        next += (bytes + 4 + 15) / 16;
      } else {
        const auto data = peek<mlx5::DataSegment>(segment(next++));
        work.pieces.push_back({data.address.value(), data.byte_count.value(), data.lkey.value()});
      }
    }
    if (next != segments) work.fault = "entry shorter than its operation";
    return work;
  }

  static RdmaReceive read_receive(const RdmaQueueConfig& config, const RdmaQueueMemory& memory, uint64_t index) {
    RdmaReceive receive;
    receive.index = index;
    const uint64_t slot = index & (config.rq_entries - 1);
    const uint8_t* const entry = memory.rq + (slot << config.rq_entry_shift);
    for (uint32_t i = 0; i < (1u << config.rq_entry_shift) / 16; ++i) {
      const auto data = peek<mlx5::DataSegment>(entry + 16 * i);
      if (data.lkey.value() == mlx5::invalid_lkey) break;
      receive.pieces.push_back({data.address.value(), data.byte_count.value(), data.lkey.value()});
    }
    return receive;
  }
  static uint64_t receive_producer(const RdmaQueueConfig&, const RdmaQueueMemory& memory, uint64_t, uint64_t known) {
    return catch_up(known, byte_swap(__atomic_load_n(memory.rq_record, __ATOMIC_ACQUIRE)), mlx5::record_counter_mask);
  }

  /// Returns the consumer counter of a completion queue.
  static uint64_t consumer(uint32_t, const uint32_t* record, const uint64_t*, uint64_t known) {
    return catch_up(known, byte_swap(__atomic_load_n(record, __ATOMIC_ACQUIRE)), mlx5::consumer_index_mask);
  }

  static void write_completion(const RdmaQueueConfig& config, uint8_t* cq, uint32_t*, uint64_t index,
                               const RdmaSendCompletion& completion) {
    const RdmaWork& work = completion.work;
    const auto counter = static_cast<uint16_t>(work.index);
    if (completion.outcome == RdmaOutcome::ok) {
      mlx5::Cqe entry{};
      entry.opcode_qpn = Be32(config.qpn);
      entry.wqe_counter = Be16(counter);
      store_send(config, cq, index, mlx5::CqeOpcode::request, entry);
    } else {
      mlx5::ErrorCqe entry = error_entry(config, counter, completion.outcome);
      store_send(config, cq, index, mlx5::CqeOpcode::request_error, entry);
    }
  }

  static void write_receive_completion(const RdmaQueueConfig& config, uint8_t* cq, uint32_t*, uint64_t index,
                                       const RdmaReceiveCompletion& completion) {
    const auto counter = static_cast<uint16_t>(completion.receive.index);
    if (completion.outcome != RdmaOutcome::ok) {
      mlx5::ErrorCqe entry = error_entry(config, counter, completion.outcome);
      store(cq, index, config.receive_cq_entries, mlx5::CqeOpcode::response_error, entry, false);
      return;
    }
    mlx5::Cqe entry{};
    entry.opcode_qpn = Be32(config.qpn);
    entry.wqe_counter = Be16(counter);
    entry.flags_source_qpn = Be32(completion.source_qpn);
    entry.byte_count = Be32(completion.bytes);
    entry.immediate = Be32(completion.immediate);
    mlx5::CqeOpcode opcode = mlx5::CqeOpcode::response_send;
    if (completion.operation == RdmaOperation::write_immediate) opcode = mlx5::CqeOpcode::response_write_immediate;
    if (completion.operation == RdmaOperation::send_immediate) opcode = mlx5::CqeOpcode::response_send_immediate;
    if (completion.operation == RdmaOperation::send_invalidate) opcode = mlx5::CqeOpcode::response_send_invalidate;
    store(cq, index, config.receive_cq_entries, opcode, entry, completion.solicited);
  }

 private:
  static bool operation(mlx5::Opcode opcode, RdmaWork& work) {
    switch (opcode) {
      case mlx5::Opcode::rdma_write: work.operation = RdmaOperation::write; return true;
      case mlx5::Opcode::rdma_write_immediate: work.operation = RdmaOperation::write_immediate; return true;
      case mlx5::Opcode::send: work.operation = RdmaOperation::send; return true;
      case mlx5::Opcode::send_immediate: work.operation = RdmaOperation::send_immediate; return true;
      case mlx5::Opcode::send_invalidate: work.operation = RdmaOperation::send_invalidate; return true;
      case mlx5::Opcode::rdma_read: work.operation = RdmaOperation::read; return true;
      case mlx5::Opcode::compare_swap: work.operation = RdmaOperation::compare_swap; return true;
      case mlx5::Opcode::fetch_add: work.operation = RdmaOperation::fetch_add; return true;
      case mlx5::Opcode::umr: work.operation = RdmaOperation::local_invalidate; return true;
      case mlx5::Opcode::nop: work.operation = RdmaOperation::nop; return true;
      default: return false;
    }
  }

  template <class Entry>
  static void store_send(const RdmaQueueConfig& config, uint8_t* cq, uint64_t index, mlx5::CqeOpcode opcode,
                         Entry& entry) {
    if constexpr (Collapsed) {
      // The owner bit carries no information: it alternates.
      entry.opcode_owner = static_cast<uint8_t>(static_cast<uint32_t>(opcode) << 4 | (index & 1));
      replace_entry(cq + (CqeBytes - sizeof(Entry)), entry, sizeof(Entry) - sizeof(uint64_t),
                    uint64_t{mlx5::initial_opcode_owner} << 56);
    } else {
      store(cq, index, config.cq_entries, opcode, entry, false);
    }
  }

  template <class Entry>
  static void store(uint8_t* cq, uint64_t index, uint32_t entries, mlx5::CqeOpcode opcode, Entry& entry,
                    bool solicited) {
    entry.opcode_owner = static_cast<uint8_t>(static_cast<uint32_t>(opcode) << 4 | (solicited ? 2u : 0u) |
                                              ((index & entries) != 0 ? 1u : 0u));
    uint8_t* const to = cq + (index & (entries - 1)) * CqeBytes + (CqeBytes - sizeof(Entry));
    publish_entry(to, entry, sizeof(Entry) - sizeof(uint64_t));
  }

  static mlx5::ErrorCqe error_entry(const RdmaQueueConfig& config, uint16_t counter, RdmaOutcome outcome) {
    mlx5::ErrorCqe entry{};
    entry.opcode_qpn = Be32(config.qpn);
    entry.wqe_counter = Be16(counter);
    entry.syndrome = static_cast<uint8_t>(syndrome(outcome));
    entry.vendor_syndrome = 0x77;
    return entry;
  }

  static mlx5::Syndrome syndrome(RdmaOutcome outcome) {
    switch (outcome) {
      case RdmaOutcome::local_length: return mlx5::Syndrome::local_length;
      case RdmaOutcome::local_operation: return mlx5::Syndrome::local_qp_operation;
      case RdmaOutcome::local_protection: return mlx5::Syndrome::local_protection;
      case RdmaOutcome::bad_response: return mlx5::Syndrome::bad_response;
      case RdmaOutcome::remote_invalid: return mlx5::Syndrome::remote_invalid_request;
      case RdmaOutcome::remote_access: return mlx5::Syndrome::remote_access;
      case RdmaOutcome::remote_operation: return mlx5::Syndrome::remote_operation;
      case RdmaOutcome::retry_exceeded: return mlx5::Syndrome::transport_retry_exceeded;
      case RdmaOutcome::receiver_not_ready: return mlx5::Syndrome::rnr_retry_exceeded;
      case RdmaOutcome::flushed: return mlx5::Syndrome::flushed;
      case RdmaOutcome::ok: break;
    }
    return mlx5::Syndrome::local_qp_operation;
  }
};

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
