// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief How RDMA operations are checked, encoded, posted and waited for.

#include <xio/device/rdma_rings.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {

/// The submission path of an RDMA queue pair, as QueuePair puts it together.
template <class Vendor, Sharing S, class Policy>
class SendPost : public SendRings<Vendor, S, Policy> {
  using Rings = SendRings<Vendor, S, Policy>;

 public:
  using Rings::handle;
  using Rings::Rings;

 protected:
  using Rings::claim_until;
  using Rings::drain_group;
  using Rings::flush_group;
  using Rings::has_ended;
  using Rings::is_member;
  using Rings::look_group;
  using Rings::members;
  using Rings::outcome;
  using Rings::send;
  using Rings::state;
  using Rings::write_by_leader;

  template <class Payload>
  XIO_DEVICE_INLINE Status check(const Work& work, const Payload& payload) const {
    if constexpr (Vendor::fence_after_memory_operation && is_shared<S>) {
      // The entry behind it would have to know of it, and can be another wave's.
      if (work.operation == Operation::local_invalidate) return Status::unsupported;
    }
    if constexpr (Vendor::counts_operations) {
      // Its end is told apart from the order of the others: QueuePair::invalidate() posts it alone.
      if (work.operation == Operation::local_invalidate) return Status::unsupported;
    }
    const Status status = Vendor::Send::check(handle().shape, work, payload);
    if (!status.is_ok()) return status;
    // Where it is known that there is one, nothing is compared.
    const uint32_t units = Vendor::Send::units(handle().shape, work, payload);
    return units == 1 || units <= handle().depth ? Status::ok : Status::out_of_range;
  }

  /// Where the lanes' entries lie behind each other.
  struct Row {
    uint32_t before;  ///< units of the lanes before
    uint32_t own;
    uint32_t total;  ///< units of those lanes that fit the queue at once
    uint32_t least;  ///< that a claim must have
  };

  /// `pending`: the lanes of `group` with an operation, each of `own` units.
  XIO_DEVICE_INLINE Row row_of(uint64_t group, uint64_t pending, uint32_t own) const {
    if constexpr (S == Sharing::thread) {
      return {0, own, own, own};
    } else {
      const uint32_t common = arch::broadcast(group, own, arch::first_lane(pending));
      if (XIO_LIKELY(!protocol::any<S>(group, is_member(pending) && own != common))) {
        const uint32_t fitting = handle().depth / common;
        const uint32_t lanes = arch::count_lanes(pending);
        const uint32_t total = (lanes < fitting ? lanes : fitting) * common;
        return {protocol::rank<S>(pending) * common, own, total, common == 1 ? 1 : total};
      }
      Row row{0, own, 0, 0};
      for (uint64_t left = pending; left != 0; left &= left - 1) {
        const uint32_t lane = arch::first_lane(left);
        const uint32_t units = arch::broadcast(group, own, lane);
        if (row.total + units > handle().depth) break;
        if (lane < arch::lane()) row.before += units;
        row.total += units;
      }
      row.least = row.total;
      return row;
    }
  }

  /// Posts the operation of each lane that is `wanting`; the others help, and keep `token`.
  template <class Payload, class Until>
  XIO_DEVICE_INLINE Token submit_group(uint64_t group, bool wanting, const Work& work, const Payload& payload,
                                       Until until, Token token) {
    const QueuePairHandle& q = handle();
    if constexpr (S == Sharing::thread) {
      // Nobody to help: what is refused goes no further.
      if (XIO_UNLIKELY(!wanting)) return token;
      wanting = true;
    }
    const uint32_t units = wanting ? Vendor::Send::units(q.shape, work, payload) : 1;
    for (uint64_t pending = members(group, wanting); pending != 0;) {
      const Row row = row_of(group, pending, units);
      protocol::Claim claim = claim_until(group, row.total, row.least, until);
      if (XIO_UNLIKELY(claim.count == 0)) {
        const Status why = Rings::template refusal<Until>();
        if constexpr (S == Sharing::thread) return Token::refused(why);
        if (is_member(pending)) token = Token::refused(why);
        break;
      }
      if constexpr (S == Sharing::thread) claim.count = units;
      const bool served = is_member(pending) && row.before + units <= claim.count;
      const uint64_t storing = members(group, served);
      uint64_t head = 0;
      bool signaled = true;
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
      const Status status = publish(group, claim, storing, claim.first + row.before, head, signaled, work, payload);
      // Nobody was waited for, so nobody can be gone.
      if constexpr (S == Sharing::thread) return token;
      if (XIO_UNLIKELY(!status.is_ok())) {
        if (is_member(pending)) token = Token::refused(status);
        break;
      }
      pending &= ~storing;
    }
    if constexpr (S != Sharing::thread) arch::converge(group);
    return token;
  }

