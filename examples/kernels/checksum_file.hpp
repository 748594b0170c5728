// SPDX-License-Identifier: MIT
#pragma once

#include <xio/device/core/pattern.hpp>
#include <xio/xio.hpp>

/// Checksum of 8-byte words; partial sums can be computed in any order and added. `first` is the index of `words[0]`.
XIO_DEVICE uint64_t checksum(const uint64_t* words, uint64_t first, uint64_t count) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; ++i) sum += xio::pattern::mix(words[i] + xio::pattern::mix(first + i));
  return sum;
}

/// The threads of the grid together read the first `pages` 4 KiB pages of a namespace and sum their checksums. Each
/// thread uses one page of the buffer. `failures` counts pages that could not be read.
XIO_DEVICE void checksum_pages(const xio::nvme::QueueHandle& handle, uint64_t pages, uint64_t bus, const uint8_t* data,
                               uint64_t* sum, uint64_t* failures) {
  using namespace xio;
  nvme::Queue<Sharing::grid> queue(handle);
  const uint64_t thread = uint64_t{arch::block_index()} * arch::block_size() + arch::thread_index();
  const uint64_t threads = uint64_t{arch::grid_size()} * arch::block_size();
  const uint32_t blocks = 4096u >> handle.block_shift;
  uint64_t mine = 0;
  uint64_t failed = 0;
  for (uint64_t page = thread; page < pages; page += threads) {
    const Deadline until = queue.deadline(5_s);
    const Token token =
        queue.submit(nvme::read(page * blocks, blocks), nvme::ContiguousPages{bus + thread * 4096}, until);
    if (queue.wait(token, until).is_ok()) {
      mine += checksum(reinterpret_cast<const uint64_t*>(data + thread * 4096), page * 512, 512);
    } else {
      ++failed;
    }
  }
  arch::fetch_add<arch::Scope::system>(sum, mine);
  arch::fetch_add<arch::Scope::system>(failures, failed);
}
