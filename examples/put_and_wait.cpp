// SPDX-License-Identifier: MIT

/// @file
/// @brief Writes to a peer's memory from a kernel, once per NIC vendor. The NICs are emulated: no hardware is needed.
///
/// Usage: put_and_wait [bytes for each thread]

#include "kernels/put_and_wait.hpp"

#include <xio/host/simt/simt.hpp>

#include "common.hpp"
#include "peers.hpp"

namespace {

template <class Kit>
bool put_with(uint32_t bytes) {
  const xio::simt::Grid grid = xio::simt::Grid::of_waves(/*blocks*/ 2, /*waves*/ 1, /*wave_size*/ 32);
  const uint32_t threads = grid.blocks * grid.threads_per_block;
  example::Peers<Kit> peers(size_t{64} * 1024);
  for (size_t i = 0; i < peers.near.size(); ++i) peers.near[i] = static_cast<unsigned char>(i * 7);
  std::vector<xio::Status> results(threads);

  xio::simt::launch(grid, put_and_wait<typename Kit::Vendor>, peers.queue.handle(), peers.remote(), peers.local(),
                    bytes, results.data());

  uint32_t good = 0;
  for (const xio::Status status : results) good += status.is_ok() ? 1 : 0;
  const bool same = peers.near == peers.far;
  std::printf("%-6s %u of %u writes, %s\n", Kit::Vendor::name, good, threads,
              same ? "all arrived" : "something is missing");
  return good == threads && same;
}

}  // namespace

int main(int argc, char** argv) {
  return example::run([&] {
    const auto bytes = static_cast<uint32_t>(std::stoul(example::argument(argc, argv, 1, "1024")));
    return xio::emulation::all_kits([&](auto kit) { return put_with<decltype(kit)>(bytes); });
  });
}
