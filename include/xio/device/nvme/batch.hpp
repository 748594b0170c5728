// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Batches on an NVMe queue pair: many pieces, posted together by all lanes of a group.

#include <xio/device/nvme/waits.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {
/// @addtogroup kernel_nvme
/// @{

namespace detail {

/// Whether queues of `Policy` take pieces for operations of this type: Opcode, or KvOpcode.
template <class Policy, class Operation>
constexpr bool takes_batches = IsSame<Operation, Opcode>::value != Policy::key_values;

/// The pieces from number `first` on.
template <class Piece>
XIO_DEVICE_INLINE Piece* pieces_from(Piece* pieces, uint32_t first) {
  return pieces + first;
}
template <class Pieces>
XIO_DEVICE_INLINE auto pieces_from(const Pieces& pieces, uint32_t first) {
  return [=](uint32_t i) XIO_INLINE_LAMBDA { return pieces(first + i); };
}

/// Stores the entry of a piece, or none if not `storing`, and returns why the piece is refused.
template <class Engine, Sharing S, class Operation, class Piece>
XIO_DEVICE_INLINE Status post_piece(const Engine& engine, Group<S> group, bool storing, Operation operation,
                                    const Piece& piece, uint64_t ticket, Notification* notification) {
  static_assert(Engine::Policy::notifications || !is_notified_piece<Piece>, "NotifiedPiece needs a policy with Notify");
  const QueueHandle& q = engine.handle();
  const CheckedPiece checked =
      check_piece(q, operation, piece, Engine::Transport::template list<false>(engine, ticket, storing));
  // Lanes without a piece have no ticket, and set no notification.
  const uint32_t identifier = identify(engine, ticket, storing ? notified_by(piece, notification) : nullptr);
  const Sqe entry = encode(checked.command.nsid(q.nsid), identifier, checked.data);
  store_entries(engine, group, group.members(storing), entry, ticket);
  return checked.fault;
}

/// Stores and publishes the entries of a claim, one per piece. With `Check`, which is for queues that are not shared
/// (their claims can be dropped before publication), a refused piece makes it publish nothing and return the reason.
/// With `Counts`, all pieces have this notification.
template <bool Check, bool Counts, class Engine, Sharing S, class Operation, class Pieces>
XIO_DEVICE_INLINE Status publish_pieces(const Engine& engine, Group<S> group, protocol::Claim claim,
                                        Operation operation, Pieces pieces, Notification* notification) {
  static_assert(!Check || !is_shared<S>, "a claim of a shared queue must be published");
  const uint32_t lanes = group.lanes();
  Status fault;
  for (uint32_t base = 0; base < claim.count; base += lanes) {
    const uint32_t mine = base + group.rank();
    const bool storing = mine < claim.count;
    const uint64_t ticket = claim.first + mine;
    // Lanes without a piece process the first one too.
    const auto piece = piece_at(pieces, storing ? mine : 0);
    static_assert(!Counts || !is_notified_piece<decltype(piece)>, "transfer() counts by its own notification");
    const Status refused = post_piece(engine, group, storing, operation, piece, ticket, notification);
    if (Check && storing && fault.is_ok()) fault = refused;
  }
  if constexpr (Check) {
    fault = protocol::first_fault(group, fault);
    if (!fault.is_ok()) return fault;
  }
  protocol::publish(engine, group, claim);
  return Status::ok;
}

/// Queue::submit_batch().
template <class Engine, Sharing S, class Operation, class Pieces, class Until>
XIO_DEVICE_INLINE Token submit_batch(const Engine& engine, Group<S> group, Operation operation, Pieces pieces,
                                     uint32_t count, Until until, Notification* notification) {
  constexpr bool checks = Engine::Policy::argument_checks;
  // check: command set, of pieces
  if (!takes_batches<typename Engine::Policy, Operation>) return Token::refused(Status::unsupported);
  // check: queue in GPU memory, of pieces
  if (!is_placed_for<typename Engine::Policy>(engine.handle().gpu_memory)) return Token::refused(Status::unsupported);
  // check: the lanes agree
  if (checks && !protocol::agree(group, operation, count)) return Token::refused(Status::invalid_argument);
  if (count == 0 || count > engine.depth()) return Token::refused(Status::invalid_argument);
  // 1. Check: before the claim if it could not be dropped, else while the entries are built.
  constexpr bool check_later = checks && !is_shared<S>;
  if constexpr (checks && is_shared<S>) {
    const Status fault = check_pieces(engine, group, operation, pieces, count);
    if (!fault.is_ok()) return Token::refused(fault);
  }
  // 2. Claim.
  const protocol::Claim claim =
      protocol::claim_until(engine, group, protocol::begin_claim(engine), count, count, until);
  if (claim.count == 0) return Token::refused(engine.template refusal<Until>(group));
  // 3. Build. 4. Store. 5. Publish. 6. Ring.
  const Status status = publish_pieces<check_later, false>(engine, group, claim, operation, pieces, notification);
  if (!status.is_ok()) return Token::refused(status);
  Token token;
  token.last = claim.first + count - 1;
  token.count = count;
  return token;
}

/// Queue::transfer().
template <class Engine, Sharing S, class Operation, class Pieces>
XIO_DEVICE_INLINE Status transfer(const Engine& engine, Group<S> group, Operation operation, Pieces pieces,
                                  uint32_t count, Deadline until, Notification& progress) {
  // check: command set, of a transfer
  if (!takes_batches<typename Engine::Policy, Operation>) return Status::unsupported;
  // check: queue in GPU memory, of a transfer
  if (!is_placed_for<typename Engine::Policy>(engine.handle().gpu_memory)) return Status::unsupported;
  if constexpr (Engine::Policy::argument_checks) {
    if (!protocol::agree(group, operation, count)) return Status::invalid_argument;
    const Status fault = check_pieces(engine, group, operation, pieces, count);
    if (!fault.is_ok()) return fault;
  }
  // order: owner before commands. Failures of these pieces are told to this call: not to errors() and quiet(), nor
  // those of others to this call.
  if (group.leads()) arch::store<arch::Scope::system>(&progress.status, Notification::owned);
  const uint32_t depth = engine.depth();
  const uint32_t quarter = depth / 4 + 1;
  for (uint32_t done = 0; done < count;) {
    const uint32_t left = count - done;
    const uint32_t most = left < depth ? left : depth;
    // bound: room to go on
    const protocol::Claim claim = protocol::claim_until(engine, group, protocol::begin_claim(engine), most,
                                                        most < quarter ? most : quarter, until);
    if (claim.count == 0) return engine.template refusal<Deadline>(group);
    (void)publish_pieces<false, true>(engine, group, claim, operation, pieces_from(pieces, done), &progress);
    done += claim.count;
  }
  engine.ring(group);
  uint32_t looks = 0;
  const bool over = group.poll(
      [&] {
        if (++looks % arch::looks_per_clock == 0) protocol::help(engine, group);
        engine.drain(group);
        const bool pending = arch::load<arch::Scope::system>(&progress.done) < count;
        return !group.any(pending) || group.any(engine.is_dead());
      },
      until);
  if (!over) return Status::timed_out;
  if (group.any(arch::load<arch::Scope::system>(&progress.done) < count)) return Status::broken;
  arch::acquire_system();  // order: completion before data
  // order: pieces before failures
  const uint32_t failure = arch::load<arch::Scope::system>(&progress.status) & Notification::device_status;
  if (!group.any(failure != 0)) return inbound(engine, group, Status::ok, true, until);
  return CompletionFormat::decode(static_cast<uint16_t>(failure));
}

/// Queue::wait_batch(): each lane waits for its share.
template <class Engine, Sharing S>
XIO_DEVICE_INLINE Status wait_batch(const Engine& engine, Group<S> group, const Token& batch, Deadline until) {
  const uint32_t lanes = group.lanes();
  const uint32_t rank = group.rank();
  const uint32_t share = (batch.count + lanes - 1) / lanes;
  const uint32_t begin = rank * share < batch.count ? rank * share : batch.count;
  const uint32_t end = begin + share < batch.count ? begin + share : batch.count;
  Token mine = batch;
  mine.count = end - begin;
  mine.last = batch.last - (batch.count - end);
  telemetry::Off off;
  const Status status = wait(engine, group, mine, until, off);
  group.converge();                             // what one lane acquired is visible to all
  return protocol::first_fault(group, status);  // check: shares of all lanes
}

}  // namespace detail

/// @}
}  // namespace nvme

XIO_NAMESPACE_END
