// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The send queue of an RDMA queue pair and its completions: room, turns, doorbells, drain, looks.
///
/// Operations of a queue pair end in the order in which they were posted, so one counter says what has ended, and one
/// more where the first failure was.

#include <xio/device/rdma_collapsed.hpp>
#include <xio/device/rdma_completions.hpp>
#include <xio/device/rdma_sink.hpp>
#include <xio/vendors/rdma/completion.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {

/// The protocol code on a send ring: everything that does not depend on what an operation is.
template <class Vendor, Sharing S, class Policy>
class SendRings {
 public:
  XIO_HOST_DEVICE explicit SendRings(const QueuePairHandle& handle, uint64_t lanes = 0)
      : handle_(in_global_memory(handle)), lanes_(lanes) {}
  XIO_HOST_DEVICE const QueuePairHandle& handle() const { return handle_; }
  static constexpr Sharing sharing = S;

 protected:
  /// The lanes of this call; asked once in a call.
  XIO_DEVICE_ALWAYS_INLINE uint64_t callers() const { return protocol::group_of_caller<S>(lanes_); }
  XIO_HOST_DEVICE QueueState& state() const { return *handle_.state; }
  XIO_HOST_DEVICE SendState& send() const { return *handle_.send; }
  XIO_HOST_DEVICE CompletionReader<Vendor> cq() const { return CompletionReader<Vendor>(handle_.cq); }

  XIO_DEVICE_INLINE uint64_t members(uint64_t group, bool member) const {
    if constexpr (S == Sharing::thread) {
      return member;
    } else {
      return arch::ballot(group, member);
    }
  }
  XIO_DEVICE_INLINE bool is_member(uint64_t lanes) const {
    if constexpr (S == Sharing::thread) {
      return true;
    } else {
      return (lanes >> arch::lane() & 1) != 0;
    }
  }

  template <class T>
  XIO_DEVICE_INLINE void write_by_leader(uint64_t group, T& word, T value) const {
    if constexpr (is_shared<S>) {
      if (protocol::leads<S>(group)) arch::store<state_scope<S>>(&word, value);
    } else {
      protocol::before_writing<S>(group);
      word = value;
    }
  }

  /// As write_by_leader(), after what the leader wrote before.
  template <class T>
  XIO_DEVICE_INLINE void publish_by_leader(uint64_t group, T& word, T value) const {
    if constexpr (is_shared<S>) {
      if (protocol::leads<S>(group)) arch::publish<state_scope<S>>(&word, value);
    } else {
      write_by_leader(group, word, value);
    }
  }

  /// Why there is no room.
  template <class Until>
  XIO_DEVICE_INLINE Status refusal() const {
    if (protocol::read<S>(state().broken) != 0 || protocol::read<S>(send().failed_end) != 0) return Status::broken;
    return IsSame<Until, Now>::value ? Status::would_block : Status::timed_out;
  }

  /// Announces entries. `head`: first 8 bytes of the last one.
  XIO_DEVICE_INLINE void announce(uint64_t end, uint64_t head) const {
    const QueuePairHandle& q = handle_;
    // Before the record, behind which the compiler would load everything anew.
    [[maybe_unused]] uint64_t value = 0;
    if constexpr (Vendor::has_send_doorbell) value = Vendor::send_doorbell(q.shape, end, head);
    if constexpr (Vendor::has_send_record) {
      arch::store<arch::Scope::system>(q.sq_record, Vendor::send_record(q.shape, end));
      // The device may look at the record as soon as the doorbell has reached it.
      if constexpr (Vendor::has_send_doorbell) arch::wait_stores();
    }
    if constexpr (Vendor::has_send_doorbell) {
      using Word = typename Vendor::Doorbell;
      uint32_t half = 0;
      if constexpr (Vendor::doorbell_stride != 0) half = next_half();
      auto* const doorbell = reinterpret_cast<Word*>(static_cast<char*>(q.sq_doorbell) + half);
      if constexpr (S == Sharing::thread) {
        arch::store_mmio_each_lane(doorbell, static_cast<Word>(value));
      } else {
        XioComDoorbell<order::Relaxed>(doorbell, static_cast<Word>(value));
      }
    }
  }

