// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Kits: for each RDMA vendor, the device-side traits, the wire format of the emulated NIC and a configuration.

#include <xio/device/rdma/handle.hpp>
#include <xio/host/emulation/rdma/bnxt_wire.hpp>
#include <xio/host/emulation/rdma/ernic_wire.hpp>
#include <xio/host/emulation/rdma/ionic_wire.hpp>
#include <xio/host/emulation/rdma/mlx5_wire.hpp>
#include <xio/host/emulation/rdma/rxe_wire.hpp>
#include <xio/vendors/bnxt/traits.hpp>
#include <xio/vendors/ernic/traits.hpp>
#include <xio/vendors/ionic/traits.hpp>
#include <xio/vendors/mlx5/traits.hpp>
#include <xio/vendors/rxe/traits.hpp>

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

/// Kit for ConnectX.
template <class Variant = mlx5::Options>
struct Mlx5Kit {
  using Vendor = mlx5::Vendor<Variant>;
  using Wire = Mlx5Wire<Variant::cqe_bytes, Variant::collapsed, Variant::doorbell_stride>;
  static constexpr RdmaWords words{RdmaWords::sq + mlx5::send_record, RdmaWords::sq + mlx5::receive_record,
                                   mlx5::consumer_record, RdmaWords::none};
  static constexpr bool has_inline = Vendor::has_inline;
  static constexpr bool has_local_invalidate = Vendor::has_local_invalidate;
  static RdmaQueueConfig config() {
    RdmaQueueConfig config;
    if (Variant::collapsed) config.cq_entries = 1;
    return config;
  }
  /// Maximum number of units in flight.
  static uint32_t depth(const RdmaQueueConfig& config) { return config.sq_units; }
};

/// Kit for NetXtreme-E.
template <class Variant = bnxt::Options>
struct BnxtKit {
  using Vendor = bnxt::Vendor<Variant>;
  using Wire = BnxtWire<Variant::mode, static_cast<BnxtSideTable>(Variant::side_table)>;
  static constexpr RdmaWords words{};
  static constexpr bool has_inline = Vendor::has_inline;
  static constexpr bool has_local_invalidate = Vendor::has_local_invalidate;
  static RdmaQueueConfig config() {
    RdmaQueueConfig config;
    config.sq_unit_shift = Vendor::Send::unit_shift;
    config.side_entries = config.sq_units;
    return config;
  }
  static uint32_t depth(const RdmaQueueConfig& config) { return config.sq_units - 1; }
};

/// Kit for Pensando DSC.
template <class Variant = ionic::Options>
struct IonicKit {
  using Vendor = ionic::Vendor<Variant>;
  using Wire = IonicWire<Variant::version == ionic::Version::v1 ? 1 : 2, Variant::collapsed>;
  static constexpr RdmaWords words{};
  static constexpr bool has_inline = Vendor::has_inline;
  static constexpr bool has_local_invalidate = Vendor::has_local_invalidate;
  static RdmaQueueConfig config() {
    RdmaQueueConfig config;
    config.sq_unit_shift = 7;
    if (Variant::collapsed) config.cq_entries = 1;
    return config;
  }
  static uint32_t depth(const RdmaQueueConfig& config) { return config.sq_units - 1; }
};

/// Kit for ERNIC.
struct ErnicKit {
  using Vendor = ernic::Vendor;
  using Wire = ErnicWire;
  static constexpr RdmaWords words{RdmaWords::sq, RdmaWords::sq + 2, 3, 2};
  static constexpr bool has_inline = Vendor::has_inline;
  static constexpr bool has_local_invalidate = Vendor::has_local_invalidate;
  static RdmaQueueConfig config() {
    RdmaQueueConfig config;
    config.sq_unit_shift = 8;
    config.handle = 0x321;
    return config;
  }
  static uint32_t depth(const RdmaQueueConfig& config) { return config.sq_units; }
};

/// Kit for soft-RoCE.
template <class Variant = rxe::Options>
struct RxeKit {
  using Vendor = rxe::Vendor<Variant>;
  using Wire = RxeWire<Variant::cqe_bytes>;
  static constexpr uint32_t producer = XIO_OFFSETOF(rxe::QueueHeader, producer_index) / sizeof(uint32_t);
  static constexpr uint32_t consumer = XIO_OFFSETOF(rxe::QueueHeader, consumer_index) / sizeof(uint32_t);
  static constexpr RdmaWords words{RdmaWords::sq + producer, RdmaWords::rq + producer, consumer, producer};
  static constexpr bool has_inline = Vendor::has_inline;
  static constexpr bool has_local_invalidate = Vendor::has_local_invalidate;
  static RdmaQueueConfig config() {
    RdmaQueueConfig config;
    config.sq_unit_shift = 9;
    return config;
  }
  static uint32_t depth(const RdmaQueueConfig& config) { return config.sq_units - 1; }
};

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
