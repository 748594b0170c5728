// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Wire format of the emulated NetXtreme-E NIC.

#include <xio/host/emulation/rdma/wire.hpp>
#include <xio/vendors/bnxt/layout.hpp>
#include <xio/vendors/bnxt/status.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_rdma
/// @{

/// Format of the table that follows a send ring.
enum class BnxtSideTable : uint8_t {
  psn8,   ///< 8-byte entries, indexed by the doorbell index of the send queue entry
  psn16,  ///< 16-byte entries, indexed by the doorbell index of the send queue entry
  msn,    ///< words, indexed by the message sequence number
};

/// Wire format of NetXtreme-E. The unit of a send ring is the 128-byte entry (fixed) or the 16-byte slot (variable).
/// @tparam Mode layout of entries in the send ring
/// @tparam Table format of the table that follows it
/// @tparam PowerOfTwo whether the kernel creates only send rings whose size is a power of two
template <bnxt::WqeMode Mode = bnxt::WqeMode::fixed, BnxtSideTable Table = BnxtSideTable::msn, bool PowerOfTwo = false>
struct BnxtWire : RdmaWireDefaults {
  static constexpr uint32_t cqe_bytes = 32;
  static constexpr uint8_t cq_initial_byte = 0;
  static constexpr bool flushes = false;        ///< entries after a failed one get no completion
  static constexpr bool has_last_entry = true;  ///< CqeType::terminal
  static constexpr bool ends_receives = true;   ///< by a CqeType::terminal
  static constexpr bool has_side_table = true;
  static constexpr bool doorbell_is_wide = true;  ///< 8 bytes
  static constexpr bool receive_needs_doorbell = true;

  /// Returns the producer counter after the doorbell value `value`. Sets `violation` if it is invalid.
  static uint64_t producer(const RdmaQueueConfig& config, const RdmaQueueMemory&, uint64_t value, uint64_t known,
                           std::string& violation) {
    if (PowerOfTwo && (config.sq_units & (config.sq_units - 1)) != 0)
      violation = "the ring's size is not a power of two";
    return position(value, bnxt::DoorbellType::sq, config.qpn, config.sq_units, known, violation);
  }

  static RdmaWork read_work(const RdmaQueueConfig& config, const RdmaQueueMemory& memory, uint64_t index) {
    RdmaWork work;
    work.index = index;
    const auto header = peek<bnxt::SqHeader>(slot(config, memory, index, 0));
    const uint32_t flags = header.type_flags_slots >> 8 & 0xff;
    const uint32_t slots = header.type_flags_slots >> 16 & 0xff;
    work.units = is_fixed ? 1 : slots;
    work.signaled = (flags & bnxt::wqe_flag::signaled) != 0;
    work.solicited = (flags & bnxt::wqe_flag::solicited) != 0;
    work.is_inline = (flags & bnxt::wqe_flag::inline_data) != 0;
    if (flags >> 5 != 0) work.fault = "unknown flags";
    if (header.type_flags_slots >> 24 != 0) work.fault = "unknown bits of the header are set";
    if (!operation(static_cast<bnxt::WqeType>(header.type_flags_slots & 0xff), work)) work.fault = "unknown opcode";
    if (slots < bnxt::header_slots) work.fault = "entry without headers";
    if (is_fixed && slots > bnxt::static_wqe_slots) work.fault = "entry longer than its slot";
    if (!is_fixed && slots > config.sq_units) work.fault = "entry longer than the ring";
    if (!work.fault.empty()) return work;

    const bool atomic = work.operation == RdmaOperation::compare_swap || work.operation == RdmaOperation::fetch_add;
    const bool fills = atomic || work.operation == RdmaOperation::read;
    if (fills && work.is_inline) work.fault = "inline data of an operation that returns data";
    const uint8_t* const second = slot(config, memory, index, 1);
    if (atomic) {
      const auto operands = peek<bnxt::AtomicHeader>(second);
      work.remote = header.lower;
      work.rkey = header.immediate_key;
      work.swap_add = operands.swap_add;
      work.compare = operands.compare;
    } else {
      work.immediate = header.immediate_key;
      if (fills || work.operation == RdmaOperation::write || work.operation == RdmaOperation::write_immediate) {
        const auto remote = peek<bnxt::RdmaHeader>(second);
        work.remote = remote.remote_address;
        work.rkey = remote.rkey;
      }
    }
    const uint32_t rest = slots - bnxt::header_slots;
    const auto length = static_cast<uint32_t>(header.lower);
    if (work.is_inline) {
      if ((uint64_t{length} + bnxt::slot_bytes - 1) / bnxt::slot_bytes != rest) {
        work.fault = "inline data does not fill the entry's slots";
        return work;
      }
      for (uint32_t i = 0; i < length; ++i) work.bytes.push_back(slot(config, memory, index, 2 + i / 16)[i % 16]);
      return work;
    }
    for (uint32_t i = 0; i < rest; ++i) {
      const auto sge = peek<bnxt::Sge>(slot(config, memory, index, 2 + i));
      work.pieces.push_back({sge.address, sge.length, sge.lkey});
    }
    if (atomic && (rest != 1 || work.length() != 8)) work.fault = "atomic without one SGE of 8 bytes";
    if (!atomic && work.length() != length) work.fault = "the header's length differs from the SGEs'";
    return work;
  }

