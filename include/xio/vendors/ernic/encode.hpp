// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief ERNIC: encoders for work queue entries (Linux UAPI, rdma/vmw_pvrdma-abi.h; rdma-core,
/// providers/vmw_pvrdma/qp.c).

#include <xio/config.hpp>
#include <xio/device/core/status.hpp>
#include <xio/vendors/ernic/layout.hpp>
#include <xio/vendors/rdma/verbs.hpp>
#include <xio/vendors/rdma/work.hpp>

XIO_NAMESPACE_BEGIN

namespace ernic {
/// @addtogroup vendors_ernic
/// @{

/// Producer or consumer index for a ring's state, from a counter that never wraps. `entries`: power of two.
XIO_DEVICE constexpr uint32_t ring_index(uint64_t counter, uint32_t entries) {
  return static_cast<uint32_t>(counter & (2 * uint64_t{entries} - 1));
}

/// Entries of an ERNIC send queue. Counters count entries of 1 << SendShape::entry_shift bytes; SendShape::qpn is the
/// queue pair's handle. Entries cannot hold inline data; an inline payload of length 0 is an entry without data.
struct SendEncoder : rdma::verbs::SendBase<Opcode, Opcode::error> {
  /// Returns why the operation cannot be posted, or Status::ok; called before a ticket is claimed. Local invalidates
  /// are not supported: no user-space provider posts them.
  template <class Payload>
  XIO_HOST_DEVICE static constexpr Status check(const rdma::SendShape& shape, const rdma::Work& work,
                                                const Payload& payload) {
    if (rdma::is_local(work.operation)) return Status::unsupported;
    if constexpr (Payload::is_inline) {
      if (payload.bytes() != 0) return Status::unsupported;
      if (rdma::fills_local(work.operation)) return Status::invalid_argument;
    }
    return check_sges(shape, work, payload, (uint64_t{1} << shape.entry_shift) - sq_sge_offset);
  }

  /// Stores the entry's segments; segments that the operation does not use are left unchanged. Returns the doorbell
  /// value.
  template <class Payload, class Sink>
  XIO_HOST_DEVICE static constexpr uint64_t encode(const rdma::SendShape& shape, const rdma::Work& work,
                                                   const Payload& payload, const rdma::Place& place, Sink& sink) {
    SqHeader header{};
    header.wr_id = place.wr_id;
    header.sges = payload.count();
    header.total_bytes = static_cast<uint32_t>(payload.bytes());
    header.opcode = static_cast<uint32_t>(opcode(work.operation));
    // The provider passes the flag on; devices ignore it.
    header.send_flags = flags<Payload>(work);
    if (rdma::has_immediate(work.operation)) header.immediate = Be32(work.immediate);
    // A key is not wire data: the device reads it as a little-endian integer.
    if (rdma::has_invalidate_key(work.operation)) header.immediate.raw = work.immediate;
    const auto head = __builtin_bit_cast(Two, header);
    sink.put(0, head.part[0]);
    sink.put(1, head.part[1]);
    constexpr uint32_t operation = sq_operation_offset / sizeof(rdma::Segment);
    if (rdma::is_atomic(work.operation)) {
      AtomicOperation atomic{};
      atomic.remote_address = work.remote;
      if (work.operation == rdma::Operation::compare_swap) {
        atomic.compare_add = work.compare;
        atomic.swap = work.swap_add;
      } else {
        atomic.compare_add = work.swap_add;
      }
      atomic.rkey = work.rkey;
      const auto body = __builtin_bit_cast(Two, atomic);
      sink.put(operation, body.part[0]);
      sink.put(operation + 1, body.part[1]);
    } else if (rdma::is_remote(work.operation)) {
      const RdmaOperation body{work.remote, work.rkey, 0};
      sink.put(operation, __builtin_bit_cast(rdma::Segment, body));
    }
    if constexpr (!Payload::is_inline) {
      for (uint32_t i = 0; i < payload.count(); ++i) {
        const rdma::Sge piece = payload.at(i);
        const Sge sge{piece.address, piece.length, piece.lkey};
        sink.put(sq_sge_offset / static_cast<uint32_t>(sizeof(rdma::Segment)) + i,
                 __builtin_bit_cast(rdma::Segment, sge));
      }
    }
    return doorbell(shape.qpn, uar_qp_send);
  }

 private:
  struct Two {
    rdma::Segment part[2];
  };
};

/// Entries of an ERNIC receive queue, of 1 << ReceiveShape::entry_shift bytes each. Their doorbell is doorbell(handle,
/// uar_qp_receive).
struct ReceiveEncoder : rdma::verbs::ReceiveBase<rq_sge_offset> {
  /// Stores the entry's segments.
  template <class Payload, class Sink>
  XIO_HOST_DEVICE static constexpr void encode(const rdma::ReceiveShape&, const Payload& payload,
                                               const rdma::Place& place, Sink& sink) {
    const RqHeader header{place.wr_id, payload.count(), static_cast<uint32_t>(payload.bytes())};
    sink.put(0, __builtin_bit_cast(rdma::Segment, header));
    for (uint32_t i = 0; i < payload.count(); ++i) {
      const rdma::Sge piece = payload.at(i);
      const Sge sge{piece.address, piece.length, piece.lkey};
      sink.put(rq_sge_offset / static_cast<uint32_t>(sizeof(rdma::Segment)) + i,
               __builtin_bit_cast(rdma::Segment, sge));
    }
  }
};

/// @}
}  // namespace ernic

XIO_NAMESPACE_END
