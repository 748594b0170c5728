// SPDX-License-Identifier: MIT
// One lane, or the grid, looks at the one entry of a collapsed completion queue.

#include <xio/device/rdma/queue_pair.hpp>
#include <xio/vendors/ionic/traits.hpp>
#include <xio/vendors/mlx5/traits.hpp>

using namespace xio;

namespace {
template <class Options>
struct OneEntry : Options {
  static constexpr bool collapsed = true;
};

template <class Vendor, Sharing S>
XIO_DEVICE_INLINE void drain(const rdma::QueuePairHandle& handle, uint32_t* taken) {
  rdma::QueuePair<Vendor, S, Unchecked> qp(handle);
  *taken = qp.drain();
}
}  // namespace

extern "C" __global__ void drain_mlx5(rdma::QueuePairHandle handle, uint32_t* taken) {
  drain<mlx5::Vendor<OneEntry<mlx5::Options>>, Sharing::thread>(handle, taken);
}
extern "C" __global__ void drain_ionic(rdma::QueuePairHandle handle, uint32_t* taken) {
  drain<ionic::Vendor<OneEntry<ionic::Options>>, Sharing::thread>(handle, taken);
}
extern "C" __global__ void drain_mlx5_grid(rdma::QueuePairHandle handle, uint32_t* taken) {
  drain<mlx5::Vendor<OneEntry<mlx5::Options>>, Sharing::grid>(handle, taken);
}
extern "C" __global__ void drain_ionic_grid(rdma::QueuePairHandle handle, uint32_t* taken) {
  drain<ionic::Vendor<OneEntry<ionic::Options>>, Sharing::grid>(handle, taken);
}
