// SPDX-License-Identifier: MIT

/// @file
/// @brief The kernel of lmcache_xio.py: one wave moves bytes between a drive and memory of the GPU.

#include <xio/nvme.hpp>

using namespace xio;

XIO_DEVICE_INLINE void copy(uint64_t* to, const uint64_t* from, uint64_t bytes) {
  for (uint64_t i = arch::lane(); i < bytes / 8; i += arch::wave_size()) to[i] = from[i];
}

/// Through staging memory of the host, since not every transport reaches the GPU's. A block of one wave.
/// @param bytes   whole blocks, of a drive and of staging memory
/// @param tensor  a multiple of 8
/// @param result  `bytes`, or the status that has stopped it, negative
extern "C" XIO_KERNEL void slab_io(const nvme::QueueHandle* handle, uint32_t write, uint64_t lba, uint64_t bytes,
                                   unsigned char* tensor, uint64_t* staging, uint64_t staging_bus,
                                   uint64_t staging_bytes, int64_t* result) {
  nvme::Queue<Sharing::grid> queue(*handle);
  const uint32_t shift = handle->block_shift;
  int64_t moved = 0;
  for (uint64_t at = 0; at < bytes && moved >= 0; at += staging_bytes) {
    const uint64_t now = bytes - at < staging_bytes ? bytes - at : staging_bytes;
    auto* const there = reinterpret_cast<uint64_t*>(tensor + at);
    if (write != 0) copy(staging, there, now);
    arch::block_barrier();
    // Each lane moves a part, of whole blocks.
    const uint64_t blocks = now >> shift;
    const uint64_t part = (blocks + arch::wave_size() - 1) / arch::wave_size();
    const uint64_t first = arch::lane() * part;
    Status how;
    if (first < blocks) {
      const auto count = static_cast<uint32_t>(blocks - first < part ? blocks - first : part);
      const nvme::ContiguousPages pages{staging_bus + (first << shift)};
      const uint64_t from = lba + (at >> shift) + first;
      const Deadline until = queue.deadline(30_s);
      how = queue.wait(
          queue.submit(write != 0 ? nvme::write(from, count) : nvme::read(from, count), pages, until), until);
    }
    const uint64_t wave = arch::active();
    const uint64_t failed = arch::ballot(wave, !how.is_ok());
    moved += static_cast<int64_t>(now);
    if (failed != 0) moved = -int64_t{arch::broadcast(wave, how.pack(), arch::first_lane(failed))};
    arch::block_barrier();
    if (write == 0 && moved >= 0) copy(there, staging, now);
    arch::block_barrier();
  }
  if (arch::lane() == 0) arch::store<arch::Scope::system>(reinterpret_cast<uint64_t*>(result), uint64_t(moved));
}
