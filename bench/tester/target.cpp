// SPDX-License-Identifier: MIT
#include "tester/target.hpp"

#include <algorithm>
#include <utility>

#include <xio/host/emulation/nvme/emulated_spec.hpp>
#include <xio/host/nvme/qemu_options.hpp>

#include "tester/errors.hpp"

namespace tester {

namespace {

bool begins_with(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

/// Whether `spec` is `kind` or `kind:...`.
bool is_kind(const std::string& spec, const std::string& kind) { return spec == kind || begins_with(spec, kind + ":"); }

}  // namespace

Target open_target(const std::string& spec, uint32_t answer_ms) {
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
  } else if (begins_with(spec, "/dev/") || is_kind(spec, "vfio")) {
    throw CannotRun("--controller " + spec +
                    ": drives of this machine are not offered by this build; qemu[:key=value,...] and "
                    "emulated[:key=value,...] are");
  } else {
    throw BadInput("--controller " + spec + " is not accepted; qemu[:key=value,...] and emulated[:key=value,...] are");
  }
  xio::host::ControllerOptions options;
  options.admin_deadline = std::chrono::milliseconds(std::clamp(answer_ms, 100u, 30000u));
  target.controller = std::make_unique<xio::host::NvmeController>(std::move(transport), options);
  return target;
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
