// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Batches over several drives: each drive's queue gets the pieces that lie on it, in their order.

#include <xio/device/nvme/batch.hpp>
#include <xio/device/nvme/counted.hpp>
#include <xio/device/nvme/drive_set_handle.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup kernel_nvme
/// @{

/// One piece of a batch over a set of drives: whole blocks from `lba`, an address of the set, to or from all of `data`.
/// @snippet drive_set.cpp DrivePiece
struct DrivePiece {
  uint64_t lba;
  DriveSpan data;  ///< 1 to QueueHandle::max_blocks blocks, in one stripe; pieces are not split
};

namespace detail {

/// The data of a command in one drive's queue. A span names no key: it is that of the queue.
template <class Transport>
XIO_DEVICE_INLINE RegionSpan on_queue(const DriveSpan& span, uint32_t drive, [[maybe_unused]] const QueueHandle& q) {
  RegionSpan there = span.on(drive);
  if constexpr (IsSame<decltype(Transport::short_list(q)), KeyedData>::value) there.key = Transport::short_list(q).key;
  return there;
}

/// The queues of one wave on the drives of a set, as a batch uses them.
template <class EngineOfQueue, class Set>
struct QueuesOfWave {
  using Engine = EngineOfQueue;
  using Policy = typename Engine::Policy;
  using Transport = typename Engine::Transport;
  static constexpr Sharing sharing = Engine::sharing;

  const Set& set;
  uint32_t first;  ///< index of that of drive 0

  XIO_DEVICE_INLINE uint32_t index(uint32_t drive) const { return drive * set.queues_per_drive + first; }
  XIO_DEVICE_INLINE const QueueHandle& handle(uint32_t drive) const { return set.queues[index(drive)]; }
  XIO_DEVICE_INLINE Engine engine(uint32_t drive) const { return Engine(handle(drive), 0); }
  template <class Action>
  XIO_DEVICE_INLINE void on_each(Action action) const {
    for (uint32_t drive = 0; drive < set.drives; ++drive) action(engine(drive));
  }

