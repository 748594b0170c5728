// SPDX-License-Identifier: MIT
// One lane posts one RDMA write, for each vendor. The kernels' instructions are held to budgets (rdma_budgets.cmake).

#include <xio/device/rdma/queue_pair.hpp>

#include "each_vendor.hpp"

using namespace xio;

namespace {
// What the caller knows of one put.
struct Put {
  uint64_t remote;
  uint64_t local;
  uint32_t rkey;
  uint32_t lkey;
  uint32_t bytes;
};

template <class Vendor, class Policy>
XIO_DEVICE_INLINE Token put(const rdma::QueuePairHandle& handle, const Put& what) {
  rdma::QueuePair<Vendor, Sharing::thread, Policy> qp(handle);
  return qp.put({what.remote, what.bytes, what.rkey}, {what.local, what.bytes, what.lkey}, xio::Now{});
}
}  // namespace

#define PUT(name, Vendor)                                                            \
  extern "C" __global__ void put_##name(rdma::QueuePairHandle handle, Put what) {     \
    (void)put<Vendor, Unchecked>(handle, what);                                       \
  }
XIO_EACH_VENDOR(PUT)

// Bounds checked, the token stored. One argument: the address of a second one would be computed.
struct Checked {
  rdma::QueuePairHandle handle;
  rdma::RemoteMemory remote;
  Region local;
  uint64_t offset;
  uint32_t bytes;
  Token* token;
};
template <class Vendor>
XIO_DEVICE_INLINE void put_checked(const Checked& what) {
  rdma::QueuePair<Vendor, Sharing::thread, xio::Policy<>> qp(what.handle);
  *what.token = qp.put(what.remote.at(what.offset, what.bytes), what.local.at(what.offset, what.bytes), xio::Now{});
}
extern "C" __global__ void put_checked_mlx5(Checked what) { put_checked<mlx5::Vendor<>>(what); }
// Both halves of the BlueFlame register in turn.
struct BothHalves : mlx5::Options {
  static constexpr uint32_t doorbell_stride = 256;
};
extern "C" __global__ void put_halves_mlx5(Checked what) { put_checked<mlx5::Vendor<BothHalves>>(what); }
