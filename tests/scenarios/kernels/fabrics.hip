// SPDX-License-Identifier: MIT

/// @file
/// @brief Kernels of NVMe over RDMA, for each vendor: those of NVMe, with another transport.

#include <each_vendor.hpp>
#include <xio/device/fabrics/transport.hpp>

#include <scenarios/kernels/kernel.hpp>
#include <scenarios/kernels/nvme_others.hpp>

using scenarios::NvmeJob;
using xio::Sharing;

namespace {

template <class Vendor, class... Tags>
using Over = xio::Policy<Tags..., xio::RingBy<xio::nvme::OverRdma<Vendor>>>;
using OverMlx5 = xio::nvme::OverRdma<xio::mlx5::Vendor<>>;

}  // namespace

#define KERNEL(name, ...) SCENARIO(NvmeJob, name, __VA_ARGS__)
#define VENDOR(name, Vendor)                                                                              \
  KERNEL(fabric_##name##_thread, write_read<Sharing::thread, xio::Policy<>, xio::nvme::OverRdma<Vendor>>) \
  KERNEL(fabric_##name##_wave, write_read<Sharing::wave, xio::Policy<>, xio::nvme::OverRdma<Vendor>>)     \
  KERNEL(fabric_##name##_grid, write_read<Sharing::grid, xio::Policy<>, xio::nvme::OverRdma<Vendor>>)
// A format whose entries show that they are new, and one with an index.
#define MORE(name, Vendor)                                    \
  KERNEL(fabric_##name##_wave_batches, batches<Over<Vendor>>) \
  KERNEL(fabric_##name##_grid_tokens, many_tokens<Sharing::grid, Over<Vendor, xio::Notify>>)

XIO_EACH_VENDOR(VENDOR)
MORE(mlx5, xio::mlx5::Vendor<>)
MORE(rxe, xio::rxe::Vendor<>)
KERNEL(fabric_mlx5_grid_others, others<Sharing::grid, Over<xio::mlx5::Vendor<>>>)
KERNEL(fabric_mlx5_block, write_read<Sharing::block, xio::Policy<>, OverMlx5>)
KERNEL(fabric_mlx5_wave_session, session<Sharing::wave, Over<xio::mlx5::Vendor<>>>)
KERNEL(fabric_mlx5_grid_posts, posts<Sharing::grid, xio::Policy<>, OverMlx5>)
KERNEL(fabric_mlx5_grid_deferred, write_read<Sharing::grid, xio::Policy<xio::Deferred<8>>, OverMlx5>)
KERNEL(fabric_mlx5_thread_reads, reads<Sharing::thread, Over<xio::mlx5::Vendor<>>>)
KERNEL(fabric_mlx5_wave_reads, reads<Sharing::wave, Over<xio::mlx5::Vendor<>>>)
KERNEL(fabric_mlx5_grid_reads, reads<Sharing::grid, Over<xio::mlx5::Vendor<>>>)

#undef MORE
#undef VENDOR
#undef KERNEL
