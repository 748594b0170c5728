// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief An NVMe target on the far queue pair of an emulated NIC, and a queue over RDMA on the near one.

#include <atomic>

#include <xio/device/fabrics/transport.hpp>
#include <xio/device/nvme/queue.hpp>
#include <xio/host/emulation/nvme/key_commands.hpp>
#include <xio/host/linux/service_thread.hpp>
#include <xio/vendors/nvme/encode_kv.hpp>
#include <xio/vendors/nvme/status.hpp>

#include <scenarios/fabric_target.hpp>

#include "emulation/rdma_protocol.hpp"

namespace fabric_tests {

using namespace rdma_tests;
using xio::nvme::Cqe;
using xio::nvme::Sqe;

constexpr uint32_t block_bytes = 512;

/// One format whose entries show that they are new, and one with an index.
using Some = std::tuple<Mlx5, Ernic>;

/// Commands of a namespace that stores values under keys.
class KeyCommands {
 public:
  using Of = xio::emulation::NvmeNamespaceConfig;
  static constexpr uint32_t most_bytes = 1u << 15;  ///< of a value

  KeyCommands(RdmaFabric& fabric, const Of& config)
      : keys(config), memory_(most_open * most_bytes), key_(fabric.keys().add(memory_.data(), memory_.size())) {}

  xio::emulation::KeyValues keys;
  std::string lost_key;  ///< its value cannot be recovered

  /// A queue of such a namespace.
  static void describe(QueueHandle& handle) {
    handle.command_set = static_cast<uint32_t>(xio::nvme::CommandSet::key_value);
    handle.max_blocks = 0;
    handle.namespace_blocks = 1;
  }

 protected:
  static uint32_t data_bytes(const Sqe& capsule) { return Own::moves_data(capsule) ? capsule.cdw10 : 0; }
  uint32_t check(const Sqe& capsule) const {
    namespace code = xio::nvme::sc;
    const uint32_t shortest = opcode(capsule) == KvOpcode::list ? 0 : 1;
    const uint32_t longest = keys.config().longest_key;
    if (length(capsule) < shortest || length(capsule) > longest) return final(code::invalid_key_size);
    const bool stores = opcode(capsule) == KvOpcode::store;
    if (stores && capsule.cdw10 > keys.config().longest_value) return final(code::invalid_value_size);
    if (opcode(capsule) == KvOpcode::retrieve && name(capsule) == lost_key) return final(code::unrecovered_error);
    return 0;
  }
  scenarios::FabricData begin(const Sqe& capsule, uint64_t number) {
    unsigned char* const here = memory_.data() + number % most_open * most_bytes;
    uint64_t bytes = data_bytes(capsule);
    const bool stores = opcode(capsule) == KvOpcode::store;
    if (!stores) {
      const std::string* const value = keys.find(name(capsule));
      const bool lists = opcode(capsule) == KvOpcode::list;
      const std::string text = lists ? keys.listed(name(capsule), capsule.cdw10) : value ? *value : "";
      bytes = std::min<uint64_t>(bytes, text.size());
      std::memcpy(here, text.data(), bytes);
    }
    return {{reinterpret_cast<uint64_t>(here), bytes, key_}, !stores};
  }
  void end(const Sqe& capsule, uint64_t number, scenarios::FabricAnswer& answer) {
    namespace code = xio::nvme::sc;
    if (answer.status != 0 || opcode(capsule) == KvOpcode::list) return;
    const std::string* const found = keys.find(name(capsule));
    const uint32_t options = capsule.cdw11 >> 8;
    if (opcode(capsule) != KvOpcode::store) {
      if (found && opcode(capsule) == KvOpcode::retrieve) answer.result = static_cast<uint32_t>(found->size());
      if (!found) answer.status = final(code::key_does_not_exist);
      if (opcode(capsule) == KvOpcode::remove) keys.remove(name(capsule));
    } else if ((options & xio::nvme::kv::option::must_exist) != 0 && !found) {
      answer.status = final(code::key_does_not_exist);
    } else if ((options & xio::nvme::kv::option::must_not_exist) != 0 && found) {
      answer.status = final(code::key_exists);
    } else {
      const auto* const from = reinterpret_cast<const char*>(memory_.data() + number % most_open * most_bytes);
      if (!keys.store(name(capsule), {from, capsule.cdw10})) answer.status = final(code::capacity_exceeded);
    }
  }

 private:
  using Own = xio::emulation::KeyCommands;
  using KvOpcode = xio::nvme::KvOpcode;
  static constexpr size_t most_open = 64;

  static KvOpcode opcode(const Sqe& capsule) { return static_cast<KvOpcode>(capsule.cdw0 & 0xff); }
  static uint32_t length(const Sqe& capsule) { return capsule.cdw11 & 0xff; }
  static std::string name(const Sqe& capsule) { return Own::key_of(capsule, length(capsule)); }
  static uint32_t final(uint32_t status) { return xio::emulation::spec::do_not_retry | status; }

  std::vector<unsigned char> memory_;
  uint32_t key_;
};

/// A target on the rig's far queue pair, with a thread of its own.
template <class Kit, class Commands = scenarios::BlockCommands>
class FabricTarget : public scenarios::FabricTarget<Kit, Commands> {
 public:
  FabricTarget(RdmaRig<Kit>& rig, const typename Commands::Of& of)
      : scenarios::FabricTarget<Kit, Commands>(rig.fabric, rig.far, rig.far_local, of) {
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
template <class Kit, class Commands = scenarios::BlockCommands>
class FabricQueue {
 public:
  using Vendor = typename Kit::Vendor;
  template <Sharing S, class... Tags>
  using Queue = xio::nvme::Queue<S, Policy<Tags..., xio::RingBy<xio::nvme::OverRdma<Vendor>>>>;
  static constexpr uint32_t depth = 32;
  static constexpr uint32_t capsules = 64;
  static constexpr uint32_t slots = 128;
  static constexpr uint64_t data_begin = 1u << 14;

  explicit FabricQueue(const typename Commands::Of& of, size_t data_bytes)
      : rig(scenarios::roomy<Kit>(capsules), data_begin + data_bytes),
        target(rig, of),
        data{rig.local.base + data_begin, data_bytes, rig.local.key},
        state_(1 + xio::link_bytes(capsules) / sizeof(xio::QueueState)),
        table_(slots),
        failures_(1 + 4096),
        notifications_(slots) {
    handle.state = state_.data();
    handle.slots = table_.data();
    handle.notifications = notifications_.data();
    handle.failures = reinterpret_cast<xio::nvme::FailureLog*>(failures_.data());
    const scenarios::FabricSizes sizes{depth, capsules, slots, 64, 0, 128};
    join(handle, link, rig.near, sizes, {rig.local.base, data_begin, rig.local.key}, rig.local.key);
    target.describe(handle);
    rig.running();
  }

  void* at(uint64_t offset) { return reinterpret_cast<void*>(data.base + offset); }

  RdmaRig<Kit> rig;
  FabricTarget<Kit, Commands> target;
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