  /// Compares an entry's side table record with the NIC's counters. Returns the violation, or an empty string.
  static std::string check_side_table(const RdmaQueueConfig& config, const RdmaQueueMemory& memory,
                                      const RdmaWork& work, uint64_t messages, uint32_t& wire_psn) {
    const uint64_t packets = (work.length() + (uint64_t{1} << config.mtu_shift) - 1) >> config.mtu_shift;
    const uint32_t start = wire_psn & bnxt::psn_mask;
    const uint32_t next = (start + static_cast<uint32_t>(packets == 0 ? 1 : packets)) & bnxt::psn_mask;
    wire_psn = next;
    const uint32_t index = doorbell_index(config, work.index);
    // The size of a message table is a power of two, regardless of the ring's.
    const uint64_t entry = Table == BnxtSideTable::msn ? messages & (uint64_t{config.side_entries} - 1) : index;
    if (entry >= config.side_entries) return "the table behind the ring is too small";
    uint32_t table_start = 0;
    uint32_t table_next = 0;
    uint32_t table_index = index;
    if constexpr (Table == BnxtSideTable::msn) {
      const uint64_t word = memory.side_table[entry];
      table_start = static_cast<uint32_t>(word & 0xffffff);
      table_next = static_cast<uint32_t>(word >> 24 & 0xffffff);
      table_index = static_cast<uint32_t>(word >> 48);
    } else {
      const auto* const table = reinterpret_cast<const uint8_t*>(memory.side_table);
      uint32_t opcode_start = 0;
      uint32_t flags_next = 0;
      if constexpr (Table == BnxtSideTable::psn16) {
        const auto psn = peek<bnxt::ExtendedPsnEntry>(table + entry * sizeof(bnxt::ExtendedPsnEntry));
        opcode_start = psn.opcode_start;
        flags_next = psn.flags_next;
        table_index = psn.start_slot;
      } else {
        const auto psn = peek<bnxt::PsnEntry>(table + entry * sizeof(bnxt::PsnEntry));
        opcode_start = psn.opcode_start;
        flags_next = psn.flags_next;
      }
      table_start = opcode_start & 0xffffff;
      table_next = flags_next & 0xffffff;
      if (opcode_start >> 24 != verbs_number(work.operation)) return "the table names another operation";
    }
    if (table_start != start) return "the table has a wrong PSN";
    if (table_next != next) return "the table has a wrong next PSN";
    if (table_index != (index & 0xffff)) return "the table has a wrong index";
    return {};
  }

  static RdmaReceive read_receive(const RdmaQueueConfig& config, const RdmaQueueMemory& memory, uint64_t index) {
    RdmaReceive receive;
    receive.index = index;
    const uint8_t* const entry = memory.rq + ((index % config.rq_entries) << config.rq_entry_shift);
    const auto header = peek<bnxt::RqHeader>(entry);
    const uint32_t slots = header.type_flags_slots >> 16 & 0xff;
    receive.wr_id = header.wr_id & bnxt::cqe_word::wr_id_mask;
    if ((header.type_flags_slots & 0xff) != static_cast<uint32_t>(bnxt::WqeType::receive))
      receive.fault = "no receive entry";
    // An entry has at least one pointer.
    if (slots <= bnxt::header_slots) receive.fault = "receive entry without an SGE";
    if (slots > (1u << config.rq_entry_shift) / bnxt::slot_bytes) receive.fault = "entry longer than its slot";
    if (!receive.fault.empty()) return receive;
    for (uint32_t i = bnxt::header_slots; i < slots; ++i) {
      const auto sge = peek<bnxt::Sge>(entry + i * bnxt::slot_bytes);
      receive.pieces.push_back({sge.address, sge.length, sge.lkey});
    }
    return receive;
  }
  static uint64_t receive_producer(const RdmaQueueConfig& config, const RdmaQueueMemory&, uint64_t value,
                                   uint64_t known) {
    if (value == doorbell_taken) return known;
    std::string violation;
    const uint64_t end = position(value, bnxt::DoorbellType::rq, config.qpn, config.rq_entries, known, violation);
    return violation.empty() ? end : known;
  }

