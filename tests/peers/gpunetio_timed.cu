// SPDX-License-Identifier: MIT

/// @file
/// @brief GPUNetIO's writes as a kernel of the timed mode, beside machine/timed/rdma.cu.

#include <machine/timed/arguments.hpp>
#include <peers/gpunetio.hpp>

extern "C" __global__ void put_gpunetio_warp(machine::timed::PutArguments a) {
  using namespace xio;
  if (arch::block_index() < a.devices) {
    gpu::serve_null_nic(a.nics[arch::block_index()], a.stop);
    return;
  }
  const uint64_t offset = uint64_t{(arch::block_index() - a.devices) * arch::block_size() + arch::thread_index()} * 64;
  const rdma::RemoteMemory remote{0x20000000, uint64_t{1} << 32, 0x77};
  const Region local{0x10000000, uint64_t{1} << 32, 0x55};
  constexpr auto together = DOCA_GPUNETIO_VERBS_EXEC_SCOPE_WARP;
  const uint32_t right = peers::gpunetio_puts<together>(a.handle, remote, local, offset, 64, a.rounds);
  arch::fetch_add<arch::Scope::system>(a.done, static_cast<unsigned long long>(right));
}
