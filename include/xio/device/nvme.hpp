// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief An NVMe queue pair in a kernel: submit commands, wait for tokens.
///
/// @code
/// xio::nvme::Queue<xio::Sharing::wave> queue(handle);
/// const auto until = xio::deadline(1_ms);
/// const xio::Token token = queue.submit(xio::nvme::read(lba, blocks), xio::nvme::ContiguousPages{bus}, until);
/// const xio::Status status = queue.wait(token, until);
/// @endcode

#include <xio/device/com.hpp>
#include <xio/device/completion.hpp>
#include <xio/device/doorbell.hpp>
#include <xio/device/nvme_command.hpp>
#include <xio/device/nvme_data.hpp>
#include <xio/device/nvme_handle.hpp>
#include <xio/device/submission.hpp>
#include <xio/vendors/nvme/decode.hpp>
#include <xio/vendors/nvme/encode.hpp>

XIO_NAMESPACE_BEGIN

namespace nvme {

/// How the protocol code reads an NVMe completion.
struct CompletionFormat {
  using Entry = Cqe;

  XIO_DEVICE_INLINE static uint64_t look(const Cqe* entry) {
    return arch::observe<arch::Scope::system>(reinterpret_cast<const uint64_t*>(entry) + 1);
  }
  XIO_HOST_DEVICE static constexpr bool valid(uint64_t word, bool phase) { return (word >> 48 & 1) == phase; }
  XIO_HOST_DEVICE static constexpr uint32_t key(uint64_t word) { return static_cast<uint32_t>(word >> 32) & 0xffff; }
  XIO_HOST_DEVICE static constexpr uint64_t status(uint64_t word) { return word >> 49; }
  XIO_DEVICE_INLINE static uint64_t result(const Cqe* entry) {
    return arch::load<arch::Scope::system>(reinterpret_cast<const uint64_t*>(entry));
  }
  XIO_HOST_DEVICE static constexpr Status decode(uint16_t status_field) { return to_status(status_field); }
};

/// Queue state in memory, where all users of the queue find it.
class InMemory {
 public:
  static constexpr bool stored_each_time = true;
  XIO_HOST_DEVICE explicit InMemory(const QueueHandle& handle) : handle_(handle) {}
  XIO_HOST_DEVICE const QueueHandle& handle() const { return handle_; }

 protected:
  XIO_HOST_DEVICE QueueState& state() const { return *handle_.state; }
  QueueHandle handle_;
};

/// Queue state in registers, for a loop of one user; see BasicQueue::session().
class InRegisters {
 public:
  static constexpr bool stored_each_time = false;
  XIO_HOST_DEVICE explicit InRegisters(const QueueHandle& handle) : handle_(handle), state_(*handle.state) {}
  XIO_HOST_DEVICE const QueueHandle& handle() const { return handle_; }
  /// Writes the state back; the session is not used afterwards.
  XIO_HOST_DEVICE void end() { *handle_.state = state_; }

 protected:
  XIO_HOST_DEVICE QueueState& state() { return state_; }
  QueueHandle handle_;
  QueueState state_;
};

/// One piece of a batch: `blocks` logical blocks from `lba` to or from contiguous memory at bus address `bus`.
struct Piece {
  uint64_t lba;
  uint64_t bus;
  uint32_t blocks;  ///< 1 to QueueHandle::max_blocks; pieces are not split
};

/// Failed operations that nobody has waited for.
struct ErrorSummary {
  uint32_t count;
  uint64_t first_ticket;
  Status first;
};

/// An NVMe queue pair. Trivially copyable; a kernel makes one from a handle.
///
/// All lanes that call a function together act together (Sharing::wave, block and grid): one reservation, one release
/// and one doorbell for all of them. Status and Token answers are each lane's own.
///
/// @tparam S        who uses the queue pair at the same time; using it more widely is a data race.
/// @tparam Policy   Throughput, Latency, Unchecked, or one derived from them (policy.hpp).
/// @tparam Doorbell MmioDoorbell or ShadowDoorbell (doorbell.hpp).
template <Sharing S, class Policy, class Doorbell, class Holder>
class BasicQueue : public Holder {
 public:
  using Holder::Holder;
  using Holder::handle;
  static constexpr Sharing sharing = S;

