// SPDX-License-Identifier: MIT

/// @file
/// @brief GPU entry points of rdma-ep's kernels: per vendor, one for a lane with its own queue pair, one for waves
/// that share a queue pair, and one for ping-pong. A block is one wave, or one lane.

#include <xio/vendors/bnxt/traits.hpp>
#include <xio/vendors/ernic/traits.hpp>
#include <xio/vendors/ionic/traits.hpp>
#include <xio/vendors/mlx5/traits.hpp>
#include <xio/vendors/rxe/traits.hpp>

#include "tester/launch/gpu/one_wave.hpp"
#include "tester/rdma/ping_pong.hpp"
#include "tester/rdma/workload.hpp"

namespace {

using tester::rdma_ping_pong;
using tester::rdma_workload;
using tester::RdmaPhase;
using xio::Sharing;

}  // namespace

extern "C" {

ONE_WAVE __global__ void rdma_mlx5_thread(RdmaPhase phase) {
  rdma_workload<xio::mlx5::Vendor<>, true, Sharing::thread>(phase);
}
ONE_WAVE __global__ void rdma_mlx5_grid(RdmaPhase phase) { rdma_workload<xio::mlx5::Vendor<>, true, Sharing::grid>(phase); }
ONE_WAVE __global__ void rdma_mlx5_ping_pong(RdmaPhase phase) { rdma_ping_pong<xio::mlx5::Vendor<>, true>(phase); }
ONE_WAVE __global__ void rdma_bnxt_thread(RdmaPhase phase) {
  rdma_workload<xio::bnxt::Vendor<>, true, Sharing::thread>(phase);
}
ONE_WAVE __global__ void rdma_bnxt_grid(RdmaPhase phase) { rdma_workload<xio::bnxt::Vendor<>, true, Sharing::grid>(phase); }
ONE_WAVE __global__ void rdma_bnxt_ping_pong(RdmaPhase phase) { rdma_ping_pong<xio::bnxt::Vendor<>, true>(phase); }
ONE_WAVE __global__ void rdma_ionic_thread(RdmaPhase phase) {
  rdma_workload<xio::ionic::Vendor<>, true, Sharing::thread>(phase);
}
ONE_WAVE __global__ void rdma_ionic_grid(RdmaPhase phase) { rdma_workload<xio::ionic::Vendor<>, true, Sharing::grid>(phase); }
ONE_WAVE __global__ void rdma_ionic_ping_pong(RdmaPhase phase) { rdma_ping_pong<xio::ionic::Vendor<>, true>(phase); }
ONE_WAVE __global__ void rdma_ernic_thread(RdmaPhase phase) {
  rdma_workload<xio::ernic::Vendor, false, Sharing::thread>(phase);
}
ONE_WAVE __global__ void rdma_ernic_grid(RdmaPhase phase) { rdma_workload<xio::ernic::Vendor, false, Sharing::grid>(phase); }
ONE_WAVE __global__ void rdma_ernic_ping_pong(RdmaPhase phase) { rdma_ping_pong<xio::ernic::Vendor, false>(phase); }
ONE_WAVE __global__ void rdma_rxe_thread(RdmaPhase phase) {
  rdma_workload<xio::rxe::Vendor<>, true, Sharing::thread>(phase);
}
ONE_WAVE __global__ void rdma_rxe_grid(RdmaPhase phase) { rdma_workload<xio::rxe::Vendor<>, true, Sharing::grid>(phase); }
ONE_WAVE __global__ void rdma_rxe_ping_pong(RdmaPhase phase) { rdma_ping_pong<xio::rxe::Vendor<>, true>(phase); }

}  // extern "C"
