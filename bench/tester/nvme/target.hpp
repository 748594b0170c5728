// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The controller that a run works on: opened from what `--controller` says.

#include <cstdint>
#include <memory>
#include <string>

#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/memory/revocable_mapping.hpp>
#include <xio/host/nvme/controller.hpp>
#include <xio/host/nvme/kernel_shared.hpp>
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
  std::string kind;           ///< "qemu", "emulated", "vfio" or "kernel-shared"
  std::string heading;        ///< what figures of this controller are of, or are not
  uint32_t nsid = 0;          ///< where `spec` names a namespace
  std::string why_read_only;  ///< and the way out; empty: it may be written to
  bool on_its_own = false;    ///< it needs none of this machine's processors to answer
  /// Some kernels take registers away when a drive is removed while kernels ring its doorbells.
  std::unique_ptr<xio::host::BusErrorGuard> guard;
  std::unique_ptr<xio::host::NvmeController> controller;
  xio::host::QemuNvme* qemu = nullptr;              ///< where it is QEMU's; owned by `controller`
  xio::host::KernelSharedNvme* shared = nullptr;    ///< where it is the kernel's, too; owned by `controller`
  xio::emulation::NvmeController* model = nullptr;  ///< where it is the model; owned by `controller`

  SeenDoorbells seen_doorbells() const;
  /// What has become of a controller that is not alive any more, for people.
  std::string loss() const;
  /// Throws BadInput where blocks of namespace `wanted` must not be written; 0: of any.
  void check_writable(uint32_t wanted) const;
};

/// What `--controller` takes, for help and messages.
inline const char* const controller_forms =
    "qemu[:key=value,...], emulated[:key=value,...], vfio:BDF[,key=value,...] and /dev/nvmeN[,key=value,...]";

/// Opens the controller. Throws CannotRun for kinds that this build does not offer, and host::Error for a description
/// that is not understood or a controller that does not start.
/// @param answer_ms         limit for the answer to one admin command
/// @param all_command_sets  zoned and other namespaces too, where the controller offers them
Target open_target(const std::string& spec, uint32_t answer_ms, bool all_command_sets = false);

}  // namespace tester