  /// A view that keeps the queue's state in registers until its end(): for the loop of one thread, or of one wave all of
  /// whose active lanes take part in every call.
  XIO_DEVICE_INLINE BasicQueue<S, Policy, Doorbell, InRegisters> session() const {
    static_assert(!is_shared<S>, "only a queue that one thread or one wave owns can live in registers");
    return BasicQueue<S, Policy, Doorbell, InRegisters>(handle());
  }

  /// `from_now` on this queue's measured clock.
  XIO_DEVICE_INLINE Deadline deadline(Duration from_now) const {
    return xio::deadline(from_now, handle().clock_hz ? handle().clock_hz : arch::clock_hz);
  }

  /// Submits one command for each calling lane; waits for room until the deadline.
  ///
  /// @param pages where the data lies: anything with `uint64_t bus(uint64_t offset) const` (xio/vendors/nvme/prp.hpp);
  ///              NoData for commands that move none.
  /// @return a token; a refused one carries the reason. Commands longer than QueueHandle::max_blocks are split, and the
  ///         token stands for all parts.
  /// @param notification counts the end of the operation (Notifying policies); null: nothing does.
  template <class Pages, class Until, class Telemetry>
  XIO_DEVICE_INLINE Token submit(const Command& command, const Pages& pages, Until until, Telemetry& telemetry,
                                 Notification* notification = nullptr) {
    uint64_t group = protocol::group_of_caller<S>();
    if constexpr (Policy::argument_checks) {
      const Status fault = check(command, pages);
      const bool split = fault.is_ok() && is_long(command);
      const uint64_t sound = members(group, fault.is_ok() && !split);
      Token token = Token::refused(fault);
      if (XIO_UNLIKELY(protocol::any<S>(group, split))) token = submit_long(group, split, command, pages, until, notification, token);
      if (split || !fault.is_ok()) return token;
      group = sound;
    }
    return submit_short(group, command, pages, until, notification, telemetry);
  }

  template <class Pages>
  XIO_DEVICE_INLINE Token submit(const Command& command, const Pages& pages, Deadline until) {
    telemetry::Off off;
    return submit(command, pages, until, off);
  }

  /// As above; when the operation has ended, `notification` is added to. A split command counts each of its parts.
  template <class Pages>
  XIO_DEVICE_INLINE Token submit(const Command& command, const Pages& pages, Notification& notification, Deadline until) {
    static_assert(Policy::notifications, "use a Notifying policy");
    telemetry::Off off;
    return submit(command, pages, until, off, &notification);
  }

  /// As above, without waiting and without taking completions: a lane that finds no room gets a token refused with
  /// Status::would_block.
  template <class Pages>
  XIO_DEVICE_INLINE Token submit(const Command& command, const Pages& pages) {
    telemetry::Off off;
    return submit(command, pages, Now{}, off);
  }

  /// Submits `count` pieces as one operation, together: one reservation, one release, one doorbell.
  ///
  /// All lanes of the group pass the same arguments. The token is the same in all lanes and stands for the whole batch;
  /// it is best waited for with wait_batch().
  /// @param count 1 to the queue's depth; transfer() takes any number.
  template <class Until>
  XIO_DEVICE Token submit_batch(Opcode operation, const Piece* pieces, uint32_t count, Until until,
                                Notification* notification = nullptr) {
    const uint64_t group = protocol::group_of_caller<S>();
    if (count == 0 || count > handle().depth) return Token::refused(Status::invalid_argument);
    if constexpr (Policy::argument_checks) {
      const Status fault = check_pieces(group, operation, pieces, count);
      if (!fault.is_ok()) return Token::refused(fault);
    }
    const protocol::Claim claim = claim_until(group, count, count, until);
    if (claim.count == 0) return Token::refused(refusal<Until>());
    const Status status = publish_pieces(group, claim, operation, pieces, notification);
    if (!status.is_ok()) return Token::refused(status);
    Token token;
    token.last = claim.first + count - 1;
    token.count = count;
    return token;
  }

