// SPDX-License-Identifier: MIT

/// @file
/// @brief Kernels that are loaded and launched at run time: what is asked of the runtimes, and what their refusals say.

#include <chrono>
#include <cstdint>

#include <xio/host/gpu/module.hpp>

#include "catch.hpp"
#include "unit/fake_gpu/support.hpp"

using namespace xio::host;
using host_tests::contains;
using host_tests::error_of;

namespace {

constexpr char image[] = "a program";

/// Each test runs for both kinds of runtimes.
template <class Body>
void on_both(Body body) {
  {
    const fake_gpu::Machine machine;
    body(machine, machine.hip());
  }
  {
    const fake_gpu::Machine machine;
    body(machine, machine.cuda());
  }
}

}  // namespace

TEST_CASE("a kernel is launched with the bytes of its arguments", "[gpu]") {
  on_both([](const fake_gpu::Machine& machine, const std::shared_ptr<GpuRuntime>& gpu) {
    const GpuModule module(gpu, image);
    const auto kernel = module.kernel<uint64_t, uint32_t>("copy");
    GpuWork work(gpu);
    // Arguments become what the kernel takes: an int here is 8 bytes there.
    kernel.launch(work, GpuGrid{3, 96, 512}, 0x11, 5);
    CHECK(machine->last_blocks == 3);
    CHECK(machine->last_threads == 96);
    CHECK(machine->last_lds == 512);
    CHECK(machine->first_argument == 0x11);
    CHECK(work.wait(std::chrono::seconds(1)));
  });
}

TEST_CASE("an I/O kernel gets as many waves as run together, or none", "[gpu]") {
  on_both([](const fake_gpu::Machine& machine, const std::shared_ptr<GpuRuntime>& gpu) {
    machine->processors = 3;
    machine->blocks_of_each = 2;
    const GpuModule module(gpu, image);
    const auto kernel = module.kernel<uint64_t>("io");
    CHECK(kernel.resident_blocks(64) == 6);
    GpuWork work(gpu);
    kernel.launch(work, WaveBudget{12, 2}, 1);
    CHECK(machine->last_blocks == 6);
    CHECK(machine->last_threads == 2 * gpu->wave_size());
    machine->last_blocks = 0;
    CHECK(error_of([&] { kernel.launch(work, WaveBudget{14, 2}, 1); }) ==
          "io: of 14 waves, only 12 run at the same time on this GPU; lower the number of waves");
    CHECK(machine->last_blocks == 0);
  });
}

TEST_CASE("a program without kernels for this GPU says which one it is", "[gpu]") {
  on_both([](const fake_gpu::Machine& machine, const std::shared_ptr<GpuRuntime>& gpu) {
    machine->module_error = 209;
    const std::string error = error_of([&] { GpuModule module(gpu, image); });
    CHECK(contains(error, "this program has no kernels for " + gpu->description()));
    CHECK(contains(error, gpu->target()));
  });
  const fake_gpu::Machine machine;
  CHECK(machine.hip()->target() == "gfx942");
  CHECK(machine.cuda()->target() == "sm_90");
  machine->module_error = 222;
  const auto cuda = machine.cuda();
  CHECK(contains(error_of([&] { GpuModule module(cuda, image); }), "install a newer driver"));
  machine->module_error = 218;
  machine->jit_log = "line 3: unknown directive";
  CHECK(error_of([&] { GpuModule module(cuda, image); }) ==
        "cuModuleLoadDataEx (line 3: unknown directive): some driver error");
}

TEST_CASE("a missing kernel and a failed launch are errors with their names", "[gpu]") {
  on_both([](const fake_gpu::Machine& machine, const std::shared_ptr<GpuRuntime>& gpu) {
    const GpuModule module(gpu, image);
    machine->kernel_error = 500;
    CHECK(error_of([&] { (void)module.kernel<int>("absent"); }) == "this program has no kernel absent");
    machine->kernel_error = 0;
    const auto kernel = module.kernel<uint64_t>("there");
    GpuWork work(gpu);
    machine->launch_error = 701;
    CHECK(contains(error_of([&] { kernel.launch(work, GpuGrid{}, 1); }), "LaunchKernel: "));
    machine->launch_error = 0;
    kernel.launch(work, GpuGrid{}, 1);
    machine->query_error = 719;
    CHECK(contains(error_of([&] { work.wait(std::chrono::seconds(1)); }), "StreamQuery: "));
  });
}

TEST_CASE("a kernel that does not end is waited for until the limit, and given up", "[gpu]") {
  on_both([](const fake_gpu::Machine& machine, const std::shared_ptr<GpuRuntime>& gpu) {
    const int before = machine->alive;
    {
      GpuWork work(gpu);
      machine->query_error = 600;
      CHECK(!work.wait(std::chrono::milliseconds(20)));
      work.abandon();
    }
    CHECK(machine->alive == before + 1);  // what it held is lost
    machine->alive = before;
  });
}
