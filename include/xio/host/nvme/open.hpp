// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Opens an NVMe controller that one line of text describes.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/emulation/nvme/controller.hpp>
#include <xio/host/emulation/nvme/emulated_spec.hpp>
#include <xio/host/error.hpp>
#include <xio/host/linux/pci.hpp>
#include <xio/host/memory/revocable_mapping.hpp>
#include <xio/host/nvme/controller.hpp>
#include <xio/host/nvme/kernel_shared.hpp>
#include <xio/host/nvme/qemu.hpp>
#include <xio/host/nvme/transport.hpp>
#include <xio/host/nvme/vfio.hpp>

XIO_NAMESPACE_BEGIN

namespace host {
/// @addtogroup host_nvme
/// @{

/// Forms that open_nvme() accepts, for help and messages.
inline const char* const nvme_spec_forms =
    "qemu[:key=value,...], emulated[:key=value,...], vfio:BDF[,key=value,...] and /dev/nvmeN[,key=value,...]";

enum class NvmeKind {
  qemu,           ///< QEMU's controller, in a process that this one starts
  emulated,       ///< the model in this process
  vfio,           ///< a controller bound to vfio-pci; this process owns it
  kernel_shared,  ///< a controller of the kernel's driver, beside the kernel's queues
};

/// What open_nvme() returns: the controller, and what is known of it from its description. Move it freely; queues and
/// buffers of `controller` stay as they are.
struct OpenedNvme {
  std::string spec;
  NvmeKind kind = NvmeKind::emulated;
  uint32_t nsid = 0;  ///< namespace that `spec` names, else 0
  /// Handles SIGBUS where a drive of the kernel's driver may be removed under running kernels; else null.
  std::unique_ptr<BusErrorGuard> guard;
  std::unique_ptr<NvmeController> controller;
  /// The transport by its own type; all but that of `kind` are null. Owned by `controller`.
  QemuNvme* qemu = nullptr;
  emulation::NvmeController* emulated = nullptr;
  VfioNvme* vfio = nullptr;
  KernelSharedNvme* kernel_shared = nullptr;

  /// "qemu", "emulated", "vfio" or "kernel-shared".
  const char* kind_name() const {
    switch (kind) {
      case NvmeKind::qemu: return "qemu";
      case NvmeKind::emulated: return "emulated";
      case NvmeKind::vfio: return "vfio";
      case NvmeKind::kernel_shared: return "kernel-shared";
    }
    return "?";
  }

  /// The drive on the bus; null for QEMU's controller and the model.
  const PciFunction* pci() const {
    if (vfio != nullptr) return &vfio->pci();
    return kernel_shared != nullptr ? &kernel_shared->pci() : nullptr;
  }

  /// `wanted`, or for 0 the namespace that `spec` names, else 1.
  uint32_t namespace_or(uint32_t wanted) const {
    if (wanted != 0) return wanted;
    return nsid != 0 ? nsid : 1;
  }

  /// Whether namespace_or(wanted) stores values under keys. Throws Error if it does not exist.
  bool stores_values(uint32_t wanted = 0) const {
    const uint32_t chosen = namespace_or(wanted);
    const uint32_t highest = controller->info().view().nn();
    if (chosen > highest) throw Error(title(chosen) + " does not exist; the highest is " + std::to_string(highest));
    try {
      return controller->command_set(chosen) == nvme::CommandSet::key_value;
    } catch (const AdminError&) {
      return false;  // an inactive namespace, on some controllers
    }
  }

  /// Capacity and block size of namespace_or(wanted). Throws Error if it is not active, or has no blocks.
  NamespaceInfo identify(uint32_t wanted = 0) const {
    const uint32_t chosen = namespace_or(wanted);
    if (stores_values(wanted))
      throw Error(title(chosen) +
                  " stores values under keys and has no blocks; identify_key_values() tells its limits");
    const NamespaceInfo info = controller->identify_namespace(chosen);
    if (info.blocks == 0)
      throw Error(title(chosen) + " is not active; NvmeController::active_namespaces() lists the active ones");
    return info;
  }

  /// Capacity and limits of namespace_or(wanted), which stores values under keys. Throws Error if it has blocks or is
  /// not active, and if the controller was opened without ControllerOptions::all_command_sets.
  KeyValueInfo identify_key_values(uint32_t wanted = 0) const {
    const uint32_t chosen = namespace_or(wanted);
    if (!stores_values(wanted))
      throw Error(title(chosen) + " stores no values under keys; identify() tells its blocks");
    try {
      return controller->identify_key_values(chosen);
    } catch (const AdminError& refusal) {
      if (refusal.code() != nvme::sc::invalid_command_set && refusal.code() != nvme::sc::invalid_field) throw;
      throw Error(title(chosen) + " stores values under keys; open it with ControllerOptions::all_command_sets");
    }
  }

  /// Why namespace_or(wanted) must not be written to, with a remedy; empty: it may be. The library refuses no write
  /// command: ask before the first one. Runs an admin command.
  std::string why_read_only(uint32_t wanted = 0) const {
    if (kernel_shared != nullptr && !kernel_shared->writable())
      return "nothing may be written: " + kernel_shared->why_read_only();
    if (nsid != 0 && wanted != 0 && wanted != nsid)
      return "namespace " + std::to_string(wanted) + " may not be written: " + spec + " names namespace " +
             std::to_string(nsid);
    try {
      return detail::why_write_protected(controller->identify_namespace(namespace_or(wanted)), spec);
    } catch (const Error&) {
      return {};  // without blocks or inactive, on some controllers; or the drive is gone, and says so to any command
    }
  }