  /// Moves any number of pieces through the queue and waits for all of them; the window stays full while they last.
  ///
  /// All lanes of the group pass the same arguments. @param progress counts them; zeroed by the caller, who may watch it.
  /// Returns the first error, or Status::timed_out with operations still in flight: `progress.done` tells how many ended.
  XIO_DEVICE Status transfer(Opcode operation, const Piece* pieces, uint32_t count, Notification& progress, Deadline until) {
    static_assert(Policy::notifications, "use a Notifying policy");
    const uint64_t group = protocol::group_of_caller<S>();
    if constexpr (Policy::argument_checks) {
      const Status fault = check_pieces(group, operation, pieces, count);
      if (!fault.is_ok()) return fault;
    }
    const uint32_t quarter = handle().depth / 4 + 1;
    for (uint32_t done = 0; done < count;) {
      const uint32_t left = count - done;
      const uint32_t most = left < handle().depth ? left : handle().depth;
      const protocol::Claim claim = claim_until(group, most, most < quarter ? most : quarter, until);
      if (claim.count == 0) return refusal<Deadline>();
      const Status status = publish_pieces(group, claim, operation, pieces + done, &progress);
      if (!status.is_ok()) return status;
      done += claim.count;
    }
    flush_group(group);
    telemetry::Off off;
    const Status status = poll_until(
        [&] {
          drain_group(group, off);
          const bool pending = arch::observe<arch::Scope::system>(&progress.done) < count;
          return !protocol::any<S>(group, pending) || protocol::read<S>(state().broken) != 0;
        },
        until);
    if (!status.is_ok()) return status;
    if (arch::load<arch::Scope::system>(&progress.done) < count) return Status::broken;
    arch::acquire_system();
    if (arch::load<arch::Scope::system>(&progress.failed) == 0) return Status::ok;
    const ErrorSummary summary = errors();
    return summary.count != 0 ? summary.first : Status(Status::device_error);
  }

  /// Waits for a batch that the whole group submitted: each lane looks at its share. All lanes get the same answer: the
  /// first error in lane order, else Status::ok.
  XIO_DEVICE Status wait_batch(const Token& batch, Deadline until) {
    if constexpr (S == Sharing::thread) {
      return wait(batch, until);
    } else {
      const uint64_t group = arch::active();
      const uint32_t lanes = arch::count_lanes(group);
      const uint32_t rank = arch::rank_in(group);
      const uint32_t share = (batch.count + lanes - 1) / lanes;
      const uint32_t begin = rank * share < batch.count ? rank * share : batch.count;
      const uint32_t end = begin + share < batch.count ? begin + share : batch.count;
      Token mine = batch;
      mine.count = end - begin;
      mine.last = batch.last - (batch.count - end);
      const Status status = wait(mine, until);
      const uint64_t failed = arch::ballot(group, !status.is_ok());
      if (!failed) return Status::ok;
      return protocol::unpack(arch::broadcast(group, protocol::pack(status), arch::first_lane(failed)));
    }
  }

  /// Waits until the token's operation has ended, and returns how; each lane waits for its own token.
  ///
  /// Status::timed_out leaves the operation in flight: its buffer still belongs to the device.
  template <class Telemetry>
  XIO_DEVICE Status wait(const Token& token, Deadline until, Telemetry& telemetry) {
    const uint64_t group = protocol::group_of_caller<S>();
    flush_group(group);
    const Status status = protocol::wait<CompletionFormat, S>(completions(), state(), group, token, until,
                                                              [&] { return drain_group(group, telemetry); });
    if constexpr (!Policy::inbound_in_order) {
      if (status.is_ok() && token.count != 0) return flush_inbound(until);
    }
    return status;
  }

