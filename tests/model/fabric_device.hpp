// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A tiny NVMe queue over RDMA for the explorer: a queue pair whose NIC takes capsules to a target, which
/// answers in any order. Fails the execution when a capsule, its SEND or a receive is not as it must be.

#include <xio/device/fabrics/transport.hpp>

#include "model/device.hpp"
#include "model/rdma_device.hpp"

namespace model {

using xio::nvme::FabricLink;

struct FabricSizes {
  uint32_t depth = 1;
  uint32_t capsules = 2;  ///< of their ring
  uint32_t sends = 4;     ///< units of the send ring
  uint32_t signal_every = 1;
};

/// What the target knows, and what is counted for the checks.
struct TargetState {
  Live live[4];
  uint32_t live_count;
  uint32_t accepted;  ///< commands that the waves were given tickets for
  uint32_t answered;
  uint32_t spare;
  uint64_t ended;  ///< blocks answered, one bit each
};

struct FabricMemory {
  static constexpr uint32_t most_slots = 4;

  QueueState state;
  uint64_t links[4];
  CompletionSlot slots[most_slots];
  FailureLog failures;
  uint64_t failure_entries[2];
  Notification* notifications[4];
  FabricLink link;
  TargetState target;
  Cqe responses[4];
  Sqe capsules[4];
};

/// A program of waves with one NVMe queue over RDMA.
template <class Kit>
class FabricProgram : public RdmaProgram<Kit, FabricMemory> {
  using Base = RdmaProgram<Kit, FabricMemory>;

 public:
  using Vendor = typename Kit::Vendor;
  template <class... Tags>
  using Queue = xio::nvme::Queue<xio::Sharing::grid, xio::Policy<Tags..., xio::RingBy<xio::nvme::OverRdma<Vendor>>>>;

  FabricProgram(Explorer& explorer, const FabricSizes& sizes, uint32_t waves)
      : Base(explorer, {sizes.sends, 8, uint32_t(Kit::Wire::capacity(with_units(sizes.sends))), receives}, waves),
        fabric_(sizes) {
    std::memset(static_cast<void*>(this->memory_.more.capsules), 0xff, sizeof this->memory_.more.capsules);
    link_.send = this->handle();
    link_.send.signal_every = sizes.signal_every;
    link_.receive = this->receive_handle();
    link_.capsules = {capsules_at, ring_key, sizes.capsules - 1};
    link_.responses = {responses_at, ring_key, receives - 1};
    link_.data_key = data_key;
    explorer.require(link_.send.depth > sizes.depth + sizes.signal_every && sizes.capsules > sizes.depth,
                     "too little room");
    const xio::rdma::ReceiveRow<Vendor, xio::Sharing::thread, xio::Policy<>, sizeof(Cqe)> row(link_.receive);
    row.post(xio::Group<xio::Sharing::thread>(1), link_.responses, 0, receives - 1);
  }

  std::string judge() final {
    const QueueState& state = this->memory_.more.state;
    if (this->nic_.lost != 0) return judge_lost();
    if (state.broken != 0 || this->memory_.state.broken != 0) return "a queue is broken";
    if (link_.cause != 0) return "a message failed";
    if (((state.retired | this->memory_.state.retired) & xio::protocol::draining_bit) != 0)
      return "a drain was not given back";
    const uint64_t tickets = xio::protocol::tickets(state.reserved);
    if (tickets != target_.accepted) return "tickets were taken that nobody has, or lost";
    if (state.reservation != 0 || state.reserved > xio::protocol::ticket_bits)
      return "a reservation was not taken back";
    if (state.tail != tickets << 1) return "not everything was published, or somebody rings for ever";
    if (this->nic_.completed != tickets || target_.answered != tickets) return "a capsule was lost";
    if (state.retired > tickets || this->memory_.state.retired > tickets) return "a completion was taken twice";
    return this->verdict();
  }

 protected:
  static constexpr uint32_t slots = FabricMemory::most_slots;

  /// Status field of the answer to a command of this block.
  virtual uint16_t status_of(uint64_t) const { return 0; }

