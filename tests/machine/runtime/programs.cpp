// SPDX-License-Identifier: MIT
#include <machine/runtime/programs.hpp>

#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace played {

namespace {

struct Program {
  const void* image;
  Module* module = nullptr;
};

struct KernelEntry {
  Program* program;
  std::string name;
};

struct Configuration {
  Dim3 grid;
  Dim3 block;
  size_t shared;
  void* stream;
};

/// Filled before main() and never destroyed: requests may arrive as late as static destruction.
struct Kernels {
  std::mutex mutex;
  std::map<const void*, KernelEntry> entries;

  static Kernels& get() {
    static auto* const all = new Kernels;
    return *all;
  }
};

thread_local std::vector<Configuration> configurations;
thread_local int last_error = success;

}  // namespace

void** add_program(const void* image) { return reinterpret_cast<void**>(new Program{image}); }

void add_kernel(void** program, const void* host, const char* name) {
  const std::lock_guard<std::mutex> lock(Kernels::get().mutex);
  Kernels::get().entries[host] = {reinterpret_cast<Program*>(program), name};
}

int find_kernel(const void* host, Kernel** kernel) {
  Kernels& all = Kernels::get();
  const std::lock_guard<std::mutex> lock(all.mutex);
  const auto found = all.entries.find(host);
  if (found == all.entries.end()) return not_found;
  Program& program = *found->second.program;
  if (program.module == nullptr) {
    const int error = Device::get().load(&program.module, program.image);
    if (error != success) return error;
  }
  *kernel = program.module->find(found->second.name);
  return *kernel != nullptr ? success : not_found;
}

void push_configuration(Dim3 grid, Dim3 block, size_t shared, void* stream) {
  configurations.push_back({grid, block, shared, stream});
}

int pop_configuration(Dim3* grid, Dim3* block, size_t* shared, void** stream) {
  if (configurations.empty()) return invalid_value;
  const Configuration& last = configurations.back();
  *grid = last.grid;
  *block = last.block;
  *shared = last.shared;
  *stream = last.stream;
  configurations.pop_back();
  return success;
}

int launch(Kernel* kernel, Dim3 grid, Dim3 block, void** arguments, size_t shared, void* stream) {
  machine::Launch launch;
  launch.grid = {grid.x, grid.y, grid.z};
  launch.block = {block.x, block.y, block.z};
  launch.dynamic_shared_bytes = static_cast<uint32_t>(shared);
  return Device::get().launch(kernel, launch, arguments, static_cast<Stream*>(stream));
}

int noted(int error) {
  if (error != success) last_error = error;
  return error;
}

int take_error() {
  const int error = last_error;
  last_error = success;
  return error;
}

}  // namespace played
