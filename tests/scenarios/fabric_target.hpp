// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief NVMe over RDMA between two emulated queue pairs: a target on the far one, which its owner steps, and the
/// handles of a queue on the near one.

#include <atomic>
#include <cstring>
#include <deque>
#include <string>

#include <xio/device/fabrics/transport.hpp>
#include <xio/device/rdma/queue_pair.hpp>
#include <xio/device/rdma/receive.hpp>
#include <xio/host/emulation/nvme/medium.hpp>
#include <xio/host/emulation/rdma/nic.hpp>
#include <xio/vendors/nvme/status.hpp>

namespace scenarios {

/// Configuration of a queue pair with room for `entries` capsules on their way, a power of two.
template <class Kit>
xio::emulation::RdmaQueueConfig roomy(uint32_t entries = 64) {
  xio::emulation::RdmaQueueConfig config = Kit::config();
  // More than there are responses: entries that were not posted before show one that is read too early.
  config.rq_entries = 4 * entries;
  config.receive_cq_entries = 4 * entries;
  config.sq_units = 8 * entries;  // and than capsules: their places come round often, and this NIC reads none twice
  if (config.cq_entries != 1) config.cq_entries = 16 * entries;
  if (config.side_entries != 0) config.side_entries = config.sq_units;
  return config;
}

/// A target's own memory for the data of one command; no bytes: none moves.
struct FabricData {
  xio::Region own{};
  bool puts = false;  ///< to the host
};

/// A target's answer to a command.
struct FabricAnswer {
  uint32_t status = 0;  ///< without the phase
  uint32_t result = 0;  ///< dword 0
};

/// Commands of a namespace with blocks. Dword 0 of an answer is the block after the first one.
class BlockCommands {
 public:
  using Of = uint64_t;  ///< number of blocks
  static constexpr uint32_t block_bytes = 512;

  BlockCommands(xio::emulation::RdmaFabric& fabric, uint64_t blocks)
      : medium({1, blocks, block_bytes}, true), key_(fabric.keys().add(medium.block(0), blocks * block_bytes)) {}

  xio::emulation::Medium medium;

  /// A queue of such a namespace.
  void describe(xio::nvme::QueueHandle& handle) const { handle.namespace_blocks = medium.blocks(); }

 protected:
  /// What its descriptor must name.
  static uint32_t data_bytes(const xio::nvme::Sqe& capsule) {
    return moves(capsule) ? blocks(capsule) * block_bytes : 0;
  }
  /// Status of a command that is not executed; 0 of others.
  uint32_t check(const xio::nvme::Sqe& capsule) const {
    namespace code = xio::nvme::sc;
    if (!moves(capsule) && static_cast<uint8_t>(capsule.cdw0) != 0) return code::invalid_opcode;
    if (moves(capsule) && !medium.contains(lba(capsule), blocks(capsule))) return code::lba_out_of_range;
    if (reads(capsule) && !medium.readable(lba(capsule), blocks(capsule))) return code::unrecovered_read_error;
    return 0;
  }
  FabricData begin(const xio::nvme::Sqe& capsule, uint64_t) {
    if (!moves(capsule)) return {};
    const uint64_t here = reinterpret_cast<uint64_t>(medium.block(lba(capsule)));
    return {{here, data_bytes(capsule), key_}, reads(capsule)};
  }
  /// Once its data has moved, or it has failed.
  static void end(const xio::nvme::Sqe& capsule, uint64_t, FabricAnswer& answer) { answer.result = capsule.cdw10 + 1; }

 private:
  static bool reads(const xio::nvme::Sqe& capsule) { return static_cast<uint8_t>(capsule.cdw0) == 2; }
  static bool moves(const xio::nvme::Sqe& capsule) { return reads(capsule) || static_cast<uint8_t>(capsule.cdw0) == 1; }
  static uint64_t lba(const xio::nvme::Sqe& capsule) { return capsule.cdw10 | uint64_t{capsule.cdw11} << 32; }
  static uint32_t blocks(const xio::nvme::Sqe& capsule) { return (capsule.cdw12 & 0xffff) + 1; }

  uint32_t key_;
};

/// Executes capsules: reads or writes their data by RDMA, and answers. One thread calls; nothing waits.
template <class Kit, class Commands = BlockCommands>
class FabricTarget : public Commands {
 public:
  static constexpr uint32_t most_receives = 64;
  static constexpr uint32_t answer_entries = 512;
  static constexpr uint64_t none = ~uint64_t{0};
  /// Memory that it needs on its side.
  static constexpr size_t bytes = most_receives * sizeof(xio::nvme::Sqe) + answer_entries * sizeof(xio::nvme::Cqe);

  /// @param memory  registered with the fabric
  FabricTarget(xio::emulation::RdmaFabric& fabric, xio::emulation::RdmaQueuePair<Kit>& pair, xio::Region memory,
               const typename Commands::Of& of)
      : Commands(fabric, of), memory_(memory), sends_(pair.handle()), receives_(pair.receive_handle()) {
    for (uint64_t i = 0; i < most_receives; ++i) posted_[i] = post(i);
  }