  /// Byte offset of the register that is rung now, of two in turn. Whoever rings is alone; another lane did so the last
  /// time.
  XIO_DEVICE_INLINE uint32_t next_half() const {
    uint32_t* const next = &send().half;
    const uint32_t half = arch::load<state_scope<S>>(next);
    arch::store<state_scope<S>>(next, half ^ Vendor::doorbell_stride);
    return half;
  }

  /// Announces what was published up to `end`, and perhaps what is being published: doorbell and record name the same
  /// entry. Later on that is announced again, which the device takes for nothing new.
  XIO_DEVICE_INLINE void announce_deferred(uint64_t end) const {
    if constexpr (!Vendor::doorbell_repeats_entry) {
      announce(end, 0);
    } else if constexpr (is_shared<S>) {
      // Stored behind the release of its entry: it can be announced, though it may be published a moment later.
      const uint64_t head = arch::observe<state_scope<S>>(&send().last_head);
      announce(Vendor::end_of(head), head);
    } else {
      announce(end, send().last_head);
    }
  }

  XIO_DEVICE_INLINE void flush_group(uint64_t group) {
    if constexpr (Policy::ringing == Ringing::deferred) {
      protocol::flush<S, Policy>(state(), group, [&](uint64_t end) { announce_deferred(end); });
    }
  }

  XIO_DEVICE_INLINE protocol::Claim claim_now(uint64_t group, uint32_t wanted, uint32_t least) {
    if constexpr (S == Sharing::thread) arch::prefer_vector_loads();
    return protocol::claim<S>(state(), group, wanted, least, handle_.depth, [](uint64_t) { return true; });
  }

  /// Claims units; while there is no room, announces what waits to be announced and takes completions.
  template <class Until>
  XIO_DEVICE_INLINE protocol::Claim claim_until(uint64_t group, uint32_t wanted, uint32_t least, Until until) {
    protocol::Claim claim = claim_now(group, wanted, least);
    if constexpr (IsSame<Until, Now>::value) {
      if (XIO_UNLIKELY(claim.count == 0)) flush_group(group);
    } else {
      for (uint32_t round = 0; XIO_UNLIKELY(claim.count == 0); ++round) {
        flush_group(group);
        const bool look = round == 0 || round % arch::looks_per_clock == arch::looks_per_clock - 1;
        const bool last = look && (!protocol::any<S>(group, !until.passed()) || protocol::any<S>(group, is_dead()));
        const uint32_t taken = drain_group(group);
        claim = claim_now(group, wanted, least);
        if (claim.count != 0 || last) break;
        if (taken == 0) arch::pause(round);
      }
    }
    return claim;
  }

  /// Whether nothing that is posted will ever be executed.
  XIO_DEVICE_INLINE bool is_dead() const {
    return protocol::read<S>(state().broken) != 0 || protocol::read<S>(send().ended) != 0;
  }

  /// Takes the completions that are there, at most one for each lane. Returns how many. Never waits: where another wave
  /// is taking them, it returns 0.
  XIO_DEVICE_INLINE uint32_t drain_group(uint64_t group) {
    if constexpr (Vendor::has_collapsed_cq) {
      return drain_collapsed(group);
    } else {
      return drain_ring(group);
    }
  }

