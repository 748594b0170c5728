// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Rings, records and doorbells for tests of emulated NICs' wires; what a NIC makes of them, as text or bytes.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include <xio/host/emulation/rdma/kits.hpp>
#include <xio/host/emulation/rdma/queue_pair.hpp>

namespace wires {

using namespace xio;
using namespace xio::emulation;
using Op = RdmaOperation;
using Outcome = RdmaOutcome;
using Entry = std::vector<uint8_t>;

/// One queue pair's memory, as a driver would allocate it.
struct Rig {
  RdmaQueueConfig config;
  std::vector<uint64_t> sq = std::vector<uint64_t>(4096);
  std::vector<uint64_t> rq = std::vector<uint64_t>(2048);
  std::vector<uint64_t> cq = std::vector<uint64_t>(2048);
  std::vector<uint64_t> receive_cq = std::vector<uint64_t>(2048);
  std::vector<uint64_t> table = std::vector<uint64_t>(512);
  uint32_t send_state[96]{};
  uint32_t receive_state[96]{};
  uint32_t cq_state[96]{};
  uint32_t receive_cq_state[96]{};
  uint64_t sq_doorbell = doorbell_taken;
  uint64_t rq_doorbell = doorbell_taken;
  uint64_t cq_doorbell = 0;
  uint64_t receive_cq_doorbell = 0;
  RdmaQueueMemory memory;

  explicit Rig(uint32_t units = 8, uint32_t unit_shift = 7) {
    config.sq_units = units;
    config.sq_unit_shift = unit_shift;
    config.cq_entries = 16;
    config.receive_cq_entries = 16;
    memory.sq = bytes(sq);
    memory.rq = bytes(rq);
    memory.cq = bytes(cq);
    memory.receive_cq = bytes(receive_cq);
    memory.side_table = table.data();
    memory.sq_doorbell = &sq_doorbell;
    memory.rq_doorbell = &rq_doorbell;
    memory.cq_doorbell = &cq_doorbell;
    memory.receive_cq_doorbell = &receive_cq_doorbell;
    memory.sq_record = &send_state[0];
    memory.rq_record = &receive_state[0];
    memory.cq_record = &cq_state[32];
    memory.cq_producer = &cq_state[0];
    memory.receive_cq_record = &receive_cq_state[32];
    memory.receive_cq_producer = &receive_cq_state[0];
  }
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  uint8_t* slot(uint32_t i) const { return memory.sq + (i << config.sq_unit_shift); }
  /// The third receive.
  uint8_t* receive() const { return memory.rq + 2 * 128; }

 private:
  static uint8_t* bytes(std::vector<uint64_t>& words) { return reinterpret_cast<uint8_t*>(words.data()); }
};

/// Stores parts of an entry one behind the other.
template <class... Parts>
void put(uint8_t* to, const Parts&... parts) {
  ((std::memcpy(to, &parts, sizeof parts), to += sizeof parts), ...);
}

inline std::string hex(uint64_t value) {
  char text[20];
  std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(value));
  return text;
}

inline std::string text(const std::vector<RdmaPiece>& pieces) {
  std::string all;
  for (const RdmaPiece& one : pieces)
    all += " " + hex(one.address) + "+" + std::to_string(one.length) + "/" + hex(one.lkey);
  return all;
}

/// An entry as text: what is not zero. Inline data must be the bytes 0, 1, 2 and so on.
inline std::string text(const RdmaWork& work) {
  if (!work.fault.empty()) return work.fault;
  constexpr const char* names[] = {"write", "write_immediate", "send",      "send_immediate",   "send_invalidate",
                                   "read",  "compare_swap",    "fetch_add", "local_invalidate", "nop"};
  std::string all = names[static_cast<uint32_t>(work.operation)];
  if (work.signaled) all += " signaled";
  if (work.solicited) all += " solicited";
  if (work.wr_id != 0) all += " id " + hex(work.wr_id);
  if (work.units != 1) all += " units " + std::to_string(work.units);
  if (work.remote != 0) all += " at " + hex(work.remote) + "/" + hex(work.rkey);
  if (work.immediate != 0) all += " imm " + hex(work.immediate);
  if (work.swap_add != 0) all += " add " + hex(work.swap_add);
  if (work.compare != 0) all += " compare " + hex(work.compare);
  all += text(work.pieces);
  if (!work.bytes.empty()) all += " inline " + std::to_string(work.bytes.size());
  for (size_t i = 0; i < work.bytes.size(); ++i)
    if (work.bytes[i] != static_cast<uint8_t>(i)) return all + ", wrong at " + std::to_string(i);
  return all;
}

/// The entry at `index`, into which `parts` are stored first.
template <class Wire, class... Parts>
std::string work(const Rig& rig, uint64_t index, uint8_t* to = nullptr, const Parts&... parts) {
  put(to, parts...);
  return text(Wire::read_work(rig.config, rig.memory, index));
}

/// The third receive, into which `parts` are stored first.
template <class Wire, class... Parts>
std::string receive(const Rig& rig, const Parts&... parts) {
  put(rig.receive(), parts...);
  const RdmaReceive got = Wire::read_receive(rig.config, rig.memory, 64 + 2);
  return got.fault.empty() ? "id " + hex(got.wr_id) + text(got.pieces) : got.fault;
}

