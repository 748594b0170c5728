// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Wire format of the emulated Pensando DSC.

#include <xio/host/emulation/rdma/wire.hpp>
#include <xio/vendors/ionic/layout.hpp>
#include <xio/vendors/ionic/status.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_rdma
/// @{

/// Wire format of Pensando DSC, without lists of lengths before the pointers.
/// @tparam Version 1 or 2, as reported by the kernel: opcodes and atomics differ
/// @tparam Collapsed whether the send queue's completion queue is collapsed to one entry
template <uint32_t Version = 1, bool Collapsed = false>
struct IonicWire : RdmaWireDefaults {
  static_assert(Version == 1 || Version == 2, "Version must be 1 or 2");
  static constexpr uint32_t cqe_bytes = 32;
  static constexpr bool collapsed = Collapsed;
  static constexpr uint8_t cq_initial_byte = 0;
  static constexpr bool flushes = false;        ///< entries after a failed one get no completion
  static constexpr bool has_last_entry = true;  ///< reports that the queue is being flushed
  static constexpr bool has_side_table = false;
  static constexpr bool doorbell_is_wide = true;  ///< 8 bytes
  static constexpr bool receive_needs_doorbell = true;
  static constexpr uint64_t timestamp = 0x5a1234cdef01;  ///< in all completions: 48 bits that readers must ignore

  /// One entry stays free: a full ring cannot be distinguished from an empty one.
  static uint64_t capacity(const RdmaQueueConfig& config) { return config.sq_units - 1; }
  static uint64_t cq_capacity(uint32_t entries) { return entries - 1; }

  /// Returns the producer counter after the doorbell value `value`. Sets `violation` if it is invalid.
  static uint64_t producer(const RdmaQueueConfig& config, const RdmaQueueMemory&, uint64_t value, uint64_t known,
                           std::string& violation) {
    return position(value, config.qpn, config.sq_units, known, violation);
  }

  static RdmaWork read_work(const RdmaQueueConfig& config, const RdmaQueueMemory& memory, uint64_t index) {
    RdmaWork work;
    work.index = index;
    const uint64_t slot = index & (config.sq_units - 1);
    const uint8_t* const entry = memory.sq + (slot << config.sq_unit_shift);
    const uint32_t room = (1u << config.sq_unit_shift) - ionic::payload_offset;
    const auto base = peek<ionic::BaseHeader>(entry);
    const uint32_t flags = base.flags.value();
    const uint32_t sges = base.sges_or_key;
    work.signaled = (flags & ionic::flag::signaled) != 0;
    work.solicited = (flags & ionic::flag::solicited) != 0;
    work.is_inline = (flags & ionic::flag::inline_data) != 0;
    work.immediate = base.immediate_key.value();
    if ((flags & (ionic::flag::spec32 | ionic::flag::spec16)) != 0) work.fault = "lengths before the SGEs";
    if ((flags & ~uint32_t{known_flags}) != 0) work.fault = "unknown flags";
    if (base.wqe_index != slot) work.fault = "entry has a wrong index";
    const bool lap_is_odd = (index & config.sq_units) != 0;
    if (((flags & ionic::flag::color) != 0) == lap_is_odd) work.fault = "entry has a wrong color";
    if (!operation(base.opcode, work)) work.fault = "unknown opcode";
    const bool atomic = work.operation == RdmaOperation::compare_swap || work.operation == RdmaOperation::fetch_add;
    const bool fills = atomic || work.operation == RdmaOperation::read;
    if (work.is_inline && (fills || work.operation == RdmaOperation::local_invalidate))
      work.fault = "inline data of an operation without data";
    if (work.solicited && !takes_receive(work.operation))
      work.fault = "solicited event of an operation without a receive";
    if (!work.fault.empty() || work.operation == RdmaOperation::local_invalidate) return work;
    if (atomic) {
      read_atomic(entry, sges, work);
      return work;
    }
    // Sends have their length at the same offset.
    const auto head = peek<ionic::RdmaHeader>(entry + sizeof base);
    const uint32_t length = head.length.value();
    if (fills || work.operation == RdmaOperation::write || work.operation == RdmaOperation::write_immediate) {
      work.remote = head.remote_address.value();
      work.rkey = head.rkey.value();
    }
    if (work.is_inline) {
      if (sges != 0) work.fault = "inline data and SGEs";
      if (length > room) work.fault = "inline data longer than its entry";
      if (!work.fault.empty()) return work;
      const uint8_t* const data = entry + ionic::payload_offset;
      work.bytes.assign(data, data + length);
      return work;
    }
    if (sges * sizeof(ionic::Sge) > room) {
      work.fault = "more SGEs than fit into the entry";
      return work;
    }
    work.pieces = pointers(entry, sges);
    if (work.length() != length) work.fault = "the header's length differs from the SGEs'";
    return work;
  }

