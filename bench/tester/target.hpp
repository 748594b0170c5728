// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The controller that a run works on: opened from what `--controller` says.

#include <cstdint>
#include <memory>
#include <string>

#include <xio/host/emulation/nvme_controller.hpp>
#include <xio/host/nvme/controller.hpp>
#include <xio/host/nvme/qemu.hpp>

namespace tester {

/// Doorbells as the other side saw them; several stores between two looks count once there.
struct SeenDoorbells {
  uint64_t sq = 0;
  uint64_t cq = 0;
  bool split = false;  ///< false: `sq` counts both kinds
  std::string source;  ///< who counted; empty: nobody, as with a drive's registers
};

struct Target {
  std::string spec;
  std::string kind;         ///< "qemu", "emulated" or "vfio"
  std::string heading;      ///< what figures of this controller are of, or are not
  bool on_its_own = false;  ///< it needs none of this machine's processors to answer
  std::unique_ptr<xio::host::NvmeController> controller;
  xio::host::QemuNvme* qemu = nullptr;              ///< where it is QEMU's; owned by `controller`
  xio::emulation::NvmeController* model = nullptr;  ///< where it is the model; owned by `controller`

  SeenDoorbells seen_doorbells() const;
};

/// What `--controller` takes, for help and messages.
inline const char* const controller_forms =
    "qemu[:key=value,...], emulated[:key=value,...] and vfio:BDF[,key=value,...]";

/// Opens the controller. Throws CannotRun for kinds that this build does not offer, and host::Error for a description
/// that is not understood or a controller that does not start.
/// @param answer_ms  limit for the answer to one admin command
Target open_target(const std::string& spec, uint32_t answer_ms);

}  // namespace tester