  /// In place of a counter: something at or behind the token's operation is known to be signalled.
  static constexpr uint64_t is_covered = ~uint64_t{0};

  /// Waits until everything that `token` stands for has ended. All lanes of `group` call, each with its own token.
  ///
  /// On shared queues others may publish, unsignalled or unannounced, what they had claimed before, and not wait for
  /// it: what they posted is looked at again now and then.
  /// @param published producer counter up to which operations are known to be published, or `is_covered`
  XIO_DEVICE Status wait_group(uint64_t group, const Token& token, Deadline until, uint64_t published) {
    typename Rings::Waiting waiting;
    for (;;) {
      if (!signal_tail(group, token, published, until)) published = is_covered;
      flush_group(group);
      if (look_group(group, token, until, waiting)) break;
      if (published != is_covered) published = arch::observe<state_scope<S>>(&state().published);
    }
    // Decided once: what ends behind the acquire is for the next call.
    const bool over = has_ended(token);
    if (protocol::any<S>(group, over && token.count != 0)) arch::acquire_system();
    if (!over) return waiting.broken ? Status::broken : Status::timed_out;
    return outcome(token);
  }

 private:
  /// Posts something signalled where nothing at or behind the token's operation is: nobody would learn of its end.
  ///
  /// @param published producer counter, read before this call: a wave says that its operation is unsignalled before it
  /// publishes it
  /// @return whether it may come to that yet: the token's operation, or what follows the last unsignalled one, is not
  /// published
  XIO_DEVICE bool signal_tail(uint64_t group, const Token& token, uint64_t published, Deadline until) {
    const uint64_t tail = protocol::read<S>(send().unsignaled_end);
    const bool reached = token.count != 0 && tail > token.last;
    const bool needed =
        reached && published <= tail && tail == protocol::read<S>(state().reserved) && !has_ended(token);
    if (XIO_UNLIKELY(protocol::any<S>(group, needed))) {
      // Behind the operations of all lanes.
      post_signaled(group, until);
      return false;
    }
    return published <= (reached ? tail : token.last);
  }

  XIO_COLD XIO_DEVICE void post_signaled(uint64_t group, Deadline until) {
    Work work;
    // Without data, no memory is asked for. That the peer takes puts is shown by those before it (is_signaled).
    work.operation = Vendor::has_nop ? Operation::nop : Operation::put;
    work.flags = work_flag::signaled;
    submit_group(group, protocol::leads<S>(group), work, NoData{}, until, Token());
  }

  XIO_DEVICE_INLINE bool is_signaled(const Work& work, uint64_t first, uint64_t end, bool last) const {
    if (work.has(work_flag::signaled) && last) return true;
    const uint32_t every = handle().signal_every;
    if (every == 0) return false;
    // Where post_signaled() has nothing that no peer can refuse, what it posts must be of the tail's own kind.
    const bool can_wait =
        Vendor::has_nop || work.operation == Operation::put || work.operation == Operation::put_immediate;
    if (last && !can_wait) return true;
    // Both are powers of two at a boundary.
    return ((first ^ end) & ~uint64_t{every - 1}) != 0;
  }

  /// What must be done in the order of the operations: entries of the side table, each with the packets before it.
  template <class Payload>
  struct Stamp {
    static constexpr bool needed = Vendor::has_side_table;
    const SendPost& post;
    uint64_t group;
    uint64_t storing;
    uint64_t first;  ///< producer counter of the calling lane's entry
    const Work& work;
    const Payload& payload;