  XIO_DEVICE Status wait(const Token& token, Deadline until) {
    telemetry::Off off;
    return wait(token, until, off);
  }

  /// Looks once: Status::would_block where the operation has not ended yet.
  XIO_DEVICE Status test(const Token& token) {
    const Status status = wait(token, Deadline{0});
    return status == Status::timed_out ? Status(Status::would_block) : status;
  }

  /// Waits for all of the calling lane's tokens; the first error in array order, else Status::ok.
  XIO_DEVICE Status wait_all(const Token* tokens, uint32_t count, Deadline until) {
    Status result;
    for (uint32_t i = 0; i < count; ++i) {
      const Status status = wait(tokens[i], until);
      if (result.is_ok()) result = status;
    }
    return result;
  }

  /// Waits until one of the calling lane's tokens has ended; `which` tells which one, the answer how.
  XIO_DEVICE Status wait_any(const Token* tokens, uint32_t count, Deadline until, uint32_t& which) {
    which = 0;
    if (count == 0) return Status::invalid_argument;
    Status found = Status::timed_out;
    const Status polled = poll_until(
        [&] {
          for (which = 0; which < count; ++which) {
            found = test(tokens[which]);
            if (found != Status::would_block) return true;
          }
          return false;
        },
        until);
    return polled.is_ok() ? found : polled;
  }

  /// Command specific result of an operation that a wait has found ended: CQE dword 0 in bits 31:0, dword 1 above.
  XIO_DEVICE_INLINE uint64_t result(const Token& token) const {
    return protocol::read<S>(handle().slots[token.last & handle().slot_mask].result);
  }

  /// Announces deferred submissions (Deferred policies); otherwise does nothing.
  XIO_DEVICE_INLINE void flush() { flush_group(protocol::group_of_caller<S>()); }

  /// Makes the caller's own plain stores visible to the device: needed before submissions under WriteThrough.
  XIO_DEVICE_INLINE void publish_payload() const { arch::release_system(); }

  /// Takes completions that are there and files them, without waiting. Returns how many.
  XIO_DEVICE_INLINE uint32_t drain() {
    telemetry::Off off;
    return drain_group(protocol::group_of_caller<S>(), off);
  }

  /// Waits until every operation that was submitted before this call, by anyone, has ended.
  /// NVMe does not order commands: this is the way to have one executed after another.
  XIO_DEVICE Status fence(Deadline until) {
    const uint64_t end = protocol::read<S>(state().reserved);
    const uint64_t window = uint64_t{handle().slot_mask} + 1;
    for (uint64_t ticket = end > window ? end - window : 0; ticket < end; ++ticket) {
      if (protocol::read<S>(state().retired) >= protocol::read<S>(state().reserved)) break;
      Token token;
      token.last = ticket;
      token.count = 1;
      if (!ended(token)) {
        const Status status = wait_quietly(token, until);
        if (!status.is_ok()) return status;
      }
    }
    arch::acquire_system();
    return Status::ok;
  }

  /// As fence(); then returns the first error that nobody has waited for, and forgets all of them.
  XIO_DEVICE Status quiet(Deadline until) {
    const Status fenced = fence(until);
    if (!fenced.is_ok()) return fenced;
    const ErrorSummary summary = errors();
    if (summary.count == 0) return Status::ok;
    protocol::forget_errors<S>(state(), protocol::group_of_caller<S>(), summary.count);
    return summary.first;
  }