  /// Returns the consumer counter of a completion queue. Ignores an invalid doorbell, as NICs drop late ones.
  static uint64_t consumer(uint32_t entries, const uint32_t*, const uint64_t* doorbell, uint64_t known) {
    const uint64_t value = __atomic_load_n(doorbell, __ATOMIC_ACQUIRE);
    if (value == doorbell_taken) return known;
    std::string violation;
    const uint64_t qid = value >> bnxt::doorbell_qid_shift & bnxt::doorbell_qid_mask;
    const uint64_t end = position(value, bnxt::DoorbellType::cq, static_cast<uint32_t>(qid), entries, known, violation);
    return violation.empty() ? end : known;
  }

  static void write_completion(const RdmaQueueConfig& config, uint8_t* cq, uint32_t*, uint64_t index,
                               const RdmaSendCompletion& completion) {
    bnxt::RequesterCqe entry{};
    entry.qp_handle = config.cookie;
    entry.consumer_index = consumer_index(config, completion);
    store(cq, index, config.cq_entries, bnxt::CqeType::requester, status(completion.outcome), 0, entry);
  }

  /// Writes the final completion, which follows that of the first failed entry.
  static void write_last(const RdmaQueueConfig& config, uint8_t* cq, uint32_t*, uint64_t index,
                         const RdmaSendCompletion& completion) {
    bnxt::TerminalCqe entry{};
    entry.qp_handle = config.cookie;
    entry.rq_sq_index = consumer_index(config, completion);
    store(cq, index, config.cq_entries, bnxt::CqeType::terminal, 0, 0, entry);
  }

  static void write_receive_completion(const RdmaQueueConfig& config, uint8_t* cq, uint32_t*, uint64_t index,
                                       const RdmaReceiveCompletion& completion) {
    bnxt::ResponderCqe entry{};
    entry.qp_handle = config.cookie;
    entry.wr_id = static_cast<uint32_t>(completion.receive.wr_id);
    uint32_t flags = 0;
    if (completion.outcome == RdmaOutcome::ok) {
      entry.length = completion.bytes;
      entry.immediate_key = completion.immediate;
      if (completion.operation == RdmaOperation::write_immediate)
        flags = bnxt::response_flag::immediate | bnxt::response_flag::rdma_write;
      if (completion.operation == RdmaOperation::send_immediate) flags = bnxt::response_flag::immediate;
      if (completion.operation == RdmaOperation::send_invalidate) flags = bnxt::response_flag::invalidated;
    }
    store(cq, index, config.receive_cq_entries, bnxt::CqeType::responder_rc, responder_status(completion.outcome),
          flags, entry);
  }

 private:
  static constexpr bool is_fixed = Mode == bnxt::WqeMode::fixed;

  /// Converts index and epoch of a doorbell to a 64-bit counter. Ring sizes need not be powers of two.
  static uint64_t position(uint64_t value, bnxt::DoorbellType type, uint32_t qid, uint32_t entries, uint64_t known,
                           std::string& violation) {
    const uint64_t index = value & bnxt::doorbell_index_mask;
    const uint64_t epoch = value >> bnxt::doorbell_epoch_shift & 1;
    const uint64_t others = value & ~(uint64_t{0xffffff} | uint64_t{1} << 24 | uint64_t{0xfffff} << 32 |
                                      uint64_t{1} << 58 | uint64_t{0xf} << 60);
    if (value >> bnxt::doorbell_type_shift != static_cast<uint64_t>(type)) violation = "doorbell of another type";
    if ((value >> bnxt::doorbell_valid_shift & 1) == 0) violation = "doorbell without its valid bit";
    if ((value >> bnxt::doorbell_qid_shift & bnxt::doorbell_qid_mask) != qid)
      violation = "doorbell names another queue";
    if (others != 0) violation = "doorbell with bits that must be zero";
    if (index >= entries) violation = "doorbell beyond the ring's end";
    if (!violation.empty()) return known;
    const uint64_t two_laps = uint64_t{entries} * 2;
    const uint64_t before = known % two_laps;
    const uint64_t after = index + epoch * entries;
    const uint64_t more = after >= before ? after - before : after + two_laps - before;
    if (more > entries) violation = "doorbell with a wrong epoch, or behind the one before";
    return known + more;
  }

  static uint32_t doorbell_index(const RdmaQueueConfig& config, uint64_t index) {
    return static_cast<uint32_t>(index % config.sq_units);
  }

  /// Slot `i` of the entry at `index`.
  static const uint8_t* slot(const RdmaQueueConfig& config, const RdmaQueueMemory& memory, uint64_t index, uint32_t i) {
    if constexpr (is_fixed) {
      return memory.sq + (uint64_t{doorbell_index(config, index)} * bnxt::static_wqe_slots + i) * bnxt::slot_bytes;
    } else {
      return memory.sq + uint64_t{doorbell_index(config, index + i)} * bnxt::slot_bytes;
    }
  }

