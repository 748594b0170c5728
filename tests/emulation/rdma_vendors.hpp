// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief The emulated NICs of all RDMA vendors and of their variants, for tests that run with each of them.

#include <xio/host/emulation/rdma/kits.hpp>

namespace rdma_tests {

using Mlx5 = xio::emulation::Mlx5Kit<>;
using Bnxt = xio::emulation::BnxtKit<>;
using Ionic = xio::emulation::IonicKit<>;
using Ernic = xio::emulation::ErnicKit;
using Rxe = xio::emulation::RxeKit<>;

/// All vendors, for TEMPLATE_LIST_TEST_CASE.
using Vendors = xio::emulation::RdmaKits;

/// Lists one behind the other.
template <class... Lists>
using Joined = decltype(std::tuple_cat(Lists{}...));

struct LargeCqes : xio::mlx5::Options {
  static constexpr uint32_t cqe_bytes = 128;
};
template <xio::bnxt::SideTableKind Kind = xio::bnxt::Options::side_table,
          bool PowerOfTwo = xio::bnxt::Options::power_of_two>
struct Variable : xio::bnxt::Options {
  static constexpr xio::bnxt::WqeMode mode = xio::bnxt::WqeMode::variable;
  static constexpr xio::bnxt::SideTableKind side_table = Kind;
  static constexpr bool power_of_two = PowerOfTwo;
};
/// Vendors, and the forms that entries and completions have by an option.
using Forms = Joined<Vendors, std::tuple<xio::emulation::Mlx5Kit<LargeCqes>, xio::emulation::BnxtKit<Variable<>>>>;

struct Mlx5Collapsed : xio::mlx5::Options {
  static constexpr bool collapsed = true;
};
struct IonicCollapsed : xio::ionic::Options {
  static constexpr bool collapsed = true;
};
/// Completion queues that are collapsed to one entry, which the device overwrites.
using Collapsed = std::tuple<xio::emulation::Mlx5Kit<Mlx5Collapsed>, xio::emulation::IonicKit<IonicCollapsed>>;
using WithCollapsed = Joined<Vendors, Collapsed>;

}  // namespace rdma_tests
