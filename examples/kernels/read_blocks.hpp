// SPDX-License-Identifier: MIT
#pragma once

#include <xio/xio.hpp>

/// Each thread reads `blocks` logical blocks into its own part of a buffer and says how it went.
XIO_DEVICE void read_blocks(const xio::nvme::QueueHandle& handle, uint64_t first_lba, uint32_t blocks, uint64_t bus,
                            xio::Status* results) {
  using namespace xio;
  nvme::Queue<Sharing::grid> queue(handle);
  const uint32_t thread = arch::block_index() * arch::block_size() + arch::thread_index();
  const uint64_t bytes = uint64_t{blocks} << handle.block_shift;
  const Deadline until = queue.deadline(1_s);
  const Token token = queue.submit(nvme::read(first_lba + uint64_t{thread} * blocks, blocks),
                                   nvme::ContiguousPages{bus + thread * bytes}, until);
  // Other work could be done here while the drive is busy.
  results[thread] = queue.wait(token, until);
}
