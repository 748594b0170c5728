// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief A queue pair in one sharing mode, with waves of several sizes and patterns of active lanes: data is written
/// to the other side and read back.

#include "emulation/rdma_protocol.hpp"

namespace rdma_tests {

struct Exchange {
  std::vector<QueuePairHandle> queues;
  unsigned char* near = nullptr;
  Region local{};
  RemoteMemory remote{};
  uint64_t lanes = ~uint64_t{0};
  uint32_t rounds = 3;
};

constexpr uint32_t exchange_piece = 192;  // bytes

template <class Vendor, Sharing S, class Policy>
void exchange(const Exchange& job) {
  if (!(job.lanes >> xio::arch::lane() & 1)) return;
  const uint32_t me = xio::arch::block_index() * xio::arch::block_size() + xio::arch::thread_index();
  QueuePair<Vendor, S, Policy> qp(job.queues[S == Sharing::thread ? me : 0],
                                  S == Sharing::wave ? in_wave(job.lanes) : 0);
  unsigned char* const mine = job.near + me * 2 * exchange_piece;
  const uint64_t at = uint64_t{me} * 2 * exchange_piece;
  for (uint32_t round = 0; round < job.rounds; ++round) {
    for (uint32_t i = 0; i < exchange_piece; ++i) mine[i] = static_cast<unsigned char>(mix(me * 1000 + round, i));
    std::memset(mine + exchange_piece, 0, exchange_piece);
    const Token put = qp.put(job.remote.at(at, exchange_piece), job.local.at(at, exchange_piece), soon());
    EXPECT_OK(put.status);
    // Not before the put has completed: only reads of the same queue pair wait for earlier writes.
    const Token get =
        qp.get(job.local.at(at + exchange_piece, exchange_piece), job.remote.at(at, exchange_piece), soon());
    EXPECT_OK(qp.wait(get, soon()));
    EXPECT_OK(qp.wait(put, soon()));
    EXPECT(std::memcmp(mine, mine + exchange_piece, exchange_piece) == 0);
  }
  EXPECT_OK(qp.quiet(soon()));
}

template <class Kit, Sharing S, class Policy>
void exchange_in(uint32_t wave_size, uint32_t waves, uint64_t lanes, RdmaQueueConfig config = Kit::config(),
                 uint32_t depth = 0) {
  CAPTURE(wave_size, waves, lanes, depth);
  RdmaRig<Kit> rig(config);
  Exchange job;
  job.near = rig.near_bytes.data();
  job.local = rig.local;
  job.remote = rig.remote;
  job.lanes = lanes;
  if (depth != 0) rig.near.limit_depth(depth);
  std::vector<std::unique_ptr<RdmaQueuePair<Kit>>> others;
  if (S == Sharing::thread) {
    for (uint32_t i = 0; i < wave_size * waves; ++i) {
      RdmaQueueConfig own = config;
      own.qpn = 0x300 + i;
      if (own.handle != 0) own.handle = 0x1300 + i;
      others.push_back(std::make_unique<RdmaQueuePair<Kit>>(rig.fabric, own));
      others.back()->model().connect(rig.far.config().qpn);
      rig.nic.add(others.back()->model());
      job.queues.push_back(others.back()->handle());
    }
  } else {
    job.queues.push_back(rig.near.handle());
  }
  rig.running();
  const Grid grid = S == Sharing::block ? Grid{1, waves * wave_size, wave_size} : Grid::of_waves(waves, 1, wave_size);
  CHECK_NOTHROW(xio::simt::launch(grid, [&] { exchange<typename Kit::Vendor, S, Policy>(job); }));
  rig.nic.stop();
  REQUIRE(rig.violations() == "");
}

template <class Kit, Sharing S, class Policy>
void exchange_in_all_shapes(uint32_t waves) {
  exchange_in<Kit, S, Policy>(1, waves, 1);
  exchange_in<Kit, S, Policy>(8, waves, 0x5a);
  exchange_in<Kit, S, Policy>(64, waves, 0xffffffff00000000);
  exchange_in<Kit, S, Policy>(32, waves, ~uint64_t{0}, Kit::config(), 5);
}

}  // namespace rdma_tests
