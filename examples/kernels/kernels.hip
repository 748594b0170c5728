// SPDX-License-Identifier: MIT

/// @file
/// @brief The examples' kernels as a GPU gets them; the tests compile this file for all targets.

#include "checksum_file.hpp"
#include "read_blocks.hpp"
#include "wave_batch.hpp"
#include "write_verify.hpp"

__global__ void read_blocks_kernel(xio::nvme::QueueHandle handle, uint64_t first_lba, uint32_t blocks, uint64_t bus,
                                   xio::Status* results) {
  read_blocks(handle, first_lba, blocks, bus, results);
}

__global__ void write_verify_kernel(xio::nvme::QueueHandle handle, uint64_t bus, uint8_t* data, uint64_t* good) {
  write_verify(handle, bus, data, good);
}

__global__ void wave_batch_kernel(xio::nvme::QueueHandle handle, xio::nvme::Piece* pieces, uint32_t count, uint64_t bus,
                                  xio::Status* result) {
  wave_batch(handle, pieces, count, bus, result);
}

__global__ void checksum_pages_kernel(xio::nvme::QueueHandle handle, uint64_t pages, uint64_t bus, const uint8_t* data,
                                      uint64_t* sum, uint64_t* failures) {
  checksum_pages(handle, pages, bus, data, sum, failures);
}
