// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The emulated NICs of all RDMA vendors, for tests that run with each of them.

#include <xio/host/emulation/rdma/kits.hpp>

namespace rdma_tests {

using Mlx5 = xio::emulation::Mlx5Kit<>;
using Bnxt = xio::emulation::BnxtKit<>;
using Ionic = xio::emulation::IonicKit<>;
using Ernic = xio::emulation::ErnicKit;
using Rxe = xio::emulation::RxeKit<>;

/// All vendors, for TEMPLATE_LIST_TEST_CASE.
using Vendors = xio::emulation::RdmaKits;

}  // namespace rdma_tests
