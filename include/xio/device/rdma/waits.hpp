// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Waits of an RDMA queue pair: for one token, for everything, and for data that arrives after its completion.

#include <xio/device/rdma/batch.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {

/// The waits of an RDMA queue pair for a known group of lanes; base class of QueuePair.
template <class Vendor, Sharing S, class Policy, class Holder>
class SendWaits : public SendBatch<Vendor, S, Policy, Holder> {
  using Batch = SendBatch<Vendor, S, Policy, Holder>;

 public:
  using Batch::Batch;
  using Batch::handle;

 protected:
  using Batch::device;
  using Batch::first_failure;
  using Batch::submit_group;
  using Batch::wait_group;

  template <class Telemetry>
  XIO_DEVICE Status wait_in(Group<S> group, const Token& token, Deadline until, Telemetry& telemetry) {
    return inbound(group, wait_group(group, token, until, token.last + 1, telemetry), token.count != 0, until);
  }

  XIO_DEVICE Status quiet_in(Group<S> group, Deadline until) {
    Token all;
    const uint64_t end = protocol::claimed_by_all(device(), group);
    if (end == 0) return Status::ok;
    all.last = end - 1;
    all.count = 1;
    telemetry::Off off;
    const Status waited = inbound(group, wait_group(group, all, until, 0, off), true, until);
    return waited == Status::timed_out || waited == Status::broken ? waited : first_failure();
  }

  XIO_DEVICE Status flush_inbound_group(Group<S> group, Deadline until) {
    const FlushTarget& flush = handle().flush;
    if (flush.local == 0) return Status::unsupported;
    Work work;
    work.flags = work_flag::signaled;
    work.remote = flush.remote;
    work.rkey = flush.rkey;
    const OneSge one{{flush.local, 1, flush.lkey}};
    Token token;
    telemetry::Off off;
    token = submit_group(group, group.leads(), work, one, until, token, off);
    if constexpr (S != Sharing::thread) {
      token.last = group.from_leader(token.last);
      token.count = group.from_leader(token.count);
      token.status = protocol::unpack(group.from_leader(protocol::pack(token.status)));
    }
    return wait_group(group, token, until, Batch::is_covered, off);
  }

  /// After a wait that ended with `status`: flush_inbound() if the policy requires it.
  XIO_DEVICE_INLINE Status inbound(Group<S> group, Status status, bool moved, Deadline until) {
    if constexpr (!Policy::inbound_in_order) {
      moved = moved && status.is_ok();
      if (group.any(moved)) {
        const Status flushed = flush_inbound_group(group, until);
        if (moved) status = flushed;
      }
    }
    return status;
  }
};

}  // namespace rdma

XIO_NAMESPACE_END
