// SPDX-License-Identifier: MIT
#pragma once

#include <xio/xio.hpp>

/// One wave reads `count` pieces of 4 KiB together: one reservation, one release and one doorbell for all of them.
XIO_DEVICE void wave_batch(const xio::nvme::QueueHandle& handle, xio::nvme::Piece* pieces, uint32_t count, uint64_t bus,
                           xio::Status* result) {
  using namespace xio;
  nvme::Queue<Sharing::wave, xio::Policy<>> queue(handle);
  const uint32_t lanes = arch::wave_size();
  const uint32_t blocks = 4096u >> handle.block_shift;

  // Each lane describes every 64th piece: any blocks, any destination.
  for (uint32_t i = arch::lane(); i < count; i += lanes) {
    pieces[i] = {uint64_t{count - 1 - i} * blocks, bus + uint64_t{i} * 4096, blocks};
  }
  arch::block_barrier();

  const Deadline until = queue.deadline(1_s);
  const Token batch = queue.submit_batch(nvme::Opcode::read, pieces, count, until);
  const Status status = queue.wait_batch(batch, until);
  if (arch::lane() == 0) *result = status;
}
