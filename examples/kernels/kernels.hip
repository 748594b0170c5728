// SPDX-License-Identifier: MIT

/// @file
/// @brief GPU entry points of the examples' kernels; the tests compile this file for all targets.

#include <xio/vendors/bnxt/traits.hpp>
#include <xio/vendors/ernic/traits.hpp>
#include <xio/vendors/ionic/traits.hpp>
#include <xio/vendors/mlx5/traits.hpp>
#include <xio/vendors/rxe/traits.hpp>

#include "all_to_all.hpp"
#include "checksum_file.hpp"
#include "nvme_to_rdma.hpp"
#include "ping_pong.hpp"
#include "put_and_wait.hpp"
#include "read_blocks.hpp"
#include "stream_io.hpp"
#include "wave_batch.hpp"
#include "write_verify.hpp"

__global__ void read_blocks_kernel(xio::nvme::QueueHandle handle, uint64_t first_lba, uint32_t blocks, xio::Region data,
                                   xio::Status* results) {
  read_blocks(handle, first_lba, blocks, data, results);
}

__global__ void write_verify_kernel(xio::nvme::QueueHandle handle, uint64_t bus, uint8_t* data, uint64_t* good) {
  write_verify(handle, bus, data, good);
}

__global__ void wave_batch_kernel(xio::nvme::QueueHandle handle, xio::nvme::Piece* pieces, uint32_t count, uint64_t bus,
                                  xio::Status* result) {
  wave_batch(handle, pieces, count, bus, result);
}

__global__ void stream_io_kernel(xio::nvme::QueueHandle handle, StreamJob job) { stream_io(handle, job); }
__global__ void stream_produce_kernel(uint64_t* words, uint64_t count) { stream_produce(words, count); }
__global__ void stream_consume_kernel(const uint64_t* words, uint64_t count, uint64_t* right) {
  stream_consume(words, count, right);
}

__global__ void checksum_pages_kernel(xio::nvme::QueueHandle handle, uint64_t pages, uint64_t bus, const uint8_t* data,
                                      uint64_t* sum, uint64_t* failures) {
  checksum_pages(handle, pages, bus, data, sum, failures);
}

template <class Vendor>
__global__ void put_and_wait_kernel(xio::rdma::QueuePairHandle handle, xio::rdma::RemoteMemory remote,
                                    xio::Region local, uint32_t bytes, xio::Status* results) {
  put_and_wait<Vendor>(handle, remote, local, bytes, results);
}
template __global__ void put_and_wait_kernel<xio::mlx5::Vendor<>>(xio::rdma::QueuePairHandle, xio::rdma::RemoteMemory,
                                                                  xio::Region, uint32_t, xio::Status*);
template __global__ void put_and_wait_kernel<xio::bnxt::Vendor<>>(xio::rdma::QueuePairHandle, xio::rdma::RemoteMemory,
                                                                  xio::Region, uint32_t, xio::Status*);
template __global__ void put_and_wait_kernel<xio::ionic::Vendor<>>(xio::rdma::QueuePairHandle, xio::rdma::RemoteMemory,
                                                                   xio::Region, uint32_t, xio::Status*);
template __global__ void put_and_wait_kernel<xio::ernic::Vendor>(xio::rdma::QueuePairHandle, xio::rdma::RemoteMemory,
                                                                 xio::Region, uint32_t, xio::Status*);
template __global__ void put_and_wait_kernel<xio::rxe::Vendor<>>(xio::rdma::QueuePairHandle, xio::rdma::RemoteMemory,
                                                                 xio::Region, uint32_t, xio::Status*);

template <class Vendor>
__global__ void ping_pong_kernel(xio::rdma::QueuePairHandle handle, xio::rdma::RemoteMemory remote,
                                 xio::Region local, bool first, uint64_t rounds, xio::Status* result) {
  ping_pong<Vendor>(handle, remote, local, first, rounds, result);
}
template __global__ void ping_pong_kernel<xio::mlx5::Vendor<>>(xio::rdma::QueuePairHandle, xio::rdma::RemoteMemory,
                                                               xio::Region, bool, uint64_t, xio::Status*);
template __global__ void ping_pong_kernel<xio::bnxt::Vendor<>>(xio::rdma::QueuePairHandle, xio::rdma::RemoteMemory,
                                                               xio::Region, bool, uint64_t, xio::Status*);

template <class Vendor>
__global__ void all_to_all_kernel(const Rank* ranks, uint32_t count, uint32_t me, xio::Region send,
                                  xio::Region ones, const uint64_t* signals, uint32_t bytes,
                                  xio::Status* results) {
  all_to_all<Vendor>(ranks, count, me, send, ones, signals, bytes, results);
}
template __global__ void all_to_all_kernel<xio::ionic::Vendor<>>(const Rank*, uint32_t, uint32_t,
                                                                 xio::Region, xio::Region,
                                                                 const uint64_t*, uint32_t, xio::Status*);
template __global__ void all_to_all_kernel<xio::ernic::Vendor>(const Rank*, uint32_t, uint32_t, xio::Region,
                                                               xio::Region, const uint64_t*, uint32_t,
                                                               xio::Status*);

__global__ void nvme_to_rdma_kernel(xio::nvme::QueueHandle drive, xio::rdma::QueuePairHandle nic, uint64_t bus,
                                    xio::Region local, xio::rdma::RemoteMemory remote, uint32_t blocks,
                                    xio::Status* results) {
  nvme_to_rdma<xio::mlx5::Vendor<>>(drive, nic, bus, local, remote, blocks, results);
}
