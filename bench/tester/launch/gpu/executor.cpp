// SPDX-License-Identifier: MIT
#include "tester/launch/gpu/executor.hpp"

namespace tester {

namespace {

constexpr uint32_t most_lanes = 1024;  // lanes of a block on every GPU

}  // namespace

GpuExecutor::GpuExecutor(std::shared_ptr<xio::host::GpuRuntime> gpu, KernelImage image)
    : gpu_(std::move(gpu)), module_(load_image(gpu_, image)) {}

bool lanes_fit(uint32_t gpu_wave_size, uint32_t waves, uint32_t wave_size) {
  if (waves == 1 && wave_size == 1) return true;
  return wave_size == gpu_wave_size && waves * wave_size <= most_lanes;
}

void check_lanes(uint32_t gpu_wave_size, uint32_t waves, uint32_t wave_size) {
  if (lanes_fit(gpu_wave_size, waves, wave_size)) return;
  const std::string size = std::to_string(wave_size);
  if (wave_size != gpu_wave_size)
    throw BadInput("--wave-size " + size + " is not that of this GPU, which is " + std::to_string(gpu_wave_size) +
                   "; give that, or 1 for one lane of one wave");
  throw BadInput("--waves " + std::to_string(waves) + " of " + size +
                 " lanes are more than a block of a GPU has; at most " + std::to_string(most_lanes / wave_size) +
                 " are accepted");
}

}  // namespace tester
