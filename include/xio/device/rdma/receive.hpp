// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The receive queue of an RDMA queue pair in a kernel: post memory for messages, wait for their arrival.

#include <xio/device/rdma/receive_engine.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {
/// @addtogroup kernel_rdma
/// @{

/// The receive side of an RDMA queue pair. Trivially copyable; a kernel constructs it from a handle. Sharing, lanes and
/// tokens are as in QueuePair. Messages consume receives in the order in which the receives were posted.
///
/// A result is kept until it is read: the ring slot of a receive is free again once wait() or test() has returned its
/// result, or forget() was called. Until then post() finds the queue full. A caller that never reads results uses a
/// policy with Unasked.
///
/// It has no means to flush inbound data, and does not compile with a policy that needs it (Placed): a message in
/// device memory whose completion lies in host memory is visible after QueuePair::flush_inbound() of a queue pair whose
/// QueuePairHandle::flush lies in the same memory.
template <class Vendor, Sharing S = Sharing::grid, class Policy = xio::Policy<>>
class ReceiveQueue {
  static_assert(Policy::inbound_in_order,
                "a receive queue cannot flush inbound data: use a policy without Placed, and call "
                "QueuePair::flush_inbound() between wait() and the use of the data");

 public:
  /// @param lanes as in QueuePair
  XIO_HOST_DEVICE explicit ReceiveQueue(const ReceiveQueueHandle& handle, uint64_t lanes = 0)
      : engine_(handle, lanes) {}
  XIO_HOST_DEVICE const ReceiveQueueHandle& handle() const { return engine_.handle(); }  ///< what it was made from

  /// Posts one receive per calling lane; waits until the deadline for space in the queue for all of them (Now{}: posts
  /// as many as there is space for, Status::would_block for the others). On a shared queue it may return while another
  /// wave has yet to announce the receive to the device: a sender that is told of it retries until then
  /// (QueuePairOptions::receiver_not_ready_retries). Of more calling lanes than the queue has entries, those that
  /// find no space get Status::timed_out, or would_block with Now{}. No space is reserved for such a wait: while other
  /// waves keep the queue full with single receives, a wait for many may reach its deadline.
  /// @param payload NoPayload (for writes with immediate), OneSge or SgeList.
  ///
  /// @snippet receive.cpp post_list
  template <class Payload, class Until>
  XIO_DEVICE_INLINE Token post(const Payload& payload, Until until) {
    return post(Vendor::Receive::check(handle().shape, payload), payload, until);
  }
  /// Posts one receive per calling lane for a piece of registered memory.
  /// @snippet receive.cpp post
  template <class Until>
  XIO_DEVICE_INLINE Token post(const RegionSpan& to, Until until) {
    const OneSge payload{{to.address, to.length, to.key}};
    const Status placed = to.template fault<Policy>();
    const Status fault = placed.is_ok() ? Vendor::Receive::check(handle().shape, payload) : placed;
    return post(fault, payload, until);
  }

  /// Waits until a message has consumed the token's receive; each lane waits for its own token. A repeated call returns
  /// the same result until the ring slot is posted again, and then Status::expired.
  /// @snippet receive.cpp wait
  XIO_DEVICE Received wait(const Token& token, Deadline until) {
    return in_groups(engine_, [&](const Callers<S>& group)
                                  XIO_INLINE_LAMBDA { return detail::wait_received(engine_, group, token, until); });
  }

  /// Polls once: returns Status::pending if nothing has arrived yet.
  /// @snippet receive.cpp test
  XIO_DEVICE Received test(const Token& token) {
    return in_groups(engine_, [&](const Callers<S>& group) XIO_INLINE_LAMBDA {
      if (group.any(!engine_.has_ended(token)) && engine_.drain(group) == 0) protocol::help(engine_, group);
      return detail::result_of(engine_, group, token, Status::pending);
    });
  }

  /// Takes the available completions, without waiting. Returns how many.
  /// @snippet receive.cpp drain
  XIO_DEVICE_INLINE uint32_t drain() {
    return in_groups(engine_, [&](const Callers<S>& group) XIO_INLINE_LAMBDA {
      const uint32_t taken = engine_.drain(group);
      if (taken == 0) protocol::help(engine_, group);
      return taken;
    });
  }

  /// Releases the result of a token that will not be read. Its receive stays posted until a message consumes it.
  /// @snippet receive.cpp forget
  XIO_DEVICE_INLINE void forget(const Token& token) const {
    if (token.count != 0) engine_.let_go(token.last);
  }

 private:
  template <class Payload, class Until>
  XIO_DEVICE_INLINE Token post(Status fault, const Payload& payload, Until until) {
    return in_groups(engine_, [&](const Callers<S>& group) XIO_INLINE_LAMBDA {
      return detail::post_receive(engine_, group, fault, payload, until);
    });
  }

  ReceiveEngine<Vendor, S, Policy> engine_;
};

/// @}
}  // namespace rdma

XIO_NAMESPACE_END
