// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A host for the in-process NVMe controller, written from the specification, independent of the library's
/// encoders and queues.

#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "strictness.hpp"

#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/memory.hpp>
#include <xio/vendors/nvme/layout.hpp>

namespace model_test {

using emulation_tests::Kind;
using xio::emulation::FaultRule;
using xio::emulation::Match;
using xio::emulation::NvmeConfig;
using xio::emulation::NvmeController;
using xio::emulation::NvmeExecution;
using xio::host::DmaBuffer;
using xio::nvme::Cqe;
using xio::nvme::Sqe;

/// Status field of a completion, without the phase bit.
inline uint16_t status_of(const Cqe& cqe) { return static_cast<uint16_t>(cqe.status >> 1); }
/// Status code and type, without the other bits of the status field.
inline uint16_t code_of(const Cqe& cqe) { return status_of(cqe) & 0x7ff; }
inline bool dnr(const Cqe& cqe) { return (cqe.status >> 15) != 0; }

inline Sqe command(uint32_t opcode, uint32_t nsid = 0, uint64_t prp1 = 0, uint64_t prp2 = 0, uint32_t cdw10 = 0,
                   uint32_t cdw11 = 0, uint32_t cdw12 = 0) {
  Sqe sqe{};
  sqe.cdw0 = opcode;
  sqe.nsid = nsid;
  sqe.prp1 = prp1;
  sqe.prp2 = prp2;
  sqe.cdw10 = cdw10;
  sqe.cdw11 = cdw11;
  sqe.cdw12 = cdw12;
  return sqe;
}
/// Command on `blocks` blocks from `lba`.
inline Sqe io(uint32_t opcode, uint64_t lba, uint32_t blocks, uint64_t prp1 = 0, uint64_t prp2 = 0, uint32_t nsid = 1) {
  return command(opcode, nsid, prp1, prp2, static_cast<uint32_t>(lba), static_cast<uint32_t>(lba >> 32), blocks - 1);
}
constexpr uint32_t op_flush = 0, op_write = 1, op_read = 2, op_uncorrectable = 4, op_compare = 5, op_zeroes = 8,
                   op_dsm = 9, op_verify = 12;

/// Host side of one queue pair. Does not check for a full queue.
class Queue {
 public:
  Queue() = default;
  Queue(uint32_t id, uint32_t sq_entries, uint32_t cq_entries, DmaBuffer sq, DmaBuffer cq, uint32_t* tail_word,
        uint32_t* head_word)
      : qid(id),
        sq_size(sq_entries),
        cq_size(cq_entries),
        sq_memory(std::move(sq)),
        cq_memory(std::move(cq)),
        tail_doorbell(tail_word),
        head_doorbell(head_word) {}

  void put(const Sqe& sqe, uint16_t cid) {
    Sqe& entry = *sq_memory.as<Sqe>(tail * sizeof(Sqe));
    entry = sqe;
    entry.cdw0 = (sqe.cdw0 & 0xffff) | static_cast<uint32_t>(cid) << 16;
    tail = (tail + 1) % sq_size;
  }
  void ring() { __atomic_store_n(tail_doorbell, tail, __ATOMIC_RELEASE); }
  /// Consumes the next completion, if any.
  std::optional<Cqe> take() {
    const uint64_t* const words = cq_memory.as<uint64_t>(head * sizeof(Cqe));
    const uint64_t high = __atomic_load_n(words + 1, __ATOMIC_ACQUIRE);
    if ((high >> 48 & 1) != phase) return std::nullopt;
    const uint64_t low = __atomic_load_n(words, __ATOMIC_RELAXED);
    Cqe cqe;
    std::memcpy(&cqe, &low, 8);
    std::memcpy(reinterpret_cast<char*>(&cqe) + 8, &high, 8);
    head = (head + 1) % cq_size;
    if (head == 0) phase ^= 1;
    return cqe;
  }
  void ring_head() { __atomic_store_n(head_doorbell, head, __ATOMIC_RELEASE); }
  /// Consumes and acknowledges all available completions.
  std::vector<Cqe> take_all() {
    std::vector<Cqe> all;
    while (const std::optional<Cqe> cqe = take()) all.push_back(*cqe);
    if (!all.empty()) ring_head();
    return all;
  }

  uint32_t qid = 0;
  uint32_t sq_size = 0, cq_size = 0;
  DmaBuffer sq_memory, cq_memory;
  uint32_t* tail_doorbell = nullptr;
  uint32_t* head_doorbell = nullptr;
  uint32_t tail = 0, head = 0;
  uint64_t phase = 1;
};

/// An enabled controller with its admin queue.
class Host {
 public:
  static NvmeConfig stepped(NvmeConfig config = {}) {
    config.execution = NvmeExecution::stepped;
    return config;
  }

