// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief An NVMe target on the far queue pair of an emulated NIC, and a queue over RDMA on the near one.

#include <atomic>

#include <xio/device/fabrics/transport.hpp>
#include <xio/device/nvme/queue.hpp>
#include <xio/host/emulation/nvme/medium.hpp>
#include <xio/host/linux/service_thread.hpp>
#include <xio/vendors/nvme/status.hpp>

#include "emulation/rdma_protocol.hpp"

namespace fabric_tests {

using namespace rdma_tests;
using xio::nvme::Cqe;
using xio::nvme::Sqe;

constexpr uint32_t block_bytes = 512;

/// Executes capsules one after the other: it reads or writes the data by RDMA, and answers.
template <class Kit>
class FabricTarget {
 public:
  FabricTarget(RdmaRig<Kit>& rig, uint64_t blocks)
      : medium({1, blocks, block_bytes}, true),
        rig_(rig),
        sends_(rig.far.handle()),
        receives_(rig.far.receive_handle()),
        capsules_(rig.far_local.base),
        answers_(capsules_ + most * sizeof(Sqe)) {
    medium_key_ = rig.fabric.keys().add(medium.block(0), blocks * block_bytes);
    for (uint64_t i = 0; i < most; ++i) posted_[i] = post(i);
    thread_ = xio::host::start_device_thread([this] { run(); });
  }
  ~FabricTarget() { die(); }

  /// Stops answering.
  void die() {
    stop_.store(true);
    if (thread_.joinable()) thread_.join();
  }

  xio::emulation::Medium medium;
  std::atomic<uint64_t> capsules{0};   ///< executed
  std::atomic<uint64_t> malformed{0};  ///< capsules that break a rule

 private:
  static constexpr uint32_t most = 64;  // capsules that may be under way

  Token post(uint64_t number) {
    return receives_.post(rig_.far_local.at(number % most * sizeof(Sqe), sizeof(Sqe)), soon());
  }

  void run() {
    uint16_t head = 0;
    for (uint64_t number = 0; !stop_.load(); ++number) {
      Received received;
      for (uint32_t looks = 0; (received = receives_.test(posted_[number % most])).status == Status::pending; ++looks) {
        if (stop_.load()) return;
        xio::arch::pause(looks);
      }
      if (!received.status.is_ok()) return;
      Sqe capsule;
      std::memcpy(&capsule, reinterpret_cast<const void*>(capsules_ + number % most * sizeof(Sqe)), sizeof capsule);
      Cqe answer{};
      answer.dw0 = capsule.cdw10;
      answer.sqhd = head = static_cast<uint16_t>((head + 1) % 64);
      answer.cid = static_cast<uint16_t>(capsule.cdw0 >> 16);
      answer.status = static_cast<uint16_t>(execute(capsule, received.bytes) << 1);
      const uint64_t at = most * sizeof(Sqe) + number % 256 * sizeof(Cqe);
      std::memcpy(reinterpret_cast<void*>(rig_.far_local.base + at), &answer, sizeof answer);
      // Before the answer, after which the host may send another capsule.
      posted_[number % most] = post(number);
      capsules.fetch_add(1);
      (void)sends_.send(rig_.far_local.at(at, sizeof(Cqe)), soon());
      sends_.drain();
    }
  }

  /// Status field without the phase.
  uint32_t execute(const Sqe& capsule, uint32_t bytes) {
    namespace code = xio::nvme::sc;
    const uint64_t lba = capsule.cdw10 | uint64_t{capsule.cdw11} << 32;
    const uint32_t blocks = (capsule.cdw12 & 0xffff) + 1;
    const auto length = static_cast<uint32_t>(capsule.prp2 & 0xffffff);
    const auto opcode = static_cast<uint8_t>(capsule.cdw0);
    const bool moves = opcode == 1 || opcode == 2;
    const bool keyed = capsule.prp2 >> 56 == 0x40 && (capsule.cdw0 >> 14 & 3) == 1;
    if (bytes != sizeof(Sqe) || !keyed || capsule.mptr != 0 || length != (moves ? blocks * block_bytes : 0)) {
      malformed.fetch_add(1);
      return code::invalid_field;
    }
    if (!moves) return opcode == 0 ? 0 : code::invalid_opcode;
    if (!medium.contains(lba, blocks)) return code::lba_out_of_range;
    if (opcode == 2 && !medium.readable(lba, blocks)) return code::unrecovered_read_error;
    const Region here{reinterpret_cast<uint64_t>(medium.block(lba)), length, medium_key_};
    const RemoteMemory there{capsule.prp1, length, static_cast<uint32_t>(capsule.prp2 >> 24)};
    if (opcode == 2) {
      const Token token = sends_.put(there.at(0, length), here.at(0, length), soon());  // the answer follows it
      return token.submitted() ? 0 : uint32_t{code::data_transfer_error};
    }
    const Status read = sends_.wait(sends_.get(here.at(0, length), there.at(0, length), soon()), soon());
    return read.is_ok() ? 0 : uint32_t{code::data_transfer_error};
  }

