// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Batches on an RDMA queue pair: many pieces of memory, posted together by all lanes of a wave.

#include <xio/device/rdma/memory.hpp>
#include <xio/device/rdma/post.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {
/// @addtogroup kernel_rdma
/// @{

namespace detail {

XIO_HOST_DEVICE constexpr Work work_of(Operation operation, const RemoteSpan& remote) {
  Work work;
  work.operation = operation;
  work.flags = work_flag::signaled;
  work.remote = remote.address;
  work.rkey = remote.rkey;
  return work;
}
XIO_HOST_DEVICE constexpr OneSge payload_of(const Piece& piece) {
  return {{piece.local.address, piece.local.length, piece.local.key}};
}

template <class Engine>
XIO_DEVICE_INLINE Status check_piece(const Engine& engine, Operation operation, const Piece& piece) {
  if (operation != Operation::put && operation != Operation::get) return Status::invalid_argument;
  if (piece.remote.length != piece.local.length) return Status::invalid_argument;
  if (!is_placed_for<typename Engine::Policy>(piece.local.memory)) return Status::unsupported;
  const Status fault = (piece.remote.reach & piece.local.reach).status();
  return fault.is_ok() ? check(engine, work_of(operation, piece.remote), payload_of(piece)) : fault;
}

/// Checks the batch and returns why it is refused; otherwise sets `step` to what its claim takes in addition to
/// tickets.
template <class Engine, Sharing S>
XIO_DEVICE Status survey(const Engine& engine, Group<S> group, Operation operation, const Piece* pieces, uint32_t count,
                         [[maybe_unused]] typename Engine::Tickets::Step& step) {
  const uint32_t lanes = group.lanes();
  Status fault;
  for (uint32_t base = 0; base < count; base += lanes) {
    const uint32_t mine = base + group.rank();
    const bool there = mine < count;
    const Piece piece = pieces[there ? mine : 0];
    if constexpr (Engine::Policy::argument_checks) {
      if (there && fault.is_ok()) fault = check_piece(engine, operation, piece);
    }
    if constexpr (Engine::sequenced) {
      const NumbersOf<Engine> numbers(group, engine.handle().shape, there, payload_of(piece));
      step.packets += numbers.all.packets;
      step.messages += numbers.all.messages;
    }
  }
  return protocol::first_fault(group, fault);
}

/// Posts `count` pieces with one claim, one release and one doorbell, and a completion for the last piece. All lanes
/// of `group` call with the same arguments and get the same token.
template <class Engine, Sharing S, class Until, class Telemetry>
XIO_DEVICE_INLINE Token submit_batch(const Engine& engine, Group<S> group, Operation operation, const Piece* pieces,
                                     uint32_t count, Until until, Telemetry& telemetry) {
  const SendShape& shape = engine.handle().shape;
  // check: queue in GPU memory, of a batch
  if (!is_placed_for<typename Engine::Policy>(engine.handle().gpu_memory)) return Token::refused(Status::unsupported);
  if (Engine::Policy::argument_checks && !protocol::agree(group, operation, count)) {
    return Token::refused(Status::invalid_argument);
  }
  // All entries with one piece of memory have the same length.
  const uint32_t units = Engine::Vendor::Send::units(shape, work_of(operation, RemoteSpan{}), OneSge{});
  if (count == 0 || count > engine.handle().most_units() / units) return Token::refused(Status::invalid_argument);
  // 1. Check.
  typename Engine::Tickets::Step step{};
  if constexpr (Engine::Policy::argument_checks || Engine::sequenced) {
    const Status fault = survey(engine, group, operation, pieces, count, step);
    if (!fault.is_ok()) return Token::refused(fault);
  }
  // 2. Claim.
  const protocol::Claim claim =
      protocol::claim_until(engine, group, protocol::begin_claim(engine), count * units, count * units, until, step);
  if (claim.count == 0) return Token::refused(engine.template refusal<Until>(group));
  Sequence sequence = sequence_of(engine, claim);
  const uint32_t lanes = group.lanes();
  uint64_t started = Telemetry::start();
  for (uint32_t base = 0;; base += lanes) {
    const uint32_t mine = base + group.rank();
    const bool storing = mine < count;
    // Lanes without a piece process the first one too.
    const Piece piece = pieces[storing ? mine : 0];
    const Work work = work_of(operation, piece.remote);
    const OneSge payload = payload_of(piece);
    const NumbersOf<Engine> numbers(group, shape, storing, payload);
    const uint64_t first = claim.first + uint64_t{mine} * units;
    const bool signaled = is_signaled(engine, work, first, first + units, mine + 1 == count);
    // 3. Build. 4. Store.
    uint64_t head = 0;
    if (storing) {
      head = store_entry(engine, work, signaled, payload, first, units);
      store_number(engine, numbers, sequence, first, work);
    }
    if (count - base <= lanes) {
      telemetry.stop(telemetry::Step::enqueue, started);
      // 5. Publish. 6. Ring.
      started = Telemetry::start();
      publish(engine, group, claim, group.members(storing), head, signaled, numbers, sequence, work);
      telemetry.stop(telemetry::Step::sq_doorbell, started);
      break;
    }
    sequence = after<Engine>(sequence, numbers);
  }
  Token token;
  token.last = claim.first + claim.count - 1;
  token.count = claim.count;
  return token;
}

}  // namespace detail

/// @}
}  // namespace rdma

XIO_NAMESPACE_END
