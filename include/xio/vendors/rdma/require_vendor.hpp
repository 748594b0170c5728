// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Members that the traits of an RDMA vendor must have, checked when a queue is instantiated.
///
/// The traits derive from VendorDefaults, which has the flags. All members are static. Members of the second table are
/// required only if the flags announce them.
///
/// | member                                            | meaning                                                   |
/// |---------------------------------------------------|-----------------------------------------------------------|
/// | `name`                                            | name for messages                                         |
/// | `unit_shift(shape)`                               | log2 of the size of a unit in bytes; counters count units |
/// | `Send::units(shape, work, payload)`               | units of an entry                                         |
/// | `Send::check(shape, work, payload)`               | why it cannot be posted, or Status::ok                    |
/// | `Send::encode(shape, work, payload, place, sink)` | stores the entry; returns its first 8 bytes               |
/// | `Receive::check(shape, payload)`                  | why a receive cannot be posted, or Status::ok             |
/// | `Receive::encode(shape, payload, place, sink)`    | stores its entry                                          |
/// | `Completions`                                     | completion decoder: `by_index`, `entry_bytes`,            |
/// |                                                   | `word_offset`, `is_new`, `decode<receives>`,              |
/// |                                                   | `decode_success`, `is_about`                              |
/// | `progress(shape, known, completion, read)`        | progress of the send queue after a completion             |
///
/// | optional member                                   | meaning                                                   |
/// |---------------------------------------------------|-----------------------------------------------------------|
/// | `available(producer, head, entries)`              | number of available completions, with `by_index`          |
/// | `send_record(shape, end)`                         | the send record in memory byte order                      |
/// | `receive_record(shape, end)`                      | the receive record in memory byte order                   |
/// | `cq_record(head, entries)`                        | the completion queue record in memory byte order          |
/// | `Doorbell`, `CqDoorbell`                          | type that the register takes: uint32_t or uint64_t        |
/// | `send_doorbell(shape, end, head)`                 | doorbell value that announces entries before `end`        |
/// | `receive_doorbell(shape, end)`                    | doorbell value that announces receives before `end`       |
/// | `cq_doorbell(number, head, entries)`              | doorbell value that releases read completions             |
/// | `Collapsed`                                       | decoder of the one entry: `Ring`, `look`, `is_new`,       |
/// |                                                   | `decode`, `decode_success`                                |
/// | `Table`                                           | `entry_words`, `packets`, `next_psn`, `index`, `word`     |
/// | `doorbell_index(shape, index)`                    | index of a unit in the side table                         |

#include <xio/vendors/member.hpp>
#include <xio/vendors/rdma/completion.hpp>
#include <xio/vendors/rdma/traits.hpp>
#include <xio/vendors/rdma/work.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {
/// @addtogroup vendors_rdma
/// @{

