// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Which process of several this one is, where mpirun, mpiexec or srun started it. They say so in the
/// environment; no library of theirs is needed.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace tester {

struct Launcher {
  std::string name;   ///< "Open MPI", "PMI" (MPICH and its kin), "Slurm"
  uint32_t rank = 0;  ///< of this process, from 0
  uint32_t size = 1;  ///< processes
};

/// A variable of the environment; null where there is none.
using Environment = std::function<const char*(const char* name)>;

/// What the environment says; of several launchers the inner one: mpirun works inside of Slurm's jobs. Empty where none
/// has started this process. Throws BadInput where variables contradict each other or are no numbers.
std::optional<Launcher> find_launcher(const Environment& environment);

/// Of this process.
std::optional<Launcher> find_launcher();

}  // namespace tester
