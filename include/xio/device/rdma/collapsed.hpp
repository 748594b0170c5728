// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Reading a collapsed completion queue: one entry that the device overwrites with each completion of a send
/// queue.
///
/// What was overwritten before anybody looked is lost, and is not missed as long as operations succeed: the last
/// completion stands for all before it. Of a failure it is missed (see CollapsedReader::read).

#include <xio/device/rdma/completions.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {

/// What the entry told.
struct CollapsedNews {
  /// send: operations ended; ended: the device tells of no more; unknown: it tells of another queue pair.
  CompletionKind kind = CompletionKind::nothing;
  Progress now{};           ///< how far the queue got
  uint64_t failed_end = 0;  ///< producer counter after the first operation that failed
  Status status;            ///< how it failed; Status::ok: none did
};

/// The entry as all lanes of a group see it: the first one's loads serve them all.
template <class Vendor, Sharing S>
class CollapsedReader {
  using Entry = typename Vendor::Collapsed;

 public:
  XIO_HOST_DEVICE CollapsedReader(const QueuePairHandle& queue, Group<S> group) : queue_(queue), group_(group) {}

  /// What is_new() and read() take.
  XIO_DEVICE_INLINE uint64_t look() const {
    return Entry::look(
        [&](uint32_t offset) { return group_.from_leader(arch::load<arch::Scope::system>(word_at(offset))); });
  }

  /// Whether the entry may tell something. `in_flight`: units posted behind `known`, and no more than the ring holds.
  XIO_DEVICE_INLINE static bool is_new(uint64_t word, Progress known, uint64_t in_flight) {
    return Entry::is_new(word, known, in_flight);
  }

  /// What the entry, which is new by `word`, tells. CompletionKind::nothing where it changed meanwhile: look again.
  ///
  /// Behind a failure, entries of flushed operations overwrite its own. Where that has happened, nobody knows which
  /// operation failed first, nor how: all that were not known to have ended count as flushed.
  /// @param checks whether it looks at the queue pair that is told of
  XIO_DEVICE_INLINE CollapsedNews read(uint64_t word, Progress known, uint64_t in_flight, bool checks) const {
    // The rest of the entry is not older than what is_new() has looked at, if it is loaded behind it.
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
        return arch::load<arch::Scope::system>(
            reinterpret_cast<const uint32_t*>(static_cast<const char*>(queue_.sq) + offset));
      });
      // Of something that is not in flight: an old one, or nonsense.
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

}  // namespace rdma

XIO_NAMESPACE_END