  /// Failed operations that nobody has waited for so far.
  XIO_DEVICE ErrorSummary errors() {
    ErrorSummary summary;
    summary.count = protocol::read<S>(state().error_count);
    summary.first_ticket = protocol::read<S>(state().first_error_index);
    summary.first = summary.count ? protocol::unpack(protocol::read<S>(state().first_error)) : Status(Status::ok);
    return summary;
  }

  /// Makes data that the device wrote before its last completion visible where PCIe does not order the two (data in
  /// device memory, completions in host memory): the controller is made to read back from the data's memory.
  /// Uses a Compare command; Status::unsupported where the handle offers no buffer for it.
  XIO_DEVICE Status flush_inbound(Deadline until) {
    if (handle().flush_bus == 0) return Status::unsupported;
    telemetry::Off off;
    const uint64_t group = protocol::group_of_caller<S>();
    const Token token = submit_short(group, compare(0, 1), ContiguousPages{handle().flush_bus}, until, nullptr, off);
    const Status status = protocol::wait<CompletionFormat, S>(completions(), state(), group, token, until,
                                                              [&] { return drain_group(group, off); });
    return status == Status::compare_failed ? Status(Status::ok) : status;
  }

 private:
  using Holder::state;

  XIO_DEVICE_INLINE uint64_t members(uint64_t group, bool member) const {
    if constexpr (S == Sharing::thread) {
      return member;
    } else {
      return arch::ballot(group, member);
    }
  }

  template <class Until>
  XIO_DEVICE_INLINE static constexpr Status refusal() {
    return __is_same(Until, Now) ? Status::would_block : Status::timed_out;
  }

  XIO_DEVICE_INLINE protocol::CompletionRing<CompletionFormat> completions() const {
    const QueueHandle& q = handle();
    return {q.cq, q.slots, q.notifications, q.cq_mask, q.slot_mask, q.depth};
  }

  template <class Telemetry>
  XIO_DEVICE uint32_t drain_group(uint64_t group, Telemetry& telemetry) {
    const QueueHandle& q = handle();
    const uint64_t started = Telemetry::start();
    const uint32_t taken = protocol::drain<CompletionFormat, S, Policy>(
        completions(), state(), group,
        [&](uint64_t head) {
          const DoorbellTarget target{q.cq_doorbell, q.cq_shadow, q.cq_event_index};
          if constexpr (S == Sharing::thread) {
            Doorbell::ring_each(target, ring::slot(head, q.cq_mask));
          } else {
            Doorbell::ring(target, ring::slot(head, q.cq_mask));
          }
        },
        telemetry);
    telemetry.stop(telemetry::Step::cq_poll, started);
    return taken;
  }

  XIO_DEVICE_INLINE void ring_sq(uint64_t end) const {
    const QueueHandle& q = handle();
    const DoorbellTarget target{q.sq_doorbell, q.sq_shadow, q.sq_event_index};
    if constexpr (S == Sharing::thread) {
      Doorbell::ring_each(target, ring::slot(end, q.sq_mask));
    } else {
      Doorbell::ring(target, ring::slot(end, q.sq_mask));
    }
  }

  XIO_DEVICE_INLINE void flush_group(uint64_t group) {
    protocol::flush<S, Policy>(state(), group, [&](uint64_t end) { ring_sq(end); });
  }

  XIO_DEVICE_INLINE Status publish(uint64_t group, protocol::Claim claim) {
    return protocol::publish<S, Policy>(state(), group, claim, [&](uint64_t end) { ring_sq(end); });
  }

  XIO_DEVICE_INLINE bool is_long(const Command& command) const {
    return splittable(command) && command.last_block >= handle().max_blocks;
  }

