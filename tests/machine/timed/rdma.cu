// SPDX-License-Identifier: MIT
// Writes on ConnectX queue pairs, with NICs that are waves of the same grid, for the timed mode.

#include <machine/timed/arguments.hpp>

#include <xio/device/rdma/queue_pair.hpp>
#include <xio/vendors/mlx5/traits.hpp>

namespace {

using namespace xio;
using machine::timed::PutArguments;

/// Whether this block plays a NIC; it does so until the launch ends.
XIO_DEVICE bool is_nic(const PutArguments& a) {
  if (arch::block_index() >= a.devices) return false;
  gpu::serve_null_nic(a.nics[arch::block_index()], a.stop);
  return true;
}

template <Sharing Kind, class Policy = xio::Policy<>>
XIO_DEVICE void puts(const rdma::QueuePairHandle& handle, const PutArguments& a) {
  rdma::QueuePair<mlx5::Vendor<>, Kind, Policy> qp(handle);
  const uint64_t at = uint64_t{(arch::block_index() - a.devices) * arch::block_size() + arch::thread_index()} * 64;
  const rdma::RemoteMemory remote{0x20000000, uint64_t{1} << 32, 0x77};
  const Region local{0x10000000, uint64_t{1} << 32, 0x55, Memory::device};
  unsigned long long right = 0;
  for (uint32_t round = 0; round < a.rounds; ++round) {
    const Deadline until = qp.deadline(5_s);
    const Token token = qp.put(remote.at(at, 64), local.at(at, 64), until);
    if (!qp.wait(token, until).is_ok()) break;
    ++right;
  }
  arch::fetch_add<arch::Scope::system>(a.done, right);
}

}  // namespace

extern "C" __global__ void put_grid(PutArguments a) {
  if (!is_nic(a)) puts<Sharing::grid>(a.handle, a);
}

extern "C" __global__ void put_wave(PutArguments a) {
  if (!is_nic(a)) puts<Sharing::wave>(a.queues[arch::block_index() - a.devices], a);
}

extern "C" __global__ void put_grid_in_gpu_memory(PutArguments a) {
  if (!is_nic(a)) puts<Sharing::grid, Policy<InGpuMemory>>(a.handle, a);
}

extern "C" __global__ void put_wave_in_gpu_memory(PutArguments a) {
  if (!is_nic(a)) puts<Sharing::wave, Policy<InGpuMemory>>(a.queues[arch::block_index() - a.devices], a);
}
