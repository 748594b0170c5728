// SPDX-License-Identifier: MIT
#include "tester/launch/launcher.hpp"

#include <cstdlib>
#include <limits>

#include <xio/host/text.hpp>

#include "tester/cli/errors.hpp"

namespace tester {

namespace {

struct Variables {
  const char* launcher;
  const char* rank;
  const char* size;
};

constexpr Variables known_launchers[] = {{"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                         {"PMI", "PMI_RANK", "PMI_SIZE"},
                                         {"Slurm", "SLURM_PROCID", "SLURM_NTASKS"}};

uint32_t number_of(const char* name, const char* text) {
  const auto value = xio::host::parse_number(text);
  if (!value || *value > std::numeric_limits<uint32_t>::max())
    throw BadInput(std::string("the environment's ") + name + " is '" + text + "'; a launcher sets an integer");
  return static_cast<uint32_t>(*value);
}

}  // namespace

std::optional<Launcher> find_launcher(const Environment& environment) {
  for (const Variables& variables : known_launchers) {
    const char* const rank = environment(variables.rank);
    const char* const size = environment(variables.size);
    // A job's batch script has only the size.
    if (rank == nullptr || size == nullptr) continue;
    Launcher found{variables.launcher, number_of(variables.rank, rank), number_of(variables.size, size)};
    if (found.rank >= found.size)
      throw BadInput(std::string("the environment's ") + variables.rank + " is " + rank + " and " + variables.size +
                     " is " + size + "; ranks are below the size");
    return found;
  }
  return std::nullopt;
}

std::optional<Launcher> find_launcher() {
  return find_launcher([](const char* name) { return std::getenv(name); });
}

}  // namespace tester