  XIO_DEVICE uint32_t drain_ring(uint64_t group) {
    constexpr arch::Scope scope = state_scope<S>;
    const uint32_t position = protocol::rank<S>(group);
    const CompletionReader<Vendor> queue = cq();
    uint64_t head = protocol::read<S>(send().cq_head);
    if constexpr (is_shared<S>) {
      head = protocol::from_leader<S>(group, head);
      if (!protocol::any<S>(group, position == 0 && queue.is_new(queue.look(head), head, 0))) return 0;
      if (!claim_drain<S>(state(), group)) return 0;
      head = protocol::from_leader<S>(group, arch::load<scope>(&send().cq_head));
    }
    const uint64_t word = queue.look(head + position);
    const bool fresh = queue.is_new(word, head, position);
    const uint32_t taken = unbroken_row<S>(group, fresh);
    if constexpr (!is_shared<S>) {
      if (XIO_UNLIKELY(taken == 0)) return 0;
    }
    if (taken != 0) {
      const uint64_t mine = head + position;
      const bool hit = position < taken;
      if constexpr (is_shared<S>) {
        file<true>(queue, group, head, mine, word, hit, taken);
      } else if (XIO_UNLIKELY(!file<false>(queue, group, head, mine, word, hit, taken))) {
        file_any(group, head, mine, word, hit, taken);
      }
    }
    if constexpr (is_shared<S>) {
      if (protocol::leads<S>(group)) arch::publish<scope>(&state().draining, 0u);
    }
    return taken;
  }

  /// How far a lane's wait has come.
  struct Waiting {
    uint32_t round = 0;  ///< looks
    bool late = false;
    bool broken = false;
    XIO_HOST_DEVICE bool has_given_up() const { return late || broken; }
  };

  /// Takes completions until the waits of all lanes are over, and returns true. On shared queues it returns false now
  /// and then, so that the caller can look at what others have posted.
  XIO_DEVICE_INLINE bool look_group(uint64_t group, const Token& token, Deadline until, Waiting& waiting) {
    while (protocol::any<S>(group, !has_ended(token) && !waiting.has_given_up())) {
      const bool seldom = waiting.round % arch::looks_per_clock == arch::looks_per_clock - 1;
      if (seldom) {
        waiting.late = until.passed();
        waiting.broken = protocol::read<S>(state().broken) != 0;
      }
      if (drain_group(group) == 0) arch::pause(waiting.round);
      ++waiting.round;
      if (is_shared<S> && seldom && protocol::any<S>(group, !waiting.has_given_up())) return false;
    }
    return true;
  }

  /// Whether the device is done with the token's operation, as far as completions were taken.
  XIO_DEVICE_INLINE bool has_ended(const Token& token) const {
    if (token.count == 0 || protocol::read<S>(state().retired) > token.last) return true;
    return protocol::read<S>(send().ended) != 0;
  }

  /// How an operation ended that has; behind an acquire that followed has_ended().
  XIO_DEVICE_INLINE Status outcome(const Token& token) const {
    if (!token.status.is_ok() || token.count == 0) return token.status;
    const uint64_t failed_end = protocol::read<S>(send().failed_end);
    if (XIO_LIKELY(failed_end == 0 || token.last + 1 < failed_end)) return Status::ok;
    if (failed_end > token.last + 1 - token.count) return protocol::unpack(protocol::read<S>(send().failed_status));
    return Status::flushed;
  }

  /// How the first operation failed that did; Status::ok: none did.
  XIO_DEVICE_INLINE Status first_failure() const {
    if (protocol::read<S>(send().failed_end) == 0) return Status::ok;
    if constexpr (is_shared<S>) arch::order_loads<state_scope<S>>();
    return protocol::unpack(protocol::read<S>(send().failed_status));
  }

