// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Reading a collapsed completion queue: one entry that the device overwrites with each completion of a send
/// queue.
///
/// Entries overwritten before they were read are lost. This is harmless as long as operations succeed: the last
/// completion covers all earlier ones. The first failure can be lost (see CollapsedReader::read).

#include <xio/device/rdma/completions.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {
/// @addtogroup kernel_rdma
/// @{

/// Result of reading the entry.
struct CollapsedNews {
  /// send: operations ended; ended: the device reports no more; unknown: it reports another queue pair.
  CompletionKind kind = CompletionKind::nothing;
  Progress now{};           ///< progress of the queue
  uint64_t failed_end = 0;  ///< producer counter after the first failed operation
  Status status;            ///< its status; Status::ok: none failed
};

/// Reads the entry for all lanes of a group with the loads of the first lane.
template <class Vendor, Sharing S>
class CollapsedReader {
  using Entry = typename Vendor::Collapsed;

 public:
  XIO_HOST_DEVICE CollapsedReader(const QueuePairHandle& queue, Group<S> group) : queue_(queue), group_(group) {}

  /// Loads the word that is_new() and read() take.
  XIO_DEVICE_INLINE uint64_t look() const {
    return Entry::look(
        [&](uint32_t offset) { return group_.from_leader(arch::load<arch::Scope::system>(word_at(offset))); });
  }

  /// Whether the entry may report progress. `in_flight`: units posted after `known`, at most the size of the ring.
  XIO_DEVICE_INLINE static bool is_new(uint64_t word, Progress known, uint64_t in_flight) {
    return Entry::is_new(word, known, in_flight);
  }

  /// Decodes the entry, which is new by `word`. Returns CompletionKind::nothing if it changed meanwhile: poll again.
  ///
  /// After a failure, entries of flushed operations overwrite the failed operation's entry. Then it is unknown which
  /// operation failed first, and how: all operations not known to have ended count as flushed.
  /// @param checks whether the entry's queue pair is checked
  XIO_DEVICE_INLINE CollapsedNews read(uint64_t word, Progress known, uint64_t in_flight, bool checks) const {
    // order: loads as written. Loaded after is_new() has checked the entry, the rest of it is not older than the word.
    arch::order_loads<arch::Scope::system>();
    WorkCompletion completion = Entry::decode_success(word, [&](uint32_t offset) { return load(offset); });
    const Identity ours{queue_.shape.qpn, 0};
    bool foreign = !Entry::Ring::is_about(ours, completion, word, [&](uint32_t offset) { return load(offset); });
    if (XIO_UNLIKELY(completion.kind != CompletionKind::send)) {
      completion = decode(known, in_flight);
      foreign = foreign || (completion.kind != CompletionKind::nothing && completion.qpn != ours.qpn);
    }
    CollapsedNews news;
    if (checks && XIO_UNLIKELY(foreign)) {
      news.kind = CompletionKind::unknown;
    } else if (completion.kind == CompletionKind::ended) {
      news = {completion.kind, known, known.units + 1, completion.status};
    } else if (completion.kind == CompletionKind::send) {
      news.now = Vendor::progress(queue_.shape, known, completion, [&](uint64_t offset) {
        const auto* const at = reinterpret_cast<const uint32_t*>(static_cast<const char*>(queue_.sq) + offset);
        return group_.from_leader(arch::load<arch::Scope::system>(at));  // only the first lane has acquired it
      });
      // bound: operations in flight. Any other entry is old or invalid.
      if (news.now.units - known.units - 1 >= in_flight) return news;
      news.kind = completion.kind;
      news.status = completion.status;
      news.failed_end = completion.status == Status::flushed ? known.units + 1 : news.now.units;
    }
    return news;
  }

 private:
  XIO_DEVICE_INLINE const uint64_t* word_at(uint32_t offset) const {
    return reinterpret_cast<const uint64_t*>(static_cast<const char*>(queue_.cq.entries) + offset);
  }
  XIO_DEVICE_INLINE uint64_t load(uint32_t offset) const {
    return group_.from_leader(arch::observe<arch::Scope::system>(word_at(offset)));
  }

  XIO_COLD XIO_DEVICE WorkCompletion decode(Progress known, uint64_t in_flight) const {
    return Entry::decode([&](uint32_t offset) { return load(offset); }, known, in_flight);
  }

  const QueuePairHandle& queue_;
  Group<S> group_;
};

/// @}
}  // namespace rdma

XIO_NAMESPACE_END
