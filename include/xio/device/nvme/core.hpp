// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Checking, encoding, splitting and submission of NVMe commands.

#include <xio/device/core/com.hpp>
#include <xio/device/nvme/command.hpp>
#include <xio/device/nvme/data.hpp>
#include <xio/device/nvme/rings.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {

/// The submission path of an NVMe queue pair, on top of its rings; base class of BasicQueue.
template <Sharing S, class Policy, class Doorbell, class Holder>
class QueueCore : public QueueRings<S, Policy, Doorbell, Holder> {
  using Rings = QueueRings<S, Policy, Doorbell, Holder>;

 public:
  using Rings::handle;
  using Rings::Rings;

 protected:
  using Rings::claim_until;
  using Rings::first_fault;
  using Rings::publish;
  using Rings::state;

  /// Whether the command's data size is known. For another namespace the block size is not.
  template <class Pages>
  XIO_DEVICE_INLINE bool is_told(const Command& command) const {
    constexpr bool ready = detail::IsReady<Pages>::value || IsSame<Pages, NoData>::value;
    const bool foreign = command.namespace_id != 0 && command.namespace_id != handle().nsid;
    return detail::is_told<Pages>(command) && (ready || !foreign || command.data != data_size::of_blocks);
  }

  XIO_DEVICE_INLINE bool is_long(const Command& command) const {
    return splittable(command) && command.last_block >= most_blocks(command, handle());
  }

  /// Whether the command takes the fast path: valid blocks of the namespace, a known data size, no split. A command
  /// that is not plain may still be valid.
  template <class Pages>
  XIO_DEVICE_INLINE bool is_plain(const Command& command, [[maybe_unused]] const Pages& pages) const {
    const uint64_t end = handle().namespace_blocks - 1;  // 0 - 1: no limit
    if (!splittable(command) || !is_told<Pages>(command) || (command.cdw12 & 0xffff) != 0) return false;
    if (command.last_block >= most_blocks(command, handle())) return false;
    if constexpr (IsSame<Pages, RegionSpan>::value) {
      if (!pages.reach.is_inside() || pages.length != data_bytes(command, handle().block_shift)) return false;
    }
    return command.last_block <= end && command.lba() <= end - command.last_block;
  }

  template <class Pages>
  XIO_DEVICE_INLINE Status check(const Command& command, const Pages& pages) const {
    const QueueHandle& q = handle();
    if (addresses_blocks(command)) {
      const uint64_t last = uint64_t{command.last_block} + command.lba();
      if (command.last_block == ~0u) return Status::invalid_argument;                          // no blocks at all
      if (last > q.namespace_blocks - 1 || last < command.lba()) return Status::out_of_range;  // 0 - 1: no limit
    }
    if (!is_told<Pages>(command)) return Status::invalid_argument;
    // Only last_block may hold a number of blocks.
    if (counts_blocks(command) ? (command.cdw12 & 0xffff) != 0 : command.last_block != 0)
      return Status::invalid_argument;
    const uint64_t bytes = command.data == data_size::unknown ? 0 : data_bytes(command, q.block_shift);
    if constexpr (IsSame<Pages, RegionSpan>::value) {
      if (!pages.reach.is_inside()) return Status::out_of_range;
      if (pages.length != bytes) return Status::invalid_argument;
    }
    if (!splittable(command) && !fits_whole(command, bytes, q)) return Status::invalid_argument;
    if (!detail::has_data<Pages>(command)) return Status::ok;
    // Tested before tickets are claimed, so that a refused command leaves no trace.
    const detail::RehearsedList list{q.lists_bus, q.lists ? q.list_bytes : 0};
    const uint64_t longest = splittable(command) ? uint64_t{most_blocks(command, q)} << q.block_shift : bytes;
    DataPointer ignored;
    Status fault =
        detail::point(pages, 0, static_cast<uint32_t>(bytes < longest ? bytes : longest), q.page_shift, list, ignored);
    for (uint64_t done = longest; XIO_UNLIKELY(done < bytes && fault.is_ok()); done += longest) {
      const uint64_t left = bytes - done;
      fault = detail::point(pages, done, static_cast<uint32_t>(left < longest ? left : longest), q.page_shift, list,
                            ignored);
    }
    return fault;
  }

  XIO_DEVICE Status check_pieces(Group<S> group, Opcode operation, const Piece* pieces, uint32_t count) const {
    const uint32_t lanes = group.lanes();
    Status fault;
    for (uint32_t i = group.rank(); i < count && fault.is_ok(); i += lanes) {
      fault = check_piece(operation, pieces[i], detail::RehearsedList{handle().lists_bus, handle().list_bytes}).fault;
    }
    return first_fault(group, fault);
  }

