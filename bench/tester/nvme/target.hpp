// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The controller that a run works on: opened according to `--controller`.

#include <cstdint>
#include <memory>
#include <string>

#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/memory/revocable_mapping.hpp>
#include <xio/host/nvme/controller.hpp>
#include <xio/host/nvme/kernel_shared.hpp>
#include <xio/host/nvme/qemu.hpp>

namespace tester {

/// Doorbells as observed by the other side; several stores between two polls count once.
struct SeenDoorbells {
  uint64_t sq = 0;
  uint64_t cq = 0;
  bool split = false;  ///< false: `sq` counts both kinds
  std::string source;  ///< what counted; empty: nothing, as with a drive's registers
};

struct Target {
  std::string spec;
  std::string kind;           ///< "qemu", "emulated", "vfio" or "kernel-shared"
  std::string heading;        ///< what figures of this controller do and do not measure
  uint32_t nsid = 0;          ///< namespace named in `spec`, else 0
  std::string why_read_only;  ///< reason and remedy; empty: writes are allowed
  bool on_its_own = false;    ///< it needs none of this machine's processors to respond
  /// Guards against unmapped registers when a drive is removed while kernels ring its doorbells.
  std::unique_ptr<xio::host::BusErrorGuard> guard;
  std::unique_ptr<xio::host::NvmeController> controller;
  xio::host::QemuNvme* qemu = nullptr;              ///< set for QEMU's controller; owned by `controller`
  xio::host::KernelSharedNvme* shared = nullptr;    ///< set if shared with the kernel; owned by `controller`
  xio::emulation::NvmeController* model = nullptr;  ///< set for the model; owned by `controller`

  SeenDoorbells seen_doorbells() const;
  /// Message on the fate of a controller that is no longer alive.
  std::string loss() const;
  /// Throws BadInput if blocks of namespace `wanted` must not be written; 0: any namespace.
  void check_writable(uint32_t wanted) const;
};

/// Forms that `--controller` accepts, for help and messages.
inline const char* const controller_forms =
    "qemu[:key=value,...], emulated[:key=value,...], vfio:BDF[,key=value,...] and /dev/nvmeN[,key=value,...]";

/// Opens the controller. Throws CannotRun for kinds that this build does not support, and host::Error for an invalid
/// description or a controller that does not start.
/// @param answer_ms         time limit of one admin command in milliseconds
/// @param all_command_sets  also enable zoned and other command sets, if the controller supports them
Target open_target(const std::string& spec, uint32_t answer_ms, bool all_command_sets = false);

}  // namespace tester
