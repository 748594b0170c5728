// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Batches on an RDMA queue pair: many pieces of memory, posted together by all lanes of a wave.

#include <xio/device/rdma/memory.hpp>
#include <xio/device/rdma/post.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {

/// The submission path of batches; base class of QueuePair.
template <class Vendor, Sharing S, class Policy, class Holder>
class SendBatch : public SendPost<Vendor, S, Policy, Holder> {
  using Post = SendPost<Vendor, S, Policy, Holder>;
  using Step = typename Post::Device::Tickets::Step;

 public:
  using Post::handle;
  using Post::Post;

 protected:
  using Post::check;
  using Post::device;
  using Post::send;

  /// Posts `count` pieces with one claim, one release and one doorbell, and a completion for the last piece. All lanes
  /// of `group` call with the same arguments and get the same token.
  template <class Until, class Telemetry>
  XIO_DEVICE Token submit_pieces(Group<S> group, Operation operation, const Piece* pieces, uint32_t count, Until until,
                                 Telemetry& telemetry) {
    const QueuePairHandle& q = handle();
    // All entries with one piece of memory have the same length.
    const uint32_t units = Vendor::Send::units(q.shape, work_of(operation, Piece{}), OneSge{});
    if (count == 0 || count > q.depth / units) return Token::refused(Status::invalid_argument);
    Step step{};
    if constexpr (Policy::argument_checks || Post::sequenced) {
      const Status fault = survey(group, operation, pieces, count, step);
      if (!fault.is_ok()) return Token::refused(fault);
    }
    const protocol::Claim claim = protocol::claim_until(device(), group, count * units, count * units, until, step);
    if (claim.count == 0) return Token::refused(Post::template refusal<Until>(group));
    auto sequence = Post::sequence_of(claim);
    const uint32_t lanes = group.lanes();
    uint64_t started = Telemetry::start();
    for (uint32_t base = 0;; base += lanes) {
      const uint32_t mine = base + group.rank();
      const bool storing = mine < count;
      // Lanes without a piece process the first one too.
      const Piece piece = pieces[storing ? mine : 0];
      const Work work = work_of(operation, piece);
      const OneSge payload = payload_of(piece);
      const Numbers numbers(group, q.shape, storing, payload);
      const uint64_t first = claim.first + uint64_t{mine} * units;
      const bool signaled = Post::is_signaled(work, first, first + units, mine + 1 == count);
      uint64_t head = 0;
      if (storing) {
        Place place;
        place.index = first;
        place.wr_id = first + units;
        if constexpr (Vendor::fence_after_memory_operation && !is_shared<S>) {
          place.after_memory_operation = send().memory_end == first + 1;
        }
        Work signed_work = work;
        signed_work.flags = signaled ? work_flag::signaled : 0;
        RingSink<Vendor, Policy> sink(q.sq, q.shape, first, units);
        head = Vendor::Send::encode(q.shape, signed_work, payload, place, sink);
        Post::number(numbers, sequence, first, work);
      }
      if (count - base <= lanes) {
        telemetry.stop(telemetry::Step::enqueue, started);
        started = Telemetry::start();
        Post::publish(group, claim, group.members(storing), head, signaled, numbers, sequence, work);
        telemetry.stop(telemetry::Step::sq_doorbell, started);
        break;
      }
      if constexpr (Vendor::has_side_table) {
        sequence.psn = Vendor::Table::next_psn(sequence.psn, numbers.all.packets);
        sequence.msn += numbers.all.messages;
      }
    }
    Token token;
    token.last = claim.first + claim.count - 1;
    token.count = claim.count;
    return token;
  }

 private:
  using Numbers = typename Post::template Numbers<OneSge>;

  XIO_HOST_DEVICE static constexpr Work work_of(Operation operation, const Piece& piece) {
    Work work;
    work.operation = operation;
    work.flags = work_flag::signaled;
    work.remote = piece.remote.address;
    work.rkey = piece.remote.rkey;
    return work;
  }
  XIO_HOST_DEVICE static constexpr OneSge payload_of(const Piece& piece) {
    return {{piece.local.address, piece.local.length, piece.local.key}};
  }

  /// Checks the batch and returns why it is refused; otherwise sets `step` to what its claim takes in addition to
  /// tickets.
  XIO_DEVICE Status survey(Group<S> group, Operation operation, const Piece* pieces, uint32_t count,
                           [[maybe_unused]] Step& step) const {
    const uint32_t lanes = group.lanes();
    Status fault;
    for (uint32_t base = 0; base < count; base += lanes) {
      const uint32_t mine = base + group.rank();
      const bool there = mine < count;
      const Piece piece = pieces[there ? mine : 0];
      if constexpr (Policy::argument_checks) {
        if (there && fault.is_ok()) fault = check_piece(operation, piece);
      }
      if constexpr (Post::sequenced) {
        const Numbers numbers(group, handle().shape, there, payload_of(piece));
        step.packets += numbers.all.packets;
        step.messages += numbers.all.messages;
      }
    }
    const uint64_t faulty = group.members(!fault.is_ok());
    if (XIO_LIKELY(faulty == 0)) return Status::ok;
    return protocol::unpack(group.from_lane(protocol::pack(fault), arch::first_lane(faulty)));
  }

  XIO_DEVICE_INLINE Status check_piece(Operation operation, const Piece& piece) const {
    if (operation != Operation::put && operation != Operation::get) return Status::invalid_argument;
    if (piece.remote.length != piece.local.length) return Status::invalid_argument;
    const Status fault = (piece.remote.reach & piece.local.reach).status();
    return fault.is_ok() ? check(work_of(operation, piece), payload_of(piece)) : fault;
  }
};

}  // namespace rdma

XIO_NAMESPACE_END
