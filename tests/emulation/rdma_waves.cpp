// SPDX-License-Identifier: MIT

/// @file
/// @brief Many waves on one queue pair, whose completions come late and for several operations at once.

#include <xio/host/simt.hpp>

#include "emulation/rdma_protocol.hpp"

using namespace rdma_tests;

namespace {

constexpr uint32_t piece = 64;
constexpr uint32_t waves = 4;
constexpr uint32_t rounds = 12;

/// Each lane posts unsignalled writes, then asks for quiet: its own must be on the other side.
template <class Kit, class Policy, class Quiet>
void post_and_quiet(uint32_t wave_size, uint32_t depth, uint32_t delay, Quiet quiet) {
  CAPTURE(wave_size, depth, delay);
  RdmaRig<Kit> rig;
  rig.near.limit_depth(depth);
  rig.near.model().faults().delay(delay);
  rig.running();
  const auto handle = rig.near.handle();
  const auto kernel = [&] {
    QueuePair<typename Kit::Vendor, Sharing::grid, Policy> qp(handle);
    const uint32_t me = xio::arch::block_index() * wave_size + xio::arch::lane();
    const uint64_t at = uint64_t{me} * piece;
    xio::rdma::Work work;
    work.remote = rig.remote.base + at;
    work.rkey = rig.remote.rkey;
    for (uint32_t round = 0; round < rounds; ++round) {
      auto* const mine = &rig.near_bytes[at];
      for (uint32_t i = 0; i < piece; ++i) mine[i] = static_cast<unsigned char>(mix(me * 100 + round, i));
      const Token token = qp.submit(work, xio::rdma::OneSge{{rig.local.base + at, piece, rig.local.lkey}}, soon());
      EXPECT_OK(token.status);
      EXPECT_OK(quiet(qp));
      EXPECT(std::memcmp(mine, &rig.far_bytes[at], piece) == 0);
    }
  };
  CHECK_NOTHROW(xio::simt::launch(Grid::of_waves(waves, 1, wave_size), kernel));
  rig.nic.stop();
  CHECK(rig.violations() == "");
}

}  // namespace

TEMPLATE_LIST_TEST_CASE("H4 quiet and fence: the caller's own operations have ended, however late completions are", "",
                        Vendors) {
  const auto quiet = [](auto& qp) { return qp.quiet(soon()); };
  const auto fence = [](auto& qp) { return qp.fence(soon()); };
  for (const uint32_t delay : {0u, 1u, 7u}) {
    post_and_quiet<TestType, Latency>(8, 60, delay, quiet);
    post_and_quiet<TestType, Throughput>(1, 9, delay, fence);
  }
  post_and_quiet<TestType, Throughput>(32, 40, 3, quiet);
}
