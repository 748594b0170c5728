// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What the host makes of a page cache, and kernels get by value.

#include <xio/device/core/notification.hpp>
#include <xio/device/nvme/drive_set.hpp>

XIO_NAMESPACE_BEGIN
/// @addtogroup kernel_cache
/// @{

/// What a cache has done since it was made. Counted where a page is missing; a hit counts nothing.
/// @snippet cache.cpp counts
struct CacheCounts {
  uint64_t misses;        ///< reads submitted
  uint64_t evictions;     ///< pages that had to leave for them
  uint64_t write_backs;   ///< writes submitted
  uint64_t read_errors;   ///< reads that failed
  uint64_t write_errors;  ///< writes that failed: the page stays dirty
  uint64_t stuck;         ///< times that a page found no frame: all of its set were pinned, or on their way
};

/// A page cache: set-associative, in memory that kernels and drives access. Made by the host (host::make_cache()),
/// trivially copyable. About 40 bytes for each frame besides the page; nothing for pages that are not present.
/// @snippet cache.cpp handle
struct CacheHandle {
  nvme::DriveSetHandle drives;
  nvme::DriveRegion memory;  ///< the frames, for the drives
  char* data;                ///< the frames, for the kernel

  uint64_t* words;      ///< one per frame, see detail::CacheWord; zeroed, but for frames that are not there
  uint32_t* notes;      ///< two per frame: whether it was used lately; the queue of its last command
  KeptResult* ends;     ///< one per frame: how its last command has ended. With `splits` a Notification
  uint32_t* sets;       ///< four per set, see detail::Frames; zeroed
  CacheCounts* counts;  ///< zeroed

  uint64_t pages;       ///< pages of the drives: higher ones are out of range
  uint32_t page_shift;  ///< log2 of the bytes of a page, at least of the drives' blocks
  uint32_t set_shift;   ///< log2 of the number of sets
  uint32_t way_shift;   ///< log2 of the frames of a set, at least 2
  uint32_t splits;      ///< whether a drive needs several commands for a page

  XIO_HOST_DEVICE constexpr uint32_t frames() const { return 1u << (set_shift + way_shift); }
};

/// A page of which a load may be on its way. Trivially copyable.
/// @snippet cache.cpp prefetch
struct [[nodiscard]] PageToken {
  uint64_t page = 0;
  Status status;  ///< why its load was refused
};

/// A page that stays where it is until it is unpinned.
/// @snippet cache.cpp pin
struct [[nodiscard]] PinnedPage {
  char* data = nullptr;  ///< the page; null: see `status`
  uint32_t frame = 0;
  Status status;
};

/// Kernels that only read the drives.
struct ReadOnly {
  static constexpr bool writes = false;
  using QueuePolicy = Policy<Notify>;  ///< of the drives' queues
};

/// Kernels that write pages: these reach the drives when their frame is needed, or by Cache::flush().
struct WriteBack : ReadOnly {
  static constexpr bool writes = true;
};

/// @}
XIO_NAMESPACE_END
