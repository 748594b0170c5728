// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Checking of commands before they are posted. Needs the queue's handle only.

#include <xio/device/nvme/command.hpp>
#include <xio/device/nvme/data.hpp>
#include <xio/device/nvme/types.hpp>
#include <xio/device/queue/agree.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup kernel_nvme
/// @{

namespace detail {

/// Whether the command's data size is known: without a number of blocks, and for another namespace, that of blocks is
/// not.
template <class Pages>
XIO_DEVICE_INLINE bool knows_size(const QueueHandle& q, const Command& command) {
  constexpr bool ready = IsReady<Pages>::value || IsSame<Pages, NoData>::value;
  const bool foreign = command.namespace_id != 0 && command.namespace_id != q.nsid;
  const bool has_size = counts_blocks(command) && !foreign;
  return knows_size<Pages>(command) && (ready || has_size || command.data != data_size::of_blocks);
}

/// Whether the namespace has the blocks from `lba` on, of which there are `last_block` + 1.
XIO_DEVICE_INLINE bool has_blocks(const QueueHandle& q, uint64_t lba, uint32_t last_block) {
  return lba + last_block <= q.namespace_blocks - 1 && lba + last_block >= lba;  // 0 - 1: no limit
}

/// Whether the command must be split.
XIO_DEVICE_INLINE bool is_long(const QueueHandle& q, const Command& command) {
  return splittable(command) && command.last_block >= most_blocks(command, q);
}

/// Whether the data is a piece of a Region, described in either way: no other source tells its length and its place.
template <class Pages>
constexpr bool has_span = IsSame<Pages, RegionSpan>::value || IsSame<Pages, Sgl<RegionSpan>>::value;
XIO_DEVICE_INLINE constexpr const RegionSpan& span_of(const RegionSpan& span) { return span; }
XIO_DEVICE_INLINE constexpr const RegionSpan& span_of(const Sgl<RegionSpan>& sgl) { return sgl.pages; }

/// Whether the command takes the fast path: valid blocks of the namespace, a known data size, no split. A command that
/// is not plain may still be valid.
template <class Pages>
XIO_DEVICE_INLINE bool is_plain(const QueueHandle& q, const Command& command, [[maybe_unused]] const Pages& pages) {
  if (!splittable(command) || !knows_size<Pages>(q, command) || (command.cdw12 & 0xffff) != 0) return false;
  if (!has_blocks(q, command.lba(), command.last_block)) return false;
  if constexpr (has_span<Pages>) {
    const RegionSpan& span = span_of(pages);
    // check: inside of the region
    if (!span.reach.is_inside() || span.length != data_bytes(command, q.block_shift)) return false;
  }
  return command.last_block < most_blocks(command, q);
}

/// Whether the data lies where the policy supposes it.
template <class Policy, class Pages>
XIO_DEVICE_INLINE constexpr bool is_placed([[maybe_unused]] const Pages& pages) {
  if constexpr (has_span<Pages>) {
    return is_placed_for<Policy>(span_of(pages).memory);
  } else {
    return true;
  }
}
template <class Policy, class Pages>
XIO_DEVICE_INLINE constexpr bool is_placed(const PieceOf<Pages>& piece) {
  return is_placed<Policy>(piece.pages);
}
template <class Policy, class AnyPiece>
XIO_DEVICE_INLINE constexpr bool is_placed(const NotifiedPiece<AnyPiece>& piece) {
  return is_placed<Policy>(piece.piece);
}

/// Why the command is refused; Status::ok: it is not.
/// @param list list memory that stores nothing
template <class Pages, class List>
XIO_DEVICE_INLINE Status check(const QueueHandle& q, const Command& command, const Pages& pages, const List& list) {
  if (addresses_blocks(command)) {
    if (command.last_block == ~0u) return Status::invalid_argument;  // no blocks at all
    if (!has_blocks(q, command.lba(), command.last_block)) return Status::out_of_range;
  }
  if (!knows_size<Pages>(q, command)) return Status::invalid_argument;
  // Only last_block may hold a number of blocks.
  if (counts_blocks(command) ? (command.cdw12 & 0xffff) != 0 : command.last_block != 0) return Status::invalid_argument;
  const uint64_t bytes = command.data == data_size::unknown ? 0 : data_bytes(command, q.block_shift);
  if constexpr (has_span<Pages>) {
    if (!span_of(pages).reach.is_inside()) return Status::out_of_range;   // check: inside of the region
    if (span_of(pages).length != bytes) return Status::invalid_argument;  // check: length of the region
  }
  if (!splittable(command) && !fits_whole(command, bytes, q)) return Status::invalid_argument;
  if (!has_data<Pages>(command)) return Status::ok;
  // Tested before tickets are claimed, so that a refused command leaves no trace.
  const bool splits = splittable(command);
  const uint32_t most = splits ? most_blocks(command, q) : ~0u;
  DataPointer ignored;
  Status fault;
  uint64_t offset = 0;
  uint32_t left = splits ? command.last_block : 0;  // blocks, less one
  bool more = false;
  do {
    more = left >= most;
    if (XIO_UNLIKELY(more && most == 0)) return Status::invalid_argument;
    const uint32_t part = !splits ? static_cast<uint32_t>(bytes)
                          : more  ? most << q.block_shift
                                  : (left + 1) << q.block_shift;
    fault = point(pages, offset, part, q.page_shift, list, ignored);
    offset += part;
    left -= most;
  } while (XIO_UNLIKELY(more && fault.is_ok()));
  return fault;
}

/// A piece of a batch: its command, and its data pointer unless it is refused.
struct CheckedPiece {
  Command command;
  DataPointer data;
  Status fault;
};

/// Checks a piece and builds what its entry needs. Has no early return, so that a wave executes it once.
template <class Pages, class List>
XIO_DEVICE_INLINE CheckedPiece check_piece(const QueueHandle& q, Opcode operation, const PieceOf<Pages>& piece,
                                           const List& list) {
  CheckedPiece checked;
  checked.data = no_data<List>();
  checked.command = command(operation).range(piece.lba, piece.blocks);
  const bool counts = operation != Opcode::flush && checked.command.data != data_size::unknown;
  bool fits = counts && piece.blocks - 1 < most_blocks(checked.command, q);
  if (has_data<Pages>(checked.command)) {
    const uint32_t bytes = (fits ? piece.blocks : 1) << q.block_shift;
    checked.fault = point(piece.pages, 0, bytes, q.page_shift, list, checked.data);
    if constexpr (has_span<Pages>) {
      // check: inside of the region, of pieces
      if (!span_of(piece.pages).reach.is_inside()) checked.fault = Status::out_of_range;
      fits = fits && span_of(piece.pages).length == bytes;
    }
  }
  if (!has_blocks(q, piece.lba, piece.blocks - 1)) checked.fault = Status::out_of_range;
  if (!fits) checked.fault = Status::invalid_argument;
  return checked;
}
template <class List>
XIO_DEVICE_INLINE CheckedPiece check_piece(const QueueHandle& q, Opcode operation, const Piece& piece,
                                           const List& list) {
  return check_piece(q, operation, PieceOf<ContiguousPages>{piece.lba, {piece.bus}, piece.blocks}, list);
}
template <class Operation, class AnyPiece, class List>
XIO_DEVICE_INLINE CheckedPiece check_piece(const QueueHandle& q, Operation operation,
                                           const NotifiedPiece<AnyPiece>& piece, const List& list) {
  return check_piece(q, operation, piece.piece, list);
}

/// The notification of a piece, given the batch's.
template <class AnyPiece>
XIO_DEVICE_INLINE Notification* notified_by(const AnyPiece&, Notification* of_batch) {
  return of_batch;
}
template <class AnyPiece>
XIO_DEVICE_INLINE Notification* notified_by(const NotifiedPiece<AnyPiece>& piece, Notification*) {
  return piece.notified;
}
template <class AnyPiece>
constexpr bool is_notified_piece = false;
template <class AnyPiece>
constexpr bool is_notified_piece<NotifiedPiece<AnyPiece>> = true;
template <class AnyPiece>
constexpr bool is_notified_piece<const AnyPiece> = is_notified_piece<AnyPiece>;

/// Piece number `i` of a batch: of a list, or made by a callable.
template <class Piece>
XIO_DEVICE_INLINE const Piece& piece_at(const Piece* pieces, uint32_t i) {
  return pieces[i];
}
template <class Pieces>
XIO_DEVICE_INLINE auto piece_at(const Pieces& pieces, uint32_t i) -> decltype(pieces(i)) {
  return pieces(i);
}

/// Why one of `count` pieces is refused, the first in the order of the lanes that share them; Status::ok: none is.
template <Sharing S, class FaultOf>
XIO_DEVICE_INLINE Status first_refusal(Group<S> group, uint32_t count, FaultOf fault_of) {
  const uint32_t lanes = group.lanes();
  Status fault;
  for (uint32_t i = group.rank(); i < count && fault.is_ok(); i += lanes) fault = fault_of(i);
  return protocol::first_fault(group, fault);
}

/// check_piece() of a batch, shared among the lanes of `group`. Pieces of other types bring a check_piece() of theirs.
template <class Engine, Sharing S, class Operation, class Pieces>
XIO_DEVICE Status check_pieces(const Engine& engine, Group<S> group, Operation operation, Pieces pieces,
                               uint32_t count) {
  const QueueHandle& q = engine.handle();
  const auto list = Engine::Transport::rehearsed(q, q.list_bytes);
  return first_refusal(group, count, [&](uint32_t i) XIO_INLINE_LAMBDA {
    const auto piece = piece_at(pieces, i);
    // check: data in GPU memory, of pieces of a queue
    if (!is_placed<typename Engine::Policy>(piece)) return Status(Status::unsupported);
    return check_piece(q, operation, piece, list).fault;
  });
}

}  // namespace detail

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