/// The ring's end that a doorbell tells, or why it tells none.
template <class Wire>
std::string bell(const Rig& rig, uint64_t value, uint64_t known) {
  std::string why;
  const uint64_t end = Wire::producer(rig.config, rig.memory, value, known, why);
  return why.empty() ? std::to_string(end) : why;
}

inline void count_up(uint8_t* to, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes; ++i) to[i] = static_cast<uint8_t>(i);
}

/// Expected bytes of an entry: zero unless set.
struct Bytes {
  Entry value;

  explicit Bytes(uint32_t size) : value(size) {}
  operator const Entry&() const { return value; }
  Bytes& le(size_t offset, uint32_t size, uint64_t number) {
    for (uint32_t i = 0; i < size; ++i) value[offset + i] = static_cast<uint8_t>(number >> 8 * i);
    return *this;
  }
  Bytes& be(size_t offset, uint32_t size, uint64_t number) {
    for (uint32_t i = 0; i < size; ++i) value[offset + size - 1 - i] = static_cast<uint8_t>(number >> 8 * i);
    return *this;
  }
};

template <class Wire>
Entry entry_of(const uint8_t* ring, uint64_t index) {
  const uint8_t* const from = ring + index % 16 * Wire::cqe_bytes;
  return Entry(from, from + Wire::cqe_bytes);
}

constexpr uint64_t send_id = 0x1122334455667788;

inline RdmaSendCompletion completion_of(Op operation, uint64_t index, uint64_t messages, Outcome outcome) {
  RdmaSendCompletion completion;
  completion.outcome = outcome;
  completion.messages = messages;
  completion.work.operation = operation;
  completion.work.index = index;
  completion.work.wr_id = send_id;
  if (operation != Op::local_invalidate) completion.work.pieces = {{0x1000, 24, 7}};
  return completion;
}

/// The bytes that a device writes when an operation whose entry starts at `index` ends.
template <class Wire>
Entry sent(const Rig& rig, uint64_t cq_index, Op operation, uint64_t index, uint64_t messages,
           Outcome outcome = Outcome::ok) {
  Wire::write_completion(rig.config, rig.memory.cq, rig.memory.cq_producer, cq_index,
                         completion_of(operation, index, messages, outcome));
  return entry_of<Wire>(rig.memory.cq, cq_index);
}

/// The last bytes that a device writes.
template <class Wire>
Entry last(const Rig& rig, uint64_t cq_index, Op operation, uint64_t index, uint64_t messages) {
  Wire::write_last(rig.config, rig.memory.cq, nullptr, cq_index,
                   completion_of(operation, index, messages, Outcome::ok));
  return entry_of<Wire>(rig.memory.cq, cq_index);
}

/// The bytes that a device writes when a message has arrived.
template <class Wire>
Entry received(const Rig& rig, uint64_t cq_index, Op operation, uint64_t index, Outcome outcome = Outcome::ok) {
  RdmaReceiveCompletion completion;
  completion.outcome = outcome;
  completion.receive.index = index;
  completion.receive.wr_id = 0x5a5a5;
  completion.operation = operation;
  completion.bytes = 0x345;
  completion.immediate = 0xcafef00d;
  completion.source_qpn = 0x123456;
  Wire::write_receive_completion(rig.config, rig.memory.receive_cq, rig.memory.receive_cq_producer, cq_index,
                                 completion);
  return entry_of<Wire>(rig.memory.receive_cq, cq_index);
}

// NetXtreme-E.

using Fixed = BnxtWire<bnxt::WqeMode::fixed, BnxtSideTable::msn>;
using Slots = BnxtWire<bnxt::WqeMode::variable, BnxtSideTable::psn16>;
constexpr uint64_t bnxt_valid = uint64_t{1} << 58;

inline uint64_t bnxt_bell(uint64_t type, uint64_t qid, uint64_t epoch, uint64_t index) {
  return type << 60 | bnxt_valid | qid << 32 | epoch << 24 | index;
}

inline bnxt::SqHeader bnxt_header(uint32_t opcode, uint32_t flags, uint32_t slots, uint32_t immediate = 0,
                                  uint32_t length = 0) {
  return {opcode | flags << 8 | slots << 16, immediate, length};
}

/// Indices of its rings lie in memory, as those of soft-RoCE.
struct ErnicRig : Rig {
  ErnicRig() {
    config.handle = 0x33;
    memory.rq_record = &send_state[2];
    memory.cq_producer = &cq_state[2];
    memory.cq_record = &cq_state[3];
    memory.receive_cq_producer = &receive_cq_state[2];
    memory.receive_cq_record = &receive_cq_state[3];
  }
};

inline rxe::SendWqe rxe_wqe(uint32_t opcode, uint32_t flags, uint32_t bytes, uint32_t sges, uint64_t remote = 0) {
  rxe::SendWqe wqe{};
  wqe.header = {0xabcdef, 0, opcode, flags, Be32(0)};
  wqe.dma = {bytes, bytes, 0, sges, 0, 0};
  wqe.operation[0] = wqe.iova = remote;
  return wqe;
}

}  // namespace wires
