// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The kit for ConnectX, see kit.hpp.

#include <xio/host/emulation/rdma/kit.hpp>
#include <xio/host/emulation/rdma/mlx5_wire.hpp>
#include <xio/vendors/mlx5/traits.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_rdma
/// @{

/// Kit for ConnectX.
template <class Variant = mlx5::Options>
struct Mlx5Kit
    : RdmaKitBase<mlx5::Vendor<Variant>, Mlx5Wire<Variant::cqe_bytes, Variant::collapsed, Variant::doorbell_stride>> {
  static constexpr RdmaWords words{RdmaWords::sq + mlx5::send_record, RdmaWords::sq + mlx5::receive_record,
                                   mlx5::consumer_record, RdmaWords::none};
  static RdmaQueueConfig config() {
    RdmaQueueConfig config;
    if (Variant::collapsed) config.cq_entries = 1;
    return config;
  }
  static uint32_t depth(const RdmaQueueConfig& config) { return config.sq_units; }
};

/// Mlx5Kit is the kit of these traits.
template <class Variant>
struct KitOf<mlx5::Vendor<Variant>> {
  using type = Mlx5Kit<Variant>;
};

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
