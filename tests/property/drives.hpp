// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Emulated drives with queues, as one address space.

#include <memory>
#include <vector>

#include <xio/device/nvme/drive_set.hpp>

#include "emulation/protocol.hpp"

namespace protocol_tests {

constexpr uint32_t block_bytes = 512;
constexpr uint32_t most_drives = 4;

/// Controllers that share no memory: each lane's buffer is mapped on all of them.
struct Drives {
  Drives(uint32_t count, uint32_t queues_per_drive, uint32_t stripe_shift, size_t data_bytes, NvmeConfig config = {})
      : data(data_bytes + 4096) {
    auto* const begin =
        reinterpret_cast<unsigned char*>((reinterpret_cast<uintptr_t>(data.data()) + 4095) & ~uintptr_t{4095});
    bytes = begin;
    for (uint32_t i = 0; i < count; ++i) {
      config.namespaces[0].blocks = 4096;
      rigs.push_back(std::make_unique<Rig>(config, 4096));
      rigs.back()->model.faults().reorder(5);
      bus = rigs.back()->model.map(begin, data_bytes);
      for (uint32_t k = 0; k < queues_per_drive; ++k) {
        queues.push_back(rigs.back()->queue(16, [](QueueOptions& options) { options.completion_slots = 4096; }));
        handles.push_back(queues.back().handle());
      }
    }
    set = {handles.data(), count, queues_per_drive, stripe_shift};
  }
  ~Drives() {
    for (auto& rig : rigs) rig->model.unmap(bus);
  }

  std::vector<unsigned char> data;
  unsigned char* bytes = nullptr;
  uint64_t bus = 0;
  std::vector<std::unique_ptr<Rig>> rigs;
  std::vector<NvmeQueue> queues;
  std::vector<QueueHandle> handles;
  xio::nvme::DriveSetHandle set{};
};

}  // namespace protocol_tests