  struct CheckedPiece {
    Command command;
    DataPointer data;
    Status fault;
  };

  /// The command of a piece, or the reason for its refusal. Has no early return, so that a wave executes it once.
  template <class List>
  XIO_DEVICE_INLINE CheckedPiece check_piece(Opcode operation, const Piece& piece, const List& list) const {
    const QueueHandle& q = handle();
    CheckedPiece checked;
    checked.command = command(operation).range(piece.lba, piece.blocks);
    const uint64_t last = piece.lba + (piece.blocks - 1);
    const bool fits = counts_blocks(checked.command) && piece.blocks - 1 < most_blocks(checked.command, q);
    if (detail::has_data<ContiguousPages>(checked.command)) {
      checked.fault = detail::point(ContiguousPages{piece.bus}, 0, (fits ? piece.blocks : 1) << q.block_shift,
                                    q.page_shift, list, checked.data);
    }
    if (last > q.namespace_blocks - 1 || last < piece.lba) checked.fault = Status::out_of_range;  // 0 - 1: no limit
    if (!fits) checked.fault = Status::invalid_argument;
    return checked;
  }

  template <class Pages>
  XIO_DEVICE_INLINE Sqe build(const Command& command, const Pages& pages, uint64_t offset, uint64_t ticket) const {
    const QueueHandle& q = handle();
    DataPointer data;
    if (detail::has_data<Pages>(command)) {
      (void)detail::point(pages, offset, static_cast<uint32_t>(data_bytes(command, q.block_shift)), q.page_shift,
                          list_of(ticket, true), data);
    }
    return encode(command.nsid(command.namespace_id ? command.namespace_id : q.nsid), ring::slot(ticket, q.slot_mask),
                  data);
  }

  /// List memory of a ticket's slot; empty unless `usable`.
  XIO_DEVICE_INLINE detail::PublishedList<Policy, S != Sharing::thread> list_of(uint64_t ticket, bool usable) const {
    const QueueHandle& q = handle();
    const uint64_t at = uint64_t{ring::slot(ticket, q.slot_mask)} * q.list_bytes;  // 0 without lists
    return {q.lists + at / sizeof(uint64_t), q.lists_bus + at, usable ? q.list_bytes : 0};
  }

  XIO_DEVICE_INLINE void store_entries(Group<S> group, uint64_t storing, const Sqe& entry, uint64_t ticket) const {
    using How = typename StoreChoice<Policy::narrow_slots, Policy::publication == Publication::write_through>::type;
    const QueueHandle& q = handle();
    if constexpr (S == Sharing::thread) {
      XioComEnqueue<How>(entry, q.sq, ring::slot(ticket, q.sq_mask));
    } else {
      enqueue_wave<How>(group.mask(), storing, entry, q.sq, ring::slot(ticket, q.sq_mask));
    }
  }

  /// Sets the notification of an operation before the device can know of the operation.
  XIO_DEVICE_INLINE void set_notification(uint64_t ticket, Notification* notification) const {
    if constexpr (Policy::notifications) {
      auto& target = reinterpret_cast<uint64_t&>(handle().notifications[ticket & handle().slot_mask]);
      protocol::write<S>(target, reinterpret_cast<uint64_t>(notification));
    }
  }

  /// Stores and publishes the entries of a claim, one per piece. With `Check`, which is for queues that are not shared
  /// (their claims can be dropped before publication), a refused piece makes it publish nothing and return the reason.
  template <bool Check>
  XIO_DEVICE_INLINE Status publish_pieces(Group<S> group, protocol::Claim claim, Opcode operation, const Piece* pieces,
                                          Notification* notification) {
    static_assert(!Check || !is_shared<S>, "a claim of a shared queue must be published");
    const QueueHandle& q = handle();
    const uint32_t lanes = group.lanes();
    Status fault;
    for (uint32_t base = 0; base < claim.count; base += lanes) {
      const uint32_t mine = base + group.rank();
      const bool storing = mine < claim.count;
      const uint64_t ticket = claim.first + mine;
      // Lanes without a piece process the first one too.
      const Piece piece = pieces[storing ? mine : 0];
      const CheckedPiece checked = check_piece(operation, piece, list_of(ticket, storing));
      const Sqe entry = encode(checked.command.nsid(q.nsid), ring::slot(ticket, q.slot_mask), checked.data);
      if (Check && storing && fault.is_ok()) fault = checked.fault;
      if constexpr (Policy::notifications) {
        if (storing) set_notification(ticket, notification);
      }
      store_entries(group, group.members(storing), entry, ticket);
    }
    if constexpr (Check) {
      fault = first_fault(group, fault);
      if (!fault.is_ok()) return fault;
    }
    publish(group, claim);
    return Status::ok;
  }