    XIO_DEVICE_INLINE void operator()() const {
      if constexpr (needed) {
        using Table = typename Vendor::Table;
        const QueuePairHandle& q = post.handle();
        const bool mine = post.is_member(storing);
        const uint32_t packets = mine ? Table::packets(payload.bytes(), q.shape.mtu_shift) : 0;
        uint32_t before = 0;
        uint32_t total = packets;
        if constexpr (S != Sharing::thread) {
          total = 0;
          for (uint64_t left = storing; left != 0; left &= left - 1) {
            const uint32_t lane = arch::first_lane(left);
            const uint32_t count = arch::broadcast(group, packets, lane);
            if (lane < arch::lane()) before += count;
            total += count;
          }
        }
        // Each lane reads before the leader writes.
        const uint32_t psn = protocol::from_leader<S>(group, protocol::read<S>(post.send().psn));
        const uint32_t msn = protocol::from_leader<S>(group, protocol::read<S>(post.send().msn));
        if (mine) {
          const uint32_t start = S == Sharing::thread ? psn : Table::next_psn(psn, before);
          const uint32_t next = Table::next_psn(start, packets);
          const uint32_t place = Vendor::doorbell_index(q.shape, first);
          const uint32_t entry = Table::index(place, msn + protocol::rank<S>(storing), q.side_entries);
          auto* const words = static_cast<uint64_t*>(q.side_table) + entry * Table::entry_words;
          for (uint32_t i = 0; i < Table::entry_words; ++i) {
            arch::store_entry8(words + i, Table::word(i, work.operation, start, next, place));
          }
        }
        const uint32_t count = S == Sharing::thread ? 1 : arch::count_lanes(storing);
        post.write_by_leader(group, post.send().psn, Table::next_psn(psn, total));
        post.write_by_leader(group, post.send().msn, msn + count);
      }
    }
  };

  template <class Payload>
  XIO_DEVICE_INLINE Status publish(uint64_t group, protocol::Claim claim, uint64_t storing, uint64_t first,
                                   uint64_t head, bool signaled, const Work& work, const Payload& payload) {
    const uint64_t end = claim.first + claim.count;
    if constexpr (S != Sharing::thread) {
      const uint32_t last = 63 - static_cast<uint32_t>(__builtin_clzll(storing));
      if constexpr (Vendor::doorbell_repeats_entry) head = protocol::from_lane<S>(group, head, last);
      signaled = protocol::from_lane<S>(group, static_cast<uint32_t>(signaled), last) != 0;
    }
    if (XIO_UNLIKELY(!signaled)) {
      // Before the entries are published: whoever finds them to be the last ones finds this too.
      protocol::before_writing<S>(group);
      if constexpr (is_shared<S>) {
        // Waves come here in any order, and what a later one wrote stays.
        uint64_t seen = protocol::read<S>(send().unsignaled_end);
        if (protocol::leads<S>(group)) {
          while (seen < end && !arch::compare_exchange<state_scope<S>>(&send().unsignaled_end, seen, end)) {
          }
        }
      } else {
        send().unsignaled_end = end;
      }
    }
    if constexpr (Vendor::fence_after_memory_operation && !is_shared<S>) {
      if (XIO_UNLIKELY(protocol::any<S>(group, is_member(storing) && work.operation == Operation::local_invalidate))) {
        send().memory_end = end + 1;
      }
    }
    const Stamp<Payload> stamp{*this, group, storing, first, work, payload};
    constexpr bool keeps_head = Policy::ringing == Ringing::deferred && Vendor::doorbell_repeats_entry;
    if constexpr (keeps_head && is_shared<S>) {
      return publish_deferred(group, claim, head, stamp);
    } else {
      if constexpr (keeps_head) send().last_head = head;
      return protocol::publish<S, Policy>(
          state(), group, claim, [&](uint64_t to) { Rings::announce(to, head); }, stamp);
    }
  }

  /// protocol::publish() calls its ring function in each wave's turn.
  struct InTurn : Policy {
    static constexpr Ringing ringing = Ringing::immediate;
  };

  /// Where several waves share a deferred doorbell that repeats an entry: each leaves its own behind in its turn, for
  /// whoever rings.
  template <class Turn>
  XIO_DEVICE_INLINE Status publish_deferred(uint64_t group, protocol::Claim claim, uint64_t head, const Turn& stamp) {
    const auto leave = [&](uint64_t) { arch::publish<state_scope<S>>(&send().last_head, head); };
    const Status status = protocol::publish<S, InTurn>(state(), group, claim, leave, stamp);
    if (!status.is_ok() || !protocol::leads<S>(group)) return status;
    const uint64_t rung = protocol::read<S>(state().rung) & ~protocol::being_rung;
    if (claim.first + claim.count - rung >= Policy::ring_every)
      protocol::announce<S>(state(), [&](uint64_t end) { Rings::announce_deferred(end); });
    return status;
  }
};

}  // namespace rdma

XIO_NAMESPACE_END
