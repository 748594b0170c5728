// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The engine of an RDMA send queue: its state, its ring and its progress. Independent of operations.
///
/// Operations of a queue pair end in the order in which they were posted, so one counter shows which have ended, and
/// another the position of the first failure.

#include <xio/device/rdma/drain.hpp>
#include <xio/device/rdma/holder.hpp>
#include <xio/vendors/rdma/require_vendor.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {
/// @addtogroup kernel_rdma
/// @{

/// State, ring and progress of a send queue, of which QueuePair holds one; the `Engine` of the queue protocol
/// (queue/claim.hpp). Draining (drain.hpp), posting (post.hpp, batch.hpp) and waiting (waits.hpp) are functions of an
/// engine and of the group of lanes that call. Parameters as of QueuePair.
template <class VendorFormats, Sharing S, class QueuePolicy, class Holder>
class SendEngine {
  static_assert(require_vendor<VendorFormats>(),
                "incomplete Vendor; requirements: xio/vendors/rdma/require_vendor.hpp");

 public:
  using Vendor = VendorFormats;
  using Policy = QueuePolicy;
  static constexpr Sharing sharing = S;
  static constexpr bool reserves_room = true;
  static constexpr bool retires_entries = false;
  static constexpr bool stored_each_time = Holder::stored_each_time;
  /// Whether a claim also takes packet and message numbers.
  static constexpr bool sequenced = Vendor::has_side_table && is_shared<S>;
  using Tickets = typename Choose<sequenced, SequencedTickets, protocol::PlainTickets>::type;

  /// @param lanes lanes that call together, as a mask; 0: see Group::of_callers()
  XIO_HOST_DEVICE SendEngine(const QueuePairHandle& queues, uint64_t lanes) : holder_(queues), lanes_(lanes) {}

  XIO_DEVICE_INLINE const QueuePairHandle& handle() const { return holder_.handle(); }
  XIO_DEVICE_INLINE uint64_t lanes() const { return lanes_; }
  /// Writes state that is kept in registers back to memory.
  XIO_HOST_DEVICE void end() const { holder_.end(); }

  /// Tells queues apart.
  XIO_DEVICE_INLINE const void* key() const { return handle().state; }
  /// The group of a call in which each lane acts for itself; determined once per call, in in_groups().
  XIO_DEVICE_ALWAYS_INLINE Callers<S> callers() const { return Callers<S>(Group<S>::of_callers(lanes_, key())); }
  /// The group of a call that acts once for all lanes.
  XIO_DEVICE_INLINE Callers<S> all_callers() const { return Callers<S>(Group<S>::of_all(lanes_, key())); }

  XIO_DEVICE_INLINE QueueState& state() const { return holder_.state(); }
  XIO_DEVICE_INLINE SendState& send() const { return holder_.extra(); }
  XIO_DEVICE_INLINE uint64_t& claims() const {
    if constexpr (sequenced) {
      return send().claims;
    } else {
      return state().reserved;
    }
  }
  XIO_DEVICE_INLINE uint32_t depth() const { return handle().depth; }
  XIO_DEVICE_INLINE static bool is_free(uint64_t) { return true; }
  XIO_DEVICE_INLINE bool is_dead() const {
    return protocol::is_broken<S>(state()) || protocol::read<S>(send().ended) != 0;
  }
  XIO_DEVICE_INLINE SendBell<Vendor, S, Policy> bell() const {
    return SendBell<Vendor, S, Policy>(handle(), &state(), &send());
  }
  XIO_DEVICE_INLINE uint64_t cq_head() const { return protocol::read<S>(send().cq_head); }
  XIO_DEVICE_INLINE CompletionReader<Vendor> cq() const { return CompletionReader<Vendor>(handle().cq); }

  XIO_DEVICE_INLINE int64_t reported_after() const {
    return handle().signal_every != 0 ? handle().signal_every : static_cast<int64_t>(~uint64_t{0} >> 1);
  }

  /// The reason why a claim got no tickets.
  template <class Until>
  XIO_DEVICE_INLINE Status refusal(Group<S> group) const {
    if (group.any(is_dead() || protocol::read<S>(send().failed_end) != 0)) return Status::broken;
    return IsSame<Until, Now>::value ? Status::would_block : Status::timed_out;
  }
  /// Announces deferred entries.
  XIO_DEVICE_INLINE void ring(Group<S> group) const { protocol::ring_deferred(*this, group); }

  /// Takes the available completions, at most one per lane. Returns how many. Never waits: returns 0 while another wave
  /// takes them.
  XIO_DEVICE_INLINE uint32_t drain(Group<S> group) const {
    return detail::drain(*this, group, protocol::glimpse_before_call(*this, group)).count;
  }

  /// Whether the token's operation has ended, as far as completions were taken.
  XIO_DEVICE_INLINE bool has_ended(const Token& token) const {
    if constexpr (is_shared<S> && arch::loads_ahead) {
      // Both loads are in flight together: a branch between them would wait for the first.
      const uint64_t retired = protocol::read_retired<S>(state());
      const uint32_t ended = protocol::read<S>(send().ended);
      return token.count == 0 || retired > token.last || ended != 0;
    } else {
      if (token.count == 0 || protocol::read_retired<S>(state()) > token.last) return true;
      return protocol::read<S>(send().ended) != 0;
    }
  }

  /// Status of an operation that has ended; after an acquire that followed has_ended().
  XIO_DEVICE_INLINE Status outcome(const Token& token) const {
    if (!token.status.is_ok() || token.count == 0) return token.status;
    const uint64_t failed_end = protocol::read<S>(send().failed_end);
    if (XIO_LIKELY(failed_end == 0 || token.last + 1 < failed_end)) return Status::ok;
    if (failed_end > token.last + 1 - token.count) return protocol::unpack(protocol::read<S>(send().failed_status));
    return Status::flushed;
  }

  /// Status of the first failed operation, as far as the caller has acquired it; Status::ok: none failed.
  XIO_DEVICE_INLINE Status first_failure() const { return protocol::unpack(protocol::read<S>(send().failed_status)); }

 private:
  Holder holder_;
  uint64_t lanes_;
};

/// @}
}  // namespace rdma

XIO_NAMESPACE_END
