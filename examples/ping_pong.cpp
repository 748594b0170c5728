// SPDX-License-Identifier: MIT

/// @file
/// @brief Two queue pairs write to each other alternately, each from its own workgroup, once per NIC vendor. The NICs
/// are emulated: the times are not those of hardware.
///
/// Usage: ping_pong [rounds [damage]]

#include "kernels/ping_pong.hpp"

#include <chrono>
#include <xio/host/simt/simt.hpp>

#include "common.hpp"
#include "peers.hpp"

namespace {

template <class Kit>
bool play(uint64_t rounds, bool damage) {
  using Vendor = typename Kit::Vendor;
  example::Peers<Kit> peers(/*bytes*/ 4096);
  xio::rdma::RemoteMemory remote = peers.remote();
  if (damage) remote.rkey += 1;
  xio::Status results[2];
  const auto begin = std::chrono::steady_clock::now();
  xio::simt::launch(xio::simt::Grid::of_waves(/*blocks*/ 2, /*waves*/ 1, /*wave_size*/ 1), [&] {
    if (xio::arch::block_index() == 0) {
      ping_pong<Vendor>(peers.queue.handle(), remote, peers.local(), true, rounds, &results[0]);
    } else {
      ping_pong<Vendor>(peers.peer.handle(), peers.peer_remote(), peers.peer_local(), false, rounds, &results[1]);
    }
  });
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
  std::printf("%-6s %llu rounds, %.1f us each: %s, %s\n", Vendor::name, static_cast<unsigned long long>(rounds),
              took.count() / static_cast<double>(rounds), xio::name(results[0].code), xio::name(results[1].code));
  return results[0].is_ok() && results[1].is_ok();
}

}  // namespace

int main(int argc, char** argv) {
  return example::run([&] {
    const uint64_t rounds = std::stoull(example::argument(argc, argv, 1, "1000"));
    const bool damage = example::argument(argc, argv, 2, "") == "damage";
    return xio::emulation::all_kits([&](auto kit) { return play<decltype(kit)>(rounds, damage); });
  });
}
