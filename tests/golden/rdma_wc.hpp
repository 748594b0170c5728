// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Replay of RDMA files: completion queues, and what is reported from them.

#include <cstring>
#include <deque>
#include <optional>
#include <stdexcept>

#include <xio/vendors/endian.hpp>
#include <xio/vendors/rdma/completion.hpp>

#include "rdma_request.hpp"

namespace golden::rdma {

/// A completion queue in memory, as a case fills it.
class CompletionRing {
 public:
  CompletionRing(uint32_t entries, uint32_t entry_bytes, uint8_t fill)
      : entries_(static_cast<uint32_t>(number_within("entries of a completion queue", entries, 1, 1u << 20))),
        entry_bytes_(static_cast<uint32_t>(number_within("bytes of a completion", entry_bytes, 32, 128))),
        memory_(size_t{entries_} * entry_bytes_, fill) {}

  uint32_t entries() const { return entries_; }
  const Bytes& bytes() const { return memory_; }
  void put(uint32_t slot, uint32_t offset, const Bytes& bytes);
  /// The case's "cqes": each in its slot, from `base` on where it does not say.
  void put_all(const Json& cqes);
  uint64_t load(uint64_t index, uint32_t offset) const;

  /// The entry at consumer index `index`, if it is new. `producer`: of those rings that have such an index.
  template <class Decoder>
  std::optional<lib::WorkCompletion> look(uint64_t index, uint64_t producer = 0) const {
    const uint64_t word = load(index, Decoder::word_offset);
    if (!Decoder::is_new(by_index<Decoder>(0) ? producer : word, index, entries_)) return std::nullopt;
    const auto read = [&](uint32_t offset) { return load(index, offset); };
    const lib::WorkCompletion whole = Decoder::decode(word, read);
    compare_usual(whole, Decoder::decode_success(word, read));
    compare_of_send_queue(whole, Decoder::template decode<false>(word, read));
    return whole;
  }

 private:
  template <class Decoder>
  static constexpr auto by_index(int) -> decltype(Decoder::by_index) {
    return Decoder::by_index;
  }
  template <class Decoder>
  static constexpr bool by_index(long) {
    return false;
  }

  /// decode_success() agrees with decode(), and leaves nothing to it that both could tell.
  static void compare_usual(const lib::WorkCompletion& whole, const lib::WorkCompletion& usual) {
    // Local operations of IONIC, which complete by ring index, are not usual.
    const bool expected =
        whole.kind == lib::CompletionKind::send && whole.status.is_ok() && whole.counts != lib::Counter::entry;
    const bool told = usual.kind != lib::CompletionKind::nothing;
    if (told == expected &&
        (!told || (usual.kind == whole.kind && usual.status == whole.status && usual.counts == whole.counts &&
                   usual.counter == whole.counter && usual.wr_id == whole.wr_id)))
      return;
    throw std::runtime_error("decode_success() and decode() disagree");
  }

  /// Without the details of receives, decode() says the same of all others.
  static void compare_of_send_queue(const lib::WorkCompletion& whole, const lib::WorkCompletion& brief) {
    const bool receive = whole.kind == lib::CompletionKind::receive;
    if (brief.kind == whole.kind &&
        (receive || (brief.status == whole.status && brief.counts == whole.counts && brief.counter == whole.counter &&
                     brief.wr_id == whole.wr_id && brief.qpn == whole.qpn && brief.queue == whole.queue)))
      return;
    throw std::runtime_error("decode() with and without receives disagree");
  }

  uint32_t entries_;
  uint32_t entry_bytes_;
  Bytes memory_;
};

/// A number in a recorded entry. Cases are skipped for what the recording holds, never for what the library makes of
/// it.
uint64_t little_endian(const Bytes& entry, size_t offset, size_t bytes);
uint64_t big_endian(const Bytes& entry, size_t offset, size_t bytes);
/// The case's "cqes" as bytes.
std::vector<Bytes> recorded_entries(const Json& recorded);

/// What a caller is told.
struct Reported {
  uint64_t wr_id;
  bool is_receive;
  xio::Status status;
  lib::WorkCompletion completion;  ///< the entry that said so
  bool flushed = false;            ///< no entry said so: the queue pair is in error
};

/// Requests that were posted to a queue and have not ended.
struct Outstanding {
  Request request;
  uint64_t first_unit = 0;
  uint64_t message = 0;
  bool done = false;
};

/// The requests of "posted", a list of calls.
std::vector<Request> posted_requests(const Json& recorded, bool signal_all);

/// Whether the recorded driver failed the poll: then it told of nothing, whatever it had read.
inline bool poll_fails(const Json& recorded) { return member(recorded, "ret").get<int64_t>() < 0; }

/// Compares what is reported with the case's "wc" and "ret".
/// @param failed whether an entry was met that the driver must have failed the poll for
/// @throws Mismatch
void expect_reports(const Json& recorded, const std::vector<Reported>& reports, bool failed = false);

}  // namespace golden::rdma
