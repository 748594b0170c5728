// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The table of completion slots, for queues whose device may finish operations in any order; and the errors in
/// it.
///
/// Ticket i uses command identifier i mod W, W being the number of slots. A slot remembers how the last operation that
/// used it ended, until the next one ends: a token can be asked for up to W operations later.

#include <xio/device/submission.hpp>

XIO_NAMESPACE_BEGIN

/// How the last operation with one command identifier ended. Zeroed at creation.
struct alignas(16) CompletionSlot {
  uint64_t word;    ///< first ticket of the next lap << 16 | seen by a waiter, bit 15 | device status, bits 14:0
  uint64_t result;  ///< command specific result (NVMe: CQE dwords 0 and 1); stored before `word`
};
static_assert(sizeof(CompletionSlot) == 16, "one 16-byte slot for each command identifier");

namespace protocol {

/// To, with the constness of From.
template <class From, class To>
struct Matching {
  using type = To;
};
template <class From, class To>
struct Matching<const From, To> {
  using type = const To;
};

/// Content of a slot's upper 48 bits that lets `ticket` use it: all operations of earlier laps have ended.
XIO_DEVICE constexpr uint64_t lap_begin(uint64_t ticket, uint32_t slot_mask) { return ticket & ~uint64_t{slot_mask}; }

/// Content of a slot's upper 48 bits once `ticket` has ended.
XIO_DEVICE constexpr uint64_t lap_end(uint64_t ticket, uint32_t slot_mask) { return (ticket | slot_mask) + 1; }

/// The element of a ring that `index` refers to. A base that all lanes share and a 32-bit distance are one address mode
/// of the hardware.
template <class Element>
XIO_DEVICE_INLINE Element& slot_of(Element* ring, uint32_t mask, uint64_t index) {
  using Byte = typename Matching<Element, char>::type;
  const uint32_t distance = ring::slot(index, mask) * static_cast<uint32_t>(sizeof(Element));
  return *reinterpret_cast<Element*>(reinterpret_cast<Byte*>(ring) + distance);
}

/// Whether `ticket` may use its slot.
template <Sharing S>
XIO_DEVICE_INLINE bool slot_free(const CompletionSlot* slots, uint32_t slot_mask, uint64_t ticket) {
  return read<S>(slot_of(slots, slot_mask, ticket).word) >> 16 == lap_begin(ticket, slot_mask);
}

constexpr uint64_t seen_bit = 0x8000;

/// What is known of one ticket.
enum class Outcome : uint32_t { pending, ended, expired };

/// Looks up one ticket; `status` is set where it has ended.
template <Sharing S>
XIO_DEVICE_INLINE Outcome look_up(const CompletionSlot* slots, uint32_t slot_mask, uint64_t ticket, uint64_t& word) {
  const uint64_t* const where = &slot_of(slots, slot_mask, ticket).word;
  if constexpr (is_shared<S>) {
    word = arch::load<state_scope<S>>(where);
  } else {
    word = *where;
  }
  const uint64_t end = lap_end(ticket, slot_mask);
  if (word >> 16 < end) return Outcome::pending;
  return word >> 16 == end ? Outcome::ended : Outcome::expired;
}

/// Adds to the count of errors that nobody has waited for. All lanes pass the same number.
template <Sharing S>
XIO_DEVICE void add_errors(QueueState& state, uint64_t group, uint32_t number) {
  if constexpr (is_shared<S>) {
    if (leads<S>(group)) arch::fetch_add<state_scope<S>>(&state.error_count, number);
  } else {
    const uint32_t before = state.error_count;
    before_writing<S>(group);
    state.error_count = before + number;
  }
}

/// Puts errors on record that leave the table before anybody waited for them. All lanes pass the same values; `status`
/// is the device's own, of the first.
template <Sharing S>
XIO_DEVICE void record_lost_errors(QueueState& state, uint64_t group, uint32_t number, uint64_t ticket,
                                   uint32_t status) {
  uint32_t before = read<S>(state.lost_errors);
  const auto sum = [&] {
    const uint32_t known = before >> 16;
    return (known + number < 0xffff ? known + number : 0xffff) << 16 | (known != 0 ? before & 0xffff : status);
  };
  if constexpr (is_shared<S>) {
    // One wave at a time drains; only quiet() may come in between, and leaves 0.
    if (!leads<S>(group)) return;
    if (before == 0) arch::store<state_scope<S>>(&state.lost_ticket, ticket);
    while (!arch::compare_exchange<state_scope<S>>(&state.lost_errors, before, sum())) {
    }
  } else {
    before_writing<S>(group);
    if (before == 0) state.lost_ticket = ticket;
    state.lost_errors = sum();
  }
}

/// Sets the mark of a waiter in a slot that holds an error; false where it was there before.
template <Sharing S>
XIO_DEVICE_INLINE bool mark_seen(CompletionSlot& slot, uint64_t word) {
  if (word & seen_bit) return false;
  if constexpr (S == Sharing::thread) {
    slot.word = word | seen_bit;
    return true;
  } else {
    // Lanes of one wave may wait for the same operation.
    return arch::compare_exchange<state_scope<S>>(&slot.word, word, word | seen_bit);
  }
}

/// Failed operations that nobody has waited for.
struct UnseenErrors {
  uint32_t count;
  uint64_t first_ticket;
  uint32_t first_status;  ///< the device's own
};

/// Looks through the table; with `take`, for the caller, who waits for all of them by that. One lane calls.
template <class Format, Sharing S>
XIO_DEVICE UnseenErrors unseen_errors(CompletionSlot* slots, uint32_t slot_mask, bool take) {
  UnseenErrors unseen{};
  for (uint32_t slot = 0; slot <= slot_mask; ++slot) {
    const uint64_t word = read<S>(slots[slot].word);
    if (!Format::is_error(word & 0x7fff) || (word & seen_bit) != 0) continue;
    if (take && !mark_seen<S>(slots[slot], word)) continue;
    const uint64_t ticket = (word >> 16) - slot_mask - 1 + slot;
    if (unseen.count++ == 0 || ticket < unseen.first_ticket) {
      unseen.first_ticket = ticket;
      unseen.first_status = static_cast<uint32_t>(word & 0x7fff);
    }
  }
  return unseen;
}

/// Failed operations that nobody has waited for, also those that the table shows no more; with `take`, nobody is told
/// of them again. All lanes of `group` call, and get the same.
template <class Format, Sharing S>
XIO_DEVICE UnseenErrors find_errors(QueueState& state, uint64_t group, CompletionSlot* slots, uint32_t slot_mask,
                                    bool take) {
  UnseenErrors all{};
  uint32_t lost = from_leader<S>(group, read<S>(state.lost_errors));
  all.count = from_leader<S>(group, read<S>(state.error_count));
  if (all.count == 0 && lost == 0) return all;
  if (leads<S>(group)) {
    all = unseen_errors<Format, S>(slots, slot_mask, take);
    if constexpr (is_shared<S>) {
      if (take && lost != 0) lost = arch::exchange<state_scope<S>>(&state.lost_errors, 0u);
    }
    // Those are older than anything in the table.
    if (lost != 0) {
      all.first_ticket = read<S>(state.lost_ticket);
      all.first_status = lost & 0xffff;
    }
  }
  const uint32_t taken = from_leader<S>(group, all.count);
  lost = from_leader<S>(group, lost);
  all.count = taken + (lost >> 16);
  all.first_ticket = from_leader<S>(group, all.first_ticket);
  all.first_status = from_leader<S>(group, all.first_status);
  if (take) {
    add_errors<S>(state, group, 0u - taken);
    if constexpr (!is_shared<S>) state.lost_errors = 0;
  }
  return all;
}

}  // namespace protocol

XIO_NAMESPACE_END
