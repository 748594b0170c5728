// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief An NVMe target on the far queue pair of an emulated NIC, and a queue over RDMA on the near one.

#include <atomic>

#include <xio/device/fabrics/transport.hpp>
#include <xio/device/nvme/queue.hpp>
#include <xio/host/linux/service_thread.hpp>
#include <xio/vendors/nvme/status.hpp>

#include <scenarios/fabric_target.hpp>

#include "emulation/rdma_protocol.hpp"

namespace fabric_tests {

using namespace rdma_tests;
using xio::nvme::Cqe;
using xio::nvme::Sqe;

constexpr uint32_t block_bytes = 512;

/// A target on the rig's far queue pair, with a thread of its own.
template <class Kit>
class FabricTarget : public scenarios::FabricTarget<Kit> {
 public:
  FabricTarget(RdmaRig<Kit>& rig, uint64_t blocks)
      : scenarios::FabricTarget<Kit>(rig.fabric, rig.far, rig.far_local, blocks) {
    thread_ = xio::host::start_device_thread([this] {
      for (uint32_t looks = 0; !stop_.load(); looks = this->step() ? 0 : looks + 1) xio::arch::pause(looks);
    });
  }
  ~FabricTarget() { die(); }

  /// Stops answering.
  void die() {
    stop_.store(true);
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  xio::host::ServiceThread thread_;
};

/// A queue over RDMA with its rings, and a target. The data lies behind the rings in the rig's near memory.
template <class Kit>
class FabricQueue {
 public:
  using Vendor = typename Kit::Vendor;
  template <Sharing S, class... Tags>
  using Queue = xio::nvme::Queue<S, Policy<Tags..., xio::RingBy<xio::nvme::OverRdma<Vendor>>>>;
  static constexpr uint32_t depth = 32;
  static constexpr uint32_t capsules = 64;
  static constexpr uint32_t slots = 128;
  static constexpr uint64_t data_begin = 1u << 14;

  explicit FabricQueue(uint64_t blocks, size_t data_bytes)
      : rig(scenarios::roomy<Kit>(capsules), data_begin + data_bytes),
        target(rig, blocks),
        data{rig.local.base + data_begin, data_bytes, rig.local.key},
        state_(1 + xio::link_bytes(capsules) / sizeof(xio::QueueState)),
        table_(slots),
        failures_(1 + 4096),
        notifications_(slots) {
    handle.state = state_.data();
    handle.slots = table_.data();
    handle.notifications = notifications_.data();
    handle.failures = reinterpret_cast<xio::nvme::FailureLog*>(failures_.data());
    const scenarios::FabricSizes sizes{depth, capsules, slots, 64, blocks, 128};
    join(handle, link, rig.near, sizes, {rig.local.base, data_begin, rig.local.key}, rig.local.key);
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
