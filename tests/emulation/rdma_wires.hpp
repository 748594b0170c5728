// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Rings, records and doorbells for tests of emulated NICs' wires, and completion entries given byte by byte.

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <xio/host/emulation/rdma/queue_pair.hpp>

namespace wires {

using namespace xio;
using namespace xio::emulation;

/// One queue pair's memory, as a driver would allocate it.
struct Rig {
  RdmaQueueConfig config;
  std::vector<uint64_t> sq = std::vector<uint64_t>(4096);
  std::vector<uint64_t> rq = std::vector<uint64_t>(2048);
  std::vector<uint64_t> cq = std::vector<uint64_t>(2048);
  std::vector<uint64_t> receive_cq = std::vector<uint64_t>(2048);
  std::vector<uint64_t> table = std::vector<uint64_t>(512);
  uint32_t queue_pair_state[96]{};
  uint32_t receive_state[96]{};
  uint32_t cq_state[96]{};
  uint32_t receive_cq_state[96]{};
  uint64_t sq_doorbell = doorbell_taken;
  uint64_t rq_doorbell = doorbell_taken;
  uint64_t cq_doorbell = 0;
  uint64_t receive_cq_doorbell = 0;
  RdmaQueueMemory memory;

  Rig() {
    memory.sq = bytes(sq);
    memory.rq = bytes(rq);
    memory.cq = bytes(cq);
    memory.receive_cq = bytes(receive_cq);
    memory.side_table = table.data();
    memory.sq_doorbell = &sq_doorbell;
    memory.rq_doorbell = &rq_doorbell;
    memory.cq_doorbell = &cq_doorbell;
    memory.receive_cq_doorbell = &receive_cq_doorbell;
    memory.sq_record = &queue_pair_state[0];
    memory.rq_record = &receive_state[0];
    memory.cq_record = &cq_state[32];
    memory.cq_producer = &cq_state[0];
    memory.receive_cq_record = &receive_cq_state[32];
    memory.receive_cq_producer = &receive_cq_state[0];
  }
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  static uint8_t* bytes(std::vector<uint64_t>& words) { return reinterpret_cast<uint8_t*>(words.data()); }

  /// The bytes of a completion entry in memory.
  std::vector<uint8_t> cqe(uint64_t slot, uint32_t size) const { return copy(memory.cq, slot, size); }
  std::vector<uint8_t> receive_cqe(uint64_t slot, uint32_t size) const { return copy(memory.receive_cq, slot, size); }

 private:
  static std::vector<uint8_t> copy(const uint8_t* ring, uint64_t slot, uint32_t size) {
    return std::vector<uint8_t>(ring + slot * size, ring + (slot + 1) * size);
  }
};

/// Stores a part of an entry.
template <class T>
void put(uint8_t* to, const T& value) {
  std::memcpy(to, &value, sizeof value);
}

/// Expected bytes of an entry: zero unless set.
struct Bytes {
  std::vector<uint8_t> value;

  explicit Bytes(uint32_t size) : value(size) {}
  Bytes& le(size_t offset, uint32_t size, uint64_t number) {
    for (uint32_t i = 0; i < size; ++i) value[offset + i] = static_cast<uint8_t>(number >> 8 * i);
    return *this;
  }
  Bytes& be(size_t offset, uint32_t size, uint64_t number) {
    for (uint32_t i = 0; i < size; ++i) value[offset + size - 1 - i] = static_cast<uint8_t>(number >> 8 * i);
    return *this;
  }
};

/// A completion of `operation`, whose entry starts at `index`.
inline RdmaSendCompletion sent(RdmaOperation operation, uint64_t index, uint64_t messages,
                               RdmaOutcome outcome = RdmaOutcome::ok) {
  RdmaSendCompletion completion;
  completion.outcome = outcome;
  completion.messages = messages;
  completion.work.operation = operation;
  completion.work.index = index;
  completion.work.wr_id = 0x1122334455667788;
  completion.work.pieces = {{0x1000, 24, 7}};
  return completion;
}

/// A completion of a receive.
inline RdmaReceiveCompletion received(RdmaOperation operation, uint64_t index, RdmaOutcome outcome = RdmaOutcome::ok) {
  RdmaReceiveCompletion completion;
  completion.outcome = outcome;
  completion.receive.index = index;
  completion.receive.wr_id = 0x5a5a5;
  completion.operation = operation;
  completion.bytes = 0x345;
  completion.immediate = 0xcafef00d;
  completion.source_qpn = 0x123456;
  return completion;
}

/// A wire's decoding of a doorbell; the position is 0 if it reports a violation.
template <class Wire>
uint64_t rung(const Rig& rig, uint64_t value, uint64_t known, std::string& violation) {
  violation.clear();
  const uint64_t end = Wire::producer(rig.config, rig.memory, value, known, violation);
  return violation.empty() ? end : 0;
}

/// Why a wire rejects the entry at `index`; empty if it accepts the entry.
template <class Wire>
std::string fault(const Rig& rig, uint64_t index) {
  return Wire::read_work(rig.config, rig.memory, index).fault;
}

}  // namespace wires
