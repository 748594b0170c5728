// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Vendor traits of Pensando DSC for the queue protocol (rdma-core, providers/ionic/ionic_verbs.c).

/// @defgroup vendors_ionic Pensando format
/// @ingroup vendors_rdma
/// Layouts, encoders, decoders and status codes of namespace xio::ionic.

/// @namespace xio::ionic
/// @brief Queues and queue formats of Pensando's NICs.

#include <xio/config.hpp>
#include <xio/device/core/ring.hpp>
#include <xio/vendors/ionic/decode.hpp>
#include <xio/vendors/ionic/encode.hpp>
#include <xio/vendors/rdma/traits.hpp>

XIO_NAMESPACE_BEGIN

namespace ionic {
/// @addtogroup vendors_ionic
/// @{

/// Properties that a queue pair was created with. Derive and hide a member to change it.
struct Options {
  static constexpr Version version = Version::v1;
  static constexpr SpecFormat spec = SpecFormat::none;
  static constexpr bool collapsed = false;  ///< the send queue's completion queue is collapsed to one entry
};

/// Pensando DSC as a vendor of rdma::QueuePair.
template <class Variant = Options>
struct Vendor : rdma::VendorDefaults {
  static constexpr const char* name = "ionic";
  using Send = SendEncoder<Variant::version, Variant::spec>;
  using Receive = ReceiveEncoder<Variant::spec>;
  using Completions = CompletionDecoder;
  using Collapsed = CollapsedDecoder;

  static constexpr bool counts_operations = true;
  static constexpr bool has_collapsed_cq = Variant::collapsed;
  static constexpr bool has_cq_doorbell = true;
  static constexpr bool has_receive_doorbell = true;
  static constexpr bool has_local_invalidate = true;
  using Doorbell = uint64_t;
  using CqDoorbell = uint64_t;

  /// log2 of the size of a unit in bytes.
  XIO_HOST_DEVICE static constexpr uint32_t unit_shift(const rdma::SendShape& shape) { return shape.entry_shift; }

  /// Doorbell value that announces the entries before `end`.
  XIO_HOST_DEVICE static constexpr Doorbell send_doorbell(const rdma::SendShape& shape, uint64_t end, uint64_t) {
    return doorbell_at(shape.qpn, end, shape.entries);
  }
  /// Doorbell value that announces the receives before `end`.
  XIO_HOST_DEVICE static constexpr Doorbell receive_doorbell(const rdma::ReceiveShape& shape, uint64_t end) {
    return doorbell_at(shape.qpn, end, shape.entries);
  }
  /// Doorbell value that releases the completions before `head` to the device.
  XIO_HOST_DEVICE static constexpr CqDoorbell cq_doorbell(uint32_t cqn, uint64_t head, uint32_t entries) {
    return doorbell_at(cqn, head, entries);
  }

  /// Progress of the send queue after a completion. `known`: earlier progress, less than one lap behind. Messages are
  /// counted separately from entries, since local operations have no message number.
  template <class Read>
  XIO_HOST_DEVICE static constexpr rdma::Progress progress(const rdma::SendShape& shape, rdma::Progress known,
                                                           const rdma::WorkCompletion& completion, Read) {
    if (completion.counts == rdma::Counter::next_message) {
      // As in the provider, only as many bits are compared as the ring's indices have. A number that completed earlier,
      // or was never posted, yields more than the ring can hold in flight, or than was posted.
      const uint32_t last = completion.counter - 1 - static_cast<uint32_t>(known.operations);
      const uint32_t more = (last & (shape.entries - 1)) + 1;
      return {known.units + more, known.operations + more};
    }
    return {ring::widen(known.units, completion.counter, shape.entries - 1) + 1, known.operations};
  }
};

/// @}
}  // namespace ionic

XIO_NAMESPACE_END