  /// submit_entries() of one entry per lane that is `wanting`.
  template <class Pages, class Until, class Telemetry>
  XIO_DEVICE_INLINE Token submit_short(Group<S> group, bool wanting, const Command& command, const Pages& pages,
                                       Until until, Notification* notification, Telemetry& telemetry, Token token) {
    return submit_entries<false>(group, wanting ? 1 : 0, false, command, pages, until, notification, telemetry, token);
  }

  /// Submits the command of each lane as `left` entries and returns a new token; lanes with none assist and keep
  /// `token`. All lanes stay until the last one is served, since a queue of one wave is used by all its lanes together.
  /// @tparam Split whether commands of several entries are possible, and `split` whether there are any: these are
  ///               served one after the other, before all others together.
  template <bool Split, class Pages, class Until, class Telemetry>
  XIO_DEVICE_INLINE Token submit_entries(Group<S> group, uint32_t left, bool split, const Command& command,
                                         const Pages& pages, Until until, Notification* notification,
                                         Telemetry& telemetry, Token token) {
    uint32_t done = 0;
    for (uint64_t pending = group.members(left != 0); pending != 0; pending = group.members(left != 0)) {
      uint32_t each = 1;
      uint32_t wanted = S == Sharing::thread ? 1 : arch::count_lanes(pending);
      uint32_t room = 1;
      if (Split && XIO_UNLIKELY(split)) {
        const uint64_t owners = group.members(left > 1 || (left != 0 && done != 0));
        split = owners != 0;
        if (split) {
          const uint32_t owner = arch::first_lane(owners);
          const uint32_t all = group.from_lane(left, owner);
          pending = owners & (0 - owners);
          wanted = each = all < handle().depth ? all : handle().depth;
          // If the whole depth is free, everything submitted before has ended.
          room = group.from_lane(done, owner) != 0 ? handle().depth : wanted;
        }
      }
      // 1. Claim.
      protocol::Claim claim = claim_until(group, wanted, room, until);
      if (XIO_UNLIKELY(claim.count == 0)) {
        const Status why = Rings::template refusal<Until>(group);
        if (Group<S>::has(pending)) {
          token.status = why;
          left = 0;
        }
        if constexpr (S == Sharing::thread && !Split) return token;
        continue;
      }
      const uint32_t position = Group<S>::rank_in(pending);
      uint64_t ticket = claim.first + position;
      if constexpr (S == Sharing::thread) ticket = arch::per_lane(ticket);
      if constexpr (S == Sharing::thread && !Split) claim.count = 1;
      if constexpr (S == Sharing::thread && Holder::stored_each_time) claim.first = ticket;
      const bool served = Group<S>::has(pending) && position < claim.count;
      const uint64_t storing = group.members(served);
      if (Split && XIO_UNLIKELY(split)) token = with_status(group, served && done != 0, token);
      uint32_t i = 0;
      do {
        // 2. Build.
        uint64_t started = Telemetry::start();
        Sqe entry{};
        if (served) {
          entry = build_entry(command, pages, Split && split, done + i, ticket + i);
          set_notification(ticket + i, notification);
        }
        telemetry.stop(telemetry::Step::build, started);
        // 3. Store.
        started = Telemetry::start();
        store_entries(group, storing, entry, ticket + i);
        telemetry.stop(telemetry::Step::enqueue, started);
      } while (Split && XIO_UNLIKELY(++i < each));
      // 4. Publish and ring.
      const uint64_t started = Telemetry::start();
      publish(group, claim);
      telemetry.stop(telemetry::Step::sq_doorbell, started);
      if (served) {
        token.last = ticket;
        token.count = each;
        left -= each;
        if (Split && XIO_UNLIKELY(split)) {
          token.last += each - 1;
          done += each;
        }
      }
      if constexpr (S == Sharing::thread && !Split) return token;
    }
    group.converge();
    return token;
  }

  /// The entry of a command; of a split command, entry number `part`.
  template <class Pages>
  XIO_DEVICE_INLINE Sqe build_entry(const Command& command, const Pages& pages, bool split, uint32_t part,
                                    uint64_t ticket) const {
    Command piece = command;
    uint64_t offset = 0;
    if (XIO_UNLIKELY(split)) {
      const uint32_t longest = most_blocks(command, handle());
      const uint32_t first = part * longest;
      const uint32_t rest = command.blocks() - first;
      piece = command.piece(first, rest < longest ? rest : longest);
      offset = uint64_t{first} << handle().block_shift;
    }
    return build(piece, pages, offset, ticket);
  }

