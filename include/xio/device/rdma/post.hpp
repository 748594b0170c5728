// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Checking, encoding and posting of RDMA operations, and waiting for them.

#include <xio/device/rdma/rings.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {

/// The submission path of an RDMA queue pair; base class of QueuePair.
template <class Vendor, Sharing S, class Policy, class Holder>
class SendPost : public SendRings<Vendor, S, Policy, Holder> {
  using Rings = SendRings<Vendor, S, Policy, Holder>;

 public:
  using Rings::handle;
  using Rings::Rings;

 protected:
  using Rings::device;
  using Rings::drain_group;
  using Rings::flush_group;
  using Rings::has_ended;
  using Rings::look_group;
  using Rings::outcome;
  using Rings::send;
  using Rings::state;

  template <class Payload>
  XIO_DEVICE_INLINE Status check(const Work& work, const Payload& payload) const {
    if constexpr (Vendor::fence_after_memory_operation && is_shared<S>) {
      // The next entry must be fenced, and can belong to another wave.
      if (work.operation == Operation::local_invalidate) return Status::unsupported;
    }
    if constexpr (Vendor::counts_operations) {
      // Its end is reported out of order with the others: QueuePair::invalidate() posts it alone.
      if (work.operation == Operation::local_invalidate) return Status::unsupported;
    }
    const Status status = Vendor::Send::check(handle().shape, work, payload);
    if (!status.is_ok()) return status;
    // A constant 1 removes the comparison.
    const uint32_t units = Vendor::Send::units(handle().shape, work, payload);
    return units == 1 || units <= handle().depth ? Status::ok : Status::out_of_range;
  }

  /// Placement of the lanes' consecutive entries.
  struct Row {
    uint32_t before;  ///< units of earlier lanes
    uint32_t own;
    uint32_t total;  ///< units of the lanes that fit in the queue together
    uint32_t least;  ///< minimum units of a claim
  };

  /// @param pending the lanes of `group` with an operation, each of `own` units.
  XIO_DEVICE_INLINE Row row_of(Group<S> group, uint64_t pending, uint32_t own) const {
    if constexpr (S == Sharing::thread) {
      return {0, own, own, own};
    } else {
      const uint32_t common = group.from_lane(own, arch::first_lane(pending));
      if (XIO_LIKELY(!group.any(Group<S>::has(pending) && own != common))) {
        const uint32_t fitting = handle().depth / common;
        const uint32_t lanes = arch::count_lanes(pending);
        const uint32_t total = (lanes < fitting ? lanes : fitting) * common;
        // Packet and message numbers are claimed for all entries or for none.
        const bool in_parts = common == 1 && !Vendor::has_side_table;
        return {Group<S>::rank_in(pending) * common, own, total, in_parts ? 1 : total};
      }
      Row row{0, own, 0, 0};
      for (uint64_t left = pending; left != 0; left &= left - 1) {
        const uint32_t lane = arch::first_lane(left);
        const uint32_t units = group.from_lane(own, lane);
        if (row.total + units > handle().depth) break;
        if (lane < arch::lane()) row.before += units;
        row.total += units;
      }
      row.least = row.total;
      return row;
    }
  }

  /// Posts the operation of each lane that is `wanting`; other lanes assist and keep `token`.
  template <class Payload, class Until, class Telemetry>
  XIO_DEVICE_INLINE Token submit_group(Group<S> group, bool wanting, const Work& work, const Payload& payload,
                                       Until until, Token token, Telemetry& telemetry) {
    const QueuePairHandle& q = handle();
    if constexpr (S == Sharing::thread) {
      // No other lane needs this one's help: a refusal returns early.
      if (XIO_UNLIKELY(!wanting)) return token;
      wanting = true;
    }
    const uint32_t units = wanting ? Vendor::Send::units(q.shape, work, payload) : 1;
    for (uint64_t pending = group.members(wanting); pending != 0;) {
      const Row row = row_of(group, pending, units);
      const Numbers<Payload> numbers(group, handle().shape, Group<S>::has(pending) && row.before + units <= row.total,
                                     payload);
      if constexpr (S == Sharing::thread) arch::prefer_vector_loads();
      protocol::Claim claim = protocol::claim_until(device(), group, row.total, row.least, until, step_of(numbers));
      if (XIO_UNLIKELY(claim.count == 0)) {
        const Status why = Rings::template refusal<Until>(group);
        if constexpr (S == Sharing::thread) return Token::refused(why);
        if (Group<S>::has(pending)) token = Token::refused(why);
        break;
      }
      if constexpr (S == Sharing::thread) claim.count = units;
      const bool served = Group<S>::has(pending) && row.before + units <= claim.count;
      const uint64_t storing = group.members(served);
      uint64_t head = 0;
      bool signaled = true;
      uint64_t started = Telemetry::start();
      if (served) {
        const uint64_t first = claim.first + row.before;
        const uint64_t end = first + units;
        Place place;
        place.index = first;
        place.wr_id = end;
        if constexpr (Vendor::fence_after_memory_operation && !is_shared<S>) {
          place.after_memory_operation = send().memory_end == first + 1;
        }
        Work signed_work = work;
        signaled = is_signaled(work, first, end, row.before + units == claim.count);
        signed_work.flags = (work.flags & ~work_flag::signaled) | (signaled ? work_flag::signaled : 0);
        RingSink<Vendor, Policy> sink(q.sq, q.shape, first, units);
        head = Vendor::Send::encode(q.shape, signed_work, payload, place, sink);
        token.last = end - 1;
        token.count = S == Sharing::thread ? arch::per_lane(units) : units;
        token.status = Status::ok;
      }
      const Sequence sequence = sequence_of(claim);
      if (served) number(numbers, sequence, claim.first + row.before, work);
      telemetry.stop(telemetry::Step::enqueue, started);
      started = Telemetry::start();
      publish(group, claim, storing, head, signaled, numbers, sequence, work);
      telemetry.stop(telemetry::Step::sq_doorbell, started);
      // No other lane needs this one's help.
      if constexpr (S == Sharing::thread) return token;
      pending &= ~storing;
    }
    group.converge();
    return token;
  }

