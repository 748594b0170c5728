// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Rank of this process if mpirun, mpiexec or srun started it, from the environment; no MPI library is needed.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace tester {

struct Launcher {
  std::string name;   ///< "Open MPI", "PMI" (MPICH and derivatives), "Slurm"
  uint32_t rank = 0;  ///< rank of this process, from 0
  uint32_t size = 1;  ///< number of processes
};

/// Reads an environment variable; null if it is not set.
using Environment = std::function<const char*(const char* name)>;

/// The launcher according to the environment; of nested launchers the inner one, such as mpirun in a Slurm job. Empty
/// if there is none. Throws BadInput if variables contradict each other or are not numbers.
std::optional<Launcher> find_launcher(const Environment& environment);

/// The launcher of this process.
std::optional<Launcher> find_launcher();

}  // namespace tester