  /// The tokens of lanes that have `ended`, with the status of their operations: the first error wins.
  XIO_DEVICE Token with_status(Group<S> group, bool ended, Token token) {
    Token before = token;
    if (!ended) before.count = 0;
    if constexpr (is_shared<S>) {
      // The leader has seen that they ended, but not with which status.
      arch::order_loads<state_scope<S>>();
      group.converge();
    }
    const Status status =
        protocol::outcome<CompletionFormat>(state(), Rings::completions(), group, before, before.count);
    if (ended) token.status = status;
    return token;
  }

  template <class Pages, class Until, class Telemetry>
  XIO_DEVICE_INLINE Token submit_checked(Group<S> group, const Command& command, const Pages& pages, Until until,
                                         Telemetry& telemetry, Notification* notification) {
    if constexpr (arch::calls_are_cheap && Policy::argument_checks && S == Sharing::thread) {
      if (XIO_UNLIKELY(!is_plain(command, pages))) {
        // A copy: an object whose address is passed to a call is not kept in registers.
        const Command other = command;
        return submit_elsewhere(other, pages, until, telemetry, notification);
      }
      const QueueHandle& q = handle();
      const auto bytes = static_cast<uint32_t>(data_bytes(command, q.block_shift));
      detail::Prepared<Pages> prepared{pages, {}, false};
      if (detail::has_data<Pages>(command) &&
          XIO_UNLIKELY(!detail::point(pages, 0, bytes, q.page_shift, NoList{}, prepared.data).is_ok())) {
        prepared.needs_list = true;
        DataPointer ignored;
        const detail::RehearsedList list{q.lists_bus, q.lists ? q.list_bytes : 0};
        const Status fault = detail::point(pages, 0, bytes, q.page_shift, list, ignored);
        if (XIO_UNLIKELY(!fault.is_ok())) return Token::refused(fault);
      }
      return submit_short(group, true, command, prepared, until, notification, telemetry, Token());
    }
    return submit_any(group, command, pages, until, telemetry, notification);
  }

  /// submit_any() without forced inlining, for commands that are refused or split.
  template <class Pages, class Until, class Telemetry>
  XIO_DEVICE Token submit_elsewhere(const Command& command, const Pages& pages, Until until, Telemetry& telemetry,
                                    Notification* notification) {
    return submit_any(Group<S>(1), command, pages, until, telemetry, notification);
  }

  template <class Pages, class Until, class Telemetry>
  XIO_DEVICE_INLINE Token submit_any(Group<S> group, const Command& command, const Pages& pages, Until until,
                                     Telemetry& telemetry, Notification* notification) {
    Token token;
    bool wanting = true;
    if constexpr (Policy::argument_checks) {
      token.status = check(command, pages);
      uint32_t entries = token.status.is_ok() ? 1 : 0;
      const bool split = group.any(token.status.is_ok() && is_long(command));
      if (XIO_UNLIKELY(split)) {
        if (token.status.is_ok() && is_long(command)) {
          entries = (command.blocks() - 1) / most_blocks(command, handle()) + 1;
        }
        // Without a deadline there is no wait between entries: all of them are submitted together, or none.
        if (IsSame<Until, Now>::value && entries > handle().depth) {
          token = Token::refused(Status::invalid_argument);
          entries = 0;
        }
      }
      if constexpr (S == Sharing::thread) {
        // Lanes that each execute the loop alone pay for every branch in it.
        if (XIO_LIKELY(!split))
          return submit_short(group, entries != 0, command, pages, until, notification, telemetry, token);
      }
      return submit_entries<true>(group, entries, split, command, pages, until, notification, telemetry, token);
    } else if (!is_told<Pages>(command)) {
      // Without checks too, the data size must be known.
      token = Token::refused(Status::invalid_argument);
      wanting = false;
    }
    return submit_short(group, wanting, command, pages, until, notification, telemetry, token);
  }

  template <bool Narrow, bool Through, class = void>
  struct StoreChoice {
    using type = store::Stream;
  };
  /// Narrow stores are always written through.
  template <bool Through, class Nothing>
  struct StoreChoice<true, Through, Nothing> {
    using type = store::Narrow;
  };
  template <class Nothing>
  struct StoreChoice<false, true, Nothing> {
    using type = store::Through;
  };
};

}  // namespace nvme

XIO_NAMESPACE_END
