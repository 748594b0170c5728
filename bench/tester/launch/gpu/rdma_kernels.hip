// SPDX-License-Identifier: MIT

/// @file
/// @brief GPU entry points of rdma-ep's kernels: per vendor, one for a lane with its own queue pair, one for waves
/// that share a queue pair, and one for ping-pong. A block is one wave, or one lane.

#include "each_vendor.hpp"
#include "tester/launch/gpu/one_wave.hpp"
#include "tester/rdma/ping_pong.hpp"
#include "tester/rdma/workload.hpp"

namespace {

using tester::rdma_ping_pong;
using tester::rdma_workload;
using tester::RdmaPhase;
using xio::Sharing;

}  // namespace

#define KERNELS(name, Vendor)                                           \
  ONE_WAVE __global__ void rdma_##name##_thread(RdmaPhase phase) {      \
    rdma_workload<Vendor, Vendor::has_inline, Sharing::thread>(phase);  \
  }                                                                     \
  ONE_WAVE __global__ void rdma_##name##_grid(RdmaPhase phase) {        \
    rdma_workload<Vendor, Vendor::has_inline, Sharing::grid>(phase);    \
  }                                                                     \
  ONE_WAVE __global__ void rdma_##name##_ping_pong(RdmaPhase phase) {   \
    rdma_ping_pong<Vendor, Vendor::has_inline>(phase);                  \
  }

extern "C" {
XIO_EACH_VENDOR(KERNELS)
}  // extern "C"