 private:
  /// Takes `taken` entries from `head` on, of which the calling lane holds number `mine` where `hit` is set.
  /// @tparam Errors whether it deals with all that entries can say; else it returns false, having done nothing, where
  /// one says more than that operations ended well.
  template <bool Errors>
  XIO_DEVICE_INLINE bool file(const CompletionReader<Vendor>& queue, uint64_t group, uint64_t head, uint64_t mine,
                              uint64_t word, bool hit, uint32_t taken) {
    // The rest of an entry is older than its valid bit says, if it was loaded before it.
    arch::order_loads<arch::Scope::system>();
    const Progress known{protocol::read<S>(state().retired), protocol::read<S>(send().operations)};
    const uint64_t reserved = protocol::read<S>(state().reserved);
    Progress now = known;
    Completion completion;
    bool foreign = false;
    if (hit) {
      completion = Errors ? queue.read(word, mine) : queue.read_success(word, mine);
      if constexpr (Policy::completion_checks) {
        foreign =
            completion.kind != CompletionKind::nothing && !queue.is_about(handle_.shape.qpn, completion, word, mine);
      }
      if (completion.kind == CompletionKind::send) {
        now = Vendor::progress(handle_.shape, known, completion, [&](uint64_t offset) {
          return arch::load<arch::Scope::system>(
              reinterpret_cast<const uint32_t*>(static_cast<const char*>(handle_.sq) + offset));
        });
      }
    }
    // A completion of an operation that is not in flight, or not of ours: the device and we no longer agree on the
    // queue. These two count from what is known, and never go back.
    const bool adds = completion.counts == Counter::next_unit || completion.counts == Counter::next_message;
    // Lanes without an entry may have read an older `reserved` than the progress.
    const bool strange =
        hit && (now.units > reserved || (!adds && now.units < known.units) || foreign ||
                (Errors && (completion.kind == CompletionKind::unknown || completion.kind == CompletionKind::receive ||
                            // A failure of something that has ended already.
                            (!completion.status.is_ok() && completion.kind == CompletionKind::send &&
                             now.units == known.units))));
    if constexpr (!Errors) {
      if (protocol::any<S>(group, hit && (completion.kind != CompletionKind::send || strange))) return false;
    }
    if (Errors && strange) now = known;
    const uint32_t newest = last_lane(group, hit);
    const uint64_t last = protocol::from_lane<S>(group, now.units, newest);
    if constexpr (Errors) {
      const bool failed = hit && !strange && completion.kind == CompletionKind::send && !completion.status.is_ok();
      const uint64_t failures = members(group, failed);
      if (XIO_UNLIKELY(failures != 0)) record_failure(group, failures, now.units, completion.status);
      if (XIO_UNLIKELY(protocol::any<S>(group, hit && !foreign && completion.kind == CompletionKind::ended)))
        record_end(group, last);
      if (XIO_UNLIKELY(protocol::any<S>(group, strange))) protocol::write<S>(state().broken, 1u);
    }

    head += taken;
    if constexpr (S != Sharing::thread) arch::converge(group);
    const auto unacknowledged = static_cast<uint32_t>(head - protocol::read<S>(state().acknowledged));
    // As long as fewer are unacknowledged than the ring has entries to spare, `depth` in flight cannot overrun it.
    if (unacknowledged + handle_.depth >= queue.size - 1) {
      protocol::before_writing<S>(group);
      if (protocol::leads<S>(group)) queue.template acknowledge<S>(head);
      write_by_leader(group, state().acknowledged, head);
    }
    write_by_leader(group, send().cq_head, head);
    if constexpr (Vendor::counts_operations) {
      write_by_leader(group, send().operations, protocol::from_lane<S>(group, now.operations, newest));
    }
    if constexpr (is_shared<S>) {
      publish_by_leader(group, state().retired, last);
    } else {
      state().retired = last;
    }
    return true;
  }

  XIO_COLD XIO_DEVICE void file_any(uint64_t group, uint64_t head, uint64_t mine, uint64_t word, bool hit,
                                    uint32_t taken) {
    file<true>(cq(), group, head, mine, word, hit, taken);
  }

  /// The last lane of those with `hit`, of which the lowest lanes of the group have it.
  XIO_DEVICE_INLINE uint32_t last_lane(uint64_t group, bool hit) const {
    if constexpr (S == Sharing::thread) {
      return 0;
    } else {
      return 63 - static_cast<uint32_t>(__builtin_clzll(arch::ballot(group, hit)));
    }
  }

