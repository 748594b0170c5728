// SPDX-License-Identifier: MIT

/// @file
/// @brief Kernels that are loaded and launched at run time: what is asked of the runtimes, and what their refusals say.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <xio/host/gpu/module.hpp>

#include "catch.hpp"
#include "unit/fake_gpu/support.hpp"

using namespace xio::host;
using host_tests::contains;
using host_tests::error_of;

namespace {

constexpr char image[] = "a program";

/// A bundle as clang-offload-bundler makes it, with the targets' names as code objects.
std::string bundle(const std::vector<std::string>& targets) {
  const auto number = [](uint64_t value) { return std::string(reinterpret_cast<const char*>(&value), sizeof value); };
  const auto head = [&](uint64_t offset) {
    std::string out = "__CLANG_OFFLOAD_BUNDLE__" + number(targets.size() + 1);
    out += number(0) + number(0) + number(29) + "host-x86_64-unknown-linux-gnu";
    for (const std::string& target : targets) {
      const std::string name = "hipv4-amdgcn-amd-amdhsa--" + target;
      out += number(offset) + number(target.size() + 1) + number(name.size()) + name;
      offset += target.size() + 1;
    }
    return out;
  };
  std::string out = head(head(0).size());
  for (const std::string& target : targets) out += target + '\0';
  return out;
}

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
    const GpuModule module(gpu, image, sizeof image);
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
    const GpuModule module(gpu, image, sizeof image);
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
    const std::string error = error_of([&] { GpuModule module(gpu, image, sizeof image); });
    CHECK(contains(error, "this program has no kernels for " + gpu->description()));
    CHECK(contains(error, gpu->target()));
  });
  const fake_gpu::Machine machine;
  CHECK(machine.hip()->target() == "gfx942");
  CHECK(machine.cuda()->target() == "sm_90");
  machine->module_error = 222;
  const auto cuda = machine.cuda();
  CHECK(contains(error_of([&] { GpuModule module(cuda, image, sizeof image); }), "install a newer driver"));
  machine->module_error = 218;
  machine->jit_log = "line 3: unknown directive";
  CHECK(error_of([&] { GpuModule module(cuda, image, sizeof image); }) ==
        "cuModuleLoadDataEx (line 3: unknown directive): some driver error");
}

TEST_CASE("kernels that are linked with bitcode of another ABI are refused", "[gpu]") {
  on_both([](const fake_gpu::Machine&, const std::shared_ptr<GpuRuntime>& gpu) {
    const auto error = [&](const std::string& text) {
      return error_of([&] { const GpuModule module(gpu, text.c_str(), text.size() + 1); });
    };
    const std::string own = std::to_string(XIO_ABI_NUMBER);
    CHECK(error("an image with xio_device_abi_" + own) == "");
    CHECK(error("xio_device_abi_" + own + std::string(1, 0) + "xio_device_abi_" + own + ";") == "");
    CHECK(error("an image with xio_device_abi_") == "");
    const std::string refusal =
        "these kernels are linked with bitcode of xio's ABI " + own + "1, and this program has ABI " + own;
    CHECK(contains(error("an image with xio_device_abi_" + own + "1"), refusal));
    CHECK(contains(error(".global xio_device_abi_" + own + "; .global xio_device_abi_" + own + "1;"), refusal));
  });
}

TEST_CASE("of a bundle, a GPU gets the code for its own target, or else for its generic one", "[gpu]") {
  const fake_gpu::Machine machine;
  const auto chosen = [&](const char* target, const std::vector<std::string>& entries) {
    machine->target = target;
    const std::string all = bundle(entries);
    machine->last_image = nullptr;
    const GpuModule module(machine.hip(), all.data(), all.size());
    const auto* const loaded = static_cast<const char*>(machine->last_image);
    return loaded == all.data() ? std::string("all") : std::string(loaded);
  };
  const std::vector<std::string> entries = {"gfx11-generic", "gfx1100", "gfx1201", "gfx12-generic", "gfx9-4-generic"};
  CHECK(chosen("gfx1100", entries) == "gfx1100");
  CHECK(chosen("gfx1201", entries) == "gfx1201");
  for (const char* target : {"gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"})
    CHECK(chosen(target, entries) == "gfx11-generic");
  CHECK(chosen("gfx1200", entries) == "gfx12-generic");
  CHECK(chosen("gfx942", entries) == "gfx9-4-generic");
  CHECK(chosen("gfx950", entries) == "gfx9-4-generic");
  // What it does not find, and what depends on features, is left to the runtime.
  CHECK(chosen("gfx90a", entries) == "all");
  CHECK(chosen("gfx1030", entries) == "all");
  CHECK(chosen("gfx110", entries) == "all");
  CHECK(chosen("gfx942", {"gfx9-4-generic", "gfx942:xnack+"}) == "all");
  machine->target = "gfx1102";
  machine->module_error = 209;
  const auto gpu = machine.hip();
  const std::string all = bundle(entries);
  CHECK(contains(error_of([&] { GpuModule module(gpu, all.data(), all.size()); }),
                 "gfx11-generic, which needs ROCm 6.3 or newer"));
}

TEST_CASE("a bundle that is cut short, or names bytes beyond its end, is refused", "[gpu]") {
  const fake_gpu::Machine machine;
  machine->target = "gfx942";
  const auto gpu = machine.hip();
  const std::string all = bundle({"gfx1100", "gfx942"});
  const auto error = [&](const std::string& text) {
    // Of exactly its size, so that a sanitizer sees what is read behind the end.
    const std::vector<char> bytes(text.begin(), text.end());
    return error_of([&] { GpuModule module(gpu, bytes.data(), bytes.size()); });
  };
  CHECK(error(all).empty());
  for (size_t bytes = 24; bytes < all.size(); ++bytes) {
    INFO(bytes);
    CHECK(contains(error(all.substr(0, bytes)), "the bundle of code objects is cut short"));
  }
  // The count, and of the first entry the offset, the size and the length of the name.
  for (size_t at = 24; at < 56; at += 8) {
    INFO(at);
    std::string damaged = all;
    damaged.replace(at, 8, 8, '\xff');
    CHECK(contains(error(damaged), "the bundle of code objects is cut short"));
  }
  CHECK(contains(error_of([&] { GpuModule module(machine.cuda(), ".version 8.0", 12); }), "add a null"));
  CHECK(error_of([&] { GpuModule module(machine.cuda(), ".version 8.0", 13); }).empty());
}

TEST_CASE("a missing kernel and a failed launch are errors with their names", "[gpu]") {
  on_both([](const fake_gpu::Machine& machine, const std::shared_ptr<GpuRuntime>& gpu) {
    const GpuModule module(gpu, image, sizeof image);
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