  template <class Pages>
  XIO_DEVICE_INLINE Status check(const Command& command, const Pages& pages) const {
    const QueueHandle& q = handle();
    if (addresses_blocks(command)) {
      const uint64_t last = uint64_t{command.last_block} + command.lba();
      if (command.last_block == ~0u) return Status::invalid_argument;  // no blocks at all
      if (q.namespace_blocks != 0 && (last >= q.namespace_blocks || last < command.lba())) return Status::out_of_range;
    }
    // Rehearsed before tickets are taken, so that a refused command leaves no trace.
    const detail::RehearsedList list{q.lists_bus, q.lists ? q.list_bytes : 0};
    const uint64_t bytes = data_bytes(command, q.block_shift, q.page_shift);
    const uint64_t longest = splittable(command) ? uint64_t{q.max_blocks} << q.block_shift : bytes;
    DataPointer ignored;
    Status fault = detail::point(pages, 0, static_cast<uint32_t>(bytes < longest ? bytes : longest), q.page_shift, list, ignored);
    for (uint64_t done = longest; XIO_UNLIKELY(done < bytes && fault.is_ok()); done += longest) {
      const uint64_t left = bytes - done;
      fault = detail::point(pages, done, static_cast<uint32_t>(left < longest ? left : longest), q.page_shift, list, ignored);
    }
    return fault;
  }

  XIO_DEVICE Status check_pieces(uint64_t group, Opcode operation, const Piece* pieces, uint32_t count) const {
    const uint32_t lanes = S == Sharing::thread ? 1 : arch::count_lanes(group);
    Status fault;
    for (uint32_t i = protocol::rank<S>(group); i < count && fault.is_ok(); i += lanes) {
      fault = check(command(operation).range(pieces[i].lba, pieces[i].blocks), ContiguousPages{pieces[i].bus});
      if (fault.is_ok() && pieces[i].blocks > handle().max_blocks) fault = Status::invalid_argument;
    }
    const uint64_t faulty = members(group, !fault.is_ok());
    if (!faulty) return Status::ok;
    return protocol::unpack(protocol::from_lane<S>(group, protocol::pack(fault), arch::first_lane(faulty)));
  }

  XIO_DEVICE_INLINE protocol::Claim claim_now(uint64_t group, uint32_t wanted, uint32_t least) {
    const QueueHandle& q = handle();
    return protocol::claim<S>(state(), group, wanted, least, q.depth, [&](uint64_t ticket) {
      if constexpr (Policy::slot_checks) {
        return protocol::slot_free<S>(q.slots, q.slot_mask, ticket);
      } else {
        return true;
      }
    });
  }

  /// Claims tickets; while there is no room, announces what waits to be announced and takes completions.
  template <class Until>
  XIO_DEVICE_INLINE protocol::Claim claim_until(uint64_t group, uint32_t wanted, uint32_t least, Until until) {
    protocol::Claim claim = claim_now(group, wanted, least);
    if constexpr (__is_same(Until, Now)) return claim;
    telemetry::Off off;
    for (uint32_t round = 0; XIO_UNLIKELY(claim.count == 0); ++round) {
      flush_group(group);
      const uint32_t taken = drain_group(group, off);
      claim = claim_now(group, wanted, least);
      if (claim.count != 0) break;
      const bool look = round == 0 || round % arch::looks_per_clock == arch::looks_per_clock - 1;
      // The lanes stay together: they give up when the most patient of them does, or when the queue is broken.
      if (look && (!protocol::any<S>(group, !until.passed()) || protocol::read<S>(state().broken) != 0)) break;
      if (taken == 0) arch::pause(round);
    }
    return claim;
  }

  template <class Pages>
  XIO_DEVICE_INLINE Sqe build(const Command& command, const Pages& pages, uint64_t offset, uint64_t ticket) const {
    const QueueHandle& q = handle();
    const uint32_t cid = ring::slot(ticket, q.slot_mask);
    const uint64_t list = uint64_t{cid} * q.list_bytes;
    DataPointer data;
    detail::point(pages, offset, static_cast<uint32_t>(data_bytes(command, q.block_shift, q.page_shift)), q.page_shift,
                  detail::PublishedList<Policy>{reinterpret_cast<uint64_t*>(reinterpret_cast<uintptr_t>(q.lists) + list),
                                                q.lists_bus + list, q.list_bytes},
                  data);
    return encode(command.nsid(command.namespace_id ? command.namespace_id : q.nsid), cid, data);
  }

