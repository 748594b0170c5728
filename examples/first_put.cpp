// SPDX-License-Identifier: MIT

/// @file
/// @brief RDMA from start to end: two emulated NICs, memory that each may use, and a kernel that writes from one to the
/// other.
///
/// Usage: first_put [bytes for each thread]

#include <cstdio>
#include <cstdlib>
#include <vector>

#include <xio/host/emulation/rdma/nic.hpp>
#include <xio/host/launch.hpp>
#include <xio/rdma.hpp>

using namespace xio;
using Kit = emulation::Mlx5Kit<>;  // or another one of emulation::RdmaKits

XIO_KERNEL void put(rdma::QueuePairHandle handle, Region local, rdma::RemoteMemory remote, uint32_t bytes,
                    Status* status) {
  rdma::QueuePair<Kit::Vendor, Sharing::grid> qp(handle);
  const uint32_t thread = arch::block_index() * arch::block_size() + arch::thread_index();
  const uint64_t at = uint64_t{thread} * bytes;
  const Deadline until = qp.deadline(1_s);
  const Token token = qp.put(remote.at(at, bytes), local.at(at, bytes), until);
  status[thread] = qp.wait(token, until);
}

int main(int argc, char** argv) try {
  constexpr uint32_t threads = 64;
  const auto bytes = static_cast<uint32_t>(argc > 1 ? std::strtoul(argv[1], nullptr, 0) : 1024);
  const host::Executor executor = host::default_executor();
  if (executor.gpu()) throw host::Error("the emulated NICs have memory of the CPU alone: compile this with g++");

  // Two queue pairs that know each other's number: on real NICs their makers trade the numbers by host::Exchange.
  emulation::RdmaFabric fabric;
  emulation::RdmaNic nic;
  emulation::RdmaQueueConfig config = Kit::config();
  config.qpn = 1;
  emulation::RdmaQueuePair<Kit> near(fabric, config);
  config.qpn = 2;
  emulation::RdmaQueuePair<Kit> far(fabric, config);
  near.model().connect(2);
  far.model().connect(1);
  nic.add(near.model());
  nic.add(far.model());

  // Memory of either side, registered: a key for those who may use it.
  std::vector<unsigned char> source(64 * 1024), target(64 * 1024);
  for (size_t i = 0; i < source.size(); ++i) source[i] = static_cast<unsigned char>(i * 7);
  const uint32_t lkey = fabric.keys().add(source.data(), source.size());
  const uint32_t rkey = fabric.keys().add(target.data(), target.size());
  const Region local{reinterpret_cast<uint64_t>(source.data()), source.size(), lkey};
  const rdma::RemoteMemory remote{reinterpret_cast<uint64_t>(target.data()), target.size(), rkey};

  nic.start();
  std::vector<Status> status(threads);
  host::launch(executor, {2, 32}, put, near.handle(), local, remote, bytes, status.data());
  nic.stop();

  uint32_t good = 0;
  for (const Status one : status) good += one.is_ok() ? 1 : 0;
  const size_t moved = size_t{threads} * bytes;
  const bool same = moved <= target.size() && std::equal(target.data(), target.data() + moved, source.data());
  std::printf("%u of %u writes ended well: %s\n", good, threads, same ? "all arrived" : name(status.back().code));
  return good == threads && same ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