  /// Remembers the first failure; what comes after it was flushed.
  XIO_COLD XIO_DEVICE void record_failure(uint64_t group, uint64_t failures, uint64_t end, Status status) {
    const uint32_t source = arch::first_lane(failures);
    const uint64_t failed_end = protocol::from_lane<S>(group, end, source);
    const uint32_t packed = protocol::from_lane<S>(group, protocol::pack(status), source);
    if (protocol::read<S>(send().failed_end) != 0) return;
    write_by_leader(group, send().failed_status, packed);
    publish_by_leader(group, send().failed_end, failed_end);
    // Who sees this asks at once whether its operation is the one that failed.
    if constexpr (!Vendor::has_flush_completions) publish_by_leader(group, send().ended, 1u);
  }

  /// The device will write no more completions: what is posted was flushed.
  XIO_COLD XIO_DEVICE void record_end(uint64_t group, uint64_t end) {
    if (protocol::read<S>(send().failed_end) == 0) {
      write_by_leader(group, send().failed_status, protocol::pack(Status::flushed));
      publish_by_leader(group, send().failed_end, end + 1);
    }
    publish_by_leader(group, send().ended, 1u);
  }

  /// drain_group() of one entry that the device overwrites; 1 where it told anything.
  XIO_DEVICE uint32_t drain_collapsed(uint64_t group) {
    constexpr arch::Scope scope = state_scope<S>;
    const CollapsedReader<Vendor, S> entry(handle_, group);
    const auto known_now = [&] {
      return Progress{protocol::read<S>(state().retired), protocol::read<S>(send().operations)};
    };
    if constexpr (is_shared<S>) {
      const uint64_t word = entry.look();
      const Progress known = known_now();
      const uint64_t in_flight = protocol::read<S>(state().reserved) - known.units;
      if (!protocol::any<S>(group, protocol::leads<S>(group) && entry.is_new(word, known, in_flight))) return 0;
      if (!claim_drain<S>(state(), group)) return 0;
    }
    const Progress known = known_now();
    const uint64_t in_flight = protocol::from_leader<S>(group, protocol::read<S>(state().reserved) - known.units);
    const uint64_t word = entry.look();
    CollapsedNews news;
    if (entry.is_new(word, known, in_flight) && !protocol::any<S>(group, protocol::read<S>(send().ended) != 0)) {
      news = entry.read(word, known, in_flight, Policy::completion_checks);
    }
    // All lanes have read the send ring before anybody may write there again.
    if constexpr (S != Sharing::thread) arch::converge(group);
    if (XIO_UNLIKELY(news.kind == CompletionKind::unknown)) protocol::write<S>(state().broken, 1u);
    if (news.kind == CompletionKind::ended) record_end(group, known.units);
    if (news.kind == CompletionKind::send) {
      if (XIO_UNLIKELY(!news.status.is_ok())) record_failure(group, group, news.failed_end, news.status);
      if constexpr (Vendor::counts_operations) write_by_leader(group, send().operations, news.now.operations);
      publish_by_leader(group, state().retired, news.now.units);
    }
    if constexpr (is_shared<S>) {
      if (protocol::leads<S>(group)) arch::publish<scope>(&state().draining, 0u);
    }
    return news.kind != CompletionKind::nothing;
  }

  XIO_DEVICE_INLINE static QueuePairHandle in_global_memory(QueuePairHandle handle) {
    handle.state = arch::in_global(handle.state);
    handle.send = arch::in_global(handle.send);
    handle.sq = arch::in_global(handle.sq);
    handle.sq_record = arch::in_global(handle.sq_record);
    handle.side_table = arch::in_global(handle.side_table);
    return handle;
  }

  QueuePairHandle handle_;
  uint64_t lanes_;  ///< that call together; 0: see protocol::group_of_caller()
};

}  // namespace rdma

XIO_NAMESPACE_END
