// SPDX-License-Identifier: MIT
#pragma once

#include <xio/device/core/pattern.hpp>
#include <xio/xio.hpp>

/// Each thread writes a block, reads it back and compares; `good` counts matching blocks.
XIO_DEVICE void write_verify(const xio::nvme::QueueHandle& handle, uint64_t bus, uint8_t* data, uint64_t* good) {
  using namespace xio;
  nvme::Queue<Sharing::grid> queue(handle);
  const uint32_t thread = arch::block_index() * arch::block_size() + arch::thread_index();
  const uint32_t bytes = 1u << handle.block_shift;
  const pattern::Block content(/*seed*/ 2026, /*address*/ thread);
  const nvme::ContiguousPages pages{bus + uint64_t{thread} * bytes};
  auto* const words = reinterpret_cast<uint64_t*>(data + uint64_t{thread} * bytes);
  const Deadline until = queue.deadline(5_s);

  pattern::fill(words, bytes, content);
  // The release in submit() also makes the words visible to the drive.
  Status status = queue.wait(queue.submit(nvme::write(thread, 1), pages, until), until);
  if (!status.is_ok()) return;
  for (uint32_t i = 0; i < bytes / 8; ++i) words[i] = 0;
  status = queue.wait(queue.submit(nvme::read(thread, 1), pages, until), until);
  if (status.is_ok() && !pattern::verify(words, bytes, content).any()) {
    arch::fetch_add<arch::Scope::system>(good, uint64_t{1});
  }
}
