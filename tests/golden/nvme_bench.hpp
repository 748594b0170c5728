// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief One NVMe queue pair on plain memory, driven by the library's own post and drain code, and watched as a
/// controller would watch it: entries and lists are fetched when the tail doorbell is rung, not later.

#include <algorithm>
#include <cstring>
#include <new>

#include <xio/device/nvme/queue.hpp>
#include <xio/vendors/nvme/registers.hpp>

#include "golden.hpp"

namespace golden::nvme {

namespace lib = xio::nvme;

/// Zeroed or filled memory with a chosen alignment.
class AlignedMemory {
 public:
  AlignedMemory() = default;
  AlignedMemory(size_t bytes, size_t alignment, uint8_t fill)
      : data_(static_cast<uint8_t*>(::operator new(bytes, std::align_val_t(alignment)))),
        bytes_(bytes),
        alignment_(alignment) {
    std::memset(data_, fill, bytes);
  }
  AlignedMemory(AlignedMemory&& other) noexcept { *this = std::move(other); }
  AlignedMemory& operator=(AlignedMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(alignment_, other.alignment_);
    return *this;
  }
  ~AlignedMemory() {
    if (data_) ::operator delete(data_, std::align_val_t(alignment_));
  }

  uint8_t* data() const { return data_; }
  size_t size() const { return bytes_; }
  template <class T>
  T* as(size_t offset = 0) const {
    return reinterpret_cast<T*>(data_ + offset);
  }

 private:
  uint8_t* data_ = nullptr;
  size_t bytes_ = 0;
  size_t alignment_ = 16;
};

/// Part of a region that mirrors doorbells: from `base`, an offset from the first doorbell.
struct DoorbellWindow {
  uint64_t base = 0;
  AlignedMemory memory;

  uint32_t* word(uint64_t offset) const { return memory.as<uint32_t>(offset - base); }
};

/// A store that was seen outside of rings and lists.
struct Event {
  enum class Kind { shadow, mmio } kind;
  uint64_t offset;  ///< from the first doorbell, or in the shadow page
  Bytes bytes;
};
bool operator==(const Event& a, const Event& b);
std::string to_text(const std::vector<Event>& events);

/// What a controller found behind a tail doorbell.
struct Fetched {
  uint32_t slot;
  Bytes entry;
  std::vector<uint64_t> list;  ///< the list memory of the entry's command identifier
};

/// The shape of a queue pair.
struct BenchOptions {
  uint32_t entries = 16;
  uint32_t qid = 3;
  uint32_t dstrd = 0;
  uint32_t block_shift = 9;
  uint32_t page_shift = 12;
  uint64_t lists_bus = 0x7000'0000'0048;
  uint32_t list_bytes = 4096;
  uint32_t slots = 0;  ///< completion slots; 0: the least that the protocol asks for
};

class Bench {
 public:
  static constexpr uint8_t fill = 0xa5;

  explicit Bench(const BenchOptions& options);
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;
  ~Bench();

  const lib::QueueHandle& handle() const { return handle_; }
  xio::QueueState& state() { return *handle_.state; }
  lib::Cqe* cq() const { return cq_.as<lib::Cqe>(); }
  xio::nvme::CompletionSlot* slots() const { return slots_.as<xio::nvme::CompletionSlot>(); }
  uint32_t& shadow(bool submission) const { return *shadow_.word(slot_offset(submission)); }
  uint32_t& event_index(bool submission) const { return *event_.word(slot_offset(submission)); }

  /// Sets the state to what it is when the next entry goes to slot `tail` and those from `head` on are in flight.
  void start_at(uint32_t tail, uint32_t head);

  /// Entry and list of a slot as they lie in memory now.
  Fetched fetch(uint32_t slot) const;
  /// Whether nothing was ever stored to a slot.
  bool untouched(uint32_t slot) const;

  /// What was seen since the last call.
  std::vector<Event> take_events();
  std::vector<Fetched> take_fetched();
  /// Whether every doorbell so far came after a release, and every register store behind a shadow after a full fence.
  bool ordered() const { return ordered_; }

  /// A doorbell back end of the library, watched.
  template <class Back>
  struct Watched {
    static void ring(const xio::DoorbellTarget& target, uint32_t value) {
      active_->before_ring(target, value);
      Back::ring(target, value);
      active_->after_ring();
    }
    static void ring_each(const xio::DoorbellTarget& target, uint32_t value) {
      active_->before_ring(target, value);
      Back::ring_each(target, value);
      active_->after_ring();
    }
  };

 private:
  uint64_t slot_offset(bool submission) const;
  void before_ring(const xio::DoorbellTarget& target, uint32_t value);
  void after_ring();

  static Bench* active_;

  BenchOptions options_;
  AlignedMemory sq_, cq_, slots_, failures_, lists_, state_;
  DoorbellWindow doorbells_, shadow_, event_;
  lib::QueueHandle handle_{};
  uint32_t fetched_tail_ = 0;
  Bytes shadow_before_;
  xio::arch::OperationCounts counts_before_, counts_at_ring_;
  std::vector<Event> events_;
  std::vector<Fetched> fetched_;
  bool ordered_ = true;
};

/// Compares recorded events with those that a bench saw. Barriers are checked by Bench::ordered().
void expect_events(const Json& recorded, const std::vector<Event>& seen);

}  // namespace golden::nvme