  /// Answers come up to `steps` steps late, in any order.
  void delay(uint64_t seed, uint32_t steps) {
    seed_ = seed;
    latest_ = steps;
  }
  /// Every `each`-th capsule fails without being executed.
  void fail_each(uint32_t each) { fails_each_ = each; }

  /// Executes the capsule with this number, in the order in which they arrive, and withholds its answer until `none`
  /// is.
  void withhold(uint64_t number) { withheld_.store(number); }
  /// Answers the capsule with this number twice in succession.
  void answer_twice(uint64_t number) { twice_.store(number); }

  /// Advances every capsule as far as it goes. Returns whether one of them did.
  bool step() {
    ++steps_;
    bool worked = take();
    for (auto one = open_.begin(); one != open_.end();) {
      const Stage before = one->stage;
      if (before == Stage::begin) start(*one);
      if (one->stage == Stage::fetching) look(*one);
      if (one->stage == Stage::answering && steps_ >= one->due && one->number != withheld_.load()) answer(*one);
      worked |= one->stage != before;
      one = one->stage == Stage::over ? open_.erase(one) : one + 1;
    }
    sends_.drain();
    return worked;
  }

  /// Capsules that it has and has not answered.
  size_t unanswered() const { return open_.size(); }
  /// Status of the first message of its own that failed.
  xio::Status failure() const { return failure_; }

  std::atomic<uint64_t> capsules{0};   ///< arrived
  std::atomic<uint64_t> malformed{0};  ///< capsules that break a rule
  uint64_t answers = 0;                ///< sent
  uint64_t failed = 0;                 ///< capsules that fail_each() concerned
  size_t most_unanswered = 0;

 private:
  enum class Stage : uint8_t { begin, fetching, answering, over };
  struct Open {
    xio::nvme::Sqe capsule;
    uint64_t number;
    uint64_t due;
    Stage stage = Stage::begin;
    FabricAnswer answer = {};
    bool ended = false;
    xio::Token moved = {};
  };

  xio::Token post(uint64_t number) {
    return receives_.post(memory_.at(number % most_receives * sizeof(xio::nvme::Sqe), sizeof(xio::nvme::Sqe)),
                          xio::Now{});
  }

  bool take() {
    if (!failure_.is_ok()) return false;
    const xio::rdma::Received received = receives_.test(posted_[taken_ % most_receives]);
    if (received.status == xio::Status::pending) return false;
    if (!received.status.is_ok()) {
      failure_ = received.status;
      return true;
    }
    Open one;
    one.number = taken_;
    const uint64_t at = memory_.base + taken_ % most_receives * sizeof one.capsule;
    std::memcpy(&one.capsule, reinterpret_cast<const void*>(at), sizeof one.capsule);
    one.due = steps_ + (latest_ == 0 ? 0 : ((seed_ + taken_) * 0x9e3779b97f4a7c15u >> 32) % latest_);
    one.answer.status = judge(one.capsule, received.bytes);
    if (one.answer.status != 0) one.stage = Stage::answering;
    // Before the answer, after which the host may send another capsule.
    posted_[taken_ % most_receives] = post(taken_);
    ++taken_;
    capsules.fetch_add(1);
    open_.push_back(one);
    if (open_.size() > most_unanswered) most_unanswered = open_.size();
    return true;
  }

  /// Status of a capsule that is not executed; 0 of others.
  uint32_t judge(const xio::nvme::Sqe& capsule, uint32_t length) {
    const bool keyed = capsule.prp2 >> 56 == 0x40 && (capsule.cdw0 >> 14 & 3) == 1;
    const uint32_t due = connects(capsule) ? connect_bytes : this->data_bytes(capsule);
    if (length != sizeof capsule || !keyed || capsule.mptr != 0 || bytes_of(capsule) != due) {
      malformed.fetch_add(1);
      return xio::nvme::sc::invalid_field;
    }
    if (fails_each_ != 0 && taken_ % fails_each_ == fails_each_ - 1) {
      ++failed;
      return xio::nvme::sc::internal_error;
    }
    return connects(capsule) ? 0 : this->check(capsule);
  }

  static constexpr uint32_t connect_bytes = 1024;
  /// Connect is a command of fabrics (7Fh) of type 1.
  static bool connects(const xio::nvme::Sqe& capsule) {
    return static_cast<uint8_t>(capsule.cdw0) == 0x7f && (capsule.nsid & 0xff) == 1;
  }
  static uint32_t bytes_of(const xio::nvme::Sqe& capsule) { return static_cast<uint32_t>(capsule.prp2 & 0xffffff); }

