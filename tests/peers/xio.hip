// SPDX-License-Identifier: MIT

/// @file
/// @brief Our writes as the same kernels as those of other libraries: on a queue pair of a wave, and on one that all
/// waves share.

#include <scenarios/kernels/kernel.hpp>
#include <scenarios/kernels/rdma.hpp>
#include <xio/vendors/bnxt/traits.hpp>

using scenarios::RdmaJob;
using xio::Sharing;

#define PUTS(name, Vendor)                                           \
  SCENARIO(RdmaJob, name##_wave_puts, puts<Vendor, Sharing::wave>)   \
  SCENARIO(RdmaJob, name##_grid_puts, puts<Vendor, Sharing::grid>)

PUTS(mlx5, xio::mlx5::Vendor<>)
#if defined(__HIP__)
// mori's, of the same targets.
PUTS(bnxt, xio::bnxt::Vendor<>)
PUTS(ionic, xio::ionic::Vendor<>)
#endif

#undef PUTS