  XIO_DEVICE_INLINE void store_entries(uint64_t group, uint64_t storing, const Sqe& entry, uint64_t ticket) const {
    using How = typename StoreChoice<Policy::narrow_slots, Policy::publication>::type;
    const QueueHandle& q = handle();
    if constexpr (S == Sharing::thread) {
      XioComEnqueue<How>(entry, entry_at(ticket));
    } else {
      enqueue_wave<How>(group, storing, entry, q.sq, ring::slot(ticket, q.sq_mask));
    }
  }

  // A 32-bit byte offset from a uniform base is one address mode of the hardware.
  XIO_DEVICE_INLINE Sqe* entry_at(uint64_t ticket) const {
    const uint32_t offset = ring::slot(ticket, handle().sq_mask) * static_cast<uint32_t>(sizeof(Sqe));
    return reinterpret_cast<Sqe*>(reinterpret_cast<char*>(handle().sq) + offset);
  }

  /// Says who is told of the end of an operation, before the device can know of it.
  XIO_DEVICE_INLINE void set_notification(uint64_t ticket, Notification* notification) const {
    if constexpr (Policy::notifications) {
      auto& target = reinterpret_cast<uint64_t&>(handle().notifications[ticket & handle().slot_mask]);
      protocol::write<S>(target, reinterpret_cast<uint64_t>(notification));
    }
  }

  /// Stores and publishes the entries of a claim, one for each piece.
  XIO_DEVICE_INLINE Status publish_pieces(uint64_t group, protocol::Claim claim, Opcode operation, const Piece* pieces,
                                          Notification* notification) {
    const uint32_t lanes = S == Sharing::thread ? 1 : arch::count_lanes(group);
    for (uint32_t base = 0; base < claim.count; base += lanes) {
      const uint32_t mine = base + protocol::rank<S>(group);
      const bool storing = mine < claim.count;
      const Piece piece = pieces[storing ? mine : 0];
      const uint64_t ticket = claim.first + mine;
      Sqe entry{};
      if (storing) {
        entry = build(command(operation).range(piece.lba, piece.blocks), ContiguousPages{piece.bus}, 0, ticket);
        set_notification(ticket, notification);
      }
      store_entries(group, members(group, storing), entry, ticket);
    }
    return publish(group, claim);
  }

  template <class Pages, class Until, class Telemetry>
  XIO_DEVICE_INLINE Token submit_short(uint64_t group, const Command& command, const Pages& pages, Until until,
                                       Notification* notification, Telemetry& telemetry) {
    for (;;) {
      const uint32_t wanted = S == Sharing::thread ? 1 : arch::count_lanes(group);
      protocol::Claim claim = claim_until(group, wanted, 1, until);
      if (XIO_UNLIKELY(claim.count == 0)) return Token::refused(refusal<Until>());
      const uint32_t position = protocol::rank<S>(group);
      uint64_t ticket = claim.first + position;
      if constexpr (S == Sharing::thread) ticket = arch::per_lane(ticket);
      if constexpr (S == Sharing::thread && Holder::stored_each_time) claim.first = ticket;
      const bool served = S == Sharing::thread || position < claim.count;
      uint64_t started = Telemetry::start();
      Sqe entry{};
      if (served) {
        entry = build(command, pages, 0, ticket);
        set_notification(ticket, notification);
      }
      telemetry.stop(telemetry::Step::build, started);
      started = Telemetry::start();
      store_entries(group, members(group, served), entry, ticket);
      telemetry.stop(telemetry::Step::enqueue, started);
      started = Telemetry::start();
      const Status status = publish(group, claim);
      telemetry.stop(telemetry::Step::sq_doorbell, started);
      if (!status.is_ok()) return Token::refused(status);
      const uint64_t others = S == Sharing::thread ? 0 : arch::ballot(group, !served);
      if (served) {
        Token token;
        token.last = ticket;
        token.count = 1;
        return token;
      }
      group = others;
    }
  }