  void start(Open& one) {
    const FabricData data = this->begin(one.capsule, one.number);
    if (data.own.length == 0) {
      one.stage = Stage::answering;
      return;
    }
    const auto length = static_cast<uint32_t>(data.own.length);
    const xio::rdma::RemoteMemory theirs{one.capsule.prp1, length, static_cast<uint32_t>(one.capsule.prp2 >> 24)};
    one.moved = data.puts ? sends_.put(theirs.at(0, length), data.own.at(0, length), xio::Now{})
                          : sends_.get(data.own.at(0, length), theirs.at(0, length), xio::Now{});
    if (one.moved.status == xio::Status::would_block) return;
    if (!one.moved.submitted()) one.answer.status = xio::nvme::sc::data_transfer_error;
    // The answer follows what is put.
    one.stage = data.puts || one.answer.status != 0 ? Stage::answering : Stage::fetching;
  }

  void look(Open& one) {
    const xio::Status status = sends_.test(one.moved);
    if (status == xio::Status::pending) return;
    if (!status.is_ok()) one.answer.status = xio::nvme::sc::data_transfer_error;
    one.stage = Stage::answering;
  }

  void answer(Open& one) {
    if (!one.ended) this->end(one.capsule, one.number, one.answer);
    one.ended = true;
    const uint64_t at = most_receives * sizeof(xio::nvme::Sqe) + answers % answer_entries * sizeof(xio::nvme::Cqe);
    xio::nvme::Cqe cqe{};
    cqe.dw0 = one.answer.result;
    cqe.sqhd = static_cast<uint16_t>((answers + 1) % most_receives);
    cqe.cid = static_cast<uint16_t>(one.capsule.cdw0 >> 16);
    cqe.status = static_cast<uint16_t>(one.answer.status << 1);
    std::memcpy(reinterpret_cast<void*>(memory_.base + at), &cqe, sizeof cqe);
    const xio::Token token = sends_.send(memory_.at(at, sizeof cqe), xio::Now{});
    if (token.status == xio::Status::would_block) return;
    if (!token.submitted() && failure_.is_ok()) failure_ = token.status;
    ++answers;
    // The same again.
    if (one.number == twice_.load()) return twice_.store(none);
    one.stage = Stage::over;
  }

  xio::Region memory_;
  xio::rdma::QueuePair<typename Kit::Vendor, xio::Sharing::thread> sends_;
  xio::rdma::ReceiveQueue<typename Kit::Vendor, xio::Sharing::thread> receives_;
  xio::Token posted_[most_receives];
  std::deque<Open> open_;
  xio::Status failure_;
  std::atomic<uint64_t> withheld_{none};
  std::atomic<uint64_t> twice_{none};
  uint64_t taken_ = 0;
  uint64_t steps_ = 0;
  uint64_t seed_ = 0;
  uint32_t latest_ = 0;
  uint32_t fails_each_ = 0;
};

/// Sizes of a queue over RDMA: powers of two, but for its depth.
struct FabricSizes {
  uint32_t depth;
  uint32_t entries;     ///< capsules in memory; responses: twice as many
  uint32_t slots;       ///< of the completion table
  uint32_t failures;    ///< of the log
  uint64_t blocks;      ///< of the namespace
  uint32_t max_blocks;  ///< of one command

  static constexpr uint32_t ring_bytes(uint32_t entries) {
    return entries * static_cast<uint32_t>(sizeof(xio::nvme::Sqe) + 2 * sizeof(xio::nvme::Cqe));
  }
};

/// Joins a queue's memory, which is zero, and its queue pair. `handle.state`, `slots`, `failures` and `notifications`
/// are set before.
/// @param rings  registered memory of FabricSizes::ring_bytes() bytes
template <class Kit>
void join(xio::nvme::QueueHandle& handle, xio::nvme::FabricLink& link, xio::emulation::RdmaQueuePair<Kit>& near,
          const FabricSizes& sizes, const xio::Region& rings, uint32_t data_key) {
  const uint64_t responses = rings.base + sizes.entries * sizeof(xio::nvme::Sqe);
  link.send = near.handle();
  link.receive = near.receive_handle();
  link.capsules = {rings.base, rings.key, sizes.entries - 1};
  link.responses = {responses, rings.key, 2 * sizes.entries - 1};
  link.data_key = data_key;
  handle.depth = sizes.depth;
  handle.sq = reinterpret_cast<xio::nvme::Sqe*>(rings.base);
  handle.sq_mask = sizes.entries - 1;
  handle.cq = reinterpret_cast<const xio::nvme::Cqe*>(responses);
  handle.cq_mask = 2 * sizes.entries - 1;
  handle.slot_mask = sizes.slots - 1;
  handle.failure_entries = sizes.failures;
  handle.nsid = 1;
  handle.page_shift = 12;
  handle.block_shift = 9;
  handle.max_blocks = sizes.max_blocks;
  handle.namespace_blocks = sizes.blocks;
  handle.qid = 1;
  point_to(handle, link);
  const xio::rdma::ReceiveRow<typename Kit::Vendor, xio::Sharing::thread, xio::Policy<>, sizeof(xio::nvme::Cqe)>
      receives(link.receive);
  receives.post(xio::Group<xio::Sharing::thread>(1), link.responses, 0, handle.cq_mask);
}

}  // namespace scenarios
