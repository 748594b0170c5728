// SPDX-License-Identifier: MIT
// H17: who takes the completions of a shared RDMA queue sees what the one before stored. One lane takes the lock, which is
// an acquire, and all come together behind it before any of them loads the queue's state. An exchange gives it back where
// there is nothing to take. The only other atomic breaks a queue with which something is wrong.

#include <xio/device/rdma/queue_pair.hpp>
#include <xio/device/rdma/receive.hpp>
#include <xio/vendors/bnxt/traits.hpp>
#include <xio/vendors/mlx5/traits.hpp>

using namespace xio;

namespace {
struct OneEntry : mlx5::Options {
  static constexpr bool collapsed = true;
};
}  // namespace

extern "C" __global__ void drain_ring(rdma::QueuePairHandle handle, uint32_t* taken) {
  rdma::QueuePair<bnxt::Vendor<>, Sharing::grid> qp(handle);
  *taken = qp.drain();
}

// PTX:      .entry drain_collapsed(
// PTX-NOT:  atom.
// PTX:      atom.cas.acquire.gpu.global.b64
// PTX-NOT:  {{ld\.(relaxed|acquire|global)|atom\.}}
// PTX:      bar.warp.sync
// PTX:      ld.relaxed.gpu
// PTX-NOT:  {{atom\.[^ea]}}
// PTX:      atom.cas.relaxed.gpu.global.b64
// PTX-NOT:  {{atom\.[^ea]}}
// PTX:      {{^[}]}}
extern "C" __global__ void drain_collapsed(rdma::QueuePairHandle handle, uint32_t* taken) {
  rdma::QueuePair<mlx5::Vendor<OneEntry>, Sharing::grid> qp(handle);
  *taken = qp.drain();
}

// PTX:      .entry drain_receives(
// PTX-NOT:  atom.
// PTX:      atom.cas.acquire.gpu.global.b64
// PTX-NOT:  {{ld\.(relaxed|acquire|global)|atom\.}}
// PTX:      bar.warp.sync
// PTX:      ld.relaxed.gpu
// PTX-NOT:  {{atom\.[^ea]}}
// PTX:      atom.cas.relaxed.gpu.global.b64
// PTX-NOT:  {{atom\.[^ea]}}
// PTX:      {{^[}]}}
extern "C" __global__ void drain_receives(rdma::ReceiveQueueHandle handle, uint32_t* taken) {
  rdma::ReceiveQueue<mlx5::Vendor<>, Sharing::grid> receives(handle);
  *taken = receives.drain();
}

// The drain of a ring is a function, behind all kernels.
// PTX:      .func {{.*}}drain_once
// PTX-NOT:  atom.
// PTX:      atom.cas.acquire.gpu.global.b64
// PTX-NOT:  {{ld\.(relaxed|acquire|global)|atom\.}}
// PTX:      bar.warp.sync
// PTX:      ld.relaxed.gpu
// PTX-NOT:  {{atom\.[^ea]}}
// PTX:      atom.cas.relaxed.gpu.global.b64
// PTX-NOT:  {{atom\.[^ea]}}
// PTX:      {{^[}]}}
