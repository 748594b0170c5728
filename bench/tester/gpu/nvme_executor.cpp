// SPDX-License-Identifier: MIT
#include "tester/gpu/nvme_executor.hpp"

#include <chrono>
#include <string>

#include "tester/errors.hpp"
#include "tester/gpu/images.hpp"
#include "tester/gpu/wait.hpp"

namespace tester {

GpuNvmeExecutor::GpuNvmeExecutor(std::shared_ptr<xio::host::GpuRuntime> gpu)
    : gpu_(std::move(gpu)), module_(load_image(gpu_)) {}

void GpuNvmeExecutor::run(const NvmePlan& plan, const Phase& phase, uint32_t queues, const NvmeOptions& options,
                          const std::function<uint64_t()>& done, const std::function<void()>& ask) {
  const char* const sharing = plan.sharing == xio::Sharing::thread ? "thread"
                              : plan.sharing == xio::Sharing::wave ? "wave"
                                                                   : "grid";
  const char* const kind = options.substep_timing                     ? "_steps"
                           : options.doorbell == DoorbellKind::shadow ? "_shadow"
                                                                      : "_mmio";
  const std::string name = std::string("nvme_") + sharing + kind;
  const auto kernel = module_->kernel<Phase>(name);
  const uint32_t fitting = kernel.resident_blocks(plan.lanes_per_queue);
  // Queues do not wait for each other, but they are to be measured together.
  if (queues > fitting)
    throw BadInput("--num-queues " + std::to_string(queues) + " of " + std::to_string(plan.waves) +
                   " waves do not run on this GPU at the same time; " + std::to_string(fitting) + " do");
  xio::host::GpuWork work(gpu_);
  kernel.launch(work, xio::host::GpuGrid{queues, plan.lanes_per_queue, 0}, phase);
  wait_for(work, std::chrono::milliseconds(options.deadline_ms), done, ask);
}

}  // namespace tester