  /// For a controller that is no longer alive (NvmeController::alive()): what became of it.
  std::string loss() const {
    if (const std::string change = controller->namespace_change(); !change.empty()) return change;
    if (qemu != nullptr)
      return "QEMU is gone: " +
             (qemu->process().running() ? "it no longer responds: " + qemu->failure() : qemu->process().summary());
    if (emulated != nullptr) return "the controller is gone";
    if (kernel_shared == nullptr || !kernel_shared->removed())
      return "the kernel requests the controller back or reported an error of it: see dmesg";
    return "the drive was removed from the bus; later doorbell stores had no effect: see dmesg";
  }

 private:
  std::string title(uint32_t chosen) const { return "namespace " + std::to_string(chosen) + " of " + spec; }
};

namespace detail {

/// Whether `spec` is `kind` or `kind:...`.
inline bool is_spec_of(const std::string& spec, const std::string& kind) {
  return spec == kind || spec.compare(0, kind.size() + 1, kind + ":") == 0;
}

/// Keeps the typed pointer beside the transport that owns it.
template <class Transport>
std::unique_ptr<NvmeTransport> keep(std::unique_ptr<Transport> transport, Transport*& typed) {
  typed = transport.get();
  return transport;
}

/// @param memory  of a QEMU opened before, or null; that of a QEMU that is opened
inline std::unique_ptr<NvmeTransport> open_transport(OpenedNvme& opened, std::shared_ptr<DmaArena>& memory) {
  const std::string& spec = opened.spec;
  if (is_spec_of(spec, "qemu")) {
    opened.kind = NvmeKind::qemu;
    QemuOptions wanted = parse_qemu_spec(spec);
    wanted.memory = memory;
    auto machine = std::make_unique<QemuNvme>(wanted);
    memory = machine->memory();
    return keep(std::move(machine), opened.qemu);
  }
  if (is_spec_of(spec, "emulated")) {
    opened.kind = NvmeKind::emulated;
    const emulation::EmulatedSpec wanted = emulation::parse_emulated_spec(spec);
    auto model = std::make_unique<emulation::NvmeController>(wanted.config);
    wanted.apply(model->faults());
    return keep(std::move(model), opened.emulated);
  }
  if (is_spec_of(spec, "vfio")) {
    opened.kind = NvmeKind::vfio;
    return keep(std::make_unique<VfioNvme>(parse_vfio_spec(spec)), opened.vfio);
  }
  if (spec.compare(0, 5, "/dev/") == 0) {
    opened.kind = NvmeKind::kernel_shared;
    opened.guard = std::make_unique<BusErrorGuard>();
    auto transport = keep(std::make_unique<KernelSharedNvme>(parse_kernel_shared_spec(spec)), opened.kernel_shared);
    if (const auto& one = opened.kernel_shared->one_namespace()) opened.nsid = one->nsid;
    return transport;
  }
  throw Error("'" + spec + "' describes no NVMe controller; " + nvme_spec_forms + " are accepted");
}

inline OpenedNvme open_nvme(const std::string& spec, ControllerOptions options, std::shared_ptr<DmaArena>& memory) {
  OpenedNvme opened;
  opened.spec = spec;
  std::unique_ptr<NvmeTransport> transport = open_transport(opened, memory);
  if (options.all_command_sets)
    options.all_command_sets = (nvme::Cap{transport->read64(nvme::reg::cap)}.css() >> 6 & 1) != 0;
  opened.controller = std::make_unique<NvmeController>(std::move(transport), options);
  return opened;
}

}  // namespace detail

/// Opens the controller that `spec` describes: QEMU's (parse_qemu_spec()), the model in this process
/// (emulation::parse_emulated_spec()), a drive bound to vfio-pci (parse_vfio_spec()), or one of the kernel's driver,
/// by its node or that of a namespace (parse_kernel_shared_spec()). The last installs a BusErrorGuard.
///
/// Throws Error for a description that is not accepted and for a controller that does not start, and Unavailable if
/// what it needs is not installed.
/// @param options  `all_command_sets` has no effect on a controller that offers only one (CAP.CSS bit 6)
///
/// @snippet host.cpp open_nvme
inline OpenedNvme open_nvme(const std::string& spec, const ControllerOptions& options = {}) {
  std::shared_ptr<DmaArena> memory;
  return detail::open_nvme(spec, options, memory);
}

/// Opens a controller for each of `specs`, in their order, for a drive set: QEMU's controllers get one memory, of the
/// size that the first of them asks for (`dma`). For make_drive_set(). Throws what open_nvme() throws.
///
/// @snippet drive_set.cpp open_nvme_drives
inline std::vector<OpenedNvme> open_nvme_drives(const std::vector<std::string>& specs,
                                                const ControllerOptions& options = {}) {
  std::vector<OpenedNvme> opened;
  std::shared_ptr<DmaArena> memory;
  for (const std::string& spec : specs) opened.push_back(detail::open_nvme(spec, options, memory));
  return opened;
}

/// @}
}  // namespace host

XIO_NAMESPACE_END