  RdmaRig<Kit>& rig_;
  Sends<Kit> sends_;
  Receives<Kit> receives_;
  uint64_t capsules_;
  uint64_t answers_;
  uint32_t medium_key_;
  Token posted_[most];
  std::atomic<bool> stop_{false};
  xio::host::ServiceThread thread_;
};

/// Configuration of a queue pair with room for both sides.
template <class Kit>
RdmaQueueConfig roomy() {
  RdmaQueueConfig config = Kit::config();
  config.rq_entries = 128;
  config.receive_cq_entries = 256;
  config.sq_units = 512;
  if (config.cq_entries != 1) config.cq_entries = 1024;
  if (config.side_entries != 0) config.side_entries = config.sq_units;
  return config;
}

/// A queue over RDMA with its rings, and a target. The data lies behind the rings in the rig's near memory.
template <class Kit>
class FabricQueue {
 public:
  using Vendor = typename Kit::Vendor;
  template <Sharing S, class... Tags>
  using Queue = xio::nvme::Queue<S, Policy<Tags..., xio::RingBy<xio::nvme::OverRdma<Vendor>>>>;
  static constexpr uint32_t depth = 32;
  static constexpr uint32_t capsules = 64;
  static constexpr uint32_t responses = 128;
  static constexpr uint32_t slots = 128;
  static constexpr uint64_t data_begin = 1u << 14;

  explicit FabricQueue(uint64_t blocks, size_t data_bytes)
      : rig(roomy<Kit>(), data_begin + data_bytes),
        target(rig, blocks),
        data{rig.local.base + data_begin, data_bytes, rig.local.key},
        state_(1 + xio::link_bytes(capsules) / sizeof(xio::QueueState)),
        table_(slots),
        failures_(1 + 4096),
        notifications_(slots) {
    const uint64_t base = rig.local.base;
    link.send = rig.near.handle();
    link.receive = rig.near.receive_handle();
    link.capsules = {base, rig.local.key, capsules - 1};
    link.responses = {base + capsules * sizeof(Sqe), rig.local.key, responses - 1};
    link.data_key = rig.local.key;
    handle.state = state_.data();
    handle.depth = depth;
    handle.sq = reinterpret_cast<Sqe*>(base);
    handle.sq_mask = capsules - 1;
    handle.slot_mask = slots - 1;
    handle.nsid = 1;
    handle.page_shift = 12;
    handle.slots = table_.data();
    handle.block_shift = 9;
    handle.max_blocks = 128;
    handle.namespace_blocks = blocks;
    handle.cq = reinterpret_cast<const Cqe*>(base + capsules * sizeof(Sqe));
    handle.cq_mask = responses - 1;
    handle.qid = 1;
    handle.notifications = notifications_.data();
    handle.failures = reinterpret_cast<xio::nvme::FailureLog*>(failures_.data());
    handle.failure_entries = 64;
    point_to(handle, link);
    const xio::rdma::ReceiveRow<Vendor, Sharing::thread, Policy<>, sizeof(Cqe)> receives(link.receive);
    receives.post(xio::Group<Sharing::thread>(1), link.responses, 0, responses - 1);
    rig.running();
  }

  void* at(uint64_t offset) { return reinterpret_cast<void*>(data.base + offset); }

  RdmaRig<Kit> rig;
  FabricTarget<Kit> target;
  Region data;
  xio::nvme::FabricLink link{};
  QueueHandle handle{};

 private:
  std::vector<xio::QueueState> state_;
  std::vector<xio::nvme::CompletionSlot> table_;
  std::vector<uint64_t> failures_;
  std::vector<Notification*> notifications_;
};

}  // namespace fabric_tests
