// SPDX-License-Identifier: MIT
#include "tester/launch/gpu/executor.hpp"

namespace tester {

GpuExecutor::GpuExecutor(std::shared_ptr<xio::host::GpuRuntime> gpu, KernelImage image)
    : gpu_(std::move(gpu)), module_(load_image(gpu_, image)) {}

bool lanes_fit(uint32_t gpu_wave_size, uint32_t waves, uint32_t wave_size) {
  if (waves == 1 && wave_size == 1) return true;
  return wave_size == gpu_wave_size;
}

void check_lanes(uint32_t gpu_wave_size, uint32_t waves, uint32_t wave_size) {
  if (lanes_fit(gpu_wave_size, waves, wave_size)) return;
  throw BadInput("--wave-size " + std::to_string(wave_size) + " is not that of this GPU, which is " +
                 std::to_string(gpu_wave_size) + "; give that, or 1 for one lane of one wave");
}

}  // namespace tester
