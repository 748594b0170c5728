// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The kit for Pensando DSC, see kit.hpp.

#include <xio/host/emulation/rdma/ionic_wire.hpp>
#include <xio/host/emulation/rdma/kit.hpp>
#include <xio/vendors/ionic/traits.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_rdma
/// @{

/// Kit for Pensando DSC.
template <class Variant = ionic::Options>
struct IonicKit : RdmaKitBase<ionic::Vendor<Variant>,
                              IonicWire<Variant::version == ionic::Version::v1 ? 1 : 2, Variant::collapsed>> {
  static RdmaQueueConfig config() {
    RdmaQueueConfig config;
    config.sq_unit_shift = 7;
    if (Variant::collapsed) config.cq_entries = 1;
    return config;
  }
  /// 64 bytes, for one or two SGEs.
  static RdmaQueueConfig shortest(RdmaQueueConfig config) {
    config.sq_unit_shift = 6;
    config.max_sges = 2;
    return config;
  }
};

/// IonicKit is the kit of these traits.
template <class Variant>
struct KitOf<ionic::Vendor<Variant>> {
  using type = IonicKit<Variant>;
};

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