  static RdmaReceive read_receive(const RdmaQueueConfig& config, const RdmaQueueMemory& memory, uint64_t index) {
    RdmaReceive receive;
    receive.index = index;
    const uint64_t slot = index & (config.rq_entries - 1);
    const uint8_t* const entry = memory.rq + (slot << config.rq_entry_shift);
    const auto base = peek<ionic::BaseHeader>(entry);
    if (base.wqe_index != slot) receive.fault = "receive entry has a wrong index";
    if ((base.flags.value() & (ionic::flag::spec32 | ionic::flag::spec16)) != 0)
      receive.fault = "lengths before the SGEs";
    if (base.sges_or_key * sizeof(ionic::Sge) > (1u << config.rq_entry_shift) - ionic::payload_offset)
      receive.fault = "more SGEs than fit into the entry";
    if (!receive.fault.empty()) return receive;
    receive.pieces = pointers(entry, base.sges_or_key);
    uint64_t length = 0;
    for (const RdmaPiece& piece : receive.pieces) length += piece.length;
    if (length != base.immediate_key.value()) receive.fault = "the receive's length differs from the SGEs'";
    return receive;
  }
  static uint64_t receive_producer(const RdmaQueueConfig& config, const RdmaQueueMemory&, uint64_t value,
                                   uint64_t known) {
    if (value == doorbell_taken) return known;
    std::string violation;
    const uint64_t end = position(value, config.qpn, config.rq_entries, known, violation);
    return violation.empty() ? end : known;
  }

  /// Returns the consumer counter of a completion queue. Ignores an invalid doorbell; 0: not rung yet.
  static uint64_t consumer(uint32_t entries, const uint32_t*, const uint64_t* doorbell, uint64_t known) {
    const uint64_t value = __atomic_load_n(doorbell, __ATOMIC_ACQUIRE);
    if (value == doorbell_taken || value == 0) return known;
    std::string violation;
    const auto qid = static_cast<uint32_t>(value >> ionic::doorbell_qid_shift & ionic::qid_mask);
    const uint64_t end = position(value, qid, entries, known, violation);
    return violation.empty() ? end : known;
  }

  static void write_completion(const RdmaQueueConfig& config, uint8_t* cq, uint32_t*, uint64_t index,
                               const RdmaSendCompletion& completion) {
    const bool failed = completion.outcome != RdmaOutcome::ok;
    const uint32_t status_length =
        failed ? status(completion.outcome) : static_cast<uint32_t>(completion.work.length());
    if (completion.work.operation == RdmaOperation::local_invalidate) {
      write_local(config, cq, index, completion.work.index & (config.sq_units - 1), status_length, failed,
                  completion.messages);
      return;
    }
    ionic::SendCqe entry{};
    entry.message_number = Be32(static_cast<uint32_t>(completion.messages & 0xffffff));
    entry.status_length = Be32(status_length);
    store_send(config, cq, index, ionic::CqeType::send_msn, failed, entry, completion.messages);
  }

  /// Writes the completion that reports the flush of all posted entries without identifying them.
  static void write_last(const RdmaQueueConfig& config, uint8_t* cq, uint32_t*, uint64_t index,
                         const RdmaSendCompletion& completion) {
    write_local(config, cq, index, 0, status(RdmaOutcome::flushed), true, completion.messages);
  }