  xio::nvme::QueueHandle nvme_handle() {
    FabricMemory& more = this->memory_.more;
    xio::nvme::QueueHandle h{};
    h.state = &more.state;
    h.sq = more.capsules;
    h.cq = more.responses;
    h.slots = more.slots;
    h.failures = &more.failures;
    h.failure_entries = 2;
    h.notifications = more.notifications;
    h.sq_mask = fabric_.capsules - 1;
    h.cq_mask = receives - 1;
    h.slot_mask = slots - 1;
    h.depth = fabric_.depth;
    h.max_blocks = 8;
    h.block_shift = 9;
    h.page_shift = 12;
    h.nsid = 1;
    point_to(h, more.link);
    return h;
  }

  /// Submits a read of a block; each block number is used once in an execution.
  template <class Q>
  Token read(Q& queue, uint64_t block) {
    const xio::nvme::ContiguousPages data{block << 12};
    const Token token = queue.submit(xio::nvme::read(block, 1), data, this->forever());
    target_.accepted += token.count;
    return token;
  }
  /// Whether the target has answered the command of this block.
  bool done(uint64_t block) const { return (target_.ended >> block & 1) != 0; }
  static uint64_t result_of(uint64_t block) { return block * 1000 + 7; }

 private:
  static constexpr uint32_t receives = 4;  ///< room for so many, of which one stays free
  static constexpr uint64_t capsules_at = 0x10000, responses_at = 0x20000;
  static constexpr uint32_t ring_key = 0x55, data_key = 0x77;

  static RdmaQueueConfig with_units(uint32_t units) {
    RdmaQueueConfig config = Kit::config();
    config.sq_units = units;
    return config;
  }

  /// What ends well was answered, as waves see; the rest knows why it did not.
  std::string judge_lost() const {
    const Status cause = cause_of(link_);
    if (this->memory_.more.state.broken != 0 && cause != Status::flushed && cause != Status::retry_exceeded)
      return std::string("a queue that has failed for another reason: ") + xio::name(cause.code);
    return {};
  }

  /// Takes a capsule. From then on the host may overwrite it, but not its SEND.
  void execute(const RdmaWork& work) final {
    const uint64_t number = this->nic_.messages % fabric_.capsules;
    this->explorer_.require(work.operation == xio::emulation::RdmaOperation::send && work.pieces.size() == 1 &&
                                work.units == 1 && work.pieces[0].length == sizeof(Sqe) &&
                                work.pieces[0].address == capsules_at + number * sizeof(Sqe),
                            "a SEND that is not that of its capsule");
    Sqe& capsule = this->memory_.more.capsules[number];
    const uint32_t cid = capsule.cdw0 >> 16;
    const uint64_t block = capsule.cdw10;
    this->explorer_.require(capsule.cdw0 != 0xffffffff, "a capsule was sent that is not there");
    this->explorer_.require((capsule.cdw0 >> 14 & 3) == 1 && capsule.prp1 == block << 12 &&
                                capsule.prp2 >> 24 == (uint64_t{0x40} << 32 | data_key),
                            "a capsule that does not describe its data");
    this->explorer_.require(target_.live_count < fabric_.depth, "more in flight than the depth");
    for (uint32_t i = 0; i < target_.live_count; ++i)
      this->explorer_.require(target_.live[i].cid != cid, "an identifier is used twice");
    this->explorer_.require(block < 64 && (this->nic_.seen >> block & 1) == 0, "a capsule was sent twice");
    this->nic_.seen |= uint64_t{1} << block;
    std::memset(static_cast<void*>(&capsule), 0xff, sizeof capsule);
    add(target_.live, target_.live_count, {cid, static_cast<uint32_t>(block)});
  }

  uint32_t messages() const final { return target_.live_count; }
  bool finds_receive() const final { return true; }

  uint32_t arrive(const RdmaReceive& receive, uint32_t which) final {
    const uint64_t place = this->nic_.rq_consumed % receives;
    const auto& piece = receive.pieces[0];
    this->explorer_.require(piece.address == responses_at + place * sizeof(Cqe) && piece.length == sizeof(Cqe),
                            "a receive that is not of its place");
    const Live one = remove(target_.live, target_.live_count, which);
    Cqe& response = this->memory_.more.responses[place];
    response = {};
    response.dw0 = static_cast<uint32_t>(result_of(one.block));
    response.cid = static_cast<uint16_t>(one.cid);
    response.status = static_cast<uint16_t>(status_of(one.block) << 1);
    target_.ended |= uint64_t{1} << one.block;
    ++target_.answered;
    return sizeof response;
  }

  const FabricSizes fabric_;
  FabricLink& link_ = this->memory_.more.link;

 protected:
  TargetState& target_ = this->memory_.more.target;
};

}  // namespace model
