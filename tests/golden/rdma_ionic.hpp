// SPDX-License-Identifier: MIT
#pragma once

/// @file
/// @brief Replay of RDMA files: how a recorded queue pair of Pensando DSC was made.

#include <xio/vendors/ionic/encode.hpp>

#include "golden.hpp"

namespace golden::rdma {

// Bits of "sq_cmb" and "rq_cmb": the ring is in controller memory; its entries ring for themselves.
constexpr uint64_t cmb_enabled = 1;
constexpr uint64_t cmb_express = 4;

/// The provider's rule: as the device offers it, where a queue pair asks for so many pieces that it helps.
/// @param sges name of the member of `made` that says how many
xio::ionic::SpecFormat ionic_spec(const Json& made, const char* sges);

}  // namespace golden::rdma
