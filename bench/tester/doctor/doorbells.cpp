// SPDX-License-Identifier: MIT
#include "tester/doctor/doorbells.hpp"

#include <xio/host/nvme/idle_probe.hpp>

#include "tester/doctor/checks.hpp"

namespace tester::doctor {

namespace {

using xio::host::DoorbellPath;

DoorbellView untried(const std::string& executor, const std::string& why_not) {
  return {executor,
          {{"would be tried", name_of(DoorbellPath::host_register), "hipHostRegister or cudaHostRegister; " + why_not},
           {"would be tried", name_of(DoorbellPath::lock_to_pool), "AMD GPUs; " + why_not},
           {"is left", name_of(DoorbellPath::proxy), "a thread of the host forwards doorbells from host memory"}},
          "xio-tester doctor --probe vfio:BDF tries it, on a drive that vfio-pci has; the kernel resets it"};
}

}  // namespace

xio::host::FoundGpu gpu_for_doorbells(const Machine& machine) {
  const ModeReport report = check_gpu(machine);
  if (report.works()) return xio::host::find_gpu();
  const std::vector<Obstacle>& why = report.obstacles.empty() ? report.devices.front().obstacles : report.obstacles;
  return {nullptr, why.front().what};
}

DoorbellView view_doorbells(const xio::host::FoundGpu& gpu, xio::host::VfioNvme* controller) {
  if (!gpu.runtime) {
    DoorbellView view = untried("no GPU", "not now: " + gpu.why_none);
    view.hint = "without a GPU kernels run on the CPU, with its own mapping of the registers";
    return view;
  }
  if (controller == nullptr) return untried(gpu.runtime->description(), "no register to try it on was named");
  xio::host::IdleControllerProbe probe(*controller);
  xio::host::DoorbellMapping::Words words;
  words.count = (controller->registers().size() - words.offset) / sizeof(uint32_t);
  const xio::host::DoorbellMapping mapping(gpu.runtime, controller->registers(), words, &probe);
  DoorbellView view{mapping.report().executor, {}, {}};
  for (const xio::host::DoorbellReport::Attempt& one : mapping.report().attempts)
    view.ways.push_back({one.chosen ? "used" : "refused", name_of(one.path), one.outcome});
  return view;
}

}  // namespace tester::doctor