  explicit Host(NvmeConfig config = stepped(), bool enabled = true) : controller(std::move(config)) {
    strictness.watch(controller.violations());
    if (enabled) enable();
  }

  size_t page() const { return size_t{4096} << mps; }
  uint32_t csts() { return controller.read32(0x1c); }

  void enable(uint32_t entries = 32) {
    mps = controller.config().mpsmin;
    admin = make_queue(0, entries, entries);
    controller.write32(0x24, (entries - 1) | (entries - 1) << 16);
    controller.write64(0x28, admin.sq_memory.bus());
    controller.write64(0x30, admin.cq_memory.bus());
    controller.write32(0x14, 1u | mps << 7 | 6u << 16 | 4u << 20);
    wait([&] { return (csts() & 3) != 0; });
  }
  void disable() {
    controller.write32(0x14, 6u << 16 | 4u << 20);
    wait([&] { return (csts() & 1) == 0; });
  }

  /// Runs until the condition holds; throws after a minute, ample for a busy machine, or a million steps.
  template <class Condition>
  void wait(Condition holds) {
    xio::host::Timeout deadline(std::chrono::seconds(60));
    for (size_t i = 0; !holds(); ++i) {
      if (controller.config().execution == NvmeExecution::stepped) {
        if (i > 1000000) throw std::runtime_error("the model does not do what the test waits for");
        controller.step();
      } else {
        if (deadline.passed()) throw std::runtime_error("the model does not do what the test waits for");
        sched_yield();
      }
    }
  }

  Queue make_queue(uint32_t qid, uint32_t sq_entries, uint32_t cq_entries) {
    const uint32_t stride = 1u << controller.config().dstrd;
    return Queue(qid, sq_entries, cq_entries, controller.allocate(sq_entries * 64, page()),
                 controller.allocate(cq_entries * 16, page()), controller.doorbell_words() + 2 * qid * stride,
                 controller.doorbell_words() + (2 * qid + 1) * stride);
  }

  Cqe run_admin(const Sqe& sqe) {
    const uint16_t cid = next_cid++;
    admin.put(sqe, cid);
    admin.ring();
    return *wait_for(admin, cid);
  }
  /// Status code of an admin command.
  uint16_t admin_code(const Sqe& sqe) { return code_of(run_admin(sqe)); }

  static Sqe create_cq(uint32_t qid, uint32_t entries, uint64_t bus, uint32_t flags = 1) {
    return command(5, 0, bus, 0, qid | (entries - 1) << 16, flags);
  }
  static Sqe create_sq(uint32_t qid, uint32_t entries, uint64_t bus, uint32_t cqid, uint32_t flags = 1) {
    return command(1, 0, bus, 0, qid | (entries - 1) << 16, flags | cqid << 16);
  }

  Queue create_queue(uint32_t qid, uint32_t sq_entries = 32, uint32_t cq_entries = 64) {
    Queue queue = make_queue(qid, sq_entries, cq_entries);
    if (admin_code(create_cq(qid, cq_entries, queue.cq_memory.bus())) != 0 ||
        admin_code(create_sq(qid, sq_entries, queue.sq_memory.bus(), qid)) != 0)
      throw std::runtime_error("queue not created");
    return queue;
  }

  /// The completion of `cid`, which must be the next one of the queue.
  std::optional<Cqe> wait_for(Queue& queue, uint16_t cid) {
    std::optional<Cqe> cqe;
    wait([&] { return (cqe = queue.take()).has_value(); });
    queue.ring_head();
    if (cqe->cid != cid) throw std::runtime_error("completion of another command");
    return cqe;
  }
  /// Runs one command on an idle queue.
  Cqe run(Queue& queue, const Sqe& sqe) {
    const uint16_t cid = next_cid++;
    queue.put(sqe, cid);
    queue.ring();
    return *wait_for(queue, cid);
  }
  uint16_t code(Queue& queue, const Sqe& sqe) { return code_of(run(queue, sqe)); }

  emulation_tests::Strictness strictness;
  NvmeController controller;
  uint32_t mps = 0;
  Queue admin;
  uint16_t next_cid = 100;
};

/// Fills memory with position-dependent bytes.
inline void fill(void* memory, size_t bytes, uint32_t seed) {
  auto* const data = static_cast<unsigned char*>(memory);
  for (size_t i = 0; i < bytes; ++i) {
    seed = seed * 1664525u + 1013904223u;
    data[i] = static_cast<unsigned char>(seed >> 24);
  }
}

}  // namespace model_test
