// SPDX-License-Identifier: MIT

/// @file
/// @brief Writes by AMD's mori as kernels of the scenarios, for one kind of NIC: MORI_DEVICE_NIC_BNXT or
/// MORI_DEVICE_NIC_IONIC, MLX5 without either.
///
/// mori's device functions are in its Python package (PyPI: amd-mori; MIT); scripts/peers-env fetches them.

#include <mori/shmem/shmem_device_kernels.hpp>
#include <mori/shmem/shmem_ibgda_kernels.hpp>

#include <scenarios/kernels/job.hpp>
#include <scenarios/kernels/kernel.hpp>

// Defined by whoever links mori's kernels.
__device__ mori::shmem::GpuStates mori::shmem::globalGpuStates;

namespace scenarios {

namespace {

namespace app = mori::application;
namespace core = mori::core;
namespace shmem = mori::shmem;

constexpr int self = 0;
constexpr int peer = 1;

/// What mori's set-up leaves in the GPU's memory, for two processes.
struct State {
  core::RdmaEndpointDevice endpoints[2];
  app::SymmMemObj source;
  app::SymmMemObj destination;
  app::TransportType transports[2];
  uintptr_t addresses[2];
  uint32_t keys[2];
};
static_assert(sizeof(State) <= xio::rdma::send_link_bytes(64), "64 entries are enough");

/// mori's state of our queue pair, in the memory of our links, which nobody else uses then and which begins as zero.
/// Any number of threads may do this: all store the same constants, and nobody the counters.
__device__ State* state_of(const RdmaJob& job) {
  const xio::rdma::QueuePairHandle& handle = job.handle;
  auto* const state = reinterpret_cast<State*>(handle.state + 1);
  core::RdmaEndpointDevice& endpoint = state->endpoints[peer];
  endpoint.qpn = handle.shape.qpn;
  core::WorkQueueHandle& wq = endpoint.wqHandle;
  wq.sqAddr = handle.sq;
  wq.dbrRecAddr = handle.sq_record;
  wq.dbrAddr = handle.sq_doorbell;
  wq.sqWqeNum = handle.shape.entries;
  core::CompletionQueueHandle& cq = endpoint.cqHandle;
  cq.cqAddr = const_cast<void*>(handle.cq.entries);
  cq.cqeNum = handle.cq.size;
#if defined(MORI_DEVICE_NIC_IONIC)
  endpoint.vendorId = core::RdmaDeviceVendorId::Pensando;
  wq.sq_dbval = uint64_t{handle.shape.qpn} << 24;
  cq.cq_dbval = uint64_t{handle.cq.number} << 24;
  cq.dbrRecAddr = handle.cq.doorbell;
#else
  endpoint.vendorId = core::RdmaDeviceVendorId::Mellanox;
  wq.dbrRecAddr = handle.sq_record - core::MORI_MLX5_SND_DBR;
#endif
  state->transports[peer] = app::TransportType::RDMA;
  state->addresses[peer] = job.remote.base;
  state->keys[peer] = job.remote.rkey;
  state->source.localPtr = job.data;
  state->source.lkey = job.local.key;
  state->destination.peerPtrs = state->addresses;
  state->destination.peerRkeys = state->keys;
  shmem::GpuStates& states = *shmem::GetGlobalGpuStatesPtr();
  states.rank = self;
  states.worldSize = 2;
  states.numQpPerPe = 1;
  states.transportTypes = state->transports;
  states.rdmaEndpoints = state->endpoints;
  return state;
}

}  // namespace

/// Each thread writes, the lanes of a wave with one claim, and waits until all writes to the peer have ended: mori has
/// no wait for one.
XIO_DEVICE void mori_puts(const RdmaJob& job) {
  State* const state = state_of(job);
  const app::SymmMemObjPtr destination{nullptr, &state->destination};
  const app::SymmMemObjPtr source{nullptr, &state->source};
  const uint64_t offset = thread_number() * thread_bytes;
  for (uint32_t round = 0; round < job.rounds; ++round) {
    const size_t bytes = job.words * 8;
    shmem::ShmemPutMemNbiThreadKernel<app::TransportType::RDMA>(destination, offset, source, offset, bytes, peer, 0);
    shmem::ShmemQuietThreadKernel<app::TransportType::RDMA>(peer, 0);
  }
  xio::arch::fetch_add<xio::arch::Scope::system>(&job.report->good, uint64_t{job.rounds});
}

}  // namespace scenarios

using scenarios::RdmaJob;

#if defined(MORI_DEVICE_NIC_BNXT)
SCENARIO(RdmaJob, mori_bnxt_puts, mori_puts)
#elif defined(MORI_DEVICE_NIC_IONIC)
SCENARIO(RdmaJob, mori_ionic_puts, mori_puts)
#else
SCENARIO(RdmaJob, mori_mlx5_puts, mori_puts)
#endif
