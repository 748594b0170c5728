// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief What the kits of all RDMA vendors share. A kit has the device-side traits of a vendor, the wire format of the
/// emulated NIC and a configuration.

#include <cstdint>

#include <xio/config.hpp>
#include <xio/host/emulation/rdma/wire.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_rdma
/// @{

/// Layout of a vendor's counters in the words that driver and NIC share: 96 words each for the send queue, the receive
/// queue and their completion queues.
struct RdmaWords {
  static constexpr uint32_t none = ~0u;
  static constexpr uint32_t sq = 0;
  static constexpr uint32_t rq = 96;
  static constexpr uint32_t cq = 192;
  static constexpr uint32_t receive_cq = 288;
  static constexpr uint32_t count = 384;

  uint32_t sq_record = none;
  uint32_t rq_record = none;
  uint32_t cq_record = none;    ///< offset in the words of either completion queue
  uint32_t cq_producer = none;  ///< offset in the words of either completion queue
};

/// Base of a kit, for a vendor's traits and its wire format.
template <class VendorTraits, class WireFormat>
struct RdmaKitBase {
  using Vendor = VendorTraits;
  using Wire = WireFormat;
  static constexpr RdmaWords words{};
  static constexpr bool has_inline = Vendor::has_inline;
  static constexpr bool has_local_invalidate = Vendor::has_local_invalidate;
  static RdmaQueueConfig config() { return {}; }
  /// config() with the shortest entries that the vendor's driver allocates, for what is counted and timed.
  static RdmaQueueConfig shortest(const RdmaQueueConfig& config) { return config; }
  /// Maximum number of units in flight.
  static uint32_t depth(const RdmaQueueConfig& config) { return config.sq_units - 1; }
};

/// The kit of a vendor: KitOf<Vendor>::type. Each vendor's *_kit.hpp specialises it.
template <class Vendor>
struct KitOf;

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
