// SPDX-License-Identifier: MIT

/// @file
/// @brief The kernel of page_in.py: some waves fetch the pages of a KV cache from several drives, layer by layer; each
/// of the others waits for a layer, and uses it.

#include <xio/nvme.hpp>

using namespace xio;

/// A page. The table has them in the order of their layers.
struct Page {
  uint64_t place;  ///< bits 63:48: the drive; 47:0: the first block there
  uint32_t slot;   ///< of the cache
  uint32_t layer;
};

/// Pages lie where the table says, and not in stripes.
struct ByTable : nvme::DriveSetHandle {
  XIO_DEVICE_INLINE explicit ByTable(const nvme::DriveSetHandle& drives) : nvme::DriveSetHandle(drives) {}
  XIO_DEVICE_INLINE nvme::DriveAddress locate(uint64_t place) const {
    return {static_cast<uint32_t>(place >> 48), place & ((uint64_t{1} << 48) - 1)};
  }
  XIO_DEVICE_INLINE bool in_one_stripe(uint64_t, uint32_t blocks) const { return blocks != 0; }
};

using Drives = nvme::DriveSet<Sharing::grid, Policy<Notify>, ByTable>;

/// Each thread fetches one page in so many. With `half` a page's keys and values go to different halves of the cache,
/// `half` bytes apart, by an SGL of two pieces.
XIO_DEVICE_INLINE Status fetch(Drives& drives, const nvme::DriveRegion& cache, const Page* pages, uint32_t count,
                               Notification* told, uint32_t page_bytes, uint32_t page_blocks, uint64_t half,
                               uint32_t thread, uint32_t threads, Deadline until) {
  Status first;
  for (uint32_t i = thread; i < count; i += threads) {
    const Page page = pages[i];
    const auto counted = Options<>().notify(told[page.layer]);
    const nvme::Command read = nvme::read(page.place, page_blocks);
    nvme::DriveToken token;
    if (half != 0) {
      const uint64_t bytes = page_bytes / 2;
      const uint64_t keys = cache.bases[page.place >> 48] + page.slot * bytes;
      const nvme::Segment both[2] = {{keys, bytes}, {keys + half, bytes}};
      token = drives.submit(read, nvme::as_sgl(nvme::SegmentList{both, 2}), until, counted);
    } else {
      token = drives.submit(read, cache.at(uint64_t{page.slot} * page_bytes, page_bytes), until, counted);
    }
    if (!token.token.submitted() && first.is_ok()) first = token.token.status;
  }
  return first;
}

/// Waits for a layer, and takes completions meanwhile.
XIO_DEVICE_INLINE Status wait_for(Drives& drives, const Notification& told, uint32_t pages, Deadline until) {
  const Status status = poll_until(
      [&] {
        drives.drain();
        return arch::load<arch::Scope::system>(&told.done) >= pages;
      },
      until);
  if (status.is_ok()) arch::acquire_system();
  return status;
}

/// Stands for the use of a layer: adds up the first word of each half of its pages.
XIO_DEVICE_INLINE void use(const uint64_t* cache, const Page* pages, uint32_t begin, uint32_t end, uint32_t page_bytes,
                           uint64_t half, uint64_t* sum) {
  const uint64_t words = (half != 0 ? page_bytes / 2 : page_bytes) / 8;
  uint64_t mine = 0;
  for (uint32_t i = begin + arch::lane(); i < end; i += arch::wave_size()) {
    const uint64_t* const at = cache + pages[i].slot * words;
    mine += at[0] + at[half != 0 ? half / 8 : words / 2];
  }
  arch::fetch_add<arch::Scope::system>(sum, mine);
}

/// Blocks of one wave.
/// @param first   page of each layer in the table, and behind them the number of pages
/// @param told    one for each layer
/// @param sums    one for each layer
/// @param status  one for each block: why it has stopped
/// @param fetchers blocks that fetch; the others compute
extern "C" XIO_KERNEL void page_in(const nvme::DriveSetHandle* set, const nvme::DriveRegion* region,
                                   const uint64_t* cache, const Page* pages, const uint32_t* first, Notification* told,
                                   uint64_t* sums, Status* status, uint32_t layers, uint32_t page_bytes, uint64_t half,
                                   uint32_t fetchers) {
  const uint32_t wave = arch::block_index();
  const nvme::QueueHandle& queue = *set->queues;
  Drives drives(ByTable(*set), wave);
  const Deadline until = deadline(60_s, queue.clock_hz);
  Status how;
  if (wave < fetchers) {
    how = fetch(drives, *region, pages, first[layers], told, page_bytes, page_bytes >> queue.block_shift, half,
                wave * arch::wave_size() + arch::lane(), fetchers * arch::wave_size(), until);
  } else {
    for (uint32_t layer = wave - fetchers; layer < layers && how.is_ok(); layer += arch::grid_size() - fetchers) {
      how = wait_for(drives, told[layer], first[layer + 1] - first[layer], until);
      if (how.is_ok()) use(cache, pages, first[layer], first[layer + 1], page_bytes, half, sums + layer);
    }
  }
  if (!how.is_ok()) status[wave] = how;
}
