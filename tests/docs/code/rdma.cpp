// SPDX-License-Identifier: MIT
// docs/rdma.md
#include <xio/host/rdma/rxe_endpoint.hpp>

// block 1

// block 2

void in_a_session(rdma::QueuePairHandle handle, rdma::RemoteMemory remote, Region local, const uint64_t* at,
                  uint64_t bytes, Token (&tokens)[4], uint32_t rounds, Deadline until) {
  // block 3
  static_cast<void>(status);
}

// block 4

template <class Kernel>
void adopt(ibv_qp* qp, Kernel kernel) {
  // block 5
}

void on_a_gpu(const xio::host::RdmaDevice& device, const xio::host::ProtectionDomain& domain,
              const xio::host::QueuePairAddress& peer_address, rdma::RemoteMemory remote, Region local,
              uint32_t* failed) {
  // block 6
}

template <class Kernel>
void on_soft_roce(const xio::host::QueuePairAddress& peer_address, Kernel kernel) {
  // block 7
}

#if __has_include(<rdma/rdma_cma.h>)
void over_fabrics() {
  // block 8
  static_cast<void>(space), static_cast<void>(queue);
}
#endif

void instances(ibv_qp* qp, const xio::host::QueuePairAddress& peer) {
  const auto kernel = [](const rdma::QueuePairHandle&) {};
  adopt(qp, kernel);
  on_soft_roce(peer, kernel);
}
