// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Names a scenario's kernel: a symbol in a GPU's program, or a function that the CPU executor finds. OF: for
/// blocks of at most so many threads.

#if defined(__HIP__) || defined(__CUDACC__)

#if defined(__HIP__)
#define SCENARIO_BOUND(threads) __attribute__((amdgpu_flat_work_group_size(1, threads)))
#else
#define SCENARIO_BOUND(threads)
#endif

#if __has_include(<scenarios/chosen.hpp>)
// A part of them, for defects.py: with defects in it, a kernel takes much longer to compile, and more registers.
#include <scenarios/chosen.hpp>
#define SCENARIO_ANY SCENARIO_BOUND(256)
#define SCENARIO_BODY(name, ...) \
  static_cast<void>(job);        \
  if constexpr (scenarios::is_chosen(#name)) scenarios::__VA_ARGS__(job);
#else
#define SCENARIO_ANY
#define SCENARIO_BODY(name, ...) scenarios::__VA_ARGS__(job);
#endif

#define SCENARIO(Job, name, ...) \
  extern "C" __global__ SCENARIO_ANY void name(Job job) { SCENARIO_BODY(name, __VA_ARGS__) }
#define SCENARIO_OF(threads, Job, name, ...) \
  extern "C" __global__ SCENARIO_BOUND(threads) void name(Job job) { SCENARIO_BODY(name, __VA_ARGS__) }

#else

#include <map>
#include <string>

namespace scenarios {

/// Kernels of this program, by name.
template <class Job>
std::map<std::string, void (*)(const Job&)>& kernels() {
  static std::map<std::string, void (*)(const Job&)> all;
  return all;
}

/// Adds a kernel before main() begins.
template <class Job>
struct Named {
  Named(const char* name, void (*kernel)(const Job&)) { kernels<Job>()[name] = kernel; }
};

}  // namespace scenarios

#define SCENARIO_OF(threads, Job, name, ...) SCENARIO(Job, name, __VA_ARGS__)
#define SCENARIO(Job, name, ...) static const scenarios::Named<Job> named_##name(#name, scenarios::__VA_ARGS__);

#endif
