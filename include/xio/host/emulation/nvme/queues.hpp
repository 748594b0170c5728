// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Controller-side state of submission and completion queues: memory, head, tail, doorbells.

#include <cstring>
#include <deque>
#include <vector>

#include <xio/config.hpp>
#include <xio/host/emulation/address_space.hpp>
#include <xio/host/emulation/nvme/specification.hpp>
#include <xio/vendors/nvme/layout.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {

/// Memory pages of a queue. Bus addresses are translated on first use of an entry and again after every change of the
/// address space.
class QueueMemory {
 public:
  /// @param pages        bus address of each page
  /// @param page_shift   log2 of CC.MPS in bytes
  /// @param entry_shift  log2 of the entry size in bytes
  void set(std::vector<uint64_t> pages, uint32_t page_shift, uint32_t entry_shift, uint32_t entries) {
    pages_ = std::move(pages);
    page_shift_ = page_shift;
    entry_shift_ = entry_shift;
    entries_ = entries;
    forget();
  }
  /// Invalidates the cached translations.
  void forget() { hosts_.assign(pages_.size(), nullptr); }

  /// Returns the memory of an entry, or null if its page is not mapped.
  unsigned char* entry(uint32_t index, BusReader& bus) {
    const uint32_t per_page_shift = page_shift_ - entry_shift_;
    const uint32_t page = index >> per_page_shift;
    const uint32_t first = page << per_page_shift;
    if (!hosts_[page]) {
      const uint32_t left = entries_ - first;
      const uint32_t here = left < uint32_t{1} << per_page_shift ? left : uint32_t{1} << per_page_shift;
      hosts_[page] = bus.find_all(pages_[page], uint64_t{here} << entry_shift_);
      if (!hosts_[page]) return nullptr;
    }
    return hosts_[page] + (uint64_t{index - first} << entry_shift_);
  }

 private:
  std::vector<uint64_t> pages_;
  std::vector<unsigned char*> hosts_;
  uint32_t page_shift_ = 12;
  uint32_t entry_shift_ = 6;
  uint32_t entries_ = 0;
};

/// A doorbell register, and its shadow if Doorbell Buffer Config is in effect.
///
/// The register is a word in memory that is polled. A poll leaves the value in place, unless a second write of the same
/// value must be detected: then rearm() sets the word to `taken`, which no doorbell value equals.
struct Doorbell {
  static constexpr uint32_t taken = 0xffffffffu;

  uint32_t* word = nullptr;
  uint32_t seen = 0;         // content of the word after the last poll
  uint64_t shadow = 0;       // bus address; 0: no shadow
  uint64_t event_index = 0;  // bus address
  bool awake = false;        // the shadow is polled; false: not before a register write

  /// Resets the doorbell to the state of a newly created queue.
  void reset() {
    __atomic_store_n(word, 0u, __ATOMIC_RELAXED);
    seen = 0;
    shadow = 0;
    event_index = 0;
    awake = false;
  }

  /// Returns whether the register was written since the last call; sets `value`.
  bool poll(uint32_t& value) {
    const uint32_t now = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    if (XIO_LIKELY(now == seen)) return false;
    seen = now;
    value = now;
    return now != taken;
  }

  /// Makes poll() detect the next write even if it has the same value.
  void rearm() {
    uint32_t expected = seen;
    if (__atomic_compare_exchange_n(word, &expected, taken, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) seen = taken;
  }
};

/// Completion queue.
struct CompletionQueue {
  bool exists = false;
  bool full_noted = false;
  uint16_t id = 0;
  uint32_t size = 0;
  uint32_t head = 0;  // last value from the host
  uint32_t tail = 0;
  bool phase = true;
  uint32_t users = 0;  // submission queues
  Doorbell doorbell;
  QueueMemory memory;
  std::deque<uint32_t> ready;  // executed commands that found the queue full

  bool full() const { return (tail + 1 == size ? 0 : tail + 1) == head; }
  uint32_t occupied() const { return tail >= head ? tail - head : tail + size - head; }
};

/// Submission queue.
struct SubmissionQueue {
  bool exists = false;
  uint16_t id = 0;
  uint16_t cq = 0;
  uint32_t size = 0;
  uint32_t head = 0;         // next entry to fetch
  uint32_t tail = 0;         // last value from the host
  uint32_t posted_head = 0;  // head reported in the last completion
  uint64_t in_flight = 0;    // from the doorbell to the completion
  Doorbell doorbell;
  QueueMemory memory;
  std::vector<uint64_t> live;  // one bit per command identifier

  uint32_t pending() const { return tail >= head ? tail - head : tail + size - head; }
  /// Number of entries that the host can know to be free.
  uint32_t known_room() const {
    const uint32_t used = tail >= posted_head ? tail - posted_head : tail + size - posted_head;
    return size - 1 - used;
  }
  bool claim(uint16_t cid) {
    const uint64_t bit = uint64_t{1} << (cid % 64);
    const bool free = (live[cid / 64] & bit) == 0;
    live[cid / 64] |= bit;
    return free;
  }
  void give_back(uint16_t cid) { live[cid / 64] &= ~(uint64_t{1} << (cid % 64)); }
};

}  // namespace emulation

XIO_NAMESPACE_END
