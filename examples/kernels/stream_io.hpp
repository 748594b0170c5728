// SPDX-License-Identifier: MIT
#pragma once

#include <xio/device/core/pattern.hpp>
#include <xio/xio.hpp>

/// Transfer of an I/O kernel: `blocks` blocks from `lba` on, to or from one buffer.
struct StreamJob {
  bool write;
  uint64_t lba;
  uint32_t blocks;
  uint64_t bus;    ///< bus address of the data
  uint64_t* done;  ///< counts the blocks transferred
};

/// Index of the thread in the grid, and number of threads of the grid.
XIO_DEVICE_INLINE uint32_t grid_thread() {
  return xio::arch::block_index() * xio::arch::block_size() + xio::arch::thread_index();
}
XIO_DEVICE_INLINE uint32_t grid_threads() { return xio::arch::grid_size() * xio::arch::block_size(); }

/// I/O kernel: a few waves share the queue, whatever the amount of data.
XIO_DEVICE void stream_io(const xio::nvme::QueueHandle& handle, const StreamJob& job) {
  using namespace xio;
  nvme::Queue<Sharing::grid> queue(handle);
  for (uint32_t i = grid_thread(); i < job.blocks; i += grid_threads()) {
    const Deadline until = queue.deadline(5_s);
    const nvme::ContiguousPages pages{job.bus + (uint64_t{i} << handle.block_shift)};
    const nvme::Command command = job.write ? nvme::write(job.lba + i, 1) : nvme::read(job.lba + i, 1);
    if (queue.wait(queue.submit(command, pages, until), until).is_ok())
      arch::fetch_add<arch::Scope::system>(job.done, uint64_t{1});
  }
}

/// Compute kernel: produces the data to write.
XIO_DEVICE void stream_produce(uint64_t* words, uint64_t count) {
  for (uint64_t i = grid_thread(); i < count; i += grid_threads()) words[i] = i * 0x9e3779b97f4a7c15;
}

/// Compute kernel: counts the words read back correctly.
XIO_DEVICE void stream_consume(const uint64_t* words, uint64_t count, uint64_t* right) {
  uint64_t mine = 0;
  for (uint64_t i = grid_thread(); i < count; i += grid_threads()) mine += words[i] == i * 0x9e3779b97f4a7c15 ? 1 : 0;
  xio::arch::fetch_add<xio::arch::Scope::system>(right, mine);
}
