// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A set of drives that are reached over RDMA, each with a key of its own for the same memory.

#include <memory>
#include <vector>

#include <xio/device/nvme/drive_set.hpp>

#include "emulation/fabric_target.hpp"

namespace fabric_tests {

/// Drives that share no key.
template <class Kit>
struct FabricDrives {
  template <Sharing S, class... Tags>
  using Set = xio::nvme::DriveSet<S, Policy<Tags..., xio::RingBy<xio::nvme::OverRdma<typename Kit::Vendor>>>>;

  /// @param drive_blocks of each
  FabricDrives(uint32_t count, uint32_t stripe_shift, size_t data_bytes, uint64_t drive_blocks = 256)
      : bytes(data_bytes), blocks(drive_blocks) {
    for (uint32_t i = 0; i < count; ++i) {
      drives.push_back(std::make_unique<FabricQueue<Kit>>(drive_blocks, 4096));
      auto& keys = drives.back()->rig.fabric.keys();
      for (uint32_t others = 0; others < i; ++others) keys.add(bytes.data(), 0);
      drives.back()->link.data_key = keys.add(bytes.data(), bytes.size());
      bases.push_back(reinterpret_cast<uint64_t>(bytes.data()));
      handles.push_back(drives.back()->handle);
    }
    set = {handles.data(), count, 1, stripe_shift};
    memory = {bases.data(), bytes.size()};
  }
  unsigned char* block(uint64_t lba) {
    const auto where = set.locate(lba);
    return static_cast<unsigned char*>(drives[where.drive]->target.medium.block(where.lba));
  }
  /// Whether every capsule was as it should be.
  bool are_clean() {
    bool clean = true;
    for (auto& one : drives) {
      one->rig.nic.stop();
      clean = clean && one->target.malformed == 0 && one->rig.violations().empty();
    }
    return clean;
  }

  std::vector<unsigned char> bytes;
  uint64_t blocks;
  std::vector<uint64_t> bases;
  std::vector<std::unique_ptr<FabricQueue<Kit>>> drives;
  std::vector<QueueHandle> handles;
  xio::nvme::DriveSetHandle set{};
  xio::nvme::DriveRegion memory{};
};

}  // namespace fabric_tests
