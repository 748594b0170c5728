// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The drives that jobs of this process have open: one for each controller, shared by its jobs.

#include <memory>
#include <mutex>
#include <string>

#include <xio/host/nvme/open.hpp>

namespace fio {

/// A drive as long as jobs use it.
struct Drive {
  xio::host::OpenedNvme opened;
  bool shadow = false;  ///< whether its queues have shadow doorbells
  int gpu = -1;         ///< of its first job: the number of the GPU, or -1
  uint32_t users = 0;
};

/// Opens a drive, or returns the one that this process has open already. May be called from several threads; throws
/// host::Error with the reason.
Drive& open_drive(const std::string& spec, bool shadow, int gpu);
/// Closes it for one user of open_drive().
void close_drive(const std::string& spec);

}  // namespace fio
