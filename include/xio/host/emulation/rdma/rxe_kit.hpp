// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The kit for soft-RoCE, see kit.hpp.

#include <xio/host/emulation/rdma/kit.hpp>
#include <xio/host/emulation/rdma/rxe_wire.hpp>
#include <xio/vendors/rxe/traits.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_rdma
/// @{

/// Kit for soft-RoCE.
template <class Variant = rxe::Options>
struct RxeKit : RdmaKitBase<rxe::Vendor<Variant>, RxeWire<Variant::cqe_bytes>> {
  static constexpr uint32_t producer = XIO_OFFSETOF(rxe::QueueHeader, producer_index) / sizeof(uint32_t);
  static constexpr uint32_t consumer = XIO_OFFSETOF(rxe::QueueHeader, consumer_index) / sizeof(uint32_t);
  static constexpr RdmaWords words{RdmaWords::sq + producer, RdmaWords::rq + producer, consumer, producer};
  static RdmaQueueConfig config() {
    RdmaQueueConfig config;
    config.sq_unit_shift = 9;
    return config;
  }
};

/// RxeKit is the kit of these traits.
template <class Variant>
struct KitOf<rxe::Vendor<Variant>> {
  using type = RxeKit<Variant>;
};

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