/// Detectors of the members that require_vendor() requires.
namespace required {
/// @addtogroup vendors_rdma
/// @{

using member::Constant;
using member::made;

/// Placeholder for a sink of entries, and for a reader of words of a ring or of a completion.
struct Sink {
  static constexpr bool avoids_branches = false;
  XIO_HOST_DEVICE void put(uint32_t, const Segment&) const;
  XIO_HOST_DEVICE void put_chosen(uint32_t, const Segment&) const;
  XIO_HOST_DEVICE void put8(uint32_t, uint64_t) const;
};
/// A reader of the words of a ring.
struct RingWords {
  XIO_HOST_DEVICE uint32_t operator()(uint64_t offset) const;
};
/// A reader of the words of a completion.
struct EntryWords {
  XIO_HOST_DEVICE uint64_t operator()(uint32_t offset) const;
};

template <class V>
using Name = decltype(V::name);
/// Whether a flag is a bool.
template <auto Value>
constexpr bool is_bool = IsSame<decltype(Value), bool>::value;

template <class V>
using UnitShift = decltype(V::unit_shift(SendShape{}));
template <class V>
using Units = decltype(V::Send::units(SendShape{}, Work{}, OneSge{}));
template <class V>
using Check = decltype(V::Send::check(SendShape{}, Work{}, OneSge{}));
template <class V>
using Encode = decltype(V::Send::encode(SendShape{}, Work{}, OneSge{}, Place{}, made<Sink&>()));
template <class V>
using CheckReceive = decltype(V::Receive::check(ReceiveShape{}, OneSge{}));
template <class V>
using EncodeReceive = decltype(V::Receive::encode(ReceiveShape{}, OneSge{}, Place{}, made<Sink&>()));
template <class V>
using GetProgress = decltype(V::progress(SendShape{}, Progress{}, WorkCompletion{}, RingWords{}));

template <class V>
using ByIndex = Constant<V::Completions::by_index>;
template <class V>
using EntryBytes = decltype(V::Completions::entry_bytes);
template <class V>
using WordOffset = decltype(V::Completions::word_offset);
template <class V>
using IsNew = decltype(V::Completions::is_new(uint64_t{}, uint64_t{}, uint32_t{}));
template <class V>
using Decode = decltype(V::Completions::template decode<false>(uint64_t{}, EntryWords{}));
template <class V>
using DecodeSuccess = decltype(V::Completions::decode_success(uint64_t{}, EntryWords{}));
template <class V>
using IsAbout = decltype(V::Completions::is_about(Identity{}, WorkCompletion{}, uint64_t{}, EntryWords{}));
template <class V>
using Available = decltype(V::available(uint32_t{}, uint64_t{}, uint32_t{}));

template <class V>
using SendRecord = decltype(V::send_record(SendShape{}, uint64_t{}));
template <class V>
using ReceiveRecord = decltype(V::receive_record(ReceiveShape{}, uint64_t{}));
template <class V>
using CqRecord = decltype(V::cq_record(uint64_t{}, uint32_t{}));
/// Whether a doorbell's value has the type that is stored, 4 or 8 bytes.
template <class Value, class Stored>
using Rings =
    Constant<IsSame<Value, Stored>::value && (IsSame<Stored, uint32_t>::value || IsSame<Stored, uint64_t>::value)>;
template <class V>
using SendDoorbell = Rings<decltype(V::send_doorbell(SendShape{}, uint64_t{}, uint64_t{})), typename V::Doorbell>;
template <class V>
using ReceiveDoorbell = Rings<decltype(V::receive_doorbell(ReceiveShape{}, uint64_t{})), typename V::Doorbell>;
template <class V>
using CqDoorbell = Rings<decltype(V::cq_doorbell(uint32_t{}, uint64_t{}, uint32_t{})), typename V::CqDoorbell>;

template <class V>
using CollapsedIsAbout = decltype(V::Collapsed::Ring::is_about(Identity{}, WorkCompletion{}, uint64_t{}, EntryWords{}));
template <class V>
using CollapsedLook = decltype(V::Collapsed::look(EntryWords{}));
template <class V>
using CollapsedIsNew = decltype(V::Collapsed::is_new(uint64_t{}, Progress{}, uint64_t{}));
template <class V>
using CollapsedDecode = decltype(V::Collapsed::decode(EntryWords{}, Progress{}, uint64_t{}));
template <class V>
using CollapsedSuccess = decltype(V::Collapsed::decode_success(uint64_t{}, EntryWords{}));

template <class V>
using DoorbellIndex = decltype(V::doorbell_index(SendShape{}, uint64_t{}));
template <class V>
using TableWords = decltype(V::Table::entry_words);
template <class V>
using TablePackets = decltype(V::Table::packets(uint64_t{}, uint32_t{}));
template <class V>
using TableNextPsn = decltype(V::Table::next_psn(uint32_t{}, uint32_t{}));
template <class V>
using TableIndex = decltype(V::Table::index(uint32_t{}, uint64_t{}, uint32_t{}));
template <class V>
using TableWord = decltype(V::Table::word(uint32_t{}, Operation::put, uint32_t{}, uint32_t{}, uint32_t{}));

/// Fails to compile, with a message per member, if a member of a vendor's traits is missing or has the wrong type; see
/// the tables above. Returns true. QueuePair and ReceiveQueue call it.
template <class V>
XIO_HOST_DEVICE constexpr bool require_vendor() {
  static_assert(__is_base_of(VendorDefaults, V), "RDMA vendor: its traits must derive from rdma::VendorDefaults");
  using member::is;
  using member::is_flag;
  using member::is_set;
  static_assert(is<Name, V, const char* const>, "RDMA vendor: name must be a static constexpr const char*");
  static_assert(is_bool<V::power_of_two>, "RDMA vendor: power_of_two must be a static constexpr bool");
  static_assert(is_bool<V::wraps>, "RDMA vendor: wraps must be a static constexpr bool");
  static_assert(is_bool<V::counts_operations>, "RDMA vendor: counts_operations must be a static constexpr bool");
  static_assert(is_bool<V::has_nop>, "RDMA vendor: has_nop must be a static constexpr bool");
  static_assert(is_bool<V::has_inline>, "RDMA vendor: has_inline must be a static constexpr bool");
  static_assert(is_bool<V::has_local_invalidate>, "RDMA vendor: has_local_invalidate must be a static constexpr bool");
  static_assert(is_bool<V::fence_after_memory_operation>,
                "RDMA vendor: fence_after_memory_operation must be a static constexpr bool");
  static_assert(is_bool<V::has_flush_completions>,
                "RDMA vendor: has_flush_completions must be a static constexpr bool");
  static_assert(is_bool<V::has_send_record>, "RDMA vendor: has_send_record must be a static constexpr bool");
  static_assert(is_bool<V::has_send_doorbell>, "RDMA vendor: has_send_doorbell must be a static constexpr bool");
  static_assert(is_bool<V::doorbell_repeats_entry>,
                "RDMA vendor: doorbell_repeats_entry must be a static constexpr bool");
  static_assert(is_bool<V::doorbell_is_served>, "RDMA vendor: doorbell_is_served must be a static constexpr bool");
  static_assert(is_bool<V::has_receive_record>, "RDMA vendor: has_receive_record must be a static constexpr bool");
  static_assert(is_bool<V::has_receive_doorbell>, "RDMA vendor: has_receive_doorbell must be a static constexpr bool");
  static_assert(is_bool<V::has_cq_record>, "RDMA vendor: has_cq_record must be a static constexpr bool");
  static_assert(is_bool<V::has_cq_doorbell>, "RDMA vendor: has_cq_doorbell must be a static constexpr bool");
  static_assert(is_bool<V::has_collapsed_cq>, "RDMA vendor: has_collapsed_cq must be a static constexpr bool");
  static_assert(is_bool<V::has_side_table>, "RDMA vendor: has_side_table must be a static constexpr bool");
  static_assert(IsSame<decltype(V::doorbell_stride), const uint32_t>::value,
                "RDMA vendor: doorbell_stride must be a static constexpr uint32_t, 0 where there is one register");

  static_assert(is<UnitShift, V, uint32_t>, "RDMA vendor: unit_shift(shape) must return a uint32_t");
  static_assert(is<Units, V, uint32_t>, "RDMA vendor: Send::units(shape, work, payload) must return a uint32_t");
  static_assert(is<Check, V, Status>, "RDMA vendor: Send::check(shape, work, payload) must return a Status");
  static_assert(is<Encode, V, uint64_t>,
                "RDMA vendor: Send::encode(shape, work, payload, place, sink) must return the first 8 bytes");
  static_assert(is<CheckReceive, V, Status>, "RDMA vendor: Receive::check(shape, payload) must return a Status");
  static_assert(is<EncodeReceive, V, void>,
                "RDMA vendor: Receive::encode(shape, payload, place, sink) must return nothing");
  static_assert(is<GetProgress, V, Progress>,
                "RDMA vendor: progress(shape, known, completion, read) must return a Progress");

  static_assert(is_flag<ByIndex, V>, "RDMA vendor: Completions::by_index must be a static constexpr bool");
  static_assert(is<EntryBytes, V, const uint32_t>,
                "RDMA vendor: Completions::entry_bytes must be a static constexpr uint32_t");
  static_assert(is<WordOffset, V, const uint32_t>,
                "RDMA vendor: Completions::word_offset must be a static constexpr uint32_t");
  static_assert(is_set<ByIndex, V> || is<IsNew, V, bool>,
                "RDMA vendor: Completions::is_new(word, index, entries) must return a bool");
  static_assert(is<Decode, V, WorkCompletion>,
                "RDMA vendor: Completions::decode(word, read) must return a WorkCompletion");
  static_assert(is<DecodeSuccess, V, WorkCompletion>,
                "RDMA vendor: Completions::decode_success(word, read) must return a WorkCompletion");
  static_assert(is<IsAbout, V, bool>,
                "RDMA vendor: Completions::is_about(identity, completion, word, read) must return a bool");
  static_assert(!is_set<ByIndex, V> || is<Available, V, uint32_t>,
                "RDMA vendor: with Completions::by_index, available(producer, head, entries) must return a uint32_t");

  static_assert(V::has_send_record || V::has_send_doorbell,
                "RDMA vendor: entries are announced by a send record or a send doorbell, and it has neither");
  static_assert(V::has_receive_record || V::has_receive_doorbell,
                "RDMA vendor: receives are announced by a receive record or a receive doorbell, and it has neither");
  static_assert(V::has_cq_record || V::has_cq_doorbell,
                "RDMA vendor: completions are released by a completion queue record or doorbell, and it has neither");
  static_assert(!V::has_send_record || is<SendRecord, V, uint32_t>,
                "RDMA vendor: with has_send_record, send_record(shape, end) must return a uint32_t");
  static_assert(!V::has_send_doorbell || is_set<SendDoorbell, V>,
                "RDMA vendor: with has_send_doorbell, send_doorbell(shape, end, head) must return a Doorbell");
  static_assert(!V::has_receive_record || is<ReceiveRecord, V, uint32_t>,
                "RDMA vendor: with has_receive_record, receive_record(shape, end) must return a uint32_t");
  static_assert(!V::has_receive_doorbell || is_set<ReceiveDoorbell, V>,
                "RDMA vendor: with has_receive_doorbell, receive_doorbell(shape, end) must return a Doorbell");
  static_assert(!V::has_cq_record || is<CqRecord, V, uint32_t>,
                "RDMA vendor: with has_cq_record, cq_record(head, entries) must return a uint32_t");
  static_assert(!V::has_cq_doorbell || is_set<CqDoorbell, V>,
                "RDMA vendor: with has_cq_doorbell, cq_doorbell(number, head, entries) must return a CqDoorbell");

  if constexpr (V::has_collapsed_cq) {
    static_assert(is<CollapsedIsAbout, V, bool>,
                  "RDMA vendor: with has_collapsed_cq, Collapsed::Ring must have is_about() as Completions has it");
    static_assert(is<CollapsedLook, V, uint64_t>,
                  "RDMA vendor: with has_collapsed_cq, Collapsed::look(read) must return a uint64_t");
    static_assert(is<CollapsedIsNew, V, bool>,
                  "RDMA vendor: with has_collapsed_cq, Collapsed::is_new(word, known, in_flight) must return a bool");
    static_assert(is<CollapsedDecode, V, WorkCompletion>,
                  "RDMA vendor: with has_collapsed_cq, Collapsed::decode(…) must return a WorkCompletion");
    static_assert(is<CollapsedSuccess, V, WorkCompletion>,
                  "RDMA vendor: with has_collapsed_cq, Collapsed::decode_success(…) must return a WorkCompletion");
  }
  if constexpr (V::has_side_table) {
    static_assert(is<DoorbellIndex, V, uint32_t>,
                  "RDMA vendor: with has_side_table, doorbell_index(shape, index) must return a uint32_t");
    static_assert(is<TableWords, V, const uint32_t>,
                  "RDMA vendor: with has_side_table, Table::entry_words must be a static constexpr uint32_t");
    static_assert(is<TablePackets, V, uint32_t>,
                  "RDMA vendor: with has_side_table, Table::packets(bytes, mtu_shift) must return a uint32_t");
    static_assert(is<TableNextPsn, V, uint32_t>,
                  "RDMA vendor: with has_side_table, Table::next_psn(psn, packets) must return a uint32_t");
    static_assert(is<TableIndex, V, uint32_t>,
                  "RDMA vendor: with has_side_table, Table::index(place, message, entries) must return a uint32_t");
    static_assert(is<TableWord, V, uint64_t>,
                  "RDMA vendor: with has_side_table, Table::word(…) must return a uint64_t");
  }
  return true;
}

/// @}
}  // namespace required

// A member of `required`, so that a program's own names in the outer namespace do not hide the detectors.
using required::require_vendor;

/// @}
}  // namespace rdma

XIO_NAMESPACE_END
