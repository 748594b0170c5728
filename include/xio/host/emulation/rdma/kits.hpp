// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The kits of all RDMA vendors, see kit.hpp.

#include <tuple>

#include <xio/host/emulation/rdma/bnxt_kit.hpp>
#include <xio/host/emulation/rdma/ernic_kit.hpp>
#include <xio/host/emulation/rdma/ionic_kit.hpp>
#include <xio/host/emulation/rdma/mlx5_kit.hpp>
#include <xio/host/emulation/rdma/rxe_kit.hpp>
#include <xio/vendors/list.hpp>

XIO_NAMESPACE_BEGIN

namespace emulation {
/// @addtogroup emulation_rdma
/// @{

/// The kits of a list of vendors.
template <class List>
struct KitsOf;
/// The kits of a list of vendors, as a tuple.
template <class... Vendor>
struct KitsOf<rdma::VendorList<Vendor...>> {
  using type = std::tuple<typename KitOf<Vendor>::type...>;
};

/// The kits of rdma::Vendors, in its order.
using RdmaKits = typename KitsOf<rdma::Vendors>::type;

/// Calls `visit` with a kit of each vendor, of which the type is meant.
template <class Visit>
void for_each_kit(Visit visit) {
  std::apply([&visit](auto... kit) { (visit(kit), ...); }, RdmaKits{});
}

/// Whether `works` returns true for a kit of each vendor; the rest is not called after one that does not.
template <class Works>
bool all_kits(Works works) {
  return std::apply([&works](auto... kit) { return (works(kit) && ...); }, RdmaKits{});
}

/// @}
}  // namespace emulation

XIO_NAMESPACE_END
