// SPDX-License-Identifier: MIT

/// @file
/// @brief generic BUNDLE NUMBER: loads a bundle of generic.hip on the GPU of this machine, and checks which of its code
/// objects runs.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

#include <xio/host/gpu/find.hpp>
#include <xio/host/gpu/module.hpp>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    std::ifstream file(argv[1], std::ios::binary);
    const std::vector<char> image{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    const xio::host::FoundGpu found = xio::host::find_gpu(0);
    if (!found.runtime || image.empty()) throw xio::host::Error("no GPU, or no bundle: " + found.why_none);
    const auto memory = found.runtime->allocate(xio::host::MemoryKind::host_coherent, 4096);
    auto* const number = static_cast<uint32_t*>(memory.cpu);
    {
      const xio::host::GpuModule module(found.runtime, image.data(), image.size());
      xio::host::GpuWork work(found.runtime);
      module.kernel<uint32_t*>("tell_target")
          .launch(work, xio::host::GpuGrid{1, found.runtime->wave_size(), 0}, static_cast<uint32_t*>(memory.gpu));
      if (!work.wait(std::chrono::seconds(60))) throw xio::host::Error("the kernel does not end");
    }
    std::printf("%s runs code for %u\n", found.runtime->target().c_str(), *number);
    const bool right = *number == std::strtoul(argv[2], nullptr, 10);
    found.runtime->release(xio::host::MemoryKind::host_coherent, memory);
    return right ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
