// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A controller that believes nothing: it compares what it fetches with what is due, and follows every address.

#include <map>
#include <vector>

#include "fuzz/nvme_extents.hpp"
#include "fuzz/nvme_queue.hpp"

namespace fuzz {

/// What one entry has to be.
struct Part {
  nvme::CommandWords words;  ///< apart from identifier and data pointer
  uint64_t bytes = 0;        ///< of data
  Extents data;
  bool may_be_sgl = false;
  bool is_split = false;  ///< could have been made shorter
};

/// Bytes that a controller moves for an entry (NVM Command Set 1.0, Zoned Namespace Command Set 1.1, Base Specification
/// 2.0).
inline uint64_t bytes_moved(const nvme::Sqe& e, uint32_t block_shift) {
  const uint64_t blocks = (e.cdw12 & 0xffff) + uint64_t{1};
  switch (e.cdw0 & 0xff) {
    case 0x01:
    case 0x02:
    case 0x05:
    case 0x7d: return blocks << block_shift;
    case 0x09: return 16 * ((e.cdw10 & 0xff) + uint64_t{1});
    case 0x19: return ((e.cdw12 >> 8 & 1) != 0 ? 40 : 32) * ((e.cdw12 & 0xff) + uint64_t{1});
    case 0x0d: return 16;
    case 0x11: return 16;
    case 0x15: return 8;
    case 0x0e: return 4 * (e.cdw10 + uint64_t{1});
    case 0x12: return 4 * (e.cdw11 + uint64_t{1});
    case 0x7a: return 4 * (e.cdw12 + uint64_t{1});
    default: return 0;
  }
}

/// The controller: fetches what the doorbell announces, compares it with what is due, and completes it later.
class StrictController {
 public:
  explicit StrictController(NvmeQueueMemory& queue) : queue_(queue) {}

  /// What was accepted will come in this order.
  void expect_part(const Part& part) { due_.push_back(part); }
  size_t due() const { return due_.size(); }

  void fetch() {
    const nvme::QueueHandle& h = queue_.handle;
    queue_.check_doorbells();
    while ((fetched_ & h.sq_mask) != queue_.sq_doorbell) {
      expect(fetched_ < due_.size(), "the doorbell announces no more than was submitted");
      nvme::Sqe& entry = queue_.sq[fetched_ & h.sq_mask];
      check(entry, due_[fetched_]);
      const uint32_t cid = entry.cdw0 >> 16;
      expect(in_flight_.emplace(cid, fetched_).second, "a command identifier is in use once");
      expect(in_flight_.size() <= h.depth, "no more are in flight than the depth");
      // An entry that the controller were to find here again would be nonsense.
      std::memset(static_cast<void*>(&entry), 0xff, sizeof entry);
      ++fetched_;
    }
  }

  /// Completes one of those in flight.
  void complete(uint32_t which, uint16_t field, uint32_t result) {
    if (in_flight_.empty()) return;
    auto one = in_flight_.begin();
    std::advance(one, which % in_flight_.size());
    const nvme::QueueHandle& h = queue_.handle;
    expect(completed_ - acknowledged() <= h.cq_mask, "the completion ring has room for what is in flight");
    nvme::Cqe& entry = queue_.cq[completed_ & h.cq_mask];
    entry.dw0 = result;
    entry.dw1 = ~result;
    entry.sqhd = static_cast<uint16_t>(fetched_ & h.sq_mask);
    entry.sqid = 1;
    entry.cid = static_cast<uint16_t>(one->first);
    const bool phase = (completed_ / (h.cq_mask + 1)) % 2 == 0;
    entry.status = static_cast<uint16_t>(field << 1 | static_cast<uint16_t>(phase));
    statuses_[one->second] = field;
    in_flight_.erase(one);
    ++completed_;
  }

  bool has_ended(uint64_t ticket) const { return statuses_.count(ticket) != 0; }
  uint16_t status(uint64_t ticket) const { return statuses_.at(ticket); }
  uint64_t completed() const { return completed_; }

 private:
  uint64_t acknowledged() {
    const uint32_t mask = queue_.handle.cq_mask;
    acknowledged_ += (queue_.cq_doorbell - static_cast<uint32_t>(acknowledged_)) & mask;
    expect(acknowledged_ <= completed_, "the CQ doorbell tells of no more than there was");
    return acknowledged_;
  }

  void check(const nvme::Sqe& e, const Part& part) const {
    const nvme::QueueHandle& h = queue_.handle;
    const nvme::CommandWords& w = part.words;
    const bool sgl = (e.cdw0 >> 14 & 3) == 1;
    expect((e.cdw0 >> 14 & 3) < 2 && (!sgl || part.may_be_sgl), "PSDT");
    expect_same(w.cdw0, e.cdw0 & 0x3fff, "opcode and fused operation");
    expect_same(w.namespace_id != 0 ? w.namespace_id : h.nsid, e.nsid, "namespace");
    expect(e.cdw2 == w.cdw2 && e.cdw3 == w.cdw3 && e.mptr == w.mptr, "dwords 2 to 5");
    expect_same(w.cdw10, e.cdw10, "dword 10");
    expect_same(w.cdw11, e.cdw11, "dword 11");
    expect_same(w.cdw12 | w.last_block, e.cdw12, "dword 12");
    expect_same(w.cdw13, e.cdw13, "dword 13");
    expect_same(w.cdw14, e.cdw14, "dword 14");
    expect_same(w.cdw15, e.cdw15, "dword 15");
    const uint64_t bytes = bytes_moved(e, h.block_shift);
    expect_same(part.bytes, bytes, "bytes of data");
    if (part.is_split) expect(bytes <= uint64_t{h.max_blocks} << h.block_shift, "no part is too long");
    if (bytes == 0) {
      expect(e.prp1 == 0 && e.prp2 == 0, "no data pointer where there is no data");
      return;
    }
    const auto read = [&](uint64_t at) { return queue_.list_word(at); };
    const Extents found =
        sgl ? follow_sgl(e.prp1, e.prp2, bytes, read) : follow_prps(e.prp1, e.prp2, bytes, queue_.page(), read);
    if (!(found == part.data)) {
      std::fprintf(stderr, "opcode 0x%x: %llu bytes in %zu pieces, named in %zu\n", e.cdw0 & 0xff,
                   static_cast<unsigned long long>(bytes), part.data.size(), found.size());
      expect(false, "the command names exactly its data");
    }
  }

  NvmeQueueMemory& queue_;
  std::vector<Part> due_;
  std::map<uint32_t, uint64_t> in_flight_;
  std::map<uint64_t, uint16_t> statuses_;
  uint64_t fetched_ = 0;
  uint64_t completed_ = 0;
  uint64_t acknowledged_ = 0;
};

}  // namespace fuzz
