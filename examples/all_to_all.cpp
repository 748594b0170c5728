// SPDX-License-Identifier: MIT

/// @file
/// @brief Four ranks, each with its own NIC, exchange blocks from kernels, once per NIC vendor. The NICs are emulated
/// in this process.
///
/// Usage: all_to_all [bytes of a block]

#include "kernels/all_to_all.hpp"

#include <xio/host/simt/simt.hpp>

#include "common.hpp"
#include "mesh.hpp"

namespace {

constexpr uint32_t ranks = 4;

template <class Kit>
bool exchange_with(uint32_t bytes) {
  example::Mesh<Kit> mesh(ranks, bytes);
  std::vector<xio::Status> results(ranks * ranks);
  xio::simt::launch(xio::simt::Grid::of_waves(/*blocks*/ ranks, /*waves*/ 1, /*wave_size*/ 8), [&] {
    const uint32_t me = xio::arch::block_index();
    all_to_all<typename Kit::Vendor>(mesh.row(me), ranks, me, mesh.send(me), mesh.ones(me), mesh.signals(me), bytes,
                                     &results[me * ranks]);
  });
  uint32_t good = 0;
  for (const xio::Status status : results) good += status.is_ok() ? 1 : 0;
  const uint32_t right = mesh.right_blocks();
  std::printf("%-6s %u of %u transfers, %u blocks right\n", Kit::Vendor::name, good, ranks * ranks, right);
  return good == ranks * ranks && right == ranks * ranks;
}

}  // namespace

int main(int argc, char** argv) {
  return example::run([&] {
    const auto bytes = static_cast<uint32_t>(std::stoul(example::argument(argc, argv, 1, "4096")));
    return xio::emulation::all_kits([&](auto kit) { return exchange_with<decltype(kit)>(bytes); });
  });
}
