// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Where the data of a run lies: in memory of one drive, of several, or of a controller behind RDMA.

#include <cstdint>
#include <memory>

#include <xio/host/memory.hpp>
#include <xio/host/nvme/drive_set.hpp>

#include "tester/launch/memory.hpp"
#include "tester/nvme/remote.hpp"
#include "tester/nvme/striped_queue.hpp"

namespace tester {

/// Memory of NvmePlan::data_bytes bytes, which it keeps.
struct DataPlace {
  uint8_t* data = nullptr;         ///< address for kernels
  uint64_t bus = 0;                ///< for the controller; 0 of several drives, whose addresses `stripes` has
  MirroredArray<Stripes> stripes;  ///< of several drives: one object, else none
  std::shared_ptr<const void> kept;

  /// @param memory  of who runs the kernels
  static DataPlace of_drive(const ExecutorMemory& memory, xio::host::DmaBuffer data);
  /// @param set  must outlive it
  static DataPlace of_drives(const ExecutorMemory& memory, const xio::host::NvmeDriveSet& set, uint64_t bytes);
  /// @param remote  with queues, whose memory it is; must outlive it
  static DataPlace of_remote(const RemoteController& remote);
};

}  // namespace tester
