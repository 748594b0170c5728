// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A ConnectX that completes every entry at once and lives on the GPU: one wave that reads the entries that the
/// doorbell record announces and writes completions. It moves no data and does not look at the doorbell register.
///
/// It takes PCIe, the network and the NIC out of a measurement: what is left is the cost of the queue code.

#include <xio/device/arch/arch.hpp>
#include <xio/device/core/ring.hpp>
#include <xio/vendors/mlx5/layout.hpp>

namespace gpu {

/// Rings and records of one queue pair in device memory.
struct NullNic {
  const xio::mlx5::ControlSegment* sq;  ///< the first of the four segments of each WQEBB
  xio::mlx5::Cqe* cq;
  const uint32_t* sq_record;
  uint32_t entries;     ///< WQEBBs: a power of two
  uint32_t cq_entries;  ///< a power of two
  uint32_t qpn;
  /// What the NIC saw that no driver may do: an entry that is not the expected one.
  uint32_t* violations;
};

/// Whether an entry asks for a completion. Notes in `violations` if it is not the expected one.
XIO_DEVICE bool check_null_nic_entry(const NullNic& nic, uint64_t index) {
  using namespace xio;
  constexpr arch::Scope system = arch::Scope::system;
  const auto* const words = reinterpret_cast<const uint32_t*>(nic.sq + 4 * (index & (nic.entries - 1)));
  const uint32_t first = byte_swap(arch::load<system>(words));
  const uint32_t second = byte_swap(arch::load<system>(words + 1));
  const uint32_t flags = byte_swap(arch::load<system>(words + 2)) & 0xff;
  if ((first >> 8 & 0xffff) != (index & 0xffff) || second != (nic.qpn << 8 | 3) ||
      (first & 0xff) != static_cast<uint32_t>(mlx5::Opcode::rdma_write))
    arch::store<system>(nic.violations, 2u);
  return (flags & mlx5::control_flag::completion_mask) == mlx5::control_flag::completion;
}

/// Writes the completion of an entry.
XIO_DEVICE void complete_null_nic_entry(const NullNic& nic, uint64_t number, uint64_t index) {
  using namespace xio;
  constexpr arch::Scope system = arch::Scope::system;
  auto* const words = reinterpret_cast<uint64_t*>(nic.cq + (number & (nic.cq_entries - 1)));
  const uint32_t owner = (number & nic.cq_entries) != 0 ? 1 : 0;
  const uint32_t tail = static_cast<uint32_t>(index & 0xffff) << 16 | owner;  // opcode 0: a send queue's entry
  for (uint32_t i = 0; i < 7; ++i) arch::store<system>(words + i, uint64_t{0});
  arch::publish<system>(words + 7, uint64_t{byte_swap(tail)} << 32 | byte_swap(nic.qpn));
}

/// One wave serves one queue pair, whose entries have one WQEBB each, until `*stop` is set.
XIO_DEVICE void serve_null_nic(const NullNic& nic, const uint32_t* stop) {
  using namespace xio;
  constexpr arch::Scope system = arch::Scope::system;
  uint64_t fetched = 0;
  uint64_t completions = 0;
  const uint32_t lane = arch::lane();
  const uint64_t group = arch::together(0);
  for (uint32_t round = 0; round % 1024 != 0 || arch::broadcast(group, arch::load<system>(stop), 0) == 0; ++round) {
    const uint32_t record = byte_swap(arch::observe<system>(nic.sq_record));
    auto count = static_cast<uint32_t>(record - fetched) & mlx5::record_counter_mask;
    if (count > nic.entries) {
      arch::store<system>(nic.violations, 1u);
      count = 0;
    }
    if (count > arch::wave_size()) count = arch::wave_size();
    count = arch::broadcast(group, count, 0);
    arch::converge(group);  // what the first lane has acquired
    bool signaled = false;
    const uint64_t index = fetched + lane;
    if (lane < count) signaled = check_null_nic_entry(nic, index);
    const uint64_t with = arch::ballot(group, signaled);
    if (signaled) complete_null_nic_entry(nic, completions + arch::rank_in(with), index);
    arch::converge(group);
    fetched += count;
    completions += arch::count_lanes(with);
  }
}

/// How far the waves of one NIC are; zero at first.
struct NullNicTurn {
  uint64_t entries;
  uint64_t completions;
};

/// The same by several waves, each of which has every `waves`-th row of entries: they look at entries and write
/// completions at the same time, and only number the completions one after the other.
XIO_DEVICE void serve_null_nic_together(const NullNic& nic, NullNicTurn* turn, uint32_t self, uint32_t waves,
                                        const uint32_t* stop) {
  using namespace xio;
  constexpr arch::Scope system = arch::Scope::system;
  constexpr uint64_t stopped = ~uint64_t{0};
  const uint32_t lane = arch::lane();
  const uint32_t lanes = arch::wave_size();
  const uint64_t group = arch::together(0);
  uint64_t announced = 0;
  uint64_t next = uint64_t{self} * lanes;
  for (uint32_t round = 0; round % 1024 != 0 || arch::broadcast(group, arch::load<system>(stop), 0) == 0; ++round) {
    const uint32_t record = byte_swap(arch::observe<system>(nic.sq_record));
    announced += static_cast<uint32_t>(record - announced) & mlx5::record_counter_mask;
    const auto left = static_cast<uint32_t>(lanes - next % lanes);
    uint32_t count = announced > next ? (announced - next > left ? left : static_cast<uint32_t>(announced - next)) : 0;
    count = arch::broadcast(group, count, 0);
    arch::converge(group);  // what the first lane has acquired
    if (count == 0) continue;
    const uint64_t index = next + lane;
    const bool signaled = lane < count && check_null_nic_entry(nic, index);
    const uint64_t with = arch::ballot(group, signaled);
    uint64_t completions = 0;
    if (lane == 0) {
      while (arch::observe<system>(&turn->entries) != next && completions != stopped)
        if (arch::load<system>(stop) != 0) completions = stopped;
      if (completions != stopped) {
        completions = arch::load<system>(&turn->completions);
        arch::store<system>(&turn->completions, completions + arch::count_lanes(with));
        arch::publish<system>(&turn->entries, next + count);
      }
    }
    arch::converge(group);
    completions = arch::broadcast(group, completions, 0);
    if (completions == stopped) return;
    if (signaled) complete_null_nic_entry(nic, completions + arch::rank_in(with), index);
    arch::converge(group);
    next += count;
    if (next % lanes == 0) next += uint64_t{lanes} * (waves - 1);
  }
}

}  // namespace gpu