  /// Consumer index after the entry; with entries of variable size it counts entries instead of slots.
  static uint32_t consumer_index(const RdmaQueueConfig& config, const RdmaSendCompletion& completion) {
    if (is_fixed) return doorbell_index(config, completion.work.index + 1) & 0xffff;
    return static_cast<uint32_t>(completion.messages & 0xffff);
  }

  static bool operation(bnxt::WqeType type, RdmaWork& work) {
    switch (type) {
      case bnxt::WqeType::rdma_write: work.operation = RdmaOperation::write; return true;
      case bnxt::WqeType::rdma_write_immediate: work.operation = RdmaOperation::write_immediate; return true;
      case bnxt::WqeType::send: work.operation = RdmaOperation::send; return true;
      case bnxt::WqeType::send_immediate: work.operation = RdmaOperation::send_immediate; return true;
      case bnxt::WqeType::send_invalidate: work.operation = RdmaOperation::send_invalidate; return true;
      case bnxt::WqeType::rdma_read: work.operation = RdmaOperation::read; return true;
      case bnxt::WqeType::compare_swap: work.operation = RdmaOperation::compare_swap; return true;
      case bnxt::WqeType::fetch_add: work.operation = RdmaOperation::fetch_add; return true;
      // User space posts no local operations; how the table counts them is unknown.
      default: return false;
    }
  }

  /// Opcode number of the verbs, which identifies operations in PSN tables.
  static uint32_t verbs_number(RdmaOperation operation) {
    switch (operation) {
      case RdmaOperation::write: return 0;
      case RdmaOperation::write_immediate: return 1;
      case RdmaOperation::send: return 2;
      case RdmaOperation::send_immediate: return 3;
      case RdmaOperation::read: return 4;
      case RdmaOperation::compare_swap: return 5;
      case RdmaOperation::fetch_add: return 6;
      case RdmaOperation::send_invalidate: return 9;
      default: return 0xff;
    }
  }

  /// Stores a completion entry; the word with the phase is stored last.
  template <class Entry>
  static void store(uint8_t* cq, uint64_t index, uint32_t entries, bnxt::CqeType type, uint32_t status, uint32_t flags,
                    Entry& entry) {
    const uint32_t phase = (index & entries) == 0 ? 1 : 0;
    entry.word = phase | static_cast<uint32_t>(type) << bnxt::cqe_word::type_shift |
                 status << bnxt::cqe_word::status_shift | flags << bnxt::cqe_word::flags_shift;
    publish_entry(cq + (index & (entries - 1)) * cqe_bytes, entry, XIO_OFFSETOF(Entry, word));
  }

  static uint32_t status(RdmaOutcome outcome) {
    const auto number = [](bnxt::RequesterStatus value) { return static_cast<uint32_t>(value); };
    switch (outcome) {
      case RdmaOutcome::ok: return number(bnxt::RequesterStatus::ok);
      case RdmaOutcome::local_length: return number(bnxt::RequesterStatus::local_length);
      case RdmaOutcome::local_operation: return number(bnxt::RequesterStatus::local_qp_operation);
      case RdmaOutcome::local_protection: return number(bnxt::RequesterStatus::local_protection);
      case RdmaOutcome::bad_response: return number(bnxt::RequesterStatus::bad_response);
      case RdmaOutcome::remote_invalid: return number(bnxt::RequesterStatus::remote_invalid_request);
      case RdmaOutcome::remote_access: return number(bnxt::RequesterStatus::remote_access);
      case RdmaOutcome::remote_operation: return number(bnxt::RequesterStatus::remote_operation);
      case RdmaOutcome::retry_exceeded: return number(bnxt::RequesterStatus::transport_retry_exceeded);
      case RdmaOutcome::receiver_not_ready: return number(bnxt::RequesterStatus::rnr_retry_exceeded);
      case RdmaOutcome::flushed: return number(bnxt::RequesterStatus::flushed);
    }
    return number(bnxt::RequesterStatus::local_qp_operation);
  }

  static uint32_t responder_status(RdmaOutcome outcome) {
    const auto number = [](bnxt::ResponderStatus value) { return static_cast<uint32_t>(value); };
    switch (outcome) {
      case RdmaOutcome::ok: return number(bnxt::ResponderStatus::ok);
      case RdmaOutcome::local_length: return number(bnxt::ResponderStatus::local_length);
      case RdmaOutcome::local_protection: return number(bnxt::ResponderStatus::local_protection);
      case RdmaOutcome::remote_access: return number(bnxt::ResponderStatus::local_access);
      case RdmaOutcome::remote_invalid: return number(bnxt::ResponderStatus::remote_invalid_request);
      case RdmaOutcome::flushed: return number(bnxt::ResponderStatus::flushed);
      default: return number(bnxt::ResponderStatus::local_qp_operation);
    }
  }
};

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