  /// The data of a command for one drive.
  template <class Pages>
  XIO_DEVICE_INLINE const Pages& on_drive(const Pages& pages, uint32_t) const {
    return pages;
  }
  XIO_DEVICE_INLINE RegionSpan on_drive(const DriveSpan& span, uint32_t drive) const {
    return on_queue<Transport>(span, drive, handle(drive));
  }
};

/// A piece as its drive sees it.
template <class AnyPiece>
struct PlacedPiece {
  AnyPiece piece;
  uint32_t drive;
  Status fault;  ///< why it is refused whatever the drive
};

template <class Queues, class Pages>
XIO_DEVICE_INLINE auto place(const Queues& queues, const PieceOf<Pages>& piece) {
  const DriveAddress where = queues.set.locate(piece.lba);
  auto pages = queues.on_drive(piece.pages, where.drive);
  PlacedPiece<PieceOf<decltype(pages)>> placed{{where.lba, pages, piece.blocks}, where.drive, Status::ok};
  // check: data in GPU memory, of pieces over drives
  if (!is_placed<typename Queues::Policy>(pages)) placed.fault = Status::unsupported;
  if (!queues.set.in_one_stripe(piece.lba, piece.blocks)) placed.fault = Status::invalid_argument;
  return placed;
}
template <class Queues>
XIO_DEVICE_INLINE auto place(const Queues& queues, const DrivePiece& piece) {
  return place(queues, PieceOf<DriveSpan>{piece.lba, piece.data, piece.data.length >> queues.set.queues->block_shift});
}
template <class Queues>
XIO_DEVICE_INLINE auto place(const Queues& queues, const Piece& piece) {
  return place(queues, PieceOf<ContiguousPages>{piece.lba, {piece.bus}, piece.blocks});
}
template <class Queues, class AnyPiece>
XIO_DEVICE_INLINE auto place(const Queues& queues, const NotifiedPiece<AnyPiece>& piece) {
  const auto placed = place(queues, piece.piece);
  using Placed = NotifiedPiece<decltype(placed.piece)>;
  return PlacedPiece<Placed>{{placed.piece, piece.notified}, placed.drive, placed.fault};
}

/// Why a batch is refused as a whole; Status::ok: it is not.
template <class Queues, Sharing S, class Pieces>
XIO_DEVICE_INLINE Status check_drive_pieces(const Queues& queues, Group<S> group, Opcode operation, Pieces pieces,
                                            uint32_t count) {
  using Policy = typename Queues::Policy;
  if (!takes_batches<Policy, Opcode>) return Status::unsupported;
  for (uint32_t drive = 0; drive < queues.set.drives; ++drive)
    if (!is_placed_for<Policy>(queues.handle(drive).gpu_memory)) return Status::unsupported;
  if constexpr (Policy::argument_checks) {
    if (!protocol::agree(group, operation, count)) return Status::invalid_argument;
    return first_refusal(group, count, [&](uint32_t i) XIO_INLINE_LAMBDA {
      const auto placed = place(queues, piece_at(pieces, i));
      const QueueHandle& q = queues.handle(placed.drive);
      const auto list = Queues::Transport::rehearsed(q, q.list_bytes);
      const Status fault = check_piece(q, operation, placed.piece, list).fault;
      return placed.fault.is_ok() ? fault : placed.fault;
    });
  }
  return Status::ok;
}

/// Number of pieces from `begin` up to `end` that lie on `drive`.
template <class Queues, Sharing S, class Pieces>
XIO_DEVICE_INLINE uint32_t count_on(const Queues& queues, Group<S> group, uint32_t drive, Pieces pieces, uint32_t begin,
                                    uint32_t end) {
  const uint32_t lanes = group.lanes();
  uint32_t found = 0;
  for (uint32_t base = begin; base < end; base += lanes) {
    const uint32_t mine = base + group.rank();
    const bool lies_there = mine < end && place(queues, piece_at(pieces, mine)).drive == drive;
    found += arch::count_lanes(group.members(lies_there));
  }
  return found;
}

/// Claims, stores and publishes the entries of those pieces, `count` of them. Returns the claim, or an empty one.
template <class Queues, Sharing S, class Pieces, class Until>
XIO_DEVICE_INLINE Token submit_on(const Queues& queues, Group<S> group, uint32_t drive, Opcode operation, Pieces pieces,
                                  uint32_t begin, uint32_t end, uint32_t count, Until until,
                                  Notification* notification) {
  const auto engine = queues.engine(drive);
  const protocol::Claim claim =
      protocol::claim_until(engine, group, protocol::begin_claim(engine), count, count, until);
  if (claim.count == 0) return Token::refused(engine.template refusal<Until>(group));
  const uint32_t lanes = group.lanes();
  uint64_t next = claim.first;
  for (uint32_t base = begin; base < end; base += lanes) {
    const uint32_t mine = base + group.rank();
    const auto placed = place(queues, piece_at(pieces, mine < end ? mine : begin));
    const uint64_t storing = group.members(mine < end && placed.drive == drive);
    const uint64_t ticket = next + Group<S>::rank_in(storing);
    (void)post_piece(engine, group, Group<S>::has(storing), operation, placed.piece, ticket, notification);
    next += arch::count_lanes(storing);
  }
  protocol::publish(engine, group, claim);
  Token token;
  token.last = claim.first + count - 1;
  token.count = count;
  return token;
}

/// DriveSet::submit_batch().
template <class Queues, Sharing S, class Pieces, class Until>
XIO_DEVICE_INLINE Status submit_over(const Queues& queues, Group<S> group, Opcode operation, Pieces pieces,
                                     uint32_t count, DriveToken* tokens, Until until, Notification* notification) {
  Status result = check_drive_pieces(queues, group, operation, pieces, count);
  if (count == 0) result = Status::invalid_argument;
  for (uint32_t drive = 0; drive < queues.set.drives; ++drive) {
    // Until it is posted, the number of the drive's pieces.
    Token token;
    if (result.is_ok()) token.count = count_on(queues, group, drive, pieces, 0, count);
    if (token.count > queues.handle(drive).depth) result = Status::invalid_argument;
    tokens[drive] = {token, queues.index(drive)};
  }
  const Status refused = result;
  for (uint32_t drive = 0; drive < queues.set.drives; ++drive) {
    Token& token = tokens[drive].token;
    if (!refused.is_ok()) {
      token = Token::refused(refused);
    } else if (token.count != 0) {
      token = submit_on(queues, group, drive, operation, pieces, 0, count, token.count, until, notification);
      if (result.is_ok()) result = token.status;
    }
  }
  return result;
}

/// DriveSet::wait_batch().
template <class Queues, Sharing S>
XIO_DEVICE_INLINE Status wait_over(const Queues& queues, Group<S> group, const DriveToken* tokens, Deadline until) {
  Status result;
  for (uint32_t drive = 0; drive < queues.set.drives; ++drive) {
    const Status status = wait_batch(queues.engine(drive), group, tokens[drive].token, until);
    if (result.is_ok()) result = status;
  }
  return result;
}

/// DriveSet::transfer().
template <class Queues, Sharing S, class Pieces>
XIO_DEVICE_INLINE Status transfer_over(const Queues& queues, Group<S> group, Opcode operation, Pieces pieces,
                                       uint32_t count, Deadline until, Notification& progress) {
  static_assert(!is_notified_piece<decltype(place(queues, piece_at(pieces, 0)).piece)>,
                "transfer() counts by its own notification");
  const Status refused = check_drive_pieces(queues, group, operation, pieces, count);
  if (!refused.is_ok()) return refused;
  // Before the commands, as in a transfer of one queue.
  if (group.leads()) arch::store<arch::Scope::system>(&progress.status, Notification::owned);
  uint32_t window = ~0u;
  queues.on_each([&](const auto& engine) XIO_INLINE_LAMBDA {
    const uint32_t quarter = engine.depth() / 4 + 1;
    if (quarter < window) window = quarter;
  });
  for (uint32_t begin = 0, end = 0; begin < count; begin = end) {
    end = count - begin < window ? count : begin + window;
    for (uint32_t drive = 0; drive < queues.set.drives; ++drive) {
      const uint32_t there = count_on(queues, group, drive, pieces, begin, end);
      if (there == 0) continue;
      const Token token = submit_on(queues, group, drive, operation, pieces, begin, end, there, until, &progress);
      if (!token.submitted()) return token.status;
    }
  }
  const auto on_each = [&](auto action) XIO_INLINE_LAMBDA { queues.on_each(action); };
  Status status = protocol::first_fault(group, wait_count(on_each, group, progress, count, until));
  queues.on_each([&](const auto& engine) XIO_INLINE_LAMBDA { status = inbound(engine, group, status, true, until); });
  return status;
}

}  // namespace detail

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
