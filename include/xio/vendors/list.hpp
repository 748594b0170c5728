// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The list of RDMA vendors, for tests and tools that need each of them. A program for one vendor includes that
/// vendor's queues.hpp or traits.hpp.
///
/// The list is here and nowhere else: CMake and scripts/vendors read it, and `scripts/vendors --write` writes the
/// includes of all vendors.

#include <xio/vendors/bnxt/traits.hpp>
#include <xio/vendors/ernic/traits.hpp>
#include <xio/vendors/ionic/traits.hpp>
#include <xio/vendors/mlx5/traits.hpp>
#include <xio/vendors/rxe/traits.hpp>

XIO_NAMESPACE_BEGIN

namespace rdma {
/// @addtogroup vendors_rdma
/// @{

/// A list of vendors' traits.
template <class... Vendor>
struct VendorList {
  static constexpr uint32_t count = sizeof...(Vendor);
};

/// All vendors, each with the formats of its current devices and the name that it has in tables.
using Vendors = VendorList<mlx5::Vendor<>,   // MLX5
                           bnxt::Vendor<>,   // BNXT
                           ionic::Vendor<>,  // IONIC
                           ernic::Vendor,    // ERNIC
                           rxe::Vendor<>>;   // soft-RoCE

/// @}
}  // namespace rdma

XIO_NAMESPACE_END
