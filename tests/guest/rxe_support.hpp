// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Entries of soft-RoCE stored by hand, and completions read by hand: what the tests in the guest share.

#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <xio/host/rdma/rxe.hpp>
#include <xio/host/wait.hpp>
#include <xio/vendors/rxe/layout.hpp>
#include <xio/vendors/rxe/status.hpp>

namespace guest_tests {

using xio::host::RxeRing;
namespace rxe = xio::rxe;

constexpr std::chrono::milliseconds patience{20000};

/// Stores entries into the rings of one queue pair.
class Poster {
 public:
  explicit Poster(xio::host::RxeQueuePair& queue) : queue_(&queue) {}

  /// An entry of the send queue in the making.
  struct Work {
    rxe::Opcode opcode = rxe::Opcode::send;
    uint64_t id = 0;
    uint32_t flags = rxe::send_flag::signaled;
    uint32_t immediate = 0;  // bytes as they travel
    const void* data = nullptr;
    uint32_t bytes = 0;
    uint32_t lkey = 0;
    uint64_t remote = 0;
    uint32_t rkey = 0;
    uint64_t compare_add = 0;
    uint64_t swap = 0;
  };

  /// Stores it and moves the producer index; the driver does not know of it yet.
  void store(const Work& work) {
    const RxeRing& ring = queue_->send_ring();
    const uint32_t index = ring.producer();
    rxe::SendWqe entry{};
    entry.header.wr_id = work.id;
    entry.header.opcode = static_cast<uint32_t>(work.opcode);
    entry.header.send_flags = work.flags;
    entry.header.immediate.raw = work.immediate;
    entry.iova = work.remote;
    entry.ssn = ++ssn_;
    entry.dma.length = entry.dma.residue = work.bytes;
    if (work.opcode == rxe::Opcode::compare_swap || work.opcode == rxe::Opcode::fetch_add) {
      const rxe::AtomicOperation atomic{work.remote, work.compare_add, work.swap, work.rkey, 0};
      std::memcpy(entry.operation, &atomic, sizeof atomic);
    } else if (work.rkey != 0) {
      const rxe::RdmaOperation rdma{work.remote, work.rkey, 0};
      std::memcpy(entry.operation, &rdma, sizeof rdma);
    }
    unsigned char* slot = ring.entry(index);
    if ((work.flags & rxe::send_flag::inline_data) != 0) {
      std::memcpy(slot + sizeof entry, work.data, work.bytes);
    } else {
      entry.dma.sges = 1;
      const rxe::Sge sge{reinterpret_cast<uintptr_t>(work.data), work.bytes, work.lkey};
      std::memcpy(slot + sizeof entry, &sge, sizeof sge);
    }
    std::memcpy(slot, &entry, sizeof entry);
    __atomic_store_n(&ring.header->producer_index, (index + 1) & ring.mask(), __ATOMIC_RELEASE);
  }

  void post(const Work& work) {
    store(work);
    kick();
  }
  void kick() {
    const int error = queue_->kick().send();
    if (error != 0) xio::host::throw_system_error("kick", error);
  }

  /// Storing the index is all that posts a receive.
  void receive(uint64_t id, void* data, uint32_t bytes, uint32_t lkey) {
    const RxeRing& ring = queue_->receive_ring();
    const uint32_t index = ring.producer();
    rxe::ReceiveWqe entry{};
    entry.wr_id = id;
    entry.dma.length = entry.dma.residue = bytes;
    entry.dma.sges = 1;
    const rxe::Sge sge{reinterpret_cast<uintptr_t>(data), bytes, lkey};
    std::memcpy(ring.entry(index), &entry, sizeof entry);
    std::memcpy(ring.entry(index) + sizeof entry, &sge, sizeof sge);
    __atomic_store_n(&ring.header->producer_index, (index + 1) & ring.mask(), __ATOMIC_RELEASE);
  }

 private:
  xio::host::RxeQueuePair* queue_;
  uint32_t ssn_ = 0;
};

/// Takes the next completion; false where there is none.
inline bool poll(const RxeRing& ring, rxe::Cqe& entry) {
  if (ring.used() == 0) return false;
  const uint32_t index = ring.consumer();
  std::memcpy(&entry, ring.entry(index), sizeof entry);
  __atomic_store_n(&ring.header->consumer_index, (index + 1) & ring.mask(), __ATOMIC_RELEASE);
  return true;
}

/// Waits for the next completion; throws Error where none comes.
inline rxe::Cqe wait(const RxeRing& ring) {
  const xio::host::Timeout deadline(patience);
  rxe::Cqe entry;
  for (xio::host::Backoff backoff; !poll(ring, entry); backoff.pause())
    if (deadline.passed()) throw xio::host::Error("no completion within " + deadline.text());
  return entry;
}

inline rxe::CqeStatus status(const rxe::Cqe& entry) { return static_cast<rxe::CqeStatus>(entry.status); }
inline rxe::CqeOpcode opcode(const rxe::Cqe& entry) { return static_cast<rxe::CqeOpcode>(entry.opcode); }

/// A device with a queue pair, its completion queue and registered memory that is filled with a pattern.
struct Node {
  explicit Node(const std::string& device_name, const xio::host::QueuePairOptions& options = {},
                uint32_t completions = 256, size_t bytes = size_t{1} << 20)
      : device({device_name, 1, {}}),
        domain(device),
        completion(device, completions),
        queue(device, domain, completion, completion, options),
        memory(bytes),
        region(domain, memory.data(), memory.size()),
        poster(queue) {}

  /// A pattern in the first `bytes` bytes: the guest is slow.
  void fill(unsigned seed, size_t bytes) {
    unsigned char* at = memory.data();
    for (size_t i = 0; i < bytes; ++i) at[i] = static_cast<unsigned char>(i * 7 + (i >> 8) * 13 + seed);
  }
  uint64_t address(size_t offset = 0) const { return region.remote().address + offset; }
  rxe::Cqe wait() const { return guest_tests::wait(completion.ring()); }

  /// The part of an entry that names memory: ours at `offset`, and the peer's.
  Poster::Work work(rxe::Opcode opcode, uint64_t id, size_t offset, uint32_t bytes, uint64_t remote,
                    uint32_t rkey) const {
    Poster::Work made;
    made.opcode = opcode;
    made.id = id;
    made.data = memory.data() + offset;
    made.bytes = bytes;
    made.lkey = region.lkey();
    made.remote = remote;
    made.rkey = rkey;
    return made;
  }

  xio::host::RdmaDevice device;
  xio::host::ProtectionDomain domain;
  xio::host::RxeCompletionQueue completion;
  xio::host::RxeQueuePair queue;
  std::vector<unsigned char> memory;
  xio::host::MemoryRegion region;
  Poster poster;
};

/// Two nodes on one device, connected.
struct Pair {
  explicit Pair(const std::string& device_name, const xio::host::QueuePairOptions& options = {})
      : near(device_name, options), far(device_name, options) {
    connect();
  }
  void connect() {
    near.queue.verbs_queue().connect(far.queue.verbs_queue().address());
    far.queue.verbs_queue().connect(near.queue.verbs_queue().address());
  }
  /// Of the near node's memory at `offset` and the far node's at the same place.
  Poster::Work work(rxe::Opcode opcode, uint64_t id, size_t offset, uint32_t bytes) const {
    return near.work(opcode, id, offset, bytes, far.address(offset), far.region.rkey());
  }

  Node near;
  Node far;
};

}  // namespace guest_tests
