// SPDX-License-Identifier: MIT
#include "tester/nvme/target.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "tester/cli/errors.hpp"

namespace tester {

namespace {

using xio::host::NvmeKind;

// PCI identifiers of QEMU's controller in any machine.
constexpr uint32_t red_hat = 0x1b36;
constexpr uint32_t qemu_nvme = 0x0010;

xio::host::ControllerOptions options_for(uint32_t answer_ms) {
  xio::host::ControllerOptions options;
  options.admin_deadline = std::chrono::milliseconds(std::clamp(answer_ms, 100u, 30000u));
  return options;
}

}  // namespace

Target open_target(const std::string& spec, uint32_t answer_ms, bool all_command_sets) {
  xio::host::ControllerOptions options = options_for(answer_ms);
  options.all_command_sets = all_command_sets;
  return {xio::host::open_nvme(spec, options)};
}

Target open_remote(const std::string& spec, uint32_t answer_ms) {
  Target target;
  target.spec = spec;
  target.remote = std::make_unique<RemoteController>(spec, answer_ms);
  return target;
}

Targets open_targets(const std::vector<std::string>& specs, uint32_t answer_ms) {
  Targets targets;
  for (xio::host::OpenedNvme& one : xio::host::open_nvme_drives(specs, options_for(answer_ms)))
    targets.push_back({std::move(one)});
  return targets;
}

std::vector<const Target*> addresses_of(const Targets& targets) {
  std::vector<const Target*> addresses;
  for (const Target& one : targets) addresses.push_back(&one);
  return addresses;
}

std::string heading_of(const std::vector<const Target*>& targets) {
  std::string all;
  for (const Target* const one : targets)
    if (const std::string what = one->heading(); all.find(what) == std::string::npos)
      all += (all.empty() ? "" : ", ") + what;
  return all;
}

SeenDoorbells seen_doorbells(const std::vector<const Target*>& targets) {
  SeenDoorbells sum;
  bool all = true;
  for (const Target* const one : targets) {
    const SeenDoorbells seen = one->seen_doorbells();
    sum.sq += seen.sq;
    sum.cq += seen.cq;
    all = all && !seen.source.empty();
    if (sum.source.find(seen.source) == std::string::npos)
      sum.source += (sum.source.empty() ? "" : ", and ") + seen.source;
  }
  if (!all) sum.source.clear();
  return sum;
}

std::string Target::heading() const {
  if (remote) return "NVMe over RDMA, by soft-RoCE";
  if (kind == NvmeKind::emulated) return "in-process model, not a drive";
  const xio::host::PciFunction* const function = pci();
  if (function == nullptr || (function->vendor() == red_hat && function->device() == qemu_nvme))
    return "QEMU, not an SSD";
  return "drive " + function->address();
}

void Target::check_writable(uint32_t wanted) const {
  const std::string why =
      remote ? xio::host::detail::why_write_protected(remote->identify_namespace(namespace_or(wanted)), spec)
             : why_read_only(wanted);
  if (!why.empty()) throw BadInput(why);
}

SeenDoorbells Target::seen_doorbells() const {
  SeenDoorbells seen;
  if (emulated != nullptr) {
    const xio::emulation::NvmeStatistics statistics = emulated->statistics();
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