  static void write_receive_completion(const RdmaQueueConfig& config, uint8_t* cq, uint32_t*, uint64_t index,
                                       const RdmaReceiveCompletion& completion) {
    const bool failed = completion.outcome != RdmaOutcome::ok;
    ionic::ReceiveOperation operation = ionic::ReceiveOperation::send;
    if (completion.operation == RdmaOperation::write_immediate)
      operation = ionic::ReceiveOperation::rdma_write_immediate;
    if (completion.operation == RdmaOperation::send_immediate) operation = ionic::ReceiveOperation::send_immediate;
    if (completion.operation == RdmaOperation::send_invalidate) operation = ionic::ReceiveOperation::send_invalidate;
    ionic::ReceiveCqe entry{};
    entry.index_timestamp = (completion.receive.index & (config.rq_entries - 1)) | timestamp
                                                                                       << ionic::cqe_timestamp_shift;
    entry.source_operation =
        Be32((completion.source_qpn & 0xffffff) | static_cast<uint32_t>(operation) << ionic::receive_operation_shift |
             ionic::receive_is_ipv4);
    entry.immediate_key = Be32(completion.immediate);
    entry.status_length = Be32(failed ? status(completion.outcome) : completion.bytes);
    store(config, cq, index, config.receive_cq_entries, ionic::CqeType::receive, failed, entry);
  }

 private:
  static constexpr uint32_t known_flags = uint32_t{ionic::flag::fence} | ionic::flag::solicited |
                                          ionic::flag::inline_data | ionic::flag::signaled | ionic::flag::color |
                                          ionic::flag::spec32 | ionic::flag::spec16;

  /// Converts the index of a doorbell to a 64-bit counter.
  static uint64_t position(uint64_t value, uint32_t qid, uint32_t entries, uint64_t known, std::string& violation) {
    const uint64_t index = value & 0xffff;
    if ((value >> 16 & 0xff) != 0 || value >> 48 != 0) violation = "doorbell with bits that must be zero";
    if ((value >> ionic::doorbell_qid_shift & 0xffffff) != qid) violation = "doorbell names another queue";
    if (index >= entries) violation = "doorbell beyond the ring's end";
    return violation.empty() ? catch_up(known, index, uint64_t{entries} - 1) : known;
  }

  static std::vector<RdmaPiece> pointers(const uint8_t* entry, uint32_t count) {
    std::vector<RdmaPiece> pieces;
    for (uint32_t i = 0; i < count; ++i) {
      const auto sge = peek<ionic::Sge>(entry + ionic::payload_offset + i * sizeof(ionic::Sge));
      pieces.push_back({sge.address.value(), sge.length.value(), sge.lkey.value()});
    }
    return pieces;
  }

  static void read_atomic(const uint8_t* entry, uint32_t sges, RdmaWork& work) {
    const auto atomic = peek<ionic::AtomicHeader>(entry + sizeof(ionic::BaseHeader));
    work.remote = atomic.remote_address.value();
    work.rkey = atomic.rkey.value();
    work.swap_add = uint64_t{atomic.swap_add_high.value()} << 32 | atomic.swap_add_low.value();
    work.compare = uint64_t{atomic.compare_high.value()} << 32 | atomic.compare_low.value();
    if constexpr (Version == 1) {
      const auto sge = peek<ionic::Sge>(entry + XIO_OFFSETOF(ionic::AtomicWqeV1, sge));
      work.pieces.push_back({sge.address.value(), sge.length.value(), sge.lkey.value()});
    } else {
      const auto local = peek<Be64>(entry + XIO_OFFSETOF(ionic::AtomicWqeV2, local_address));
      work.pieces.push_back({local.value(), 8, atomic.lkey.value()});
    }
    if (sges != 1 || work.length() != 8) work.fault = "atomic without one SGE of 8 bytes";
  }

  static bool operation(uint8_t opcode, RdmaWork& work) {
    if constexpr (Version == 1) {
      return known_operation<ionic::OpcodeV1>(static_cast<ionic::OpcodeV1>(opcode), work);
    } else {
      return known_operation<ionic::OpcodeV2>(static_cast<ionic::OpcodeV2>(opcode), work);
    }
  }

