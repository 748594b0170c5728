// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The kit for ERNIC, see kit.hpp.

#include <xio/host/emulation/rdma/ernic_wire.hpp>
#include <xio/host/emulation/rdma/kit.hpp>
#include <xio/vendors/ernic/traits.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_rdma
/// @{

/// Kit for ERNIC.
struct ErnicKit : RdmaKitBase<ernic::Vendor, ErnicWire> {
  static constexpr RdmaWords words{RdmaWords::sq, RdmaWords::sq + 2, 3, 2};
  static RdmaQueueConfig config() {
    RdmaQueueConfig config;
    config.sq_unit_shift = 8;
    config.handle = 0x321;
    return config;
  }
  static uint32_t depth(const RdmaQueueConfig& config) { return config.sq_units; }
};

/// ErnicKit is the kit of these traits.
template <>
struct KitOf<ernic::Vendor> {
  using type = ErnicKit;
};

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
