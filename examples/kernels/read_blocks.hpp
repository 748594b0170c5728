// SPDX-License-Identifier: MIT
#pragma once

#include <xio/xio.hpp>

/// Each thread reads `blocks` logical blocks into its part of a buffer and records the status.
XIO_DEVICE void read_blocks(const xio::nvme::QueueHandle& handle, uint64_t first_lba, uint32_t blocks, xio::Region data,
                            xio::Status* results) {
  using namespace xio;
  nvme::Queue<Sharing::grid> queue(handle);
  const uint32_t thread = arch::block_index() * arch::block_size() + arch::thread_index();
  const uint32_t bytes = blocks << handle.block_shift;
  const Deadline until = queue.deadline(1_s);
  const uint64_t lba = first_lba + uint64_t{thread} * blocks;
  const Token token = queue.read(lba, data.at(uint64_t{thread} * bytes, bytes), until);
  // Other work could be done here while the drive is busy.
  results[thread] = queue.wait(token, until);
}
