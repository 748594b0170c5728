// SPDX-License-Identifier: MIT
#include "tester/nvme/target.hpp"

#include <algorithm>
#include <utility>

#include <xio/host/emulation/nvme/emulated_spec.hpp>
#include <xio/host/nvme/kernel_shared.hpp>
#include <xio/host/nvme/qemu_options.hpp>
#include <xio/host/nvme/vfio.hpp>

#include "tester/cli/errors.hpp"

namespace tester {

namespace {

bool begins_with(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

// PCI identifiers of QEMU's controller in any machine.
constexpr uint32_t red_hat = 0x1b36;
constexpr uint32_t qemu_nvme = 0x0010;

std::string drive_heading(const xio::host::PciFunction& pci) {
  return pci.vendor() == red_hat && pci.device() == qemu_nvme ? "QEMU, not an SSD" : "drive " + pci.address();
}

/// Whether `spec` is `kind` or `kind:...`.
bool is_kind(const std::string& spec, const std::string& kind) { return spec == kind || begins_with(spec, kind + ":"); }

}  // namespace

Target open_target(const std::string& spec, uint32_t answer_ms, bool all_command_sets) {
  Target target;
  target.spec = spec;
  std::unique_ptr<xio::host::NvmeTransport> transport;
  if (is_kind(spec, "qemu")) {
    target.kind = "qemu";
    target.heading = "QEMU, not an SSD";
    auto qemu = std::make_unique<xio::host::QemuNvme>(xio::host::parse_qemu_spec(spec));
    target.qemu = qemu.get();
    transport = std::move(qemu);
  } else if (is_kind(spec, "emulated")) {
    target.kind = "emulated";
    target.heading = "in-process model, not a drive";
    const xio::emulation::EmulatedSpec wanted = xio::emulation::parse_emulated_spec(spec);
    auto model = std::make_unique<xio::emulation::NvmeController>(wanted.config);
    wanted.apply(model->faults());
    target.model = model.get();
    transport = std::move(model);
  } else if (is_kind(spec, "vfio")) {
    target.kind = "vfio";
    target.on_its_own = true;
    auto vfio = std::make_unique<xio::host::VfioNvme>(xio::host::parse_vfio_spec(spec));
    target.heading = drive_heading(vfio->pci());
    transport = std::move(vfio);
  } else if (begins_with(spec, "/dev/")) {
    target.kind = "kernel-shared";
    target.on_its_own = true;
    target.guard = std::make_unique<xio::host::BusErrorGuard>();
    auto shared = std::make_unique<xio::host::KernelSharedNvme>(xio::host::parse_kernel_shared_spec(spec));
    target.shared = shared.get();
    target.heading = drive_heading(shared->pci());
    if (const auto& one = shared->one_namespace()) target.nsid = one->nsid;
    target.why_read_only = shared->why_read_only();
    transport = std::move(shared);
  } else {
    throw BadInput("--controller " + spec + " is not accepted; " + controller_forms + " are");
  }
  xio::host::ControllerOptions options;
  options.admin_deadline = std::chrono::milliseconds(std::clamp(answer_ms, 100u, 30000u));
  options.all_command_sets =
      all_command_sets && (xio::nvme::Cap{transport->read64(xio::nvme::reg::cap)}.css() >> 6 & 1) != 0;
  target.controller = std::make_unique<xio::host::NvmeController>(std::move(transport), options);
  return target;
}

void Target::check_writable(uint32_t wanted) const {
  if (!why_read_only.empty()) throw BadInput("nothing may be written: " + why_read_only);
  if (nsid != 0 && wanted != nsid)
    throw BadInput("--namespace " + std::to_string(wanted) + " may not be written: --controller names namespace " +
                   std::to_string(nsid));
}

std::string Target::loss() const {
  if (const std::string change = controller->namespace_change(); !change.empty()) return change;
  if (qemu != nullptr)
    return qemu->process().running() ? "QEMU is gone: it no longer responds"
                                     : "QEMU is gone: " + qemu->process().summary();
  if (model != nullptr) return "the controller is gone";
  if (shared == nullptr || !shared->removed())
    return "the kernel requests the controller back or reported an error of it: see dmesg";
  return "the drive was removed from the bus; later doorbell stores had no effect: see dmesg";
}

SeenDoorbells Target::seen_doorbells() const {
  SeenDoorbells seen;
  if (model != nullptr) {
    const xio::emulation::NvmeStatistics statistics = model->statistics();
    seen.sq = statistics.total(&xio::emulation::QueueStatistics::sq_doorbells);
    seen.cq = statistics.total(&xio::emulation::QueueStatistics::cq_doorbells);
    seen.split = true;
    seen.source = "the model, which polls them";
  } else if (qemu != nullptr) {
    seen.sq = qemu->doorbell_statistics().words;
    seen.source = "the thread that forwards them to QEMU";
  }
  return seen;
}

}  // namespace tester
