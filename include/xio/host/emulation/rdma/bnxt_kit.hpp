// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The kit for NetXtreme-E, see kit.hpp.

#include <xio/host/emulation/rdma/bnxt_wire.hpp>
#include <xio/host/emulation/rdma/kit.hpp>
#include <xio/vendors/bnxt/traits.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_rdma
/// @{

/// Kit for NetXtreme-E.
template <class Variant = bnxt::Options>
struct BnxtKit
    : RdmaKitBase<bnxt::Vendor<Variant>, BnxtWire<Variant::mode, static_cast<BnxtSideTable>(Variant::side_table)>> {
  static RdmaQueueConfig config() {
    RdmaQueueConfig config;
    config.sq_unit_shift = BnxtKit::Vendor::Send::unit_shift;
    config.side_entries = config.sq_units;
    return config;
  }
};

/// BnxtKit is the kit of these traits.
template <class Variant>
struct KitOf<bnxt::Vendor<Variant>> {
  using type = BnxtKit<Variant>;
};

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