  template <class Opcode>
  static bool known_operation(Opcode opcode, RdmaWork& work) {
    switch (opcode) {
      case Opcode::rdma_write: work.operation = RdmaOperation::write; return true;
      case Opcode::rdma_write_immediate: work.operation = RdmaOperation::write_immediate; return true;
      case Opcode::send: work.operation = RdmaOperation::send; return true;
      case Opcode::send_immediate: work.operation = RdmaOperation::send_immediate; return true;
      case Opcode::send_invalidate: work.operation = RdmaOperation::send_invalidate; return true;
      case Opcode::rdma_read: work.operation = RdmaOperation::read; return true;
      case Opcode::compare_swap: work.operation = RdmaOperation::compare_swap; return true;
      case Opcode::fetch_add: work.operation = RdmaOperation::fetch_add; return true;
      case Opcode::local_invalidate: work.operation = RdmaOperation::local_invalidate; return true;
      default: return false;
    }
  }

  static void write_local(const RdmaQueueConfig& config, uint8_t* cq, uint64_t index, uint64_t slot,
                          uint32_t status_length, bool failed, uint64_t messages) {
    ionic::SendCqe entry{};
    entry.index_timestamp = slot | timestamp << ionic::cqe_timestamp_shift;
    entry.status_length = Be32(status_length);
    store_send(config, cq, index, ionic::CqeType::send_npg, failed, entry, messages);
  }

  static void store_send(const RdmaQueueConfig& config, uint8_t* cq, uint64_t index, ionic::CqeType type, bool failed,
                         ionic::SendCqe& entry, [[maybe_unused]] uint64_t messages) {
    if constexpr (Collapsed) {
      // The color carries no information: it alternates.
      entry.word = flags(config, type, failed, index & 1);
      const auto far_off = static_cast<uint32_t>((messages & 0xffffff) ^ 0x800000);
      replace_entry(cq, entry, 0, uint64_t{Be32(far_off).raw} << 32);
    } else {
      store(config, cq, index, config.cq_entries, type, failed, entry);
    }
  }

  /// Stores a completion entry; the word with the color is stored last.
  template <class Entry>
  static void store(const RdmaQueueConfig& config, uint8_t* cq, uint64_t index, uint32_t entries, ionic::CqeType type,
                    bool failed, Entry& entry) {
    entry.word = flags(config, type, failed, (index & entries) == 0);
    publish_entry(cq + (index & (entries - 1)) * cqe_bytes, entry, XIO_OFFSETOF(Entry, status_length));
  }

  static Be32 flags(const RdmaQueueConfig& config, ionic::CqeType type, bool failed, bool color) {
    return Be32(config.qpn << ionic::cqe_word::qid_shift | static_cast<uint32_t>(type) << ionic::cqe_word::type_shift |
                (failed ? ionic::cqe_word::error : 0u) | (color ? ionic::cqe_word::color : 0u));
  }

  static uint32_t status(RdmaOutcome outcome) {
    const auto number = [](ionic::CqeStatus value) { return static_cast<uint32_t>(value); };
    switch (outcome) {
      case RdmaOutcome::ok: return number(ionic::CqeStatus::ok);
      case RdmaOutcome::local_length: return number(ionic::CqeStatus::local_length);
      case RdmaOutcome::local_operation: return number(ionic::CqeStatus::local_qp_operation);
      case RdmaOutcome::local_protection: return number(ionic::CqeStatus::local_protection);
      case RdmaOutcome::bad_response: return number(ionic::CqeStatus::bad_response);
      case RdmaOutcome::remote_invalid: return number(ionic::CqeStatus::remote_invalid_request);
      case RdmaOutcome::remote_access: return number(ionic::CqeStatus::remote_access);
      case RdmaOutcome::remote_operation: return number(ionic::CqeStatus::remote_operation);
      case RdmaOutcome::retry_exceeded: return number(ionic::CqeStatus::transport_retry_exceeded);
      case RdmaOutcome::receiver_not_ready: return number(ionic::CqeStatus::rnr_retry_exceeded);
      case RdmaOutcome::flushed: return number(ionic::CqeStatus::flushed);
    }
    return number(ionic::CqeStatus::local_qp_operation);
  }
};

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