  /// Splits the commands of the lanes that say so, one lane after the other; all lanes of the group help.
  template <class Pages, class Until>
  XIO_DEVICE Token submit_long(uint64_t group, bool split, const Command& command, const Pages& pages, Until until,
                               Notification* notification, Token token) {
    for (uint64_t owners = members(group, split); owners; owners &= owners - 1) {
      const uint32_t owner = arch::first_lane(owners);
      const bool mine = S == Sharing::thread || arch::lane() == owner;
      const uint32_t longest = handle().max_blocks;
      const uint32_t total = protocol::from_lane<S>(group, command.blocks(), owner);
      Token whole;
      for (uint32_t done = 0; done < total;) {
        const uint32_t parts = (total - done + longest - 1) / longest;
        const protocol::Claim claim = claim_until(group, parts < handle().depth ? parts : handle().depth, 1, until);
        if (claim.count == 0) {
          whole.status = refusal<Until>();
          break;
        }
        if (whole.count != 0 && claim.first != whole.last + 1) {
          // Others came between: a token is one row of tickets, so the parts before must end first.
          const Status before = wait_parts(whole, until);
          whole = Token::refused(before);
        }
        for (uint32_t i = 0; i < claim.count; ++i) {
          const uint32_t blocks = total - done < longest ? total - done : longest;
          if (mine) {
            const Sqe entry = build(command.piece(done, blocks), pages, uint64_t{done} << handle().block_shift,
                                    claim.first + i);
            using How = typename StoreChoice<Policy::narrow_slots, Policy::publication>::type;
            set_notification(claim.first + i, notification);
            XioComEnqueue<How>(entry, entry_at(claim.first + i));
          }
          done += blocks;
        }
        const Status status = publish(group, claim);
        if (!status.is_ok()) {
          whole.status = status;
          break;
        }
        whole.last = claim.first + claim.count - 1;
        whole.count += claim.count;
      }
      if (mine) token = whole;
    }
    return token;
  }

  XIO_DEVICE Status wait_parts(const Token& parts, Deadline until) { return wait(parts, until); }
  XIO_DEVICE Status wait_parts(const Token&, Now) { return Status::would_block; }

  XIO_DEVICE_INLINE bool ended(const Token& token) const {
    uint64_t word = 0;
    return protocol::look_up<S>(handle().slots, handle().slot_mask, token.last, word) != protocol::Outcome::pending;
  }

  /// Waits without taking note of errors.
  XIO_DEVICE Status wait_quietly(const Token& token, Deadline until) {
    const uint64_t group = protocol::group_of_caller<S>();
    flush_group(group);
    telemetry::Off off;
    uint32_t broken = 0;
    const Status status = poll_until(
        [&] {
          const bool pending = !ended(token);
          if (!protocol::any<S>(group, pending)) return true;
          drain_group(group, off);
          broken = protocol::read<S>(state().broken);
          return broken != 0;
        },
        until);
    return broken && !ended(token) ? Status(Status::broken) : status;
  }

  template <bool Narrow, Publication P>
  struct StoreChoice {
    using type = store::Stream;
  };
  template <Publication P>
  struct StoreChoice<true, P> {
    using type = store::Narrow;
  };
  template <bool Narrow>
  struct StoreChoice<Narrow, Publication::write_through> {
    using type = store::Through;
  };
};

/// The queue type of most kernels; see BasicQueue.
template <Sharing S = Sharing::grid, class Policy = Throughput, class Doorbell = MmioDoorbell>
using Queue = BasicQueue<S, Policy, Doorbell, InMemory>;

}  // namespace nvme

XIO_NAMESPACE_END