  /// Replaces a counter: an operation at or after the token's is known to be signalled.
  static constexpr uint64_t is_covered = ~uint64_t{0};

  /// Waits until everything that `token` denotes has ended. All lanes of `group` call, each with its own token.
  ///
  /// On shared queues other waves may publish entries that they claimed earlier, unsignalled or unannounced, and not
  /// wait for them: these are checked again from time to time.
  /// @param published producer counter up to which operations are known to be published, or `is_covered`
  template <class Telemetry>
  XIO_DEVICE Status wait_group(Group<S> group, const Token& token, Deadline until, uint64_t published,
                               Telemetry& telemetry) {
    typename Rings::Waiting waiting;
    for (;;) {
      if (!signal_tail(group, token, published, until)) published = is_covered;
      flush_group(group);
      if (look_group(group, token, until, waiting, telemetry)) break;
      if (published != is_covered) published = protocol::published(arch::observe<state_scope<S>>(&state().tail));
    }
    // Evaluated once: what ends after the acquire is left to the next call.
    const bool over = has_ended(token);
    if (group.any(over && token.count != 0)) arch::acquire_system();
    if (!over) return waiting.broken ? Status::broken : Status::timed_out;
    return outcome(token);
  }

  // Also used by batches (batch.hpp).

  XIO_DEVICE_INLINE bool is_signaled(const Work& work, uint64_t first, uint64_t end, bool last) const {
    if (work.has(work_flag::signaled) && last) return true;
    const uint32_t every = handle().signal_every;
    if (every == 0) return false;
    // Without a nop, post_signaled() posts a put, which a peer may refuse unless the tail is a put too.
    const bool can_wait =
        Vendor::has_nop || work.operation == Operation::put || work.operation == Operation::put_immediate;
    if (last && !can_wait) return true;
    // Signals if first..end crosses a multiple of `every`, a power of two.
    return ((first ^ end) & ~uint64_t{every - 1}) != 0;
  }

  /// Packet and message numbers of a claim's entries, relative to the claim's begin, for vendors that need them.
  template <class Payload, bool Needed = Vendor::has_side_table>
  struct Numbers {
    XIO_DEVICE_INLINE Numbers(Group<S>, const SendShape&, bool, const Payload&) {}
  };
  template <class Payload>
  struct Numbers<Payload, true> {
    uint32_t packets;         ///< packets of the calling lane's operation
    uint32_t packets_before;  ///< packets of earlier lanes
    uint32_t messages_before;
    SequencedTickets::Step all;

    XIO_DEVICE_INLINE Numbers(Group<S> group, const SendShape& shape, bool fits, const Payload& payload)
        : packets(fits ? Vendor::Table::packets(payload.bytes(), shape.mtu_shift) : 0),
          packets_before(0),
          messages_before(0),
          all{packets, 1} {
      if constexpr (S != Sharing::thread) {
        const uint64_t row = group.members(fits);
        messages_before = Group<S>::rank_in(row);
        all.messages = arch::count_lanes(row);
        const uint32_t common = group.from_lane(packets, arch::first_lane(row));
        if (XIO_LIKELY(!group.any(fits && packets != common))) {
          packets_before = messages_before * common;
          all.packets = all.messages * common;
          return;
        }
        all.packets = 0;
        for (uint64_t left = row; left != 0; left &= left - 1) {
          const uint32_t lane = arch::first_lane(left);
          const uint32_t count = group.from_lane(packets, lane);
          if (lane < arch::lane()) packets_before += count;
          all.packets += count;
        }
      }
    }
  };

  template <class N>
  XIO_DEVICE_INLINE static typename Rings::Device::Tickets::Step step_of([[maybe_unused]] const N& numbers) {
    if constexpr (Rings::sequenced) {
      return numbers.all;
    } else {
      return {};
    }
  }

  /// Numbers of the first packet and the first message of a claim.
  struct Sequence {
    uint32_t psn;
    uint32_t msn;
  };
  XIO_DEVICE_INLINE Sequence sequence_of([[maybe_unused]] const protocol::Claim& claim) const {
    if constexpr (Rings::sequenced) {
      return {SequencedTickets::psn(claim.word), SequencedTickets::msn(claim.word)};
    } else if constexpr (Vendor::has_side_table) {
      return {send().psn, send().msn};
    } else {
      return {0, 0};
    }
  }

  /// Stores the calling lane's entry of the side table.
  /// @param first producer counter of its entry in the ring
  template <class N>
  XIO_DEVICE_INLINE void number([[maybe_unused]] const N& numbers, [[maybe_unused]] const Sequence& sequence,
                                [[maybe_unused]] uint64_t first, [[maybe_unused]] const Work& work) const {
    if constexpr (Vendor::has_side_table) {
      using Table = typename Vendor::Table;
      const QueuePairHandle& q = handle();
      const uint32_t start =
          S == Sharing::thread ? sequence.psn : Table::next_psn(sequence.psn, numbers.packets_before);
      const uint32_t next = Table::next_psn(start, numbers.packets);
      const uint32_t place = Vendor::doorbell_index(q.shape, first);
      const uint32_t entry = Table::index(place, sequence.msn + numbers.messages_before, q.side_entries);
      auto* const words = static_cast<uint64_t*>(q.side_table) + entry * Table::entry_words;
      for (uint32_t i = 0; i < Table::entry_words; ++i) {
        arch::store_entry8(words + i, Table::word(i, work.operation, start, next, place));
      }
    }
  }

  template <class N>
  XIO_DEVICE_INLINE void publish(Group<S> group, const protocol::Claim& claim, uint64_t storing, uint64_t head,
                                 bool signaled, [[maybe_unused]] const N& numbers,
                                 [[maybe_unused]] const Sequence& sequence, const Work& work) {
    const uint64_t end = claim.first + claim.count;
    if constexpr (S != Sharing::thread) {
      const uint32_t last = 63 - static_cast<uint32_t>(__builtin_clzll(storing));
      if constexpr (Vendor::doorbell_repeats_entry) head = group.from_lane(head, last);
      signaled = group.from_lane(static_cast<uint32_t>(signaled), last) != 0;
    }
    if (XIO_UNLIKELY(!signaled)) {
      // Before the entries are published: a waiter that finds them to be the last ones must find this too.
      group.before_writing();
      if constexpr (is_shared<S>) {
        // Waves come here in any order: the largest value stays.
        uint64_t seen = protocol::read<S>(send().unsignaled_end);
        if (group.leads()) {
          while (seen < end && !arch::compare_exchange<state_scope<S>>(&send().unsignaled_end, seen, end)) {
          }
        }
      } else {
        send().unsignaled_end = end;
      }
    }
    if constexpr (!is_shared<S>) {
      if constexpr (Vendor::fence_after_memory_operation) {
        if (XIO_UNLIKELY(group.any(Group<S>::has(storing) && work.operation == Operation::local_invalidate))) {
          send().memory_end = end + 1;
        }
      }
      if constexpr (Vendor::has_side_table) {
        // Written only after all lanes have read them.
        group.before_writing();
        send().psn = Vendor::Table::next_psn(sequence.psn, numbers.all.packets);
        send().msn = sequence.msn + numbers.all.messages;
      }
      if constexpr (Policy::ringing == Ringing::deferred && Vendor::doorbell_repeats_entry) send().last_head = head;
    }
    protocol::publish(device(), group, claim, head);
  }

 private:
  /// Posts a signalled operation if none exists at or after the token's operation, whose end would go unreported.
  ///
  /// @param published producer counter, read before this call: a wave records that its operation is unsignalled before
  ///                  it publishes it
  /// @return whether such a post may become necessary later: the token's operation, or what follows the last
  ///         unsignalled one, is not published
  XIO_DEVICE bool signal_tail(Group<S> group, const Token& token, uint64_t published, Deadline until) {
    const uint64_t tail = protocol::read<S>(send().unsignaled_end);
    const bool reached = token.count != 0 && tail > token.last;
    const bool needed = reached && published <= tail && tail == protocol::claimed(device()) && !has_ended(token);
    if (XIO_UNLIKELY(group.any(needed))) {
      // After the operations of all lanes.
      post_signaled(group, until);
      return false;
    }
    return published <= (reached ? tail : token.last);
  }

  XIO_COLD XIO_DEVICE void post_signaled(Group<S> group, Deadline until) {
    Work work;
    // A put without data accesses no memory. The peer accepts puts, as the unsignalled ones before show (is_signaled).
    work.operation = Vendor::has_nop ? Operation::nop : Operation::put;
    work.flags = work_flag::signaled;
    telemetry::Off off;
    (void)submit_group(group, group.leads(), work, NoPayload{}, until, Token(), off);
  }
};

}  // namespace rdma

XIO_NAMESPACE_END
